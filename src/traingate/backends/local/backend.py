"""Submit, observe and cancel on this machine. `submit` stays until the run is over."""

import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from traingate.backends.base import TERMINAL_STATES, Observation, Provenance, Submission
from traingate.backends.local.folder import RUNS, RunFolder, folders, make
from traingate.backends.local.running import Console, Stores, run
from traingate.backends.local.signals import Received, received
from traingate.errors import Refusal, UsageProblem
from traingate.plan import Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalBackend:
    """Runs live in `runs` of `repository`; `out` shows rank zero's log.

    `kill_when` may have the ranks of a run killed on the spot (a rehearsal does).
    """

    repository: Path
    stores: Stores
    out: TextIO
    runs: Path = RUNS
    kill_when: Callable[[RunFolder], bool] = lambda _folder: False

    def submit(self, plan: Plan, provenance: Provenance) -> Submission:
        """Make the run and stay until it is over; how it ended is for `observe` to say.

        Raises:
            Refusal: another digest lies under the name, or this machine cannot run the job.
        """
        run_name = plan.run_name(provenance.origin)
        folder = RunFolder(self.repository / self.runs / run_name)
        with received() as signals:
            lock = make(folder, _facts(plan, provenance))
            if lock is not None:
                with lock:
                    run(plan, provenance, folder, self.stores, self._console(folder, signals))
        if folder.facts()["digest"] != plan.digest:
            raise Refusal(
                f"{run_name} was submitted with digest {folder.facts()['digest']}, "
                f"and this plan has {plan.digest}.",
                todo="Choose another origin: one name is one piece of work.",
            )
        return Submission(run_name=run_name, digest=plan.digest, is_new=lock is not None)

    def resume(self, plan: Plan, provenance: Provenance) -> Submission:
        """Start a run that is over without success again, in its own folder.

        Raises:
            Refusal: it is still running, it has succeeded, or it was another digest.
        """
        run_name = plan.run_name(provenance.origin)
        folder = RunFolder(self.repository / self.runs / run_name)
        before = self.observe(run_name)
        lock = folder.lock() if before.is_over and before.state != "Completed" else None
        if lock is None:
            raise Refusal(
                f"{run_name} is {before.state}, so there is nothing to resume.",
                todo="Resume a run that failed or was stopped.",
            )
        with lock, received() as signals:
            run(plan, provenance, folder, self.stores, self._console(folder, signals))
        return Submission(run_name=run_name, digest=plan.digest, is_new=False)

    def observe(self, run_name: str) -> Observation:
        """The last recorded state; a run whose launcher is gone without a word has failed.

        Raises:
            UsageProblem: no run has that name.
        """
        folder = self.folder(run_name)
        # The lock is looked at first: a launcher that ends in between has recorded its end.
        is_launched = folder.is_launched()
        entries = folder.entries()
        last, started = entries[-1], [entry for entry in entries if entry.state == "Running"]
        state, reason = last.state, last.details.get("reason")
        if state not in TERMINAL_STATES and not is_launched:
            state = "Failed"
            reason = "its launcher ended without a word (killed, or the machine stopped)"
        is_over = state in TERMINAL_STATES
        return Observation(
            run_name=run_name,
            state=state,
            reason=reason,
            outcome=folder.outcome_text() if is_over else None,
            started_at=started[-1].at if started else None,
            # When a launcher was killed, nobody wrote down.
            finished_at=last.at if last.state in TERMINAL_STATES else None,
            url=str(folder.path),
            properties={key: str(value) for key, value in folder.facts().items()},
        )

    def cancel(self, run_name: str) -> None:
        """Ask the launcher to stop its ranks; a run that is over stays as it ended."""
        if self.observe(run_name).is_over:
            return
        entries = self.folder(run_name).entries()
        launcher = next(e.details["launcher"] for e in reversed(entries) if "launcher" in e.details)
        with contextlib.suppress(ProcessLookupError):
            os.kill(launcher, signal.SIGTERM)

    def _console(self, folder: RunFolder, signals: Received) -> Console:
        return Console(out=self.out, received=signals, kill_when=lambda: self.kill_when(folder))

    def folder(self, run_name: str) -> RunFolder:
        """The run's folder.

        Raises:
            UsageProblem: no run has that name.
        """
        folder = RunFolder(self.repository / self.runs / run_name)
        if not (folder.path / "run.json").is_file():
            raise UsageProblem(
                f"There is no run {run_name} here.", todo="`traingate status` lists the runs."
            )
        return folder

    def facts(self, run_name: str) -> dict[str, Any]:
        """What was decided when the run was made: digest, provenance, topology, cost."""
        return self.folder(run_name).facts()

    def last_details(self, run_name: str) -> dict[str, Any]:
        """What was recorded with the run's last state: the reason, the first failing rank."""
        last = self.folder(run_name).entries()[-1]
        is_lost = last.state not in TERMINAL_STATES and self.observe(run_name).is_over
        return {**last.details, "kind": "platform"} if is_lost else last.details

    def run_names(self, workload: str | None) -> tuple[str, ...]:
        """The runs of this work tree, oldest first."""
        return tuple(
            folder.path.name
            for folder in folders(self.repository / self.runs)
            if workload is None or folder.facts()["workload"] == workload
        )


def _facts(plan: Plan, provenance: Provenance) -> dict[str, Any]:
    return {
        "workload": plan.workload,
        "digest": plan.digest,
        "model": plan.model.name,
        **asdict(provenance),
        "topology": asdict(plan.topology),
        "cost": asdict(plan.cost) if plan.cost else None,
    }
