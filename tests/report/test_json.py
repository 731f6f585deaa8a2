"""The shape that schemas/findings.schema.json documents."""

import json

from jsonschema import Draft202012Validator

from traingate.documents.schema import schema_of
from traingate.findings import Edit, Finding, Location, Severity
from traingate.report.json import render


def test_the_shape():
    finding = Finding(
        rule="TG106",
        name="launcher-in-command",
        severity=Severity.WARNING,
        location=Location(file="jobs/a/job.yml", line=5, column=3),
        message="Every GPU is taken twice.",
        fix="Remove it.",
        edits=(Edit(file="jobs/a/job.yml", start=0, end=1, replacement=""),),
    )
    document = json.loads(render([finding]))
    assert document == {
        "version": 1,
        "findings": [
            {
                "rule": "TG106",
                "name": "launcher-in-command",
                "severity": "warning",
                "file": "jobs/a/job.yml",
                "line": 5,
                "column": 3,
                "message": "Every GPU is taken twice.",
                "fix": "Remove it.",
                "fixable": True,
            }
        ],
        "summary": {"errors": 0, "warnings": 1, "notes": 0},
    }
    Draft202012Validator(schema_of("findings")).validate(document)


def test_nothing_found_has_the_same_shape():
    document = json.loads(render([]))
    assert document["findings"] == []
    Draft202012Validator(schema_of("findings")).validate(document)
