"""Characters that a reviewer cannot see but a program obeys."""

import re
from itertools import islice

from traingate.documents.kinds import HIDDEN_CHARACTER
from traingate.findings import Finding, Location

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"
_LINE_ENDS = "\u0085\u2028\u2029"
# Everything YAML 1.1 does not allow in a stream (section 5.1), NUL among it.
_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff"

_HIDDEN = re.compile(f"[{_BIDI}{_INVISIBLE}{_LINE_ENDS}{_CONTROLS}]")
_REORDERS = re.compile(f"[{_BIDI}{_CONTROLS}]")
_SPACES = re.compile("(?:^|(?<=[\r\n]))[ \t]*([\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000])")
_LINE_BREAK = re.compile("\r\n|\r|\n")

#: More of them than this say nothing new.
_MOST_TOLD = 20


def in_source(text: str, file: str) -> tuple[Finding, ...]:
    """Every hidden character of a file, and every line indented with another kind of space.

    A byte order mark at the very beginning is no hidden character.
    """
    hidden = [(m.start(), m[0]) for m in _HIDDEN.finditer(text) if m.start() or m[0] != "\ufeff"]
    # The other kinds of space are none of ASCII's, and the search for them is slow.
    spaces = () if text.isascii() else _SPACES.finditer(text)
    indents = [(match.start(1), match[1]) for match in spaces]
    told = []
    for index, character in sorted(hidden + indents)[:_MOST_TOLD]:
        fix = "Indent with plain spaces." if (index, character) in indents else "Delete it."
        told.append(found(location(text, index, file), character, fix))
    return tuple(told)


def in_prose(text: str, start: int, file: str) -> tuple[Finding, ...]:
    """What reorders or overwrites the prose from `start` on; blanks that do not show are fine."""
    matches = islice(_REORDERS.finditer(text, start), _MOST_TOLD)
    return tuple(found(location(text, it.start(), file), it[0], "Delete it.") for it in matches)


def in_value(text: str) -> str | None:
    """The first hidden character that an escape put into a value, None when there is none."""
    match = _HIDDEN.search(text)
    return match[0] if match else None


def found(at: Location, character: str, fix: str) -> Finding:
    return HIDDEN_CHARACTER.found(at, f"{_named(character)} stands here.", fix=fix)


def location(text: str, index: int, file: str) -> Location:
    """The line and column of `text[index]`; a byte order mark takes no column."""
    breaks = list(_LINE_BREAK.finditer(text, 0, index))
    start = breaks[-1].end() if breaks else int(text.startswith("\ufeff"))
    return Location(file=file, line=len(breaks) + 1, column=max(1, index - start + 1))


def shown(text: str) -> str:
    """`text` short and on one line, for a message."""
    clean = "".join(c if c.isprintable() else "·" for c in text[:61])
    return clean if len(text) <= 60 else f"{clean[:59]}…"  # noqa: PLR2004 (a line's worth)


def _named(character: str) -> str:
    code = f"U+{ord(character):04X}"
    if re.match(f"[{_BIDI}]", character):
        return f"{code}, which reorders what a reader sees,"
    if re.match(f"[{_LINE_ENDS}]", character):
        return f"{code}, which ends a line for YAML but not for an editor,"
    if re.match(f"[{_CONTROLS}]", character):
        return f"The control character {code}"
    if character in _INVISIBLE:
        return f"{code}, which cannot be seen,"
    return f"{code}, a space that YAML does not take for indentation,"
