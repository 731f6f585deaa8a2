"""Ctrl-C and SIGTERM as something to look at, so that no line of the launcher is cut off."""

import queue
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

Received = queue.SimpleQueue[signal.Signals]

_STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def received() -> Iterator[Received]:
    """Collect the stopping signals of this process for as long as the block lasts.

    Outside the main thread Python delivers no signals, so nothing is collected there.
    """
    arrived: Received = queue.SimpleQueue()
    if threading.current_thread() is not threading.main_thread():
        yield arrived
        return

    def collect(number: int, _frame: FrameType | None) -> None:
        arrived.put(signal.Signals(number))

    before = {number: signal.signal(number, collect) for number in _STOPPING}
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
