"""YAML read into plain values that remember where each of them stands.

Every key and value keeps its line and column; a file that cannot be understood is a `Finding`,
never an exception.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from traingate.documents import characters
from traingate.documents.compose import Collection, Node, Scalar, Span, Unreadable, compose
from traingate.documents.kinds import DUPLICATE_KEY, UNREADABLE, YAML_SURPRISE
from traingate.documents.scalars import Spelling, resolve, resolve_tagged
from traingate.findings import Edit, Finding, Location

__all__ = ["Document", "Path", "Span", "parse"]

Path = tuple[str | int, ...]

_MERGE = "<<"


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A parsed file: its plain value and the place of every value (and key) in it, by path.

    `text` is the decoded file, its byte order mark and line ends untouched: what `Span` and
    `Edit` offsets count in. `value` is made of dict, list, str, int, float, bool, None and
    date. `keys` and `values` map a path such as `("distribution", "type")` to where the key,
    and the value, stand. `spellings` tells how values that are not plainly text were written;
    `shared` are the values that an alias repeats, which no edit may touch.
    """

    file: str
    text: str
    value: Any
    values: Mapping[Path, Span]
    keys: Mapping[Path, Span]
    spellings: Mapping[Path, Spelling] = field(default_factory=dict)
    shared: frozenset[Path] = frozenset()

    def at(self, *path: str | int) -> Location:
        """The place of the value at `path`, or of its nearest ancestor that is written."""
        return self._nearest(self.values, path)

    def key(self, *path: str | int) -> Location:
        """The place of the key at `path`, or of its nearest ancestor that is written."""
        return self._nearest(self.keys, path)

    def replace(self, path: Path, replacement: str) -> tuple[Edit, ...]:
        """The edit that writes `replacement` for the scalar at `path`; none when it is shared."""
        span = self.values.get(path)
        if span is None or path in self.shared:
            return ()
        return (Edit(file=self.file, start=span.start, end=span.end, replacement=replacement),)

    def value_at(self, path: Path) -> Any:
        """The value at a path that is one of `values`."""
        value = self.value
        for step in path:
            value = value[step]
        return value

    def bare(self) -> "Document":
        """The document as its thousand neighbours are remembered: by its file's name."""
        return Document(file=self.file, text="", value=None, values={}, keys={})

    def _nearest(self, spans: Mapping[Path, Span], path: Path) -> Location:
        for length in range(len(path), 0, -1):
            span = spans.get(path[:length]) or self.values.get(path[:length])
            if span is not None:
                return Location(file=self.file, line=span.line, column=span.column)
        return Location(file=self.file)


def parse(text: str, file: str) -> tuple[Document | None, tuple[Finding, ...]]:
    """Read `text` as a `Document`, or say where it cannot be.

    Args:
        text: the decoded file, its byte order mark included where it has one.
        file: its path relative to the repository, for locations.

    Returns:
        The document, with findings only where the mend of each is certain (the document is then
        what the mended file says); or None and what is wrong.
    """
    if hidden := characters.in_source(text, file):
        return None, hidden
    try:
        root = compose(text, file)
        if not isinstance(root, Collection) or not root.is_mapping:
            _refuse_root(root, file)
        builder = _Builder(text, file)
        value = builder.build(root, (), shared=False)
    except Unreadable as unreadable:
        return None, (unreadable.finding,)
    findings = tuple(dict.fromkeys(builder.findings))
    if not all(finding.edits for finding in findings):
        return None, findings
    return Document(
        file=file,
        text=text,
        value=value,
        values=builder.values,
        keys=builder.keys,
        spellings=builder.spellings,
        shared=frozenset(builder.shared),
    ), findings


class _Builder:
    """Values from nodes. Recursion and copies are bounded by what `compose` let through."""

    def __init__(self, text: str, file: str) -> None:
        self.values: dict[Path, Span] = {}
        self.keys: dict[Path, Span] = {}
        self.spellings: dict[Path, Spelling] = {}
        self.shared: set[Path] = set()
        self.findings: list[Finding] = []
        self._text = text
        self._file = file

    def build(self, node: Node, path: Path, *, shared: bool) -> Any:
        shared = shared or node.is_shared
        self.values[path] = node.span
        if shared:
            self.shared.add(path)
        if isinstance(node, Scalar):
            return self._scalar(node, path)
        if not node.is_mapping:
            return [
                self.build(child, (*path, index), shared=shared)
                for index, child in enumerate(node.children)
            ]
        return {
            key: self.build(value, (*path, key), shared=shared)
            for key, value in self._entries(node, path).items()
        }

    def _entries(self, node: Collection, path: Path) -> dict[str, Node]:
        """The mapping's own keys, then what it merges and does not override."""
        own: dict[str, tuple[Scalar, Node]] = {}
        merged: list[Collection] = []
        for key_node, value_node in zip(node.children[::2], node.children[1::2], strict=True):
            key = self._key(key_node)
            if key in own:
                self._report_duplicate(key, key_node.span, own[key][0].span)
                continue
            assert isinstance(key_node, Scalar)
            own[key] = (key_node, value_node)
            if key == _MERGE and key_node.plain:
                merged.extend(self._merged(value_node))
        if merged:
            del own[_MERGE]
        for key, (key_node, _) in own.items():
            # What this mapping overrides keeps its own place, so the first to write wins.
            self.keys.setdefault((*path, key), key_node.span)
        entries = {key: value for key, (_, value) in own.items()}
        for source in merged:
            for key, value in self._entries(source, path).items():
                entries.setdefault(key, value)
        return entries

    def _merged(self, node: Node) -> list[Collection]:
        sources = node.children if isinstance(node, Collection) and not node.is_mapping else [node]
        mappings = [it for it in sources if isinstance(it, Collection) and it.is_mapping]
        if len(mappings) < len(sources) or not sources:
            self.findings.append(
                UNREADABLE.found(
                    self._at(node.span),
                    "`<<` merges mappings, and this is none.",
                    fix="Name an anchor of a mapping, or a list of such.",
                )
            )
        return mappings

    def _key(self, node: Node) -> str:
        if isinstance(node, Collection):
            self._refuse(node.span, "A key must be a piece of text.", "Write `key: value`.")
        value = self._resolved(node)[0]
        if isinstance(value, str):
            return value
        edit = Edit(
            file=self._file,
            start=node.span.start,
            end=node.span.end,
            replacement=f'"{node.text}"',
        )
        certain = node.plain and node.text and not node.is_shared
        shown = f"`{node.text}` is read as {described(value)}" if node.text else "It is empty"
        self.findings.append(
            YAML_SURPRISE.found(
                self._at(node.span),
                f"A key must be text. {shown}.",
                fix=f'Write `"{node.text}"`.' if node.text else "Name the key.",
                edits=(edit,) if certain else (),
            )
        )
        return node.text

    def _scalar(self, node: Scalar, path: Path) -> Any:
        value, spelling = self._resolved(node)
        if spelling is not None:
            self.spellings[path] = spelling
        return value

    def _resolved(self, node: Scalar) -> tuple[Any, Spelling | None]:
        if node.plain:
            return resolve(node.text)
        if hidden := characters.in_value(node.text):
            self.findings.append(
                characters.found(self._at(node.span), hidden, "Remove the escape that makes it.")
            )
        if node.tag is None:
            return node.text, None
        try:
            return resolve_tagged(node.text, node.tag), None
        except ValueError as error:
            self._refuse(node.span, f"{error}.", "Remove the tag or mend the value.")

    def _report_duplicate(self, key: str, span: Span, first: Span) -> None:
        shown = characters.shown(key)
        self.findings.append(
            DUPLICATE_KEY.found(
                self._at(span),
                f"`{shown}` is already set on line {first.line}; YAML would silently take the "
                "last one.",
                fix="Keep one of the two.",
            )
        )

    def _at(self, span: Span) -> Location:
        return Location(file=self._file, line=span.line, column=span.column)

    def _refuse(self, span: Span, message: str, fix: str) -> NoReturn:
        raise Unreadable(UNREADABLE.found(self._at(span), message, fix=fix))


def described(value: object) -> str:
    """What YAML made of a value, in words: `the number 8`, `false`, `a list`."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, int | float):
        return f"the number {value}"
    names = ((str, "text"), (dict, "a mapping"), (list, "a list"))
    return next((name for kind, name in names if isinstance(value, kind)), "a date")


def _refuse_root(root: Node | None, file: str) -> NoReturn:
    is_empty = root is None or (isinstance(root, Scalar) and not root.text)
    message = "The file holds no keys." if is_empty else "The file is not a mapping."
    at = Location(file=file)
    if root is not None and not is_empty:  # An empty root stands behind the end of the file.
        at = Location(file=file, line=root.span.line, column=root.span.column)
    raise Unreadable(UNREADABLE.found(at, message, fix="Write it as `key: value` lines."))
