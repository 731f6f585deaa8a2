"""Findings for programs: `schemas/findings.schema.json` documents the shape."""

import json
from collections.abc import Sequence
from typing import Any

from traingate.findings import Finding, Severity

#: Raised when a key changes its meaning or goes; new keys may come without.
VERSION = 1


def render(findings: Sequence[Finding]) -> str:
    """The findings and their counts as one JSON document."""
    counts = {f"{it}s": sum(finding.severity is it for finding in findings) for it in Severity}
    document = {
        "version": VERSION,
        "findings": [_entry(finding) for finding in findings],
        "summary": counts,
    }
    return json.dumps(document, indent=2)


def _entry(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": str(finding.severity),
        "file": finding.location.file,
        "line": finding.location.line,
        "column": finding.location.column,
        "message": finding.message,
        "fix": finding.fix,
        "fixable": bool(finding.edits),
    }
