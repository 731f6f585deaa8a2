"""Findings for a terminal or a log: one a line, its fix below it, a summary line at the end."""

import os
from collections import Counter
from collections.abc import Iterable
from typing import TextIO

from traingate.findings import Finding, Severity

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_COLOURS = {
    Severity.ERROR: "\x1b[31m",
    Severity.WARNING: "\x1b[33m",
    Severity.NOTE: "\x1b[36m",
}


def wants_colour(stream: TextIO) -> bool:
    """Whether `stream` is a terminal whose user has not set NO_COLOR (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def render(findings: Iterable[Finding], *, colour: bool = False) -> str:
    """Every finding and the summary, each line ended by a newline."""
    told = tuple(findings)
    return lines(told, colour=colour) + summary(told) + "\n"


def lines(findings: Iterable[Finding], *, colour: bool = False) -> str:
    """`file:line:col: message [TG106 launcher-in-command]`, the fix indented below.

    Warnings and notes carry their severity in front of the message; an error is the usual case.
    """
    return "".join(_entry(finding, colour=colour) for finding in findings)


def summary(findings: Iterable[Finding]) -> str:
    """How many of what: `2 errors and 1 warning.`, or that nothing was found."""
    counts = Counter(finding.severity for finding in findings)
    parts = [_counted(counts[severity], severity) for severity in Severity if counts[severity]]
    if not parts:
        return "Nothing to mend."
    return f"{' and '.join(filter(None, [', '.join(parts[:-1]), parts[-1]]))}."


def _counted(count: int, severity: Severity) -> str:
    return f"{count} {severity}{'' if count == 1 else 's'}"


def _entry(finding: Finding, *, colour: bool) -> str:
    place, rule = str(finding.location), f"[{finding.rule} {finding.name}]"
    weight = "" if finding.severity is Severity.ERROR else f"{finding.severity}: "
    message = printable(weight + finding.message)
    if colour:
        place = f"{_BOLD}{place}{_RESET}"
        message = f"{_COLOURS[finding.severity]}{message}{_RESET}"
    fix = f"    {printable(finding.fix)}\n" if finding.fix else ""
    return f"{place}: {message} {rule}\n{fix}"


def printable(text: str) -> str:
    r"""`text` with what could move a terminal's cursor written as an escape such as `\x1b`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
