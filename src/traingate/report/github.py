"""Findings as GitHub annotations, within what a step may show, the rest in the job summary.

GitHub shows at most 10 errors, 10 warnings and 10 notices of a step; what comes after is
dropped without a word. A job summary holds 1 MiB; a larger one fails the upload.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from traingate.findings import Finding, Severity
from traingate.report import text

MOST_OF_A_KIND = 10

#: Characters, well below the limit in bytes: the text is mostly ASCII, never all of it.
_LONGEST_SUMMARY = 250_000

_COMMANDS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "notice",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotations:
    """`commands` for the step's output, a line each; `summary` is markdown, empty when all fit."""

    commands: tuple[str, ...]
    summary: str


def annotations(findings: Sequence[Finding]) -> Annotations:
    """Workflow commands for the first findings of each severity, and the rest as markdown."""
    shown: list[Finding] = []
    rest: list[Finding] = []
    counts = dict.fromkeys(Severity, 0)
    for finding in findings:
        counts[finding.severity] += 1
        fits = counts[finding.severity] <= MOST_OF_A_KIND
        (shown if fits else rest).append(finding)
    return Annotations(
        commands=tuple(command(finding) for finding in shown),
        summary=_summary(findings, rest) if rest else "",
    )


def command(finding: Finding) -> str:
    """One workflow command, everything in it escaped."""
    at = finding.location
    properties = {
        "file": at.file,
        "line": str(at.line),
        "col": str(at.column),
        "title": f"{finding.rule} {finding.name}",
    }
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = f"{finding.message} {finding.fix}" if finding.fix else finding.message
    return f"::{_COMMANDS[finding.severity]} {told}::{_data(message)}"


def notice(message: str) -> str:
    """An error without a place: something the workflow run as a whole could not do."""
    return f"::error::{_data(message)}"


def _summary(findings: Sequence[Finding], rest: Sequence[Finding]) -> str:
    """The findings that could not be annotated, in a block that nothing in them can end."""
    lines: list[str] = []
    length = 0
    for line in text.entries(rest):
        length += len(line) + 1
        if length > _LONGEST_SUMMARY:
            lines.append("... and more than fits here: run `traingate check` to see all.")
            break
        lines.append(line)
    body = "\n".join(lines)
    fence = "`" * max(3, 1 + max((len(it) for it in re.findall("`+", body)), default=0))
    head = f"### traingate: {text.summary(findings)}\n\nNot shown on the diff:\n\n"
    return f"{head}{fence}text\n{body}\n{fence}\n"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
