"""Starting the ranks, noticing the first that fails, and leaving no process behind."""

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from traingate.backends.local.keeper import Keeper, kill_session, session_members
from traingate.backends.local.ranks import Rank
from traingate.backends.local.signals import Received

#: After a first failure the other ranks get this long to notice and to end by themselves, so
#: that the cause can be told from its consequences and rank zero can say that the run failed.
FAILURE_GRACE_SECONDS = 3.0
#: From SIGTERM to SIGKILL: little for ranks that did not notice a peer's failure, and time for a
#: checkpoint when the run is stopped from outside.
STUCK_GRACE_SECONDS = 2.0
STOP_GRACE_SECONDS = 10.0
#: Linux takes no single argument longer than this (MAX_ARG_STRLEN, 32 pages).
_LONGEST_ARGUMENT_BYTES = 131_071
_POLL_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How one rank ended: its exit status, negative for a signal, and when (epoch seconds)."""

    rank: Rank
    status: int
    at: float
    was_stopped: bool

    @property
    def failed_by_itself(self) -> bool:
        return self.status != 0 and not self.was_stopped


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """How all ranks ended, and what stopped them if they did not end by themselves."""

    ended: tuple[Ended, ...]
    timed_out: bool
    stopped_by: signal.Signals | None


class Processes:
    """The ranks of one run as running processes.

    Each leads a session of its own, so that stopping it takes along what it started (data loader
    workers, shells). Under MPI the one process started here is mpirun, for all ranks.
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._ranks: dict[int, Rank] = {}
        self._spared: set[int] = set()
        self._ended: list[Ended] = []
        self._events: queue.Queue[Ended] = queue.Queue()
        self._stopped = False
        self._kill_at = 0.0

    def start(
        self,
        rank: Rank,
        command: str,
        variables: Mapping[str, str],
        cwd: Path,
        log: Path,
        *,
        ask_members: bool = False,
    ) -> None:
        """Start one rank through a shell, as Azure ML does, with both streams into `log`.

        With `ask_members` a stop is asked of what the process has started, not of itself.
        """
        with log.open("ab") as stream:
            process = subprocess.Popen(
                _shell(command, log.with_suffix(".sh")),
                cwd=cwd,
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._keeper.keep(process.pid)
        self._running[rank.rank] = process
        self._ranks[rank.rank] = rank
        if ask_members:
            self._spared.add(process.pid)
        threading.Thread(target=self._wait, args=(rank, process), daemon=True).start()

    def watch(
        self,
        *,
        deadline: float | None,
        received: Received,
        tick: Callable[[int], None],
    ) -> Watched:
        """Wait until every rank has ended, stopping the rest at the first failure.

        Args:
            deadline: monotonic seconds after which the run is stopped, None for never.
            received: what the launcher was sent; the first stops the run, the second kills it.
            tick: called several times a second with the number of ranks still running.
        """
        timed_out, stopped_by = False, None
        while self._running:
            tick(len(self._running))
            ended = self._next_end()
            if ended and ended.status != 0:
                self._collect(time.monotonic() + FAILURE_GRACE_SECONDS)
                self._stop(STUCK_GRACE_SECONDS, received)
            elif deadline is not None and time.monotonic() > deadline:
                timed_out = True
                self._stop(STOP_GRACE_SECONDS, received)
            elif not received.empty():
                stopped_by = received.get()
                self._stop(STOP_GRACE_SECONDS, received)
        tick(0)
        return Watched(ended=tuple(self._ended), timed_out=timed_out, stopped_by=stopped_by)

    def kill(self) -> None:
        """Kill what is left, at once."""
        self._kill_at = 0.0
        for process in self._running.values():
            kill_session(process.pid)

    def _wait(self, rank: Rank, process: subprocess.Popen[bytes]) -> None:
        status = process.wait()
        at = time.time()
        # A shell falls to SIGTERM at once, and what it ran may still be at its checkpoint.
        while self._stopped and time.monotonic() < self._kill_at and session_members(process.pid):
            time.sleep(_POLL_SECONDS)
        # Whatever the rank has started and not waited for goes with it.
        kill_session(process.pid)
        ended = Ended(rank=rank, status=signed(status), at=at, was_stopped=self._stopped)
        self._events.put(ended)

    def _ask(self, leader: int) -> None:
        """Ask a session to end: SIGTERM to its leader's group, or to all but a spared leader."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if leader not in self._spared:
                os.killpg(leader, signal.SIGTERM)
            for member in session_members(leader) if leader in self._spared else ():
                if member != leader:
                    os.kill(member, signal.SIGTERM)

    def _next_end(self, timeout_seconds: float = _POLL_SECONDS) -> Ended | None:
        try:
            ended = self._events.get(timeout=timeout_seconds)
        except queue.Empty:
            return None
        del self._running[ended.rank.rank]
        self._ended.append(ended)
        return ended

    def _collect(self, until: float) -> None:
        while self._running and time.monotonic() < until:
            self._next_end()

    def _stop(self, grace_seconds: float, received: Received) -> None:
        until = self._kill_at = time.monotonic() + grace_seconds
        self._stopped = True
        for process in self._running.values():
            self._ask(process.pid)
        while self._running and time.monotonic() < until and received.empty():
            self._next_end()
        self.kill()
        while self._running:
            self._next_end()


def signed(status: int) -> int:
    """An exit status with a signal as a negative number; bash says 128 + its number."""
    return 128 - status if status > 128 and status - 128 in _SIGNAL_NUMBERS else status  # noqa: PLR2004


def _shell(command: str, script: Path) -> list[str]:
    if len(command.encode()) < _LONGEST_ARGUMENT_BYTES:
        return ["bash", "-c", command]
    script.write_text(command, encoding="utf-8")
    return ["bash", str(script)]


_SIGNAL_NUMBERS = frozenset(int(number) for number in signal.Signals)
