"""Certain mends applied to files: `check --fix` and `--diff`.

An edit addresses characters of the decoded file (byte order mark and line ends included), so
everything outside the edits stays the same to the byte.
"""

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from traingate.findings import Edit, Finding

#: A mend can uncover the next one (a file that could not be read is judged only afterwards);
#: more rounds than this would mean that two rules undo each other's work.
_MOST_ROUNDS = 10

Texts = Mapping[str, bytes]


def apply(text: str, edits: Iterable[Edit]) -> str:
    """`text` with the edits made; of two that overlap, only the one that begins first.

    Equal edits count once. Edits are for this text: offsets beyond it are a mistake of ours.
    """
    pieces: list[str] = []
    done = 0
    for edit in compatible(edits):
        assert 0 <= edit.start <= edit.end <= len(text)
        pieces += [text[done : edit.start], edit.replacement]
        done = edit.end
    return "".join([*pieces, text[done:]])


def compatible(edits: Iterable[Edit]) -> list[Edit]:
    """The edits in order, without repetitions and without those that touch an earlier one."""
    kept: list[Edit] = []
    for edit in sorted(set(edits), key=lambda it: (it.start, it.end, it.replacement)):
        if not kept or edit.start >= kept[-1].end + (edit.start == edit.end):
            kept.append(edit)
    return kept


def mended(
    read: Callable[[str], bytes], find: Callable[[Texts], Iterable[Finding]]
) -> dict[str, bytes]:
    """The new bytes of every file that certain mends change, mended until none is left.

    Args:
        read: the present bytes of a file, by its path.
        find: the findings of the repository with these bytes in place of the present ones.
    """
    texts: dict[str, bytes] = {}
    for _ in range(_MOST_ROUNDS):
        changed = dict(_round(read, texts, find(texts)))
        if not changed:
            return {file: data for file, data in texts.items() if data != read(file)}
        texts |= changed
    raise AssertionError(f"mends that never end in {', '.join(texts)}")


def diff(read: Callable[[str], bytes], texts: Texts) -> str:
    """The changes as a unified diff that `git apply` and `patch -p1` take."""
    return "".join(
        line
        for file in sorted(texts)
        for line in _file_diff(file, read(file).decode(), texts[file].decode())
    )


def _round(
    read: Callable[[str], bytes], texts: Texts, findings: Iterable[Finding]
) -> Iterator[tuple[str, bytes]]:
    edits: dict[str, list[Edit]] = defaultdict(list)
    for finding in findings:
        for edit in finding.edits:
            edits[edit.file].append(edit)
    for file, some in edits.items():
        before = texts[file] if file in texts else read(file)
        after = apply(before.decode(), some).encode()
        if after != before:
            yield file, after


def _file_diff(file: str, before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{file}", f"b/{file}")
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    r"""Lines as git sees them: only `\n` ends one."""
    pieces = text.split("\n")
    return [f"{piece}\n" for piece in pieces[:-1]] + pieces[-1:] * bool(pieces[-1])
