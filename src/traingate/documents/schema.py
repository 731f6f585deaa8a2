"""Schema errors as findings: in plain words, at the line of the value that is wrong."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError

from traingate.documents.located import Document
from traingate.findings import Finding, Severity

_PACKAGED = Path(__file__).parents[1] / "schemas"
_CHECKOUT = Path(__file__).parents[3] / "schemas"


def violations(document: Document, schema: str) -> tuple[Finding, ...]:
    """Where `document` breaks `schemas/<schema>.schema.json`, in the file's order."""
    return tuple(_findings(document, _validator(schema)))


def instance_errors(instance: Any, schema: str) -> tuple[str, ...]:
    """What is wrong with an instance that is no file of the user's, in the validator's words."""
    return tuple(error.message for error in _validator(schema).iter_errors(instance))


def schema_text(name: str) -> str:
    """The schema's JSON, from the installed package or from the checkout it runs in."""
    folder = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
    return (folder / f"{name}.schema.json").read_text(encoding="utf-8")


@cache
def _validator(schema: str) -> jsonschema.protocols.Validator:
    return jsonschema.Draft202012Validator(json.loads(schema_text(schema)))


def _findings(document: Document, validator: Any) -> Iterator[Finding]:
    for error in sorted(
        validator.iter_errors(document.value), key=lambda e: list(map(str, e.path))
    ):
        yield _finding(document, error)


def _finding(document: Document, error: ValidationError) -> Finding:
    return Finding(
        rule="TG002",
        name="schema",
        severity=Severity.ERROR,
        location=document.at(*error.absolute_path),
        message=f"{error.message}.",
    )
