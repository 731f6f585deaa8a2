"""A small process that outlives the launcher only to take its ranks along.

A launcher that is killed (SIGKILL, out of memory) cannot clean up. The keeper holds the other
end of a pipe: sessions are named on it, and its end without `done` means the launcher is gone, so
the sessions are killed. It runs this file alone and imports nothing of ours.

A session rather than a process group, because mpirun gives each rank a group of its own.
"""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self


class Keeper:
    """Context manager: every session named to `keep` dies with this process."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        return self

    def keep(self, session: int) -> None:
        self._say(str(session))

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


def kill_session(session: int) -> None:
    """Kill every process of a session, those that it starts meanwhile included."""
    while members := session_members(session):
        for process in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, signal.SIGKILL)


def session_members(session: int) -> list[int]:
    """The living processes of a session; none where there is no /proc to read them from."""
    members = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            told = entry.read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        # After the name, which may hold anything: state, parent, group, session.
        state, _, _, its_session = told[told.rindex(")") + 2 :].split()[:4]
        if int(its_session) == session and state not in "ZX":
            members.append(int(entry.parent.name))
    return members


def _watch() -> None:
    sessions = []
    for line in sys.stdin:
        if line.strip() == "done":
            return
        sessions.append(int(line))
    for session in sessions:
        kill_session(session)


if __name__ == "__main__":
    _watch()
