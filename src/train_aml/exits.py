"""How a process ends."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def end(exit_code: int) -> NoReturn:
    """Flush, then leave without the interpreter's finalization.

    With torch 2.13, worker threads of a finished process group abort about one gloo process in
    sixteen during finalization (pytorch issue 190489), which turns successes into failures.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # A closed pipe must not change the exit code.
            continue
    os._exit(exit_code)
