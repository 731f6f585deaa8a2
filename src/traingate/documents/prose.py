"""The sections of an admission's prose: its headings, and whether text follows each."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from traingate.documents.admission import Section

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

#: A heading with its level, its title and its line, and whether text stands right under it.
_Heading = tuple[int, str, int, bool]

#: Tokens that say something to a reader; an HTML comment does not.
_TEXT = {"inline", "fence", "code_block"}

_LINE_BREAK = re.compile("\r\n|\r|\n")
#: A line whose part in a document no other line changes, as long as all are such lines: blank,
#: a heading, or text that begins with a letter (after one list marker, or indented by anything).
#: Code fences, HTML, quotes, underlined headings and link definitions begin otherwise.
_PLAIN = re.compile(
    r"[ \t]*"
    r"|(?P<marks>#{1,6})[ \t]+(?P<title>[^\s#][^#]*)"
    r"|(?P<text>[ ]*(?:(?:[-*+]|\d{1,9}[.)])[ ])?[^\W\d_].*)"
)


def sections(body: str, first_line: int) -> Iterator[Section]:
    """The headings in order. A section reaches to the next heading of its level or above.

    Most prose is headings and paragraphs, which need no parser of all of markdown (its import
    costs as much as all the rest of a check).
    """
    headings = plain_headings(body)
    if headings is None:
        headings = parsed_headings(body)
    for index, (level, title, line, _) in enumerate(headings):
        end = next((n for n in range(index + 1, len(headings)) if headings[n][0] <= level), None)
        has_text = any(it[3] for it in headings[index:end])
        yield Section(heading=title, line=first_line + line, level=level, has_text=has_text)


def plain_headings(body: str) -> list[_Heading] | None:
    """The headings of prose in plain lines only, None for any other."""
    headings: list[_Heading] = []
    for number, line in enumerate(_LINE_BREAK.split(body)):
        match = _PLAIN.fullmatch(line)
        if match is None:
            return None
        if match["marks"]:
            headings.append((len(match["marks"]), match["title"].strip(), number, False))
        elif match["text"] and headings:
            headings[-1] = (*headings[-1][:3], True)
    return headings


def parsed_headings(body: str) -> list[_Heading]:
    """The headings of any markdown."""
    headings: list[_Heading] = []
    tokens = _parser().parse(body)
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.map:
            title = tokens[index + 1].content.strip()
            headings.append((int(token.tag[1:]), title, token.map[0], False))
        elif headings and token.content.strip() and token.type in _TEXT:
            is_title = tokens[index - 1].type == "heading_open"
            headings[-1] = (*headings[-1][:3], headings[-1][3] or not is_title)
    return headings


@cache
def _parser() -> "MarkdownIt":
    """A parser of blocks only: headings and what stands between them."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 (slow to import)

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
