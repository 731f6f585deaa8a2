"""CODEOWNERS: who owns a file, and the lines GitHub will not read the way they look.

The `codeowners` package matches patterns, but it accepts spellings GitHub refuses (`!`, `[ ]`,
an escaped `#`) and takes owners out of comments. GitHub skips a line it refuses, which silently
takes its protection away, so each line is checked here first.
Source: https://docs.github.com/repositories/managing-your-repositorys-settings-and-features/
customizing-your-repository/about-code-owners
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import codeowners

#: Where GitHub looks, in this order; the first one found counts.
PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
#: A larger file is not loaded at all.
LARGEST_BYTES = 3 * 1024 * 1024
_OWNER = re.compile(
    # A managed user's login ends with an underscore and the enterprise's short name.
    r"@[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?(?:/[\w.-]+)?|[^@\s]+@[^@\s]+\.[^@\s]+"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedLine:
    """A line of CODEOWNERS that protects nothing, counted from 1, and why."""

    line: int
    problem: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}"


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeOwners:
    """A CODEOWNERS file of one commit."""

    file: str
    text: str

    def of(self, path: str) -> tuple[str, ...]:
        """The owners of `path`: `@user`, `@org/team` or an address; the last match wins."""
        if len(self.text.encode()) >= LARGEST_BYTES:
            return ()
        good = [line for line in map(_without_comment, _lines(self.text)) if not _bad(line)]
        return tuple(owner for _, owner in codeowners.CodeOwners("\n".join(good)).of(path))

    def skipped(self) -> tuple[SkippedLine, ...]:
        """The lines GitHub skips although they look as if they protected something."""
        return tuple(self._skipped())

    def _skipped(self) -> Iterator[SkippedLine]:
        if len(self.text.encode()) >= LARGEST_BYTES:
            yield SkippedLine(line=1, problem="GitHub does not load a file of 3 MB or more.")
        for number, line in enumerate(_lines(self.text), 1):
            if problem := _bad(_without_comment(line)):
                yield SkippedLine(line=number, problem=problem)


def _lines(text: str) -> list[str]:
    """The lines as GitHub counts them; what else ends a line for Python may hide in a comment."""
    return text.split("\n")


def _without_comment(line: str) -> str:
    return re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip()


def _bad(line: str) -> str | None:
    if found := re.search(r"[^\S \t]|[\x00-\x08\x7f]", line):
        return f"U+{ord(found[0]):04X} is no plain blank, so nobody can say what the line means."
    pattern, *owners = re.split(r"(?<!\\)\s+", line)
    if pattern.startswith("!"):
        return "GitHub knows no `!` here, so the line takes nothing back."
    if re.search(r"(?<!\\)[\[\]]", pattern):
        return "GitHub knows no `[ ]` ranges here, so the line matches nothing."
    if "\\#" in pattern:
        return "GitHub knows no escaped `#` here, so the line matches nothing."
    wrong = [owner for owner in owners if not _OWNER.fullmatch(owner)]
    return f"`{wrong[0]}` is no owner, so GitHub skips the whole line." if wrong else None
