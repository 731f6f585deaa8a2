"""Workflow commands, and what does not fit among them."""

from hypothesis import given
from hypothesis import strategies as st

from traingate.findings import Finding, Location, Severity
from traingate.report.github import annotations, command


def finding(line: int = 1, severity: Severity = Severity.ERROR, **changes: object) -> Finding:
    parts = {
        "rule": "TG106",
        "name": "launcher-in-command",
        "severity": severity,
        "location": Location(file="jobs/a/job.yml", line=line, column=3),
        "message": "Every GPU is taken twice.",
    }
    return Finding(**parts | changes)


def test_a_command():
    assert command(finding(5, fix="Remove it.")) == (
        "::error file=jobs/a/job.yml,line=5,col=3,title=TG106 launcher-in-command"
        "::Every GPU is taken twice. Remove it."
    )
    assert command(finding(severity=Severity.NOTE)).startswith("::notice ")


def test_everything_is_escaped():
    hostile = "50%\r\n::error::x, y: z"
    told = command(finding(message=hostile, location=Location(file=hostile)))
    assert told.startswith("::error file=50%25%0D%0A%3A%3Aerror%3A%3Ax%2C y%3A z,line=1,")
    assert told.endswith("::50%25%0D%0A::error::x, y: z")


@given(st.text())
def test_a_message_stays_on_its_line_and_comes_back(message: str):
    told = command(finding(message=message))
    assert "\n" not in told
    assert "\r" not in told
    data = told.partition(" ")[2].partition("::")[2]
    assert data.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%") == message


def test_what_fits_needs_no_summary():
    told = [finding(n, severity) for severity in Severity for n in range(1, 11)]
    result = annotations(told)
    assert len(result.commands) == 30
    assert result.summary == ""


def test_the_rest_goes_to_the_summary():
    told = [finding(n) for n in range(1, 13)] + [finding(n, Severity.WARNING) for n in range(1, 12)]
    result = annotations(told)
    assert sum(it.startswith("::error") for it in result.commands) == 10
    assert sum(it.startswith("::warning") for it in result.commands) == 10
    assert result.summary == (
        "### traingate: 12 errors, 11 warnings\n\nNot shown on the diff:\n\n```text\n"
        "jobs/a/job.yml:11:3: Every GPU is taken twice. [TG106 launcher-in-command]\n"
        "jobs/a/job.yml:12:3: Every GPU is taken twice. [TG106 launcher-in-command]\n"
        "jobs/a/job.yml:11:3: warning: Every GPU is taken twice. [TG106 launcher-in-command]\n"
        "```\n"
    )


def test_nothing_ends_the_summarys_block():
    told = [finding(n, message="````\n@everyone <img src=x>") for n in range(1, 13)]
    lines = annotations(told).summary.split("\n")
    fences = [line for line in lines if line.startswith("`````")]
    assert fences == ["`````text", "`````"]


def test_the_summary_fits_githubs_limit():
    told = [finding(n, message="ü" * 1000) for n in range(1, 5000)]
    summary = annotations(told).summary
    assert len(summary.encode()) < 1024 * 1024
    assert "see all" in summary
