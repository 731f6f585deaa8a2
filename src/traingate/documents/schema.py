"""Schema errors as findings: in plain words, at the line of the value that is wrong."""

import json
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from pathlib import Path as FilePath
from typing import Any

from traingate.documents import old_syntax, spellings
from traingate.documents.acceptance import Accepts, compiled
from traingate.documents.located import Document, Path
from traingate.documents.slots import is_below
from traingate.documents.violation import Violation
from traingate.documents.wording import Wording
from traingate.findings import Finding

_PACKAGED = FilePath(__file__).parents[1] / "schemas"
_CHECKOUT = FilePath(__file__).parents[3] / "schemas"


def violations(document: Document, schema: str) -> tuple[Finding, ...]:
    """Where `document` breaks `schemas/<schema>.schema.json`, in the file's order.

    One cause is told once: a value in another syntax, or in a spelling that YAML reads
    differently from a person, is not also held against the schema.
    """
    told = dict(old_syntax.found(document)) if schema == "job" else {}
    told |= spellings.found(document, schema_of(schema), told)
    errors = _findings(document, schema, told)
    findings = [finding for several in told.values() for finding in several] + list(errors)
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: finding.location))


def instance_errors(instance: Any, schema: str) -> tuple[str, ...]:
    """What is wrong with an instance that is no file of the user's, in the validator's words."""
    return tuple(error.message for error in _validator(schema).iter_errors(instance))


def schema_text(name: str) -> str:
    """The schema's JSON, from the installed package or from the checkout it runs in."""
    folder = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
    return (folder / f"{name}.schema.json").read_text(encoding="utf-8")


@cache
def schema_of(name: str) -> dict[str, Any]:
    """The schema, parsed."""
    schema: dict[str, Any] = json.loads(schema_text(name), object_hook=_with_python_patterns)
    return schema


def _with_python_patterns(schema: dict[str, Any]) -> dict[str, Any]:
    """JSON Schema's `$` ends the text; Python's also matches before a last line break."""
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and pattern.endswith("$"):
        schema["pattern"] = pattern[:-1] + r"\Z"
    return schema


@cache
def _validator(name: str) -> Any:
    """A validator that takes neither `2.0` for a whole number nor `2027-02-31` for a date."""
    from jsonschema import Draft202012Validator, FormatChecker  # noqa: PLC0415 (slow to import)
    from jsonschema.validators import extend  # noqa: PLC0415

    types = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    strict: Any = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    return strict(schema_of(name), format_checker=FormatChecker(("date",)))


@cache
def _accepts(name: str) -> Accepts:
    return compiled(schema_of(name))


def _violations(name: str, value: Any) -> Iterator[Violation]:
    if _accepts(name)(value):
        return
    for error in _validator(name).iter_errors(value):
        yield Violation(
            keyword=error.validator,
            limit=error.validator_value,
            value=error.instance,
            schema=error.schema,
            path=tuple(error.absolute_path),
            is_name="propertyNames" in error.absolute_schema_path,
        )


def _findings(
    document: Document, name: str, told: Mapping[Path, tuple[Finding, ...]]
) -> Iterator[Finding]:
    wording = Wording(document, schema_of(name))
    seen: set[Path] = set(told)
    for broken in _violations(name, _plain(document.value)):
        if is_below(broken.path, told):
            continue
        for place, finding in wording.findings(broken):
            if place not in seen and not is_below(place, told):
                seen.add(place)
                yield finding


def _plain(value: Any) -> Any:
    """`value` in JSON's own types: a date becomes its text."""
    match value:
        case dict():
            return {key: _plain(it) for key, it in value.items()}
        case list():
            return [_plain(it) for it in value]
        case date():
            return value.isoformat()
        case _:
            return value
