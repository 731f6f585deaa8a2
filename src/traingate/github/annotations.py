"""Findings as annotations on a pull request's diff.

Source: https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
GitHub shows ten errors, ten warnings and ten notices a step; the rest is only counted.
"""

from collections.abc import Iterator, Sequence

from traingate.findings import Finding, Severity
from traingate.github.text import visible

SHOWN = 10
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def annotations(findings: Sequence[Finding]) -> Iterator[str]:
    """One workflow command a finding, as many of each kind as GitHub shows."""
    for severity, command in _COMMANDS.items():
        of_kind = [one for one in findings if one.severity is severity]
        yield from (_annotation(command, one) for one in of_kind[:SHOWN])
        if len(of_kind) > SHOWN:
            more = len(of_kind) - SHOWN
            yield f"{more:,} more {severity}s are in the job summary and on the pull request."


def notice(message: str, *, command: str = "error") -> str:
    """An annotation without a place."""
    return f"::{command}::{_data(message)}"


def _annotation(command: str, one: Finding) -> str:
    at, title = one.location, f"{one.rule} {one.name}"
    message = f"{one.message} {one.fix}" if one.fix else one.message
    place = f"file={_property(at.file)},line={at.line},col={at.column}"
    return f"::{command} {place},title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
