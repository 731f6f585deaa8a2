"""A comment's body: sections in order, cut where GitHub's limit demands it.

A section is cut between its items and never inside one, so its fences, tables and folds are
always closed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from traingate.github.text import units

#: GitHub answers 422 to a longer comment ("maximum is 65536 characters").
LIMIT = 65_536


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A part of a comment: what opens it, items that may be left out, what closes it."""

    head: str
    items: tuple[str, ...] = ()
    tail: str = ""

    def text(self, count: int | None = None) -> str:
        """The section with its first `count` items (all of them for None)."""
        return "\n".join(filter(None, (self.head, *self.items[:count], self.tail)))


def compose(marker: str, sections: Sequence[Section], *, pointer: str, limit: int = LIMIT) -> str:
    """The body, at most `limit` characters, beginning with `marker`.

    Args:
        marker: the hidden line the comment is found again by.
        sections: what to say, most important first.
        pointer: where the whole text stands, said when something is left out.
        limit: characters allowed, counted as UTF-16 code units.
    """
    whole = _join(marker, [section.text() for section in sections])
    if units(whole) <= limit:
        return whole
    frames = [section.text(0) for section in sections]
    while frames and _room(marker, frames, pointer, limit) < 0:
        frames.pop()
    left_out = sum(1 + len(section.items) for section in sections[len(frames) :])
    for index, section in enumerate(sections[: len(frames)]):
        kept = _most(section, _room(marker, frames, pointer, limit) + units(frames[index]))
        frames[index] = section.text(kept)
        left_out += len(section.items) - kept
    return _join(marker, [*frames, _note(pointer, left_out)])


def _room(marker: str, texts: Sequence[str], pointer: str, limit: int) -> int:
    """Characters still free when the note about what is left out stands at the end."""
    return limit - units(_join(marker, [*texts, _note(pointer, 10**9)]))


def _most(section: Section, room: int) -> int:
    """How many items fit into `room` characters with the section's frame."""
    low, high = 0, len(section.items)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if units(section.text(middle)) <= room else (low, middle - 1)
    return low


def _join(marker: str, texts: Sequence[str]) -> str:
    return "\n".join((marker, "\n\n".join(texts))) + "\n"


def _note(pointer: str, left_out: int) -> str:
    return f"_{left_out:,} lines are left out here. {pointer}_"
