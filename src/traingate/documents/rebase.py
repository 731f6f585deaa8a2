"""Places of a mended file, moved back to where they stand in the file as it is.

A file whose every mistake has a certain mend is judged as if it were mended, so that one pass
tells all there is to tell; but its findings, and their edits, must point into the file as the
author sees it.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from traingate.documents.located import Document, Span
from traingate.findings import Edit

_LINE_BREAK = re.compile("\r\n|\r|\n")


def rebased(mended: Document, text: str, edits: Sequence[Edit]) -> Document:
    """`mended` with every span where it stands in `text`.

    Args:
        mended: the document of `text` after `edits`.
        text: the file as it is.
        edits: what was applied: in order, none overlapping another.
    """
    back = _Back(text, edits)
    return replace(
        mended,
        text=text,
        values={path: back.span(span) for path, span in mended.values.items()},
        keys={path: back.span(span) for path, span in mended.keys.items()},
    )


class _Back:
    def __init__(self, text: str, edits: Sequence[Edit]) -> None:
        self._edits = edits
        self._lines = [int(text.startswith("\ufeff"))]
        self._lines += [match.end() for match in _LINE_BREAK.finditer(text)]

    def span(self, span: Span) -> Span:
        start, end = self._offset(span.start, end=False), self._offset(span.end, end=True)
        line = max(1, bisect_right(self._lines, start))
        return Span(line=line, column=start - self._lines[line - 1] + 1, start=start, end=end)

    def _offset(self, offset: int, *, end: bool) -> int:
        moved = 0
        for edit in self._edits:
            begins = edit.start + moved
            if offset < begins or (offset == begins and end):
                break
            ends = begins + len(edit.replacement)
            if offset < ends or (offset == ends and end):
                return edit.end if end else edit.start
            moved = ends - edit.end
        return offset - moved
