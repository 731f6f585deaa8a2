"""What a person sees of a running job: rank zero's log as it grows, and a progress line."""

import time
from pathlib import Path
from typing import TextIO

_TAIL_BYTES = 1 << 16


class Screen:
    """Follows rank zero's log on `out`; the progress line is drawn only on a terminal."""

    def __init__(self, log: Path, out: TextIO, *, processes: int) -> None:
        self._log, self._out, self._processes = log, out, processes
        self._offset = log.stat().st_size if log.exists() else 0
        self._started = time.monotonic()
        self._progress = ""

    def tick(self, running: int) -> None:
        """Show what rank zero wrote since the last call, and how many ranks still run."""
        told = self._new_text() if running else self._rest()
        seconds = int(time.monotonic() - self._started)
        progress = f"  {seconds} s, {running} of {self._processes} processes running"
        if told:
            self._clear()
            self._out.write(told)
        if self._out.isatty() and running and (told or progress != self._progress):
            self._clear()
            self._out.write(progress)
            self._progress = progress
        self._out.flush()

    def _new_text(self) -> str:
        """Whole lines only, so that the progress line never lands inside one."""
        with self._log.open("rb") as log:
            log.seek(self._offset)
            read = log.read(_TAIL_BYTES)
        whole = read[: read.rfind(b"\n") + 1] or (read if len(read) == _TAIL_BYTES else b"")
        self._offset += len(whole)
        return whole.decode(errors="replace")

    def _rest(self) -> str:
        """All that is left, an unfinished last line included."""
        with self._log.open("rb") as log:
            log.seek(self._offset)
            rest = log.read()
        self._offset += len(rest)
        return rest.decode(errors="replace") + ("\n" if rest and rest[-1:] != b"\n" else "")

    def _clear(self) -> None:
        if self._progress:
            self._out.write("\r\x1b[2K")
            self._progress = ""
