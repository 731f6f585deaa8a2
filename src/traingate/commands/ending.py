"""How a run ended, as the exit code of the command that was waiting for it."""

from traingate.backends.base import Observation
from traingate.backends.local.running import TIMED_OUT, stop_signal
from traingate.errors import Interrupted, RunFailed, RunTimedOut


def raise_unless_well(seen: Observation, *, again: str | None = None) -> None:
    """Return for a run that left a result, or goes on.

    Args:
        seen: the run.
        again: what to do to go on after it was stopped, where that is not `traingate submit`.

    Raises:
        RunFailed: it failed (`RunTimedOut`: at its timeout).
        Interrupted: it was stopped.
    """
    name, reason = seen.run_name, (seen.reason or "no reason was given").rstrip(".")
    if seen.state == "Canceled":
        workload = name.rsplit("-", 2)[0]  # <workload>-<digest>-<origin>
        raise Interrupted(
            f"{name} was stopped ({reason}).",
            todo=again
            or f"`traingate submit {workload} --rerun` starts anew; `--resume {name}` goes on from "
            "a local run's checkpoint.",
            signal_number=stop_signal(reason),
        )
    if seen.state == "Failed" and reason.startswith(TIMED_OUT):
        raise RunTimedOut(f"{name} {reason}.", todo="Raise limits.timeout, or do less in one run.")
    if seen.state == "Failed" or (seen.state == "Completed" and seen.outcome is None):
        raise RunFailed(f"{name} failed: {reason}.", todo=f"Read the logs in {seen.url}.")
