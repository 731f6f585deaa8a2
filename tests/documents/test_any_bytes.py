"""Any bytes as a job or an admission: findings or success, never an exception; mends hold."""

import re
import string

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from traingate.documents.characters import location
from traingate.documents.files import MAX_BYTES, MAX_LINES
from traingate.documents.located import Document, Path
from traingate.documents.reading import read_admission, read_job
from traingate.findings import Finding, Severity
from traingate.fixes import mended

BASE = """\
# kept to the byte
command: >-
  python train.py --lr ${{inputs.lr}}
environment: azureml:pt:3   # a comment
compute: azureml:gpu
distribution: {type: pytorch, process_count_per_instance: 8}
resources:
  instance_count: 2
environment_variables:
  NCCL_DEBUG: INFO
inputs:
  lr: 0.01
"""

FRONT = """\
workload: probe
owner: "@contoso/vision"
need: time
envelope: {targets: [gpu], nodes: 1, gpus: 2, hours: 1, runs: 1, cost_usd: 10}
expires: 2027-03-31
"""

# What YAML is made of, so that random text reaches the parser's corners.
PIECES = [
    *":-?[]{},#&*!|>'\"%@`~<=.\\/\n\r\t ",
    *("---", "...", "<<: ", "&a ", "*a", "!!str ", "!!int ", "\n## Why\n", "```\n"),
    *("\u00a0", "\u2028", "\ufeff", "\u202e", "\0", "😀", "é"),
    *("010", "1:30", "NO", "1e-4", "2026-11-30"),
    *("command: x\n", "environment: azureml:e:1\n", "inputs: {a: ", "workload: p\n"),
]
VALUES = [
    *("NO", "yes", "010", "1:30", "1_000", "+8", "0x10", "0o10", "8e0", "1e-4", "08", "'8'", '"8"'),
    *("2.0", "2.5", ".nan", ".inf", "2026-11-30", "2026-02-30", "true", "null", "", "text", "-5"),
    *("[1]", "{a: 1}", "&x 3", "!!str 5", "{type: number, default: 1}", "{target: a}"),
    *("'PyTorch '", '"a\\tb"', "9" * 200),
]

yaml_soup = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=60).map("".join)
any_bytes = (
    st.binary(max_size=300)
    | yaml_soup.map(str.encode)
    | yaml_soup.map(lambda it: it.encode("utf-16"))
    | yaml_soup.map(lambda it: BASE.encode() + it.encode())
)


@st.composite
def varied_jobs(draw: st.DrawFn) -> bytes:
    """The base job with some of its values in other spellings, in any line ends."""
    lines = BASE.splitlines()
    for _ in range(draw(st.integers(1, 4))):
        number = draw(st.integers(3, len(lines) - 1))
        key, colon, _ = lines[number].partition(":")
        lines[number] = f"{key}{colon} {draw(st.sampled_from(VALUES))}"
    if draw(st.booleans()):
        lines.append(f"tags: {{{draw(st.sampled_from(VALUES[:20]))}: x}}")
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return (draw(st.sampled_from(["", "\ufeff"])) + end.join(lines) + end).encode()


@given(any_bytes)
@example(b"")
@example(b"\xef\xbb\xbf")
@example(b"---")
@example(b"a: &a {<<: *a}\n")
@example(b"? \n: \n")
def test_any_bytes_are_a_job_or_findings(data: bytes):
    job, findings = read_job(data, "job.yml")
    check_understood(job, findings)
    check_places(findings, data)


@given(
    any_bytes
    | st.tuples(yaml_soup, yaml_soup).map(lambda it: f"---\n{it[0]}\n---\n{it[1]}".encode())
    | yaml_soup.map(lambda it: f"---\n{FRONT}---\n{it}".encode())
)
@example(b"---")
@example(b"---\r---\r")
def test_any_bytes_are_an_admission_or_findings(data: bytes):
    admission, findings = read_admission(data, "a.md")
    check_understood(admission, findings)
    check_places(findings, data)


def check_understood(found: object, findings: tuple[Finding, ...]) -> None:
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    assert found is not None or errors
    assert found is None or all(finding.edits for finding in errors)


def check_places(findings: tuple[Finding, ...], data: bytes) -> None:
    lines = data.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for finding in findings:
        assert 1 <= finding.location.line <= len(lines)
        assert 1 <= finding.location.column <= len(lines[finding.location.line - 1]) + 1
        assert finding.message.endswith(".")
        assert finding.message.isprintable()
        assert finding.fix is None or finding.fix[-1] in ".?"


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(varied_jobs())
def test_mending_twice_is_mending_once_and_leaves_fewer_findings(data: bytes):
    once = mend(data)
    assert mend(once) == once
    before, after = read_job(data, "job.yml")[1], read_job(once, "job.yml")[1]
    assert not any(finding.edits for finding in after)
    if once != data:
        assert len(after) < len(before)
    for line in re.split(rb"[\r\n]+", data):
        assert line in once or not re.search(b"kept to the byte|a comment", line)


@given(varied_jobs())
def test_what_is_read_through_a_mend_stands_where_the_author_wrote_it(data: bytes):
    job, findings = read_job(data, "job.yml")
    if job is None:
        return
    edits = [edit for finding in findings for edit in finding.edits]
    text, document = data.decode(), job.document
    assert document.text == text
    for path, span in document.values.items():
        written = text[span.start : span.end]
        is_mended = any(span.start <= it.end and it.start <= span.end for it in edits)
        if not is_mended and not isinstance(value_at(document, path), dict):
            assert yaml.safe_load(re.sub("\r\n?", "\n", written)) == value_at(document, path), path
        assert not path or str(document.at(*path)) == str(location(text, span.start, "job.yml"))


def value_at(document: Document, path: Path) -> object:
    value = document.value
    for step in path:
        value = value[step]
    return value


def mend(data: bytes) -> bytes:
    changed = mended(
        lambda _: data, lambda texts: read_job(texts.get("job.yml", data), "job.yml")[1]
    )
    return changed.get("job.yml", data)


HOSTILE = {
    "brackets": "[" * MAX_BYTES,
    "braces": "{a: " * (MAX_BYTES // 4),
    "sexagesimal": "a: " + "1:" * (MAX_BYTES // 2 - 10) + "1",
    "digits": "a: " + "9" * (MAX_BYTES - 10),
    "float": "a: 0." + "1" * (MAX_BYTES - 10),
    "key": "a" * (MAX_BYTES - 3) + ": 1",
    "keys": "".join(f"k{n}: 1\n" for n in range(90_000))[:MAX_BYTES],
    "question marks": "? " * (MAX_BYTES // 2),
    "dashes": "- " * (MAX_BYTES // 2),
    "quotes": 'a: "' + "\\n" * (MAX_BYTES // 2 - 10) + '"',
    "anchors": "".join(f"a{n}: &a{n} x\n" for n in range(50_000))[:MAX_BYTES],
    "hidden": "\u202e" * (MAX_BYTES // 3),
    "spaces": " " * MAX_BYTES,
    "newlines": "\n" * MAX_BYTES,
    "returns": "a: 1" + "\r" * (MAX_BYTES - 4),
    "braces in a command": "command: " + "{inputs.a} " * (MAX_BYTES // 11 - 10),
    "lines": "\n" * MAX_LINES + "a: 1\n",
    "unknown keys": "x: {"
    + ", ".join(f"{c}{n}: 1" for n in range(150) for c in string.ascii_letters)
    + "}",
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_job_is_refused_in_bounded_time(name: str):
    job, findings = read_job(HOSTILE[name].encode(), "job.yml")
    assert job is None
    assert findings


#: As many lines as an admission may have, less its front matter.
LINES = MAX_LINES - 20

PROSE = {
    "quotes": ">" * MAX_BYTES,
    "lists": "- " * (MAX_BYTES // 2),
    "brackets": "[" * MAX_BYTES,
    "links": "[a](" * (MAX_BYTES // 4),
    "references": "[a]: b\n" * LINES,
    "emphasis": "*a **b " * (MAX_BYTES // 7),
    "ticks": "`a" * (MAX_BYTES // 2),
    "headings": "# a\n" * LINES,
    "comments": "<!-- " * (MAX_BYTES // 5),
    "fences": "---\n" * LINES,
    "indents": "".join(" " * (n % 1000) + "- a\n" for n in range(2000)),
}


@pytest.mark.timeout(40)
@pytest.mark.parametrize("name", PROSE)
def test_hostile_prose_is_read_in_bounded_time(name: str):
    text = f"---\n{FRONT}---\n{PROSE[name]}"
    admission, findings = read_admission(text.encode()[:MAX_BYTES], "a.md")
    assert findings == ()
    assert admission is not None
