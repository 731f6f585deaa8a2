"""YAML composed into plain values that remember where each of them stands.

The C loader composes nodes, so every key and value keeps its line and column; the values
themselves are then built from the nodes. A file that cannot be understood is a `Finding`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from traingate.findings import Finding, Location, Severity

Path = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Where a node stands in its file: 1-based line and column, character offsets [start, end)."""

    line: int
    column: int
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A parsed file: its plain value and the place of every value (and key) in it, by path.

    `value` is made of dict, list, str, int, float, bool, None and date. `keys` and `values`
    map a path such as `("distribution", "type")` to where the key, and the value, stand.
    """

    file: str
    text: str
    value: Any
    values: Mapping[Path, Span]
    keys: Mapping[Path, Span]

    def at(self, *path: str | int) -> Location:
        """The place of the value at `path`, or of its nearest ancestor that is written."""
        return self._nearest(self.values, path)

    def key(self, *path: str | int) -> Location:
        """The place of the key at `path`, or of its nearest ancestor that is written."""
        return self._nearest(self.keys, path)

    def _nearest(self, spans: Mapping[Path, Span], path: Path) -> Location:
        for length in range(len(path), 0, -1):
            span = spans.get(path[:length]) or self.values.get(path[:length])
            if span is not None:
                return Location(file=self.file, line=span.line, column=span.column)
        return Location(file=self.file)


class Unreadable(Exception):
    """Carries the finding out of the recursion; never leaves this package."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


def parse(text: str, file: str) -> tuple[Document | None, tuple[Finding, ...]]:
    """Compose `text` into a `Document`, or say where it cannot be.

    Args:
        text: the decoded file.
        file: its path relative to the repository, for locations.

    Returns:
        The document and no findings, or None and what is wrong.
    """
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        if not isinstance(node, yaml.MappingNode):
            _refuse(file, "The file is empty or not a mapping of keys to values.")
        values: dict[Path, Span] = {}
        keys: dict[Path, Span] = {}
        value = _build(node, (), values, keys)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return None, (_finding(file, f"This is not YAML: {error.problem}.", line, column),)
    except Unreadable as unreadable:
        return None, (unreadable.finding,)
    return Document(file=file, text=text, value=value, values=values, keys=keys), ()


def _build(node: yaml.Node, path: Path, values: dict[Path, Span], keys: dict[Path, Span]) -> Any:
    values[path] = _span(node)
    if isinstance(node, yaml.MappingNode):
        built = {}
        for key_node, value_node in node.value:
            key = _scalar(key_node)
            keys[(*path, key)] = _span(key_node)
            built[key] = _build(value_node, (*path, key), values, keys)
        return built
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, (*path, index), values, keys) for index, item in enumerate(node.value)]
    return _scalar(node)


def _scalar(node: yaml.Node) -> Any:
    constructor = yaml.constructor.SafeConstructor()
    return constructor.construct_object(node, deep=True)


def _span(node: yaml.Node) -> Span:
    start, end = node.start_mark, node.end_mark
    return Span(line=start.line + 1, column=start.column + 1, start=start.index, end=end.index)


def _finding(file: str, message: str, line: int = 1, column: int = 1) -> Finding:
    return Finding(
        rule="TG001",
        name="unreadable-file",
        severity=Severity.ERROR,
        location=Location(file=file, line=line, column=column),
        message=message,
    )


def _refuse(file: str, message: str) -> NoReturn:
    raise Unreadable(_finding(file, message))
