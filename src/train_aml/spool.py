"""Metric points on the disk: what the tracking server has not taken yet."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: A metric's name, value, step, and time in Unix milliseconds.
Point = tuple[str, float, int, int]

#: In the run's folder, where Azure ML collects `outputs/`.
SPOOL_PATH = Path("outputs") / "traingate" / "metrics.jsonl"
MAX_SPOOL_BYTES = 256 << 20


class Spool:
    """A file of points, a JSON array a line, oldest first; read from its front.

    How far it was read is not kept: after a kill all of it is read again, and the server stores a
    point that it has already only once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lost = 0
        self._lock = threading.Lock()
        self._offset = 0
        self._peeked = (0, 0)
        #: The steps of each metric that an earlier start left here.
        self.earlier: dict[str, set[int]] = {}
        self._waiting = 0
        if path.exists():
            self._find()

    def __len__(self) -> int:
        return self._waiting

    def add(self, points: Iterable[Point]) -> None:
        """Append `points`; where the disk or the limit is full they count as lost."""
        lines = [json.dumps(point).encode() + b"\n" for point in points]
        if not lines:
            return
        with self._lock:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("ab") as file:
                    if file.tell() > MAX_SPOOL_BYTES:
                        self.lost += len(lines)
                        return
                    file.write(b"".join(lines))
                self._waiting += len(lines)
            except OSError:  # A full disk is no reason to end a training; `lost` is reported.
                self.lost += len(lines)

    def peek(self, count: int) -> list[Point]:
        """The oldest points, at most `count`; a line that is none is left out."""
        with self._lock:
            if not self._waiting:
                return []
            with self.path.open("rb") as file:
                file.seek(self._offset)
                lines = [line for line, _ in zip(file, range(count), strict=False)]
        self._peeked = (len(lines), sum(map(len, lines)))
        return [point for line in lines if (point := _point(line)) is not None]

    def drop(self) -> None:
        """Forget what `peek` returned last; a file without further points is removed."""
        lines, size = self._peeked
        with self._lock:
            self._offset += size
            self._waiting -= lines
            if not self._waiting:
                self.path.unlink(missing_ok=True)
                self._offset = 0

    def _find(self) -> None:
        with self.path.open("rb+") as file:
            whole = 0
            for line in file:
                if not line.endswith(b"\n"):
                    break
                whole += len(line)
                self._waiting += 1
                if (point := _point(line)) is not None:
                    name, _, step, _ = point
                    self.earlier.setdefault(name, set()).add(step)
            # A line that a kill cut off would take the next one along.
            file.truncate(whole)

    def compact(self) -> None:
        """Leave only what waits still in the file."""
        with self._lock:
            if self._offset and self._waiting:
                rest = self.path.with_suffix(".rest")
                with self.path.open("rb") as old, rest.open("wb") as new:
                    old.seek(self._offset)
                    shutil.copyfileobj(old, new)
                rest.replace(self.path)
                self._offset = 0


def _point(line: bytes) -> Point | None:
    try:
        name, value, step, milliseconds = json.loads(line)
    except ValueError:
        return None
    return str(name), float(value), int(step), int(milliseconds)
