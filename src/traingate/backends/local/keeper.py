"""A small process that outlives the launcher only to take its ranks along.

A launcher that is killed (SIGKILL, out of memory) cannot clean up. The keeper holds the other
end of a pipe: process groups are named on it, and its end without `done` means the launcher is
gone, so the groups are killed. It runs this file alone and imports nothing of ours.
"""

import contextlib
import os
import signal
import subprocess
import sys
from types import TracebackType
from typing import Self


class Keeper:
    """Context manager: every process group named to `keep` dies with this process."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        return self

    def keep(self, process_group: int) -> None:
        self._say(str(process_group))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._say("done")
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        # A keeper that was killed keeps nothing any more; the run itself goes on.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()


def _watch() -> None:
    groups = []
    for line in sys.stdin:
        if line.strip() == "done":
            return
        groups.append(int(line))
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    _watch()
