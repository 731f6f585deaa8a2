"""Metrics on their way to the tracking server: put down at once, sent in batches by a thread.

A server that is slow, failing or away never holds a step. What it does not take goes to a file in
the run's folder and is sent again when the server is back, at the latest at the end; what is left
even then is said in the outcome's warnings.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from train_aml.problems import StoreProblem, StoreRefusal
from train_aml.spool import SPOOL_PATH, Point, Spool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from train_aml.stores import Stores

SEND_EVERY_SECONDS = 1.0
#: What MLflow takes in one call.
BATCH_POINTS = 1_000
#: About 20 MB. A server that takes nothing for a minute fills this at 1,600 points a second.
MAX_WAITING_POINTS = 100_000
#: After so many refused points it is the run that the server refuses, not a point here and there.
MAX_REFUSALS = 50
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
#: A checkpoint waits this long for a healthy server to take what is before it.
FLUSH_SECONDS = 2.0
CLOSE_SECONDS = 30.0


class Pump:
    """Takes points at once and sends them once the stores are open."""

    def __init__(self, stores: Future[Stores], spool: Path = SPOOL_PATH) -> None:
        self._stores = stores
        self._spool = Spool(spool)
        self._waiting: deque[Point] = deque()
        self._taking = threading.Lock()
        self._in_flight: Sequence[Point] = ()
        self._taken = len(self._spool)
        self._refused = 0
        self._problem = ""
        self._refusal = ""
        self._pause_seconds = 0.0
        self._retry_at = 0.0
        self._wake = threading.Event()
        self._drained = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)
        self._thread.start()

    def put(self, metrics: Mapping[str, float], step: int) -> None:
        """Take `metrics` (name to value) of `step`.

        A resumed run goes over steps again whose points an earlier start left in the file.
        """
        if earlier := self._spool.earlier:
            metrics = {n: v for n, v in metrics.items() if step not in earlier.get(n, ())}
        now = int(time.time() * 1000)
        self._taken += len(metrics)
        self._waiting.extend((name, float(value), step, now) for name, value in metrics.items())
        if len(self._waiting) > MAX_WAITING_POINTS:
            self._spill()

    def flush(self) -> bool:
        """Bring everything to the server or to the disk soon; whether the server has it all."""
        # A disk may not outlive a preemption, so stores that are being opened are waited for too.
        is_opening = not self._stores.done() and bool(self._waiting)
        if self._pause_seconds == 0 and (is_opening or self._is_open()):
            self._drained.clear()
            self._wake.set()
            if not self._drained.wait(FLUSH_SECONDS):
                # Sent twice at most, and stored once.
                self._spool.add(self._in_flight)
        self._spill()
        return not self._spool and not self._in_flight

    def close(self, limit_seconds: float = CLOSE_SECONDS) -> tuple[str, ...]:
        """Send what is left, within a limit; the warnings to put into the outcome."""
        self._closing = True
        self._wake.set()
        self._thread.join(limit_seconds)
        self._spill()
        # A call that does not return may have delivered; the file may then repeat what arrived.
        self._spool.add(self._in_flight)
        if not self._thread.is_alive():
            self._spool.compact()
        return tuple(self._warnings())

    def _run(self) -> None:
        while not self._closing:
            self._wake.wait(SEND_EVERY_SECONDS)
            self._wake.clear()
            if self._is_open():
                self._send()
                if not self._wake.is_set():
                    # Else something came while the last request was under way.
                    self._drained.set()
        if self._is_open(wait=True):
            self._retry_at = 0.0
            self._send()

    def _is_open(self, *, wait: bool = False) -> bool:
        """Whether there are stores; `wait` for those that are still being opened."""
        if not (wait or self._stores.done()):
            return False
        return self._stores.exception() is None

    def _send(self) -> None:
        """Send the file's points, then those that came since; what does not go joins the file."""
        while self._spool:
            oldest = self._spool.peek(BATCH_POINTS)
            left = self._deliver(oldest)
            if len(left) == len(oldest) > 0:
                self._spill()
                return
            self._spool.add(left)
            self._spool.drop()
        while batch := self._take(BATCH_POINTS):
            self._in_flight = batch
            if left := self._deliver(batch):
                self._spool.add(left)
                self._spill()
            self._in_flight = ()
            if len(batch) < BATCH_POINTS:
                # Going on would chase the training with requests of a few points each.
                return

    def _deliver(self, batch: Sequence[Point]) -> Sequence[Point]:
        """The points of `batch` that the server has neither taken nor refused for good."""
        if time.monotonic() < self._retry_at:
            return batch
        try:
            self._stores.result().log(batch)
        except StoreRefusal as refusal:
            return self._halve(batch, refusal)
        except StoreProblem as problem:
            self._problem = str(problem)
            self._pause_seconds = min(
                max(FIRST_PAUSE_SECONDS, 2 * self._pause_seconds), LONGEST_PAUSE_SECONDS
            )
            self._retry_at = time.monotonic() + self._pause_seconds
            return batch
        self._pause_seconds = 0.0
        return ()

    def _halve(self, batch: Sequence[Point], refusal: StoreRefusal) -> Sequence[Point]:
        """Find the points that the server refuses, so that the others of their batch arrive."""
        if len(batch) == 1 or self._refused >= MAX_REFUSALS:
            self._refused += len(batch)
            self._refusal = self._refusal or f"{batch[0][0]!r}: {refusal}"
            return ()
        middle = len(batch) // 2
        first, rest = batch[:middle], batch[middle:]
        return [*self._deliver(first), *self._deliver(rest)]

    def _take(self, limit: int) -> list[Point]:
        # Both threads take, and only the lock keeps one from taking what the other has counted.
        with self._taking:
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), limit))]

    def _spill(self) -> None:
        """Move what is waiting to the disk."""
        self._spool.add(self._take(sys.maxsize))

    def _warnings(self) -> list[str]:
        warnings = []
        if self._spool:
            why = self._problem or "the tracking server did not take them in time"
            warnings.append(
                f"{len(self._spool):,} of {self._taken:,} metric points did not reach the tracking "
                f"server; they are in {self._spool.path}. {why}"
            )
        if self._spool.lost:
            warnings.append(
                f"{self._spool.lost:,} of {self._taken:,} metric points are lost: the tracking "
                f"server did not take them and {self._spool.path} could not hold them."
            )
        if self._refused:
            warnings.append(
                f"{self._refused:,} metric points were refused by the tracking server, first "
                f"{self._refusal}"
            )
        return warnings
