"""Places, duplicates, merges, aliases and bounds."""

import re
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traingate.documents.compose import MAX_DEPTH
from traingate.documents.located import Document, parse
from traingate.findings import Finding, Location


def document(text: str) -> Document:
    parsed, findings = parse(text, "job.yml")
    assert parsed is not None, findings
    return parsed


def refusal(text: str) -> Finding:
    parsed, findings = parse(text, "job.yml")
    assert parsed is None
    return findings[0]


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_offsets_and_columns_hold_for_every_line_end(bom: str, end: str):
    lines = ["command: '😀 é'  # ü", "inputs:", "  lr: &lr 010", "  b: plain"]
    text = bom + end.join(lines) + end
    parsed = document(text)
    assert parsed.at("inputs", "lr") == Location(file="job.yml", line=3, column=11)
    assert parsed.key("command") == Location(file="job.yml", line=1, column=1)
    for path, written in {
        ("command",): "'😀 é'",
        ("inputs", "lr"): "010",
        ("inputs", "b"): "plain",
    }.items():
        span = parsed.values[path]
        assert text[span.start : span.end] == written


@given(st.lists(st.text(st.characters(categories=["L", "N", "So"]), min_size=1), min_size=1))
def test_a_span_is_the_text_of_its_value(words: list[str]):
    text = "".join(f"k{n}: '{word}'\r\n" for n, word in enumerate(words))
    parsed = document(text)
    for n, word in enumerate(words):
        span = parsed.values[f"k{n}",]
        assert text[span.start : span.end] == f"'{word}'"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\nb: 2\n'a': 3\n", 3, 1),
        ("a:\n  b: 1\n  b: 2\n", 3, 3),
        ("a: [{b: 1, b: 2}]\n", 1, 12),
        ("a: &x {c: 1}\nb:\n  <<: *x\n  <<: *x\n", 4, 3),
    ],
)
def test_a_duplicate_key_is_told_at_the_second(text: str, line: int, column: int):
    finding = refusal(text)
    assert finding.rule == "TG004"
    assert (finding.location.line, finding.location.column) == (line, column)


def test_every_duplicate_is_told():
    _, findings = parse("a: 1\na: 2\nb: {c: 1, c: 2}\n", "job.yml")
    assert [finding.location.line for finding in findings] == [2, 3]


def test_a_merge_gives_way_to_the_mappings_own_keys():
    text = dedent("""\
        first: &first {a: 1, b: 2}
        second: &second {b: 3, c: 4}
        job:
          b: 5
          <<: [*first, *second]
    """)
    parsed = document(text)
    assert parsed.value["job"] == {"b": 5, "a": 1, "c": 4}
    assert parsed.key("job", "b").line == 4
    assert parsed.key("job", "c").line == 2


def test_what_an_alias_repeats_cannot_be_edited():
    parsed = document("a: &x 010\nb: *x\nc: 010\n")
    assert parsed.replace(("a",), "8") == parsed.replace(("b",), "8") == ()
    assert parsed.replace(("c",), "8")


def test_a_quoted_merge_key_is_a_key():
    assert document('"<<": 1\n').value == {"<<": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &a [*a]\n", "contains itself"),
        ("a: *b\n", "not defined"),
        ("a: 1\n---\nb: 2\n", "second YAML document"),
        ("a: !!python/name:os.system x\n", "tag"),
        ("a: !!set {b, c}\n", "tag"),
        ("a: !!str [b]\n", "tag"),
        ("a: !!int word\n", "not of type"),
        ("a: !mine 1\n", "tag"),
        ("<<: 1\n", "merges mappings"),
        ("? [a]\n: 1\n", "key must be"),
        ("- a\n", "not a mapping"),
        ("text\n", "not a mapping"),
        ("", "no keys"),
        ("# only a comment\n", "no keys"),
        ("a: b: c\n", "not YAML"),
        ("\ta: 1\n", "not YAML"),
        ("a: 'open\n", "not YAML"),
        ('a: "\\ud800"\n', "not YAML"),
    ],
)
def test_refusals(text: str, words: str):
    finding = refusal(text)
    assert words in finding.message
    assert finding.rule == "TG001"
    assert finding.fix


def test_core_tags_are_accepted():
    text = (
        "a: !!str 5\nb: !!int '5'\nc: !!float 1\nd: !!map {}\ne: !!seq []\nf: !!null ''\ng: ! 5\n"
    )
    expected = {"a": "5", "b": 5, "c": 1.0, "d": {}, "e": [], "f": None, "g": "5"}
    assert document(text).value == expected


@pytest.mark.parametrize("key", ["NO", "1", "0.5", "null", "2026-11-30"])
def test_a_key_must_be_text(key: str):
    parsed, (finding,) = parse(f"tags:\n  {key}: x\n", "job.yml")
    assert parsed is not None
    assert parsed.value == {"tags": {key: "x"}}
    assert finding.rule == "TG005"
    assert finding.edits[0].replacement == f'"{key}"'


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 100_000,
        "a: " + "{x: " * 100_000,
        "a: &a [x]\n"
        + "".join(f"b{n}: &b{n} [*{'a' if not n else f'b{n - 1}'}]\n" for n in range(60)),
    ],
    ids=["flow sequences", "flow mappings", "aliases"],
)
def test_depth_is_bounded(text: str):
    # libyaml looks ahead on a line and may reach its own bound before it hands out an event.
    assert re.search(f"more than {MAX_DEPTH} levels|maximum nesting depth", refusal(text).message)


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 {}\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)),
        "a0: &a0 {k: v}\n"
        + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 20)),
        "a: [" + "x," * 30_000 + "]\n",
    ],
    ids=["aliases", "merges", "plain"],
)
def test_size_is_bounded_before_anything_is_expanded(text: str):
    assert "20,000" in refusal(text).message


@pytest.mark.parametrize(
    "character", ["\u202e", "\u2066", "\u200f", "\u200b", "\x85", "\u2028", "\x07"]
)
def test_hidden_characters_are_refused(character: str):
    finding = refusal(f"a: 1\nb: x{character}y\n")
    assert finding.rule == "TG006"
    assert str(finding.location) == "job.yml:2:5"


@pytest.mark.parametrize("escape", ["\\u202e", "\\0", "\\e", "\\L", "\\N"])
def test_an_escape_hides_nothing(escape: str):
    finding = refusal(f'a: "x{escape}"\n')
    assert finding.rule == "TG006"
    assert finding.location.line == 1


def test_another_space_is_no_indentation():
    assert str(refusal("a:\n\u00a0\u00a0b: 1\n").location) == "job.yml:2:1"


def test_a_space_inside_a_value_is_fine():
    assert document("a: 10\u00a0GB\n").value == {"a": "10\u00a0GB"}
