"""SIGTERM: the notice that this node is about to be taken away."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from train_aml.exits import end
from train_aml.problems import ExitCode

if TYPE_CHECKING:
    from types import FrameType

TERMINATED = 128 + signal.SIGTERM


class Preempted(BaseException):
    """All ranks stop together; not an Exception, so that no script's `except` swallows it."""

    exit_code = ExitCode.PREEMPTED


class Notice:
    """Remembers a first SIGTERM until the ranks can stop together; a second ends the process."""

    def __init__(self) -> None:
        self.received = False

    def listen(self) -> None:
        """Install the handler; call it from the main thread."""
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.received:
            end(TERMINATED)
        self.received = True
