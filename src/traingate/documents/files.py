"""The repository's files as the gate may read them: regular, inside the tree, of bounded size."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from traingate.documents.characters import location
from traingate.documents.kinds import HIDDEN_CHARACTER, MISSING, UNREADABLE
from traingate.findings import Finding, Location

#: A request's files are a few kilobytes; beyond this it is no request.
MAX_BYTES = 1024 * 1024
MAX_LINES = 20_000

_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    """A work tree at `root`; `instead` holds the bytes of files that are about to be written."""

    root: Path
    instead: Mapping[str, bytes] = field(default_factory=dict)

    def read(self, file: str) -> tuple[bytes | None, tuple[Finding, ...]]:
        """The bytes of `file` (at most one more than is allowed), or why there are none.

        A symbolic link is never followed: a pull request could point it at any file of the
        machine that reads it, and an error message would quote what stands there.
        """
        if file in self.instead:
            return self.instead[file], ()
        path, at = os.path.join(self.root, file), Location(file=file)  # noqa: PTH118 (hot)
        if self._leads_through_a_link(file):
            message = "This is a symbolic link, which is not followed."
            return None, (UNREADABLE.found(at, message, fix="Put the file itself here."),)
        if not os.path.isfile(path):  # noqa: PTH113
            message = "A request is two files, and this one is missing."
            return None, (MISSING.found(at, message, fix=f"Write {file}."),)
        with open(path, "rb") as stream:  # noqa: PTH123
            return stream.read(MAX_BYTES + 1), ()

    def _leads_through_a_link(self, file: str) -> bool:
        path = str(self.root)
        for part in file.split("/"):
            path = f"{path}/{part}"
            if os.path.islink(path):  # noqa: PTH114
                return True
        return False

    def below(self, folder: str, suffix: str) -> list[str]:
        """The regular files of that suffix directly in `folder`, sorted, links left out."""
        paths = sorted((self.root / folder).glob(f"*{suffix}"))
        return [f"{folder}/{it.name}" for it in paths if it.is_file() and not it.is_symlink()]


def decode(data: bytes, file: str) -> tuple[str | None, tuple[Finding, ...]]:
    """The text of a UTF-8 file, its byte order mark and line ends kept, or why it is none."""
    at = Location(file=file)
    if len(data) > MAX_BYTES:
        message = f"The file is larger than {MAX_BYTES // 1024 // 1024} MiB."
        fix = "A request's files are a few kilobytes: keep data and logs elsewhere."
        return None, (UNREADABLE.found(at, message, fix=fix),)
    if data.startswith(_UTF_16_MARKS):
        message = "This is UTF-16, not UTF-8."
        return None, (UNREADABLE.found(at, message, fix="Save the file as UTF-8."),)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        at = location(before, len(before), file)
        message = f"The byte 0x{data[error.start]:02X} is not UTF-8."
        return None, (UNREADABLE.found(at, message, fix="Save the file as UTF-8."),)
    if text.count("\n") + text.count("\r") - text.count("\r\n") > MAX_LINES:
        message = f"The file has more than {MAX_LINES:,} lines."
        fix = "A request's files have a few hundred: keep data and logs elsewhere."
        return None, (UNREADABLE.found(at, message, fix=fix),)
    if (index := text.find("\0")) >= 0:
        at = location(text, index, file)
        return None, (HIDDEN_CHARACTER.found(at, "NUL stands here.", fix="Delete it."),)
    return text, ()
