"""Front matter's odd cases: each right, or a clear located finding."""

import pytest

from traingate.documents.front_matter import split
from traingate.findings import Finding

KEYS = "workload: probe\nowner: me\n"


def refusal(text: str) -> Finding:
    _, _, findings = split(text, "a.md")
    return findings[0]


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("blanks", ["", " ", "\t "])
def test_fences_in_every_spelling(bom: str, end: str, blanks: str):
    text = f"{bom}---{blanks}\n{KEYS}---{blanks}\n# Why\n\nBecause.\n".replace("\n", end)
    document, sections, findings = split(text, "a.md")
    assert findings == ()
    assert document is not None
    assert document.value == {"workload": "probe", "owner": "me"}
    assert document.text == text
    span = document.values["owner",]
    assert text[span.start : span.end] == "me"
    assert str(document.at("owner")) == "a.md:3:8"
    assert [(it.heading, it.line, it.has_text) for it in sections] == [("Why", 5, True)]


@pytest.mark.parametrize(
    "body",
    [
        "text\n\n---\n\nmore\n",
        "```yaml\n---\nworkload: other\n---\n```\n",
        "    ---\n    indented\n",
        "...\n",
        "",
    ],
    ids=["rule", "code block", "indented code", "dots", "nothing"],
)
def test_what_comes_after_the_closing_fence_is_prose(body: str):
    document, _, findings = split(f"---\n{KEYS}---\n{body}", "a.md")
    assert findings == ()
    assert document is not None
    assert document.value["workload"] == "probe"


def test_a_fence_may_end_the_file():
    document, sections, _ = split(f"---\n{KEYS}---", "a.md")
    assert document is not None
    assert sections == ()


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "1:1", "empty"),
        (" \n\t\n", "1:1", "empty"),
        ("# Why\n", "1:1", "does not begin"),
        (f"\n---\n{KEYS}---\n", "2:1", "does not begin"),
        (f" ---\n{KEYS}---\n", "1:1", "does not begin"),
        (f"----\n{KEYS}----\n", "1:1", "does not begin"),
        (f"--- # x\n{KEYS}---\n", "1:1", "does not begin"),
        (f"---\n{KEYS}", "1:1", "has no end"),
        ("---", "1:1", "has no end"),
        (f"---\n{KEYS} ---\n", "1:1", "has no end"),
        (f"---\n{KEYS}...\nbody\n", "4:1", "`...`"),
        (f"---\n{KEYS}...\nbody\n---\n", "4:1", "`...`"),
        ("---\n---\nbody\n", "2:1", "empty"),
        ("---\n\n  \n---\n", "4:1", "empty"),
        ("---\n# nothing\n---\n", "1:1", "no keys"),
        ("---\n- a\n---\n", "2:1", "not a mapping"),
        ("---\na: 1\na: 2\n---\n", "3:1", "already set"),
    ],
)
def test_refusals(text: str, place: str, words: str):
    finding = refusal(text)
    assert str(finding.location) == f"a.md:{place}"
    assert words in finding.message
    assert finding.fix


def test_a_document_end_is_mended():
    text = f"---\n{KEYS}... \nbody\n"
    (edit,) = refusal(text).edits
    assert text[edit.start : edit.end] == "..."
    assert edit.replacement == "---"


@pytest.mark.parametrize(
    ("body", "has_text"),
    [
        ("## Why\n\ntext\n", True),
        ("## Why\n\n- item\n", True),
        ("## Why\n\n```\ncode\n```\n", True),
        ("## Why\n\n### Detail\n\ntext\n", True),
        ("Why\n---\n\ntext\n", True),
        ("## Why\n", False),
        ("## Why\n\n<!-- write here -->\n", False),
        ("## Why\n\n```\n```\n", False),
        ("## Why\n\n### Detail\n", False),
        ("## Why\n\n## Next\n\ntext\n", False),
    ],
)
def test_a_section_has_text_or_not(body: str, has_text: bool):  # noqa: FBT001 (a test's parameter)
    _, sections, _ = split(f"---\n{KEYS}---\n{body}", "a.md")
    assert sections[0].heading == "Why"
    assert sections[0].has_text is has_text


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\x1b", "\x08"])
def test_prose_that_shows_otherwise_than_it_is_written_is_told(character: str):
    found = refusal(f"---\n{KEYS}---\n# Why\n\nOne node {character}will do.\n")
    assert found.rule == "TG006"
    assert str(found.location) == "a.md:7:10"


def test_prose_may_hold_what_word_processors_leave_behind():
    _, _, findings = split(
        f"---\n{KEYS}---\n# Why\n\nfive\u00a0GPUs, co\u00adop, a\u200bb\n", "a.md"
    )
    assert findings == ()
