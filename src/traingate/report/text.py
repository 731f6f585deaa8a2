"""Findings as a person reads them in a terminal."""

from collections.abc import Iterator, Sequence

from traingate.findings import Finding, Severity


def lines(findings: Sequence[Finding]) -> Iterator[str]:
    """One line a finding, then a line that counts them."""
    yield from map(str, findings)
    counts = [
        f"{count} {severity}{'s' if count != 1 else ''}"
        for severity in Severity
        if (count := sum(finding.severity is severity for finding in findings))
    ]
    yield ", ".join(counts) or "No findings."
