"""A finding: one broken rule at one place in a file the user wrote."""

from dataclasses import dataclass
from enum import StrEnum

#: Characters of a message or a fix: some three lines of a terminal.
_LONGEST = 360


class Severity(StrEnum):
    """How much a finding weighs: only errors stop a request (warnings do under `--strict`)."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Location:
    """A place in a file: path relative to the repository, line and column counted from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One certain mend: replace the characters `start:end` of the file's text."""

    file: str
    start: int
    end: int
    replacement: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One broken rule at one place.

    `fix` is the mend in words (None where only the author can know); `edits` are given only
    where the mend is certain, and are what `check --fix` applies.
    """

    rule: str
    name: str
    severity: Severity
    location: Location
    message: str
    fix: str | None = None
    edits: tuple[Edit, ...] = ()

    def __str__(self) -> str:
        tail = f" {self.fix}" if self.fix else ""
        return f"{self.location}: {self.message}{tail} [{self.rule} {self.name}]"


def readable(text: str) -> str:
    """`text`, or its two ends where somebody's own words made it longer than people read."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST * 2 // 3]} … {text[-_LONGEST // 4 :]}"


def has_errors(findings: tuple[Finding, ...]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)
