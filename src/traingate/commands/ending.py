"""How a run ended, as the exit code of the command that was waiting for it."""

import signal

from traingate.backends.base import Observation
from traingate.backends.local.running import TIMED_OUT
from traingate.errors import Interrupted, RunFailed, RunTimedOut


def raise_unless_well(seen: Observation) -> None:
    """Return for a run that left a result, or goes on.

    Raises:
        RunFailed: it failed (`RunTimedOut`: at its timeout).
        Interrupted: it was stopped.
    """
    name, reason = seen.run_name, (seen.reason or "no reason was given").rstrip(".")
    if seen.state == "Canceled":
        number = signal.SIGTERM if "SIGTERM" in reason else signal.SIGINT
        raise Interrupted(
            f"{name} was stopped ({reason}).",
            todo=f"`--resume {name}` goes on from its checkpoint, `--rerun` starts anew.",
            signal_number=number,
        )
    if seen.state == "Failed" and reason.startswith(TIMED_OUT):
        raise RunTimedOut(f"{name} {reason}.", todo="Raise limits.timeout, or do less in one run.")
    if seen.state == "Failed" or (seen.state == "Completed" and seen.outcome is None):
        raise RunFailed(f"{name} failed: {reason}.", todo=f"Read the logs in {seen.url}.")
