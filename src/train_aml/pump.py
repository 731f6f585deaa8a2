"""Metrics on their way to the tracking server, sent by a thread so that no step waits for it."""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING

from train_aml.problems import StoreProblem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from train_aml.stores import Point, Stores

SEND_EVERY_SECONDS = 1.0


class Pump:
    """Takes points at once and sends them in batches once the stores are open."""

    def __init__(self, stores: Future[Stores]) -> None:
        self._stores = stores
        self._queue: queue.SimpleQueue[Point] = queue.SimpleQueue()
        self._unsent: list[Point] = []
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._problem = ""
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)
        self._thread.start()

    def put(self, metrics: Mapping[str, float], step: int) -> None:
        now = int(time.time() * 1000)
        for name, value in metrics.items():
            self._queue.put((name, value, step, now))

    def flush(self) -> bool:
        """Send what is waiting; whether all of it arrived."""
        with self._lock:
            while not self._queue.empty():
                self._unsent.append(self._queue.get())
            if not self._unsent:
                return True
            try:
                self._stores.result().log(self._unsent)
            except StoreProblem as problem:
                self._problem = str(problem)
                return False
            self._unsent.clear()
            return True

    def close(self) -> tuple[str, ...]:
        """Send what is left; the warnings to put into the outcome."""
        self._closed.set()
        self._thread.join()
        if self.flush():
            return ()
        return (f"{len(self._unsent)} metric points reached no server: {self._problem}",)

    def _run(self) -> None:
        while not self._closed.wait(SEND_EVERY_SECONDS):
            if self._stores.done() and self._stores.exception() is None:
                self.flush()
