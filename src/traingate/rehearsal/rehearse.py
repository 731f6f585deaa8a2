"""Run a rehearsal, kill it in the middle where asked, and say what it proved."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from traingate.backends.base import Observation, Provenance
from traingate.backends.local import LocalBackend, Stores
from traingate.backends.local.folder import RunFolder
from traingate.backends.local.running import stop_signal
from traingate.documents.rehearsal import Rehearsal
from traingate.documents.request import Request
from traingate.errors import Interrupted, Refusal, RunFailed, TraingateError
from traingate.outcome import read_outcome
from traingate.plan import Plan
from traingate.rehearsal.proofs import Left, complaints, steps_logged
from traingate.rehearsal.scaling import scale

#: Beside `.traingate/runs`, and as deep.
REHEARSALS = Path(".traingate", "rehearsals")
_PROVENANCE = Provenance(origin="l1")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehearsed:
    """A rehearsal that proved everything asked of it."""

    processes: int
    device: str
    steps: int
    killed_at: int | None

    def __str__(self) -> str:
        resumed = f", resumed after a kill at step {self.killed_at}" if self.killed_at else ""
        return f"rehearsed on {self.processes} × {self.device}: {self.steps} steps{resumed}"


def rehearse(
    plan: Plan, request: Request, rehearsal: Rehearsal, *, top: Path, out: TextIO, preempt: bool
) -> Rehearsed:
    """Rehearse `plan` in the work tree at `top`.

    Raises:
        Refusal: it is being rehearsed already, or this machine cannot run it.
        Interrupted: it was stopped.
        RunFailed: the run failed, or did not prove what it should; the message says what.
    """
    held_at = max(2, rehearsal.steps // 2) if preempt else None
    small = scale(plan, request, rehearsal, hold_at=held_at)
    folder = RunFolder(top / REHEARSALS / small.run_name(_PROVENANCE.origin))
    stores = _fresh(folder)
    backend = LocalBackend(
        repository=top,
        stores=Stores(
            tracking_uri=f"sqlite:///{stores}/tracking.db",
            results_url=f"sqlite:///{stores}/results.db",
        ),
        out=out,
        runs=REHEARSALS,
        kill_when=_once_held(),
    )
    name = backend.submit(small, _PROVENANCE).run_name
    if held_at is not None:
        _expect_held(backend.observe(name), folder)
        backend.resume(small, _PROVENANCE)
    left = _left(backend.observe(name), stores)
    told = list(complaints(left, steps=rehearsal.steps, held_at=held_at))
    if told:
        raise RunFailed(
            f"The rehearsal of {plan.workload} ran, but: {' '.join(told)}",
            todo=f"Read the logs in {folder.path}.",
        )
    return Rehearsed(
        processes=small.topology.world_size,
        device="GPU" if "gpu_memory_peak_gib" in left.outcome.metrics else "CPU",
        steps=len(steps_logged(left)),
        killed_at=held_at,
    )


def _fresh(folder: RunFolder) -> Path:
    """Throw the last rehearsal away; the folder for this one's stores."""
    if folder.path.exists() and folder.is_launched():
        raise Refusal(
            f"{folder.path.name} is being rehearsed already.",
            todo="Wait for it, or stop it with Ctrl-C.",
        )
    stores = folder.path.with_name(f".stores-{folder.path.name}")
    for stale in (folder.path, stores):
        shutil.rmtree(stale, ignore_errors=True)
    stores.mkdir(parents=True)
    return stores


def _once_held() -> Callable[[RunFolder], bool]:
    """Whether to kill: at the first sight of ranks that hold, and never again."""
    killed = False

    def kill(folder: RunFolder) -> bool:
        nonlocal killed
        if killed or not _held(folder).exists():
            return False
        killed = True
        return True

    return kill


def _held(folder: RunFolder) -> Path:
    return folder.outputs / "traingate" / "held.json"


def _expect_held(seen: Observation, folder: RunFolder) -> None:
    if _held(folder).exists():
        return
    if seen.state == "Completed":
        raise RunFailed(
            "The training ended before it could be killed: it does not use `session.loop`, or has "
            "fewer steps than the rehearsal.",
            todo="Use `session.loop` with a checkpoint folder, or rehearse without --preempt.",
        )
    raise failed(seen)


def _left(seen: Observation, stores: Path) -> Left:
    if seen.state != "Completed" or seen.outcome is None:
        raise failed(seen)
    return Left(
        tracking=stores / "tracking.db",
        results=stores / "results.db",
        outcome=read_outcome(seen.outcome),
    )


def failed(seen: Observation) -> TraingateError:
    """The error for a rehearsal that left no result, or was stopped."""
    reason = (seen.reason or "no reason was given").rstrip(".")
    if seen.state == "Canceled":
        return Interrupted(
            f"The rehearsal {seen.run_name} was {reason}.",
            todo="Rehearse again.",
            signal_number=stop_signal(reason),
        )
    return RunFailed(
        f"The rehearsal {seen.run_name} failed: {reason}.",
        todo=f"Read the logs in {seen.url}.",
    )
