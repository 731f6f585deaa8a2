"""Imports in a thread, kept apart from forks.

A process that is forked in the middle of an import inherits the import's lock and nobody who would
release it: a data loader's worker that then imports the same module waits for ever.
"""

from __future__ import annotations

import os
import threading

#: Longer than any import; a fork that waited so long goes on.
FORK_WAITS_SECONDS = 30.0

#: Hold it while a thread imports: forks of this process wait so long.
IMPORTS = threading.RLock()
_forking = threading.local()


def _before_fork() -> None:
    _forking.holds = IMPORTS.acquire(timeout=FORK_WAITS_SECONDS)


def _after_fork() -> None:
    if _forking.holds:
        IMPORTS.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
