"""Two syntaxes that look like a command job's: the 2021 preview's, and a component's."""

import re
from collections.abc import Iterator
from typing import Any

from traingate.documents.characters import location, shown
from traingate.documents.kinds import OLD_SYNTAX
from traingate.documents.located import Document, Path
from traingate.findings import Edit, Finding

_COMPONENT_TYPES = {"number", "integer", "string", "boolean"}
_SINGLE_BRACE = re.compile(r"(?<![{$])\{\s*((?:inputs|outputs)\.\w+)\s*\}(?!\})")

Told = Iterator[tuple[Path, tuple[Finding, ...]]]


def found(document: Document) -> Told:
    """What is written in another syntax, by the path that it explains."""
    job: dict[str, Any] = document.value
    yield from _renamed(document, "compute", "target", "azureml:NAME")
    yield from _renamed(document, "code", "local_path", "./src")
    yield from _docker(document)
    inputs = job.get("inputs")
    for name, value in inputs.items() if isinstance(inputs, dict) else ():
        if isinstance(value, dict):
            yield from _input(document, name, value)
    yield from _single_braces(document)


def _renamed(document: Document, key: str, inner: str, example: str) -> Told:
    value = document.value.get(key)
    if isinstance(value, dict) and inner in value:
        written = value[inner] if isinstance(value[inner], str) else example
        yield (
            (key,),
            (
                OLD_SYNTAX.found(
                    document.key(key, inner),
                    f"`{key}` takes no `{inner}:`; that was the preview's syntax.",
                    fix=f"Write `{key}: {shown(written)}`.",
                ),
            ),
        )


def _docker(document: Document) -> Told:
    environment = document.value.get("environment")
    if isinstance(environment, dict) and "docker" in environment:
        finding = OLD_SYNTAX.found(
            document.key("environment", "docker"),
            "`environment` takes no `docker:`; that was the preview's syntax.",
            fix="Write `image:` directly under `environment:`.",
        )
        yield ("environment",), (finding,)


def _input(document: Document, name: str, value: dict[str, Any]) -> Told:
    path = ("inputs", name)
    if "data" in value and "path" not in value:
        finding = OLD_SYNTAX.found(
            document.key(*path, "data"),
            f"The input `{shown(name)}` takes no `data:`; that was the preview's syntax.",
            fix="Write `path:` instead, and `type: uri_file` or `type: uri_folder`.",
        )
        yield path, (finding,)
        return
    kind = value.get("type")
    declared = [key for key in ("optional", "default", "min", "max", "enum") if key in value]
    if not declared and not (isinstance(kind, str) and kind.lower() in _COMPONENT_TYPES):
        return
    key = declared[0] if declared else "type"
    default = value.get("default", value.get("value"))
    written = default if isinstance(default, str | int | float | bool) else "0.01"
    finding = OLD_SYNTAX.found(
        document.key(*path, key),
        f"`{key}` declares a component's input, and a job gives values.",
        fix=f"Write `{shown(name)}: {shown(_yaml(written))}`.",
    )
    yield path, (finding,)


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _single_braces(document: Document) -> Told:
    span = document.values.get(("command",))
    if span is None or not isinstance(document.value["command"], str):
        return
    findings = []
    for match in _SINGLE_BRACE.finditer(document.text, span.start, span.end):
        replacement = f"${{{{{match[1]}}}}}"
        edit = Edit(
            file=document.file, start=match.start(), end=match.end(), replacement=replacement
        )
        findings.append(
            OLD_SYNTAX.found(
                location(document.text, match.start(), document.file),
                f"`{shown(match[0])}` is the preview's syntax.",
                fix=f"Write `{replacement}`.",
                edits=() if ("command",) in document.shared else (edit,),
            )
        )
    if findings:
        yield ("command",), tuple(findings)
