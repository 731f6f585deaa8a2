"""Edits: only what they say, only once, and a diff that git takes."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traingate.findings import Edit, Finding, Location, Severity
from traingate.fixes import apply, diff, mended


def edit(start: int, end: int, replacement: str, file: str = "a") -> Edit:
    return Edit(file=file, start=start, end=end, replacement=replacement)


def finding(*edits: Edit) -> Finding:
    return Finding(
        rule="TG002",
        name="schema",
        severity=Severity.ERROR,
        location=Location(file="a"),
        message="It is wrong.",
        edits=edits,
    )


edits = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 5), st.text(max_size=3)).map(
        lambda it: edit(it[0], min(20, it[0] + it[1]), it[2])
    )
)


@given(st.text(min_size=20, max_size=30), edits)
def test_everything_outside_the_edits_stays(text: str, some: list[Edit]):
    after = apply(text, some)
    assert after.endswith(text[20:])
    assert after.startswith(text[: min((it.start for it in some), default=20)])


@given(st.text(min_size=20, max_size=30), edits)
def test_the_order_of_edits_does_not_matter(text: str, some: list[Edit]):
    assert apply(text, some) == apply(text, some[::-1]) == apply(text, some * 2)


@pytest.mark.parametrize(
    ("some", "after"),
    [
        ([edit(0, 1, "X"), edit(2, 3, "Z")], "XbZ"),
        ([edit(0, 2, "X"), edit(1, 3, "Z")], "Xc"),
        ([edit(0, 1, "X"), edit(1, 2, "Y")], "XYc"),
        ([edit(1, 1, "+"), edit(1, 1, "+")], "a+bc"),
        ([edit(1, 1, "+"), edit(1, 1, "-")], "a+bc"),
        ([edit(0, 1, "X"), edit(1, 1, "+")], "Xbc"),
        ([], "abc"),
    ],
)
def test_of_edits_that_touch_the_first_is_made(some: list[Edit], after: str):
    assert apply("abc", some) == after


def test_mends_that_uncover_others_are_made_in_one_call():
    def find(texts):
        text = texts.get("a", b"1")
        return (
            [finding(edit(0, 1, "2"))]
            if text == b"1"
            else [finding(edit(0, 1, "3"))] * (text == b"2")
        )

    assert mended(lambda _: b"1", find) == {"a": b"3"}


def test_a_mend_that_comes_back_to_the_start_changes_nothing():
    steps = {b"1": "2", b"2": "1"}
    asked = []

    def find(texts):
        text = texts.get("a", b"1")
        asked.append(text)
        return [finding(edit(0, 1, steps[text]))] if len(asked) < 3 else []

    assert mended(lambda _: b"1", find) == {}


def test_mends_that_never_end_are_our_mistake():
    def find(texts):
        return [finding(edit(0, 0, "x"))]

    with pytest.raises(AssertionError, match="never end in a"):
        mended(lambda _: b"", find)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: 1\nb: 2\n", "a: 1\nb: 3\n"),
        ("a: 1\r\nb: 2\r\n", "a: 1\r\nb: 3\r\n"),
        ("a: 1\rb: 2\r", "a: 1\rb: 3\r"),
        ("\ufeffa: 1\nb: 2", "\ufeffa: 1\nb: 3"),
        ("a: \u2028\nb: 2", "a: \u2028\nb: 3\n"),
    ],
)
def test_the_diff_is_one_that_git_applies(tmp_path: Path, before: str, after: str):
    (tmp_path / "jobs").mkdir()
    file = tmp_path / "jobs" / "job.yml"
    file.write_bytes(before.encode())
    text = diff(lambda _: before.encode(), {"jobs/job.yml": after.encode()})
    assert text.startswith("--- a/jobs/job.yml\n+++ b/jobs/job.yml\n@@ ")
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=text.encode(), check=True)
    assert file.read_bytes() == after.encode()
