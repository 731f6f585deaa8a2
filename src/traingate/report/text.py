"""Findings as a person reads them in a terminal or a log."""

import os
from collections.abc import Iterator, Sequence
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


def lines(findings: Sequence[Finding], *, colour: bool = False) -> Iterator[str]:
    """The entries, then a line that counts them."""
    yield from entries(findings, colour=colour)
    yield summary(findings)


def entries(findings: Sequence[Finding], *, colour: bool = False) -> Iterator[str]:
    """`file:line:col: message [TG106 launcher-in-command]`, the fix on a line of its own.

    Warnings and notes carry their severity in front of the message; an error is the usual case.
    """
    for finding in findings:
        place, rule = printable(str(finding.location)), f"[{finding.rule} {finding.name}]"
        weight = "" if finding.severity is Severity.ERROR else f"{finding.severity}: "
        message = printable(weight + finding.message)
        if colour:
            place = f"{_BOLD}{place}{_RESET}"
            message = f"{_COLOURS[finding.severity]}{message}{_RESET}"
        yield f"{place}: {message} {rule}"
        if finding.fix:
            yield f"    {printable(finding.fix)}"


def summary(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 warning`, or that there is nothing."""
    counts = [
        f"{count} {severity}{'s' if count != 1 else ''}"
        for severity in Severity
        if (count := sum(finding.severity is severity for finding in findings))
    ]
    return ", ".join(counts) or "No findings."


def printable(text: str) -> str:
    r"""`text` with whatever could move a terminal's cursor written as an escape such as `\x1b`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
