"""A command line taken apart as a shell would: simple commands, each a list of words.

Only as much of the grammar as a job's command needs. What it cannot follow (unbalanced quotes)
is None, and every rule that asks then stays silent: a guess would be a false finding.
"""

import re
import shlex
from bisect import bisect_right
from collections.abc import Iterator

#: `${{inputs.x}}` is no shell; a word of its own keeps the quoting around it intact.
_EXPRESSION = re.compile(r"\$\{\{[^}]{0,255}\}\}")
_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*(?P<quote>['\"]?)(?P<end>[A-Za-z_]\w*)(?P=quote)")
_READS_ITS_INPUT = re.compile(r"(?:^|[;&|\s])(?:ba|z|da)?sh\s[^\n]*<<")
_LONGEST = 128 * 1024
_SEPARATORS = ";&|()\n"
_REDIRECTION = re.compile(r"^\d*(?:<<<|>>|>|<)&?-?\d*$")
_JOINED_REDIRECTION = re.compile(r"^(?:\d*|&)(?:>>|>|<)[^<>].*$")

#: Stands for any `${{…}}`: no path, no option, no program has it.
PLACEHOLDER = "\x1a"


def simple_commands(text: str) -> tuple[tuple[str, ...], ...] | None:
    """The simple commands of `text` in order, redirections removed; None when it has no parse."""
    if len(text) > _LONGEST:
        return None
    masked = _EXPRESSION.sub(PLACEHOLDER, text).replace("\\\n", " ")
    lexer = shlex.shlex(_without_heredocs(masked), posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return tuple(_split(list(lexer)))
    except ValueError:
        return None


def _without_heredocs(text: str) -> str:
    """Drop the bodies of here documents, save those a shell is given to run."""
    lines = text.split("\n")
    ends: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        ends.setdefault(line.strip(), []).append(number)
    kept: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        heredoc = _HEREDOC.search(line)
        positions = ends.get(heredoc["end"], []) if heredoc else []
        later = bisect_right(positions, number)
        if heredoc is None or later == len(positions):
            kept.append(line)
        else:
            kept.append(_HEREDOC.sub("", line))
            if _READS_ITS_INPUT.search(line):
                kept += lines[number + 1 : positions[later]]
            number = positions[later]
        number += 1
    return "\n".join(kept)


def _split(tokens: list[str]) -> Iterator[tuple[str, ...]]:
    words: list[str] = []
    comment = False
    skip = False
    for token in tokens:
        if token and set(token) <= set(_SEPARATORS):
            comment = comment and "\n" not in token
            skip = False
            if words:
                yield tuple(words)
            words = []
        elif comment or skip:
            skip = False
        elif token.startswith("#"):
            comment = True
        elif _REDIRECTION.match(token):
            skip = not token.rstrip("-0123456789").endswith("&")
        elif not _JOINED_REDIRECTION.match(token):
            words.append(token.strip())
    if words:
        yield tuple(words)
