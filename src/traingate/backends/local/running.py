"""One run from its snapshot to its verdict."""

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from traingate.backends.base import Provenance
from traingate.backends.contract import contract
from traingate.backends.local import mpi, snapshot
from traingate.backends.local.failure import first_failure
from traingate.backends.local.folder import RunFolder
from traingate.backends.local.keeper import Keeper
from traingate.backends.local.processes import Ended, Processes, Watched
from traingate.backends.local.ranks import Rank, inherited, ranks, threads_per_process
from traingate.backends.local.screen import Screen
from traingate.backends.local.signals import Received
from traingate.backends.local.substitution import substitute
from traingate.errors import TraingateError
from traingate.outcome import UnusableOutcome, read_outcome
from traingate.plan import Plan

#: How a reason begins when `limits.timeout` ended the run.
TIMED_OUT = "timed out"


@dataclass(frozen=True, kw_only=True, slots=True)
class Stores:
    """Where rank zero keeps what it learns: this machine's, in place of the job's own."""

    tracking_uri: str
    results_url: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Console:
    """What a run shows and obeys: rank zero's log goes to `out`, a signal stops the ranks.

    `kill_when` is asked several times a second whether to kill them on the spot.
    """

    out: TextIO
    received: Received
    kill_when: Callable[[], bool]


def run(
    plan: Plan, provenance: Provenance, folder: RunFolder, stores: Stores, console: Console
) -> None:
    """Run the plan in its folder and record how it ended.

    Raises:
        TraingateError: the run could not start; its record says so too.
    """
    try:
        _clear(folder)
        watched = _processes(plan, provenance, folder, stores, console)
    except TraingateError as error:
        folder.record("Failed", reason=str(error))
        raise
    state, details = _verdict(plan, folder, watched)
    folder.record(state, **details)


def _clear(folder: RunFolder) -> None:
    """Forget what an earlier launch of the same run said about its end."""
    folder.outcome.unlink(missing_ok=True)
    for told in folder.failures.glob("*.json"):
        told.unlink()


def _processes(
    plan: Plan, provenance: Provenance, folder: RunFolder, stores: Stores, console: Console
) -> Watched:
    snapshot.take(folder.repository, plan, folder)
    for name in plan.job.outputs:
        (folder.outputs / name).mkdir(exist_ok=True)
    command, world = substitute(plan.job, folder), ranks(plan.topology, plan.job.distribution)
    variables = _variables(plan, provenance, stores, len(world))
    is_mpi = world[0].is_mpi
    start, ended = (mpi.start, mpi.ended) if is_mpi else (_start, _as_they_are)
    screen = Screen(folder.log(0), console.out, processes=1 if is_mpi else len(world))
    timeout = plan.job.timeout_seconds
    with Keeper() as keeper:
        processes = Processes(keeper)

        def tick(running: int) -> None:
            screen.tick(running)
            if console.kill_when():
                processes.kill()

        folder.record("Running", launcher=os.getpid())
        try:
            start(processes, world, command, variables, folder)
            watched = processes.watch(
                deadline=time.monotonic() + timeout if timeout else None,
                received=console.received,
                tick=tick,
            )
        finally:
            processes.kill()
    return replace(watched, ended=ended(world, folder, watched.ended))


def _start(
    processes: Processes,
    world: tuple[Rank, ...],
    command: str,
    variables: Mapping[str, str],
    folder: RunFolder,
) -> None:
    for rank in world:
        own = {"TRAINGATE_FAILURE_FILE": str(folder.failure(rank.rank)), **rank.variables}
        processes.start(rank, command, {**variables, **own}, folder.code, folder.log(rank.rank))


def _as_they_are(
    _world: tuple[Rank, ...], _folder: RunFolder, ended: tuple[Ended, ...]
) -> tuple[Ended, ...]:
    return ended


def _variables(
    plan: Plan, provenance: Provenance, stores: Stores, processes: int
) -> dict[str, str]:
    """What every rank gets: our own environment, the job's, and the contract's names."""
    # The interpreter that runs us is the one whose packages the job finds.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return (
        {"OMP_NUM_THREADS": str(threads_per_process(processes))}
        | inherited(os.environ)
        | {"PATH": path, "PYTHONUNBUFFERED": "1"}
        | dict(plan.job.environment_variables)
        | contract(plan, provenance)
        | {
            "TRAINGATE_TRACKING_URI": stores.tracking_uri,
            "TRAINGATE_RESULTS_URL": stores.results_url,
        }
    )


def _verdict(plan: Plan, folder: RunFolder, watched: Watched) -> tuple[str, dict[str, Any]]:
    """The last state of a run, with its reason unless all is well."""
    if watched.timed_out:
        asked = f"{plan.job.timeout_seconds} s (limits.timeout)"
        return "Failed", {"reason": f"{TIMED_OUT} after {asked}", "kind": "timeout"}
    if watched.stopped_by is not None:
        return "Canceled", {"reason": f"stopped by {watched.stopped_by.name}"}
    failure = first_failure(watched.ended, folder.failures, folder.path / "user_logs")
    if failure is not None:
        told = {"reason": str(failure), "kind": failure.kind, "failure": asdict(failure)}
        return "Failed", told
    complaint = _complaint(folder)
    return ("Failed", {"reason": complaint, "kind": "code"}) if complaint else ("Completed", {})


def stop_signal(reason: str) -> signal.Signals:
    """The signal that stopped a run which is over as `Canceled`, from its reason."""
    return signal.SIGTERM if "SIGTERM" in reason else signal.SIGINT


def _complaint(folder: RunFolder) -> str | None:
    """What is wrong with the outcome of a run whose ranks all ended well."""
    text = folder.outcome_text()
    if text is None:
        return (
            "every rank exited with status 0, but rank zero wrote no outcome file: "
            "the script ended without session.register(...)"
        )
    try:
        outcome = read_outcome(text)
    except UnusableOutcome as error:
        return str(error)
    if outcome.status != "succeeded":
        return f"its outcome says: {outcome.failure.error if outcome.failure else outcome.status}"
    return None
