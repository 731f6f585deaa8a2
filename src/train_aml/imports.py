"""Imports in a thread, kept apart from forks.

A process that is forked in the middle of an import inherits the import's lock and nobody who would
release it: a data loader's worker that then imports the same module waits for ever.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

#: Longer than any import; a fork that waited so long goes on.
FORK_WAITS_SECONDS = 30.0


class Imports:
    """Hold it (`with`) while a thread imports: forks of this process wait so long."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._is_held = False
        os.register_at_fork(
            before=self._before, after_in_parent=self._after, after_in_child=self._after
        )

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def _before(self) -> None:
        self._is_held = self._lock.acquire(timeout=FORK_WAITS_SECONDS)

    def _after(self) -> None:
        if self._is_held:
            self._lock.release()


IMPORTS = Imports()
