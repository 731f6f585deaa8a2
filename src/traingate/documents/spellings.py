"""Spellings that YAML 1.1 reads differently from a person, where that makes a difference.

Whether it does depends on the place: `yes` is fine where true or false belongs and a trap where
text does; `1e-4` is fine as text and a trap as a number.
"""

import re
from collections.abc import Container
from typing import Any

from traingate.documents.characters import shown
from traingate.documents.kinds import YAML_SURPRISE
from traingate.documents.located import Document, Path, described
from traingate.documents.mends import fits
from traingate.documents.scalars import Kind, Spelling
from traingate.documents.slots import is_below, slot, types
from traingate.findings import Finding, Severity

_NUMBERS = frozenset({"integer", "number"})


def found(
    document: Document, schema: dict[str, Any], told: Container[Path]
) -> dict[Path, tuple[Finding, ...]]:
    """The surprising spellings of a document by path, except below what is told already."""
    surprises: dict[Path, tuple[Finding, ...]] = {}
    for path, spelling in document.spellings.items():
        if spelling.kind is Kind.USUAL or is_below(path, told):
            continue
        here = slot(schema, path)
        finding = None if here is None else _finding(document, path, spelling, here)
        if finding is not None:
            surprises[path] = (finding,)
    return surprises


def _finding(
    document: Document, path: Path, spelling: Spelling, here: dict[str, Any]
) -> Finding | None:
    allowed = types(here)
    if "string" not in allowed:
        return _where_no_text(document, path, spelling, allowed)
    if here.get("format") == "date":
        return _where_a_date(document, path, spelling)
    if allowed & (_NUMBERS | {"boolean"}):
        return _where_either(document, path, spelling)
    return _where_text(document, path, spelling, here)


def _where_no_text(
    document: Document, path: Path, spelling: Spelling, allowed: frozenset[str]
) -> Finding | None:
    """A number or a boolean belongs here; the schema speaks where the type is wrong anyway."""
    if spelling.kind in {Kind.WORD, Kind.DATE, Kind.TIME} or not allowed & _NUMBERS:
        return None
    digits = spelling.digits
    if digits and "number" not in allowed and not re.fullmatch(r"-?\d+", digits, re.ASCII):
        return None
    return _tell(document, path, spelling, digits, digits)


def _where_a_date(document: Document, path: Path, spelling: Spelling) -> Finding | None:
    if spelling.kind is Kind.DATE:
        return None
    if spelling.kind is not Kind.TIME:
        return _tell(document, path, spelling, None, None)
    day = spelling.text[:10]
    return YAML_SURPRISE.found(
        document.at(*path),
        f"`{spelling.text}` is a point in time, and a day belongs here.",
        fix=f"Write `{day}`." if re.fullmatch(r"\d{4}-\d\d-\d\d", day) else "Write YYYY-MM-DD.",
    )


def _where_either(document: Document, path: Path, spelling: Spelling) -> Finding | None:
    """Text and numbers are both welcome (a job's input, a free-form mapping)."""
    quoted = f'"{spelling.text}"'
    if spelling.kind is Kind.NUMBER_AS_TEXT:
        # Sent as the very text that is written, so quotes change nothing but the doubt.
        return _tell(document, path, spelling, quoted, quoted, Severity.WARNING)
    if spelling.kind in {Kind.DATE, Kind.TIME}:
        return _tell(document, path, spelling, quoted, quoted)
    if spelling.kind is Kind.DECORATED:
        return _tell(document, path, spelling, spelling.digits, spelling.digits)
    return _tell(document, path, spelling, quoted, None)


def _where_text(
    document: Document, path: Path, spelling: Spelling, here: dict[str, Any]
) -> Finding | None:
    if spelling.kind is Kind.NUMBER_AS_TEXT:
        return None
    if not fits(here, spelling.text):
        return None  # Quotes alone would not mend it: the schema says what is allowed.
    quoted = f'"{spelling.text}"'
    return _tell(document, path, spelling, quoted, quoted)


def _tell(
    document: Document,
    path: Path,
    spelling: Spelling,
    instead: str | None,
    certain: str | None,
    severity: Severity | None = None,
) -> Finding:
    what = {
        Kind.NUMBER_AS_TEXT: "as text, not as a number",
        Kind.IMPOSSIBLE: "as nothing that exists",
    }.get(spelling.kind, f"as {described(spelling.meaning)}")
    if spelling.kind is Kind.TIME:
        what = "as a point in time"
    fix = f"Write `{instead}`." if instead else _either(spelling)
    return YAML_SURPRISE.found(
        document.at(*path),
        f"YAML reads `{shown(spelling.text)}` {what}.",
        fix=fix,
        edits=document.replace(path, certain) if certain else (),
        severity=severity,
    )


def _either(spelling: Spelling) -> str:
    """What to write when only the author knows which number was meant."""
    if spelling.kind is Kind.OCTAL:
        digits = spelling.text.replace("_", "").lstrip("+-0") or "0"
        return f"Write `{spelling.meaning}` or `{digits}`, whichever is meant."
    if spelling.kind is Kind.SEXAGESIMAL:
        return f"Write `{spelling.meaning}` if that is meant."
    return "Write a plain number."
