"""Markdown with YAML front matter: the mapping between the fences, and the prose's sections."""

from markdown_it import MarkdownIt

from traingate.documents.admission import Section
from traingate.documents.located import Document, parse
from traingate.findings import Finding, Location, Severity


def split(text: str, file: str) -> tuple[Document | None, tuple[Section, ...], tuple[Finding, ...]]:
    """The front matter's document (lines as in the file), the sections, and what is wrong."""
    lines = text.split("\n")
    closing = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if lines[0].rstrip() != "---" or closing is None:
        message = "An admission starts with front matter between two lines of `---`."
        return None, (), (_finding(file, message),)
    # The opening fence becomes an empty line, so that every line keeps its number.
    document, findings = parse("\n".join(["", *lines[1:closing]]), file)
    return document, _sections("\n".join(lines[closing + 1 :]), closing + 1), findings


def _sections(body: str, first_line: int) -> tuple[Section, ...]:
    tokens = MarkdownIt().parse(body)
    sections: list[Section] = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.map:
            heading = tokens[index + 1].content
            line = first_line + token.map[0] + 1
            sections.append(Section(heading=heading, line=line, has_text=False))
        elif token.type == "inline" and sections and tokens[index - 1].type != "heading_open":
            last = sections[-1]
            sections[-1] = Section(heading=last.heading, line=last.line, has_text=True)
    return tuple(sections)


def _finding(file: str, message: str) -> Finding:
    return Finding(
        rule="TG001",
        name="unreadable-file",
        severity=Severity.ERROR,
        location=Location(file=file),
        message=message,
    )
