"""Which modules a Terraform configuration calls, read without Terraform.

The gate must know whether the root configuration calls the platform's module. It reads as much of
HCL as that takes: comments, strings, templates and heredocs are stepped over, so that a call inside
one is no call and a call beside one is not missed. Text that Terraform itself would refuse is read
as far as it makes sense; it is never an error here, because Terraform says it better.

Source: the HCL native syntax specification, hashicorp/hcl, hclsyntax/spec.md, and Terraform's
"JSON Configuration Syntax" for files that end in .tf.json.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A block at the top of a file: `kind "label" "label" {`; line and column count from 1."""

    kind: str
    labels: tuple[str, ...]
    line: int
    column: int
    source: str | None
    """The literal value of the block's own `source` argument, if it has one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModuleCall:
    """A `module` block of a configuration; line and column count from 1."""

    name: str
    source: str | None
    """None where the source is missing or is no literal."""
    line: int
    column: int


def module_calls(text: str) -> list[ModuleCall]:
    """The modules that a file in Terraform's native syntax (*.tf) calls, in order."""
    return [
        ModuleCall(name=block.labels[0], source=block.source, line=block.line, column=block.column)
        for block in blocks(text)
        if block.kind == "module" and len(block.labels) == 1
    ]


def module_calls_json(text: str) -> list[ModuleCall]:
    """The modules that a file in Terraform's JSON syntax (*.tf.json) calls, in order.

    Terraform merges repeated keys and accepts an array wherever an object may stand, so both are
    followed. Text that is no JSON calls nothing.
    """
    try:
        document = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return []
    calls: list[ModuleCall] = []
    for name, body in _members(_values(_members(document), "module")):
        sources = list(_values(_members([body]), "source"))
        source = sources[0] if sources and isinstance(sources[0], str) else None
        line, column = _key_position(text, name)
        calls.append(ModuleCall(name=name, source=source, line=line, column=column))
    return calls


def blocks(text: str) -> Iterator[Block]:
    """The top-level blocks of a file in native syntax, in the order in which they end."""
    depth = 0
    header: list[_Token] = []
    opened: list[_Token] = []
    source: str | None = None
    for token in _tokens(text):
        if token.kind == "open":
            if depth == 0:
                opened, source = _block_header(header) if token.text == "{" else [], None
            depth += 1
            header = []
        elif token.kind == "close":
            source = _source(header, source) if depth == 1 else source
            depth = max(depth - 1, 0)
            if depth == 0 and opened:
                yield _block(opened, source)
                opened = []
            header = []
        elif token.kind == "newline":
            source = _source(header, source) if depth == 1 else source
            header = []
        else:
            header.append(token)
    if opened:
        # The closing brace is missing. Terraform refuses such a file; a call is counted all the
        # same, because leaving out a brace must not be a way around the gate.
        yield _block(opened, source)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Token:
    kind: str
    """word, string, open, close, newline or other."""
    text: str | None
    """A string's literal value, None where it holds a template; else the token as written."""
    line: int
    column: int


def _block_header(header: list[_Token]) -> list[_Token]:
    """The header if it introduces a block, and nothing if the brace belongs to an expression."""
    if not header or header[0].kind != "word":
        return []
    return header if all(token.kind in {"word", "string"} for token in header) else []


def _source(header: list[_Token], known: str | None) -> str | None:
    """The literal of `source = "..."` if the line is that, else what is known so far."""
    match [(token.kind, token.text) for token in header]:
        case [("word", "source"), ("other", "="), ("string", str(value))]:
            return value
        case _:
            return known


def _block(header: list[_Token], source: str | None) -> Block:
    return Block(
        kind=header[0].text or "",
        labels=tuple(token.text or "" for token in header[1:]),
        line=header[0].line,
        column=header[0].column,
        source=source,
    )


_SKIP = re.compile(r"(?:[ \t\r\ufeff]+|\#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z))+", re.DOTALL)
_WORD = re.compile(r"[^\W\d][\w-]*")
_HEREDOC = re.compile(r"<<-?([^\W\d][\w-]*)\r?\n")
_QUOTED_PLAIN = re.compile(r'(?:[^"\\$%]|\\.|\$\$\{|%%\{|[$%](?!\{))*', re.DOTALL)
_HEREDOC_PLAIN = re.compile(r"(?:[^\n$%]|\$\$\{|%%\{|[$%](?!\{))*")
_PUNCTUATION = {"\n": "newline"} | dict.fromkeys("{[(", "open") | dict.fromkeys("}])", "close")


def _tokens(text: str) -> Iterator[_Token]:
    """The tokens outside strings and templates."""
    position, line, line_start = 0, 1, 0
    while position < len(text):
        end = _end(_SKIP, text, position)
        if end == position:
            kind, value, end = _token_at(text, position)
            column = position - line_start + 1
            yield _Token(kind=kind, text=value, line=line, column=column)
        newlines = text.count("\n", position, end)
        if newlines:
            line += newlines
            line_start = text.rindex("\n", position, end) + 1
        position = end


def _token_at(text: str, position: int) -> tuple[str, str | None, int]:
    """Kind, value and end of the token that starts at the position."""
    character = text[position]
    if character in _PUNCTUATION:
        return _PUNCTUATION[character], character, position + 1
    if character == '"':
        end = _string_end(text, position + 1, '"')
        return "string", _literal(text[position + 1 : end - 1]), end
    if heredoc := _HEREDOC.match(text, position):
        return "string", None, _string_end(text, heredoc.end(), heredoc[1])
    if word := _WORD.match(text, position):
        return "word", word[0], word.end()
    return "other", character, position + 1


def _string_end(text: str, position: int, opened: str) -> int:
    """Where a string ends whose opening stands before the position; templates in it are followed.

    The stack holds what is open: `"` for a quoted string, `{` for the code of a template or a brace
    in it, else a heredoc's marker, which is a word and so neither.
    """
    stack = [opened]
    line_start = position
    while stack and position < len(text):
        if stack[-1] == "{":
            position, line_start = _step_code(text, position, line_start, stack)
        elif stack[-1] == '"':
            position = _step_quoted(text, position, stack)
        else:
            position, line_start = _step_heredoc(text, position, line_start, stack)
    return position


def _step_code(text: str, position: int, line_start: int, stack: list[str]) -> tuple[int, int]:
    if skipped := _SKIP.match(text, position):
        return skipped.end(), line_start
    if heredoc := _HEREDOC.match(text, position):
        stack.append(heredoc[1])
        return heredoc.end(), heredoc.end()
    if text[position] in '{"':
        stack.append(text[position])
    elif text[position] == "}":
        stack.pop()
    return position + 1, line_start


def _step_quoted(text: str, position: int, stack: list[str]) -> int:
    position = _end(_QUOTED_PLAIN, text, position)
    if text.startswith(("${", "%{"), position):
        stack.append("{")
        return position + 2
    if text.startswith('"', position):
        stack.pop()
    return position + 1


def _step_heredoc(text: str, position: int, line_start: int, stack: list[str]) -> tuple[int, int]:
    position = _end(_HEREDOC_PLAIN, text, position)
    if text.startswith(("${", "%{"), position):
        stack.append("{")
        return position + 2, line_start
    if text[line_start:position].strip() == stack[-1]:
        # The newline behind the marker also ends the argument: it stays for the caller.
        stack.pop()
        return position, line_start
    return position + 1, position + 1


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Where the pattern's match at the position ends; the position itself without one."""
    match = pattern.match(text, position)
    return match.end() if match else position


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


def _literal(inside: str) -> str | None:
    """The value of a quoted string, or None if it holds a template."""
    if re.search(r"(?<!\$)\$\{|(?<!%)%\{", inside):
        return None
    unescaped = _ESCAPE.sub(_unescape, inside)
    return unescaped.replace("$${", "${").replace("%%{", "%{")


def _unescape(match: re.Match[str]) -> str:
    number = match[1] or match[2]
    if number is None:
        return _ESCAPED.get(match[3], match[3])
    return chr(int(number, 16)) if int(number, 16) <= sys.maxunicode else match[0]


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its repeated keys kept."""


def _members(value: object) -> Iterator[tuple[str, Any]]:
    """The members of an object, or of every object in (nested) arrays of them."""
    if isinstance(value, _Pairs):
        yield from value
    elif isinstance(value, str):
        return
    elif hasattr(value, "__iter__"):
        for item in value:
            yield from _members(item)


def _values(members: Iterable[tuple[str, Any]], key: str) -> Iterator[Any]:
    return (value for name, value in members if name == key)


def _key_position(text: str, name: str) -> tuple[int, int]:
    """Line and column of a key; the start of the file where its spelling is unusual."""
    found = re.search(re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:", text)
    offset = found.start() if found else 0
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
