"""The quick reading of plain prose is markdown's own reading of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traingate.documents.prose import parsed_headings, plain_headings, sections

PIECES = [
    *("# ", "## ", "###### ", "####### ", "#", "#\t", "- ", "* ", "+ ", "1. ", "12) "),
    *("  ", "    ", "\t", "Text", "é", "132 GiB", "12.", "-", "---", "===", "> ", "```", "~~~"),
    *("<!-- ", " -->", "<div>", "[a]: b", "[a]", "`x`", "**b**", "\\#", " #", "_", "|", "\f"),
    *("1234567890. ", "\u00a0"),
]
lines = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
bodies = st.tuples(
    st.lists(lines | st.text(max_size=6), max_size=12), st.sampled_from(["\n", "\r\n", "\r"])
).map(lambda it: it[1].join(it[0]))
PLAIN = ["# ", "## ", "### ", "- ", "1. ", "2. ", "  ", "    ", "\t", "Text", "a # b", "é"]
plain_bodies = st.lists(st.lists(st.sampled_from(PLAIN), max_size=3).map("".join), max_size=12)


@given(bodies | plain_bodies.map("\n".join))
def test_plain_prose_is_read_as_markdown_reads_it(body: str):
    quick = plain_headings(body)
    if quick is not None:
        assert quick == parsed_headings(body)


@pytest.mark.parametrize(
    "line",
    [
        "> quoted",
        "```",
        "~~~",
        "<!-- # -->",
        "---",
        "===",
        "[a]: b",
        "12.",
        "-",
        "# a #",
        "#######",
    ],
)
def test_other_blocks_are_left_to_the_parser(line: str):
    assert plain_headings(f"# Title\n\n{line}\n") is None


def test_the_usual_prose_is_plain():
    body = "# Title\n\nText\n\n## One\n\n- first\n  more\n1. second\n\n## Two\n"
    assert plain_headings(body) == [
        (1, "Title", 0, True),
        (2, "One", 4, True),
        (2, "Two", 10, False),
    ]
    assert [it.has_text for it in sections(body, 1)] == [True, True, False]
