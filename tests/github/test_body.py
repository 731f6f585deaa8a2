"""A comment never exceeds GitHub's limit and is cut only between whole items."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from traingate.github.body import LIMIT, Section, compose
from traingate.github.text import units

POINTER = "The whole text is in the job summary."


def folded(count: int, item: str) -> Section:
    return Section(
        head="<details><summary>Findings</summary>\n\n```text",
        items=tuple(f"{number}: {item}" for number in range(count)),
        tail="```\n\n</details>",
    )


def test_a_short_body_is_whole_and_has_no_note() -> None:
    body = compose("<!-- m -->", [Section(head="a"), Section(head="b")], pointer=POINTER)
    assert body == "<!-- m -->\na\n\nb\n"


def test_three_thousand_findings_are_cut_and_what_follows_them_stays() -> None:
    sections = [Section(head="verdict"), folded(3000, "x" * 80), Section(head="digest 123")]
    body = compose("<!-- m -->", sections, pointer=POINTER)
    assert LIMIT - 200 < units(body) <= LIMIT
    assert "digest 123" in body
    assert "lines are left out here. The whole text is in the job summary." in body
    assert body.count("```") == 2
    assert body.count("</details>") == 1


def test_65537_characters_with_emoji_are_cut_by_one_item() -> None:
    frame = units(compose("", [Section(head="h", items=("",))], pointer=""))
    item = "\U0001f600" * ((LIMIT + 1 - frame) // 2)
    whole = Section(head="h", items=(item + "x" * ((LIMIT + 1 - frame) % 2 + 1),))
    body = compose("", [whole], pointer=POINTER)
    assert units(body) <= LIMIT
    assert "1 lines are left out" in body


def test_exactly_the_limit_is_whole() -> None:
    frame = units(compose("", [Section(head="h", items=("",))], pointer=""))
    body = compose("", [Section(head="h", items=("x" * (LIMIT - frame - 1),))], pointer=POINTER)
    assert units(body) == LIMIT
    assert "left out" not in body


@given(
    st.lists(
        st.builds(folded, st.integers(0, 30), st.text("ab\U0001f600", max_size=40)), max_size=5
    ),
    st.integers(300, 2000),
)
def test_any_cut_fits_and_leaves_every_fence_closed(sections: list[Section], limit: int) -> None:
    body = compose("<!-- m -->", sections, pointer=POINTER, limit=limit)
    assert units(body) <= limit
    assert body.count("<details>") == body.count("</details>")
    fences = [token for token in MarkdownIt().parse(body) if token.type == "fence"]
    assert len(fences) == body.count("<details>")
