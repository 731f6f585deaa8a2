"""Untrusted text: nothing of it may be a link, a mention, markup, a marker or a command."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from traingate.github import text
from traingate.github.markers import Marker, marker_of

HOSTILE = st.text(
    st.one_of(
        st.sampled_from(list("`|<>!-@#&\\*_[]()~$:/\n\r\x1b\u202e\u200b\u2066 gh1a")),
        st.characters(exclude_categories=("Cs",)),
    ),
    max_size=80,
)
TABLES = MarkdownIt("gfm-like", {"linkify": False})
LINKED = re.compile(r"@[\w/]|#\d|(?i:gh-\d)|://|(?i:www\.)")


@given(HOSTILE)
def test_plain_text_renders_as_one_paragraph_of_text(untrusted: str) -> None:
    html = TABLES.render(f"said: {text.plain(untrusted)}")
    assert html.count("<") == 2
    rendered = html.replace("&lt;", "(").replace("&amp;", "&")
    assert not LINKED.search(rendered.removeprefix("<p>said:").removesuffix("</p>\n"))


@given(HOSTILE)
def test_prose_is_one_paragraph_of_text_and_code(untrusted: str) -> None:
    html = TABLES.render(f"said: {text.prose(untrusted)}")
    bare = html.replace("<code>", "").replace("</code>", "")
    assert html.count("<code>") == html.count("</code>")
    assert bare.startswith("<p>said:")
    assert bare.count("<") == 2
    outside = re.sub("<code>.*?</code>", "", html, flags=re.DOTALL).replace("&lt;", "(")
    assert not LINKED.search(outside.removeprefix("<p>said:").removesuffix("</p>\n"))


def test_prose_keeps_code_and_blanks() -> None:
    assert text.prose("Write `a|b` or *this* .") == "Write `a|b` or \\*this\\* ."
    assert text.prose("`x` and `y`") == "`x` and `y`"


@given(HOSTILE)
def test_a_line_of_plain_text_stays_a_paragraph_at_the_start_of_a_line(untrusted: str) -> None:
    html = TABLES.render(text.plain(untrusted))
    assert html == "" or (html.startswith("<p>") and html.count("<") == 2)


@given(HOSTILE)
def test_a_code_span_is_one_code_span(untrusted: str) -> None:
    html = MarkdownIt().render(f"a {text.code(untrusted)} b")
    assert html.startswith("<p>a <code>")
    assert html.endswith("</code> b</p>\n")
    assert html.count("<") == 4


@given(HOSTILE)
def test_a_cell_stays_one_cell(untrusted: str) -> None:
    html = TABLES.render(f"|a|b|\n|-|-|\n|{text.cell(untrusted)}|end|\n")
    assert html.count("<td>") == 2
    assert "<td>end</td>" in html
    assert "\\\\|" not in text.cell(untrusted)


@given(HOSTILE)
def test_a_block_is_one_block(untrusted: str) -> None:
    tokens = MarkdownIt().parse(f"before\n\n{text.block(untrusted)}\n\nafter\n")
    assert [token.type for token in tokens if token.nesting >= 0] == [
        "paragraph_open",
        "inline",
        "fence",
        "paragraph_open",
        "inline",
    ]


@given(HOSTILE)
def test_nothing_untrusted_can_be_a_marker(untrusted: str) -> None:
    real = str(Marker(kind="run", key="x"))
    for made in (text.plain, text.code, text.cell, text.block):
        body = made(untrusted + real)
        assert "<!--" not in body
        assert marker_of(body) is None


@given(HOSTILE)
def test_nothing_hidden_is_left(untrusted: str) -> None:
    shown = text.visible(untrusted)
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", shown
    )


@given(HOSTILE)
def test_no_line_of_a_log_is_a_command(untrusted: str) -> None:
    for line in text.console(untrusted).split("\n"):
        assert not line.strip().startswith("::")
        assert "##[" not in line


@pytest.mark.parametrize(
    ("untrusted", "expected"),
    [
        ("ping @octocat", "ping @\u200boctocat"),
        ("fixes acme/x#12", "fixes acme/x#\u200b12"),
        ("GH-12", "GH-\u200b12"),
        ("https://github.com/a/b/issues/1", "https:\u200b//github.com/a/b/issues/1"),
        ("<img src=x>", "&lt;img src=x&gt;"),
        ("a|b", "a\\|b"),
        ("a\nb", "a b"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\u202eevil", "&lt;U+202E&gt;evil"),
        ("# title", "\\# title"),
        ("1. item", "1\\. item"),
        ("x" * 301, "x" * 299 + "\u2026"),
    ],
)
def test_plain(untrusted: str, expected: str) -> None:
    assert text.plain(untrusted) == expected


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_" + "a1" * 18,
        "ghs_" + "a1" * 18,
        "github_pat_" + "a1" * 20,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
        "AKIA" + "A" * 16,
        "hf_" + "a" * 20,
        "dapi" + "0" * 32,
        "AccountKey=" + "a1B2" * 10 + "==",
        "https://x.blob.core.windows.net/c?sv=1&sig=" + "abc%2F" * 5,
        "Authorization: Bearer abcdefghij",
        "password=hunter22",
        "postgresql://user:hunter22@db/x",
        "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
    ],
)
def test_known_token_shapes_are_removed(secret: str) -> None:
    cleaned = text.scrub(f"before {secret} after")
    assert "[removed]" in cleaned
    for leak in ("a1a1a1", "hunter22", "MIIE", "c2lnbmF0", "abcdefghij", "A" * 16, "0" * 32):
        assert leak not in cleaned


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "https://ml.azure.com/runs/x?tid=1&wsid=a/b",
            "[page](https://ml.azure.com/runs/x?tid=1&wsid=a/b)",
        ),
        ("http://x.example", "`http://x.example`"),
        ("javascript:alert(1)", "`javascript:alert(1)`"),
        ("https://x.example/)[y](https://z", "`https://x.example/)[y](https://z`"),
    ],
)
def test_only_plain_addresses_become_links(url: str, expected: str) -> None:
    assert text.link(url, "page") == expected


def test_ordinary_text_is_not_scrubbed() -> None:
    line = "step 10 loss 0.31 at sqlite:///x.db, models:/seg/3, digest sha256:" + "ab" * 32
    assert text.scrub(line) == line


def test_units_count_emoji_as_two() -> None:
    assert text.units("a\U0001f600") == 3
