"""The lines a person reads."""

import io

import pytest

from traingate.findings import Finding, Location, Severity
from traingate.report import text


def finding(severity: Severity = Severity.ERROR, **changes: object) -> Finding:
    parts = {
        "rule": "TG106",
        "name": "launcher-in-command",
        "severity": severity,
        "location": Location(file="jobs/a/job.yml", line=5, column=3),
        "message": "Every GPU is taken twice.",
        "fix": "Remove `torchrun`.",
    }
    return Finding(**parts | changes)


def test_an_error_and_its_fix():
    assert list(text.lines([finding()])) == [
        "jobs/a/job.yml:5:3: Every GPU is taken twice. [TG106 launcher-in-command]",
        "    Remove `torchrun`.",
        "1 error",
    ]


def test_severities_and_the_summary():
    told = [finding(severity, fix=None) for severity in (*Severity, Severity.NOTE)]
    assert list(text.lines(told))[1:] == [
        "jobs/a/job.yml:5:3: warning: Every GPU is taken twice. [TG106 launcher-in-command]",
        "jobs/a/job.yml:5:3: note: Every GPU is taken twice. [TG106 launcher-in-command]",
        "jobs/a/job.yml:5:3: note: Every GPU is taken twice. [TG106 launcher-in-command]",
        "1 error, 1 warning, 2 notes",
    ]
    assert list(text.lines([])) == ["No findings."]


def test_colour_changes_nothing_but_the_colour():
    coloured = "\n".join(text.lines([finding()], colour=True))
    assert "\x1b[31mEvery GPU" in coloured
    for code in ("\x1b[31m", "\x1b[1m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == "\n".join(text.lines([finding()]))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_who_gets_colour(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    expected: bool,  # noqa: FBT001 (a test's parameter)
):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert text.wants_colour(Terminal()) is expected
    assert not text.wants_colour(io.StringIO())


def test_nothing_in_a_finding_moves_the_cursor():
    hostile = "a\x1b[2Jb\rc\nd\u202ee"
    told = [finding(message=hostile, fix=hostile, location=Location(file=hostile))]
    for line in text.lines(told):
        assert line.isprintable()
