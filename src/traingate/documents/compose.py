"""YAML events composed into nodes, with every bound checked before anything is expanded.

libyaml's parser hands out events one by one without recursion, so a file that is too deep, or
would grow too large once its aliases are followed, is refused at the event that goes too far.
An alias becomes the very node it names: the tree stays as small as the file.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import yaml

from traingate.documents.characters import location
from traingate.documents.kinds import UNREADABLE
from traingate.findings import Finding, Location

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_NODES = 20_000
MAX_DEPTH = 50

#: Marks count characters, not bytes (libyaml's `mark.index`), but leave out the byte order mark.
BOM = "\ufeff"

_PREFIX = "tag:yaml.org,2002:"
_TAGS = {
    yaml.ScalarEvent: frozenset(_PREFIX + it for it in ("str", "int", "float", "bool", "null")),
    yaml.MappingStartEvent: frozenset({_PREFIX + "map"}),
    yaml.SequenceStartEvent: frozenset({_PREFIX + "seq"}),
}


class Span(NamedTuple):
    """Where a node stands in its file: 1-based line and column, character offsets [start, end).

    Offsets count the characters of the decoded file, its byte order mark and both characters
    of a CRLF included; columns do not count the byte order mark. A tuple, because a file has
    one for each of its values, and a frozen dataclass takes four times as long to make.
    """

    line: int
    column: int
    start: int
    end: int


@dataclass(slots=True)
class Scalar:
    """A scalar as written. `plain` when it has neither quotes nor block style nor a tag.

    `is_shared` when an alias names it: an edit would then change more than one value.
    """

    span: Span
    text: str
    plain: bool
    tag: str | None
    size: int = 1
    height: int = 0
    is_shared: bool = False


@dataclass(slots=True)
class Collection:
    """A mapping (children are keys and values in turn) or a sequence.

    `size` is the number of nodes in it after expansion, `height` the levels below it; both are
    known once its end was read, until then it is open.
    """

    span: Span
    is_mapping: bool
    children: "list[Node]" = field(default_factory=list)
    size: int = 1
    height: int = 1
    is_shared: bool = False
    is_open: bool = True


Node = Scalar | Collection


class Unreadable(Exception):
    """Carries a finding out of the reader; never leaves this package."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


def compose(text: str, file: str) -> Node | None:
    """The root node of `text`, None when it holds no document.

    Raises:
        Unreadable: with the finding, at the event that cannot be accepted.
    """
    composer = _Composer(text, file)
    loader = yaml.CSafeLoader(text)
    try:
        while (event := loader.get_event()) is not None:
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        composer.refuse_syntax(error)
    finally:
        loader.dispose()
    return composer.root


class _Composer:
    def __init__(self, text: str, file: str) -> None:
        self.root: Node | None = None
        self._text = text
        self._file = file
        self._shift = 1 if text.startswith(BOM) else 0
        self._nodes = 0
        self._documents = 0
        self._open: list[Collection] = []
        self._anchors: dict[str, Node] = {}
        self._handlers: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._take_scalar,
            yaml.MappingStartEvent: self._begin,
            yaml.SequenceStartEvent: self._begin,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._take_alias,
            yaml.DocumentStartEvent: self._begin_document,
        }

    def take(self, event: Any) -> None:
        handle = self._handlers.get(type(event))
        if handle is not None:
            handle(event)

    def _begin_document(self, event: yaml.DocumentStartEvent) -> None:
        self._documents += 1
        if self._documents > 1:
            self._refuse(
                event,
                "A second YAML document begins here, and nobody would read it.",
                "Keep one document: delete this `---` and what follows it.",
            )

    def refuse_syntax(self, error: yaml.MarkedYAMLError) -> NoReturn:
        mark = error.problem_mark or error.context_mark
        # At the end of the file libyaml counts a line break that is not there.
        index = min(mark.index + self._shift, len(self._text)) if mark else 0
        problem = (error.problem or "syntax error").strip()
        message = f"This is not YAML: {problem}."
        at = location(self._text, index, self._file)
        raise Unreadable(UNREADABLE.found(at, message, fix=_hint(problem))) from error

    def _take_scalar(self, event: yaml.ScalarEvent) -> None:
        if event.tag is not None:
            self._check_tag(event)
        self._add(self._scalar(event), event)

    def _take_alias(self, event: yaml.AliasEvent) -> None:
        self._add(self._aliased(event), event)

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        # The span of an event includes its anchor and tag; an edit must not touch those.
        span = self._span(event)
        plain = not event.style and event.tag is None
        if event.anchor is not None and plain:
            start = span.end - len(event.value)
            span = Span(
                line=span.line, column=span.column + start - span.start, start=start, end=span.end
            )
        return Scalar(span=span, text=event.value, plain=plain, tag=event.tag)

    def _begin(self, event: yaml.CollectionStartEvent) -> None:
        self._check_tag(event)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        collection = Collection(span=self._span(event), is_mapping=is_mapping)
        self._add(collection, event)
        self._open.append(collection)

    def _end(self, _: yaml.CollectionEndEvent) -> None:
        collection = self._open.pop()
        collection.is_open = False
        collection.size += sum(child.size for child in collection.children)
        collection.height += max((child.height for child in collection.children), default=0)

    def _add(self, node: Node, event: yaml.NodeEvent) -> None:
        self._nodes += node.size
        if self._nodes > MAX_NODES:
            self._refuse(
                event,
                f"With its aliases expanded the file has more than {MAX_NODES:,} values.",
                "Write a request without such anchors: it never needs more than a few hundred.",
            )
        if len(self._open) + node.height > MAX_DEPTH:
            self._refuse(
                event,
                f"This is nested more than {MAX_DEPTH} levels deep.",
                "Flatten it: a request never needs more than ten.",
            )
        if self._open:
            self._open[-1].children.append(node)
        elif self.root is None:
            self.root = node
        if event.anchor is not None and not isinstance(event, yaml.AliasEvent):
            self._anchors[event.anchor] = node

    def _aliased(self, event: yaml.AliasEvent) -> Node:
        node = self._anchors.get(event.anchor or "")
        if node is None:
            self._refuse(
                event,
                f"`*{event.anchor}` names an anchor that is not defined above.",
                f"Define it with `&{event.anchor}` first, or quote the text.",
            )
        if isinstance(node, Collection) and node.is_open:
            self._refuse(
                event, f"`*{event.anchor}` contains itself.", "Write the values out instead."
            )
        node.is_shared = True
        return node

    def _check_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        tag = event.tag
        if tag is None or tag == "!" or tag in _TAGS[type(event)]:
            return
        shown = tag.replace(_PREFIX, "!!")
        self._refuse(
            event,
            f"The tag `{shown}` asks the reader to build something other than plain values.",
            "Remove the tag.",
        )

    def _span(self, event: yaml.Event) -> Span:
        start, end = event.start_mark, event.end_mark
        assert start is not None
        assert end is not None
        shift = self._shift
        return Span(start.line + 1, start.column + 1, start.index + shift, end.index + shift)

    def _refuse(self, event: yaml.Event, message: str, fix: str) -> NoReturn:
        raise Unreadable(
            UNREADABLE.found(_location(self._file, event.start_mark), message, fix=fix)
        )


def _location(file: str, mark: Any) -> Location:
    """Where a mark stands; the parser's own and the pure Python one have no type in common."""
    if mark is None:
        return Location(file=file)
    return Location(file=file, line=mark.line + 1, column=mark.column + 1)


_HINTS = {
    "mapping values are not allowed": "Quote the value if it contains `: `; else mend the "
    "indentation.",
    "found character that cannot start any token": "Indent with spaces, never tabs; quote a value "
    "that begins with `@`, `%` or a backtick.",
    "could not find expected ':'": "Write `key: value`, with the colon and a space.",
    "did not find expected key": "Line this key up with its neighbours, or close the quotes above.",
    "did not find expected ',' or": "Close the bracket or brace, or add the missing comma.",
    "found unexpected end of stream": "Close the quotes that are open here.",
    "exceeded maximum nesting depth": "Flatten it: a request never needs more than ten levels.",
    "found undefined tag handle": "Quote the value if it begins with `!`.",
}


def _hint(problem: str) -> str:
    for start, hint in _HINTS.items():
        if problem.startswith(start):
            return hint
    return "Mend the syntax at this place."
