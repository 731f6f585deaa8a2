"""Markdown with YAML front matter: the mapping between the fences, and the prose's sections.

The front matter begins on the first line and ends at the first later line that is only `---`.
Whatever `---` comes after that, in the prose or in a code block, belongs to the prose.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from traingate.documents import characters
from traingate.documents.admission import Section
from traingate.documents.kinds import FRONT_MATTER
from traingate.documents.located import Document, parse
from traingate.documents.prose import sections
from traingate.findings import Edit, Finding

#: A fence may end in blanks, which editors and formatters leave behind.
_FENCE = re.compile(r"---[ \t]*")
_END_MARKER = re.compile(r"\.\.\.[ \t]*")
_LINE = re.compile("[^\r\n]*(?:\r\n|\r|\n|$)")

Split = tuple[Document | None, tuple[Section, ...], tuple[Finding, ...]]


def split(text: str, file: str) -> Split:
    """The front matter's document, the prose's sections, and what is wrong.

    Lines, columns and edit offsets are the file's own, its byte order mark and line ends
    included (see `Document`).
    """
    opening_end = _opening(text)
    if opening_end is None:
        return None, (), (_no_opening(text, file),)
    closing = _closing(text, opening_end)
    if closing is None:
        at = characters.location(text, 0, file)
        message = "The front matter that begins here has no end."
        return (
            None,
            (),
            (FRONT_MATTER.found(at, message, fix="Put a line `---` below its last key."),),
        )
    wrong_end = tuple(_wrong_end(text, file, closing))
    # The opening fence becomes blanks of the same length, so that every place keeps its offset.
    start = int(text.startswith("\ufeff"))
    blank = text[:start] + re.sub(r"[^\r\n]", " ", text[start:opening_end])
    front = blank + text[opening_end : closing.start()]
    if not front.strip("\ufeff \t\r\n"):
        at = characters.location(text, closing.start(), file)
        message = "The front matter is empty."
        return None, (), (FRONT_MATTER.found(at, message, fix="Write `workload:` and its like."),)
    document, findings = parse(front, file)
    findings += characters.in_prose(text, closing.end(), file)
    body_line = characters.location(text, closing.end(), file).line
    found = tuple(sections(text[closing.end() :], body_line))
    return document and replace(document, text=text), found, wrong_end + findings


def _opening(text: str) -> int | None:
    """Where the line after the opening fence begins, None without one."""
    first = _LINE.match(text, int(text.startswith("\ufeff")))
    assert first is not None
    return first.end() if _FENCE.fullmatch(first[0].rstrip("\r\n")) else None


def _closing(text: str, start: int) -> re.Match[str] | None:
    """The first line from `start` on that could end the front matter: `---` or `...`."""
    for line in _LINE.finditer(text, start):
        bare = line[0].rstrip("\r\n")
        if _FENCE.fullmatch(bare) or _END_MARKER.fullmatch(bare):
            return line
    return None


def _no_opening(text: str, file: str) -> Finding:
    fix = "Begin the file with a line `---`, the keys, and another line `---`."
    for line in _LINE.finditer(text):
        if bare := line[0].lstrip("\ufeff").strip():
            at = characters.location(text, line.start(), file)
            if _FENCE.fullmatch(bare):
                fix = "Move `---` to the very beginning of the first line."
            return FRONT_MATTER.found(at, "The front matter does not begin here.", fix=fix)
        if line.end() == len(text):
            break
    at = characters.location(text, 0, file)
    return FRONT_MATTER.found(at, "The file is empty.", fix=fix)


def _wrong_end(text: str, file: str, closing: re.Match[str]) -> Iterator[Finding]:
    if not closing[0].startswith("..."):
        return
    start = closing.start()
    yield FRONT_MATTER.found(
        characters.location(text, start, file),
        "The front matter ends with `...`, which GitHub does not know.",
        fix="Write `---` instead.",
        edits=(Edit(file=file, start=start, end=start + 3, replacement="---"),),
    )
