"""Where in a document something stands, finer than the value that holds it."""

from traingate.documents.located import Document, Path
from traingate.findings import Location


def within(document: Document, path: Path, needle: str) -> Location:
    """The place of `needle` inside the text of the value at `path`, or the value's own place.

    A command is often a block of many lines; a finding should point at the word.
    """
    span = document.values.get(path)
    if span is None:
        return document.at(*path)
    offset = document.text.find(needle, span.start, span.end)
    return document.at(*path) if offset < 0 else at_offset(document.file, document.text, offset)


def at_offset(file: str, text: str, offset: int) -> Location:
    """The place of a character of `text`."""
    line_start = text.rfind("\n", 0, offset) + 1
    return Location(file=file, line=text.count("\n", 0, offset) + 1, column=offset - line_start + 1)
