"""A backend in memory: jobs under their names, on the test's clock."""

import json
from dataclasses import dataclass, field
from typing import Any

from traingate.backends.base import Observation, Provenance, Submission
from traingate.errors import Refusal, UsageProblem
from traingate.plan import Plan


@dataclass
class Job:
    digest: str
    provenance: Provenance
    state: str = "Queued"
    reason: str | None = None
    outcome: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    properties: dict[str, str] = field(default_factory=dict)


@dataclass
class MemoryBackend:
    """`jobs` by run name; `calls` counts what a network would see."""

    jobs: dict[str, Job] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def submit(self, plan: Plan, provenance: Provenance) -> Submission:
        name = plan.run_name(provenance.origin)
        self.call(f"PUT {name}")
        is_new = name not in self.jobs
        job = self.jobs.setdefault(name, Job(plan.digest, provenance))
        if job.digest != plan.digest:
            raise Refusal(f"{name} has another digest.", todo="Choose another origin.")
        url = f"https://ml.example/{name}"
        return Submission(run_name=name, digest=plan.digest, is_new=is_new, url=url)

    def observe(self, run_name: str) -> Observation:
        self.call(f"GET {run_name}")
        if run_name not in self.jobs:
            raise UsageProblem(f"There is no {run_name}.", todo="Look again.")
        job = self.jobs[run_name]
        return Observation(
            run_name=run_name,
            state=job.state,
            reason=job.reason,
            outcome=job.outcome,
            started_at=job.started_at,
            finished_at=job.finished_at,
            url=f"https://ml.example/{run_name}",
            properties=job.properties,
        )

    def cancel(self, run_name: str) -> None:
        self.jobs[run_name].state = "Canceled"

    def call(self, what: str) -> None:
        self.calls.append(what)


def outcome(run: str, workload: str = "seg", **changes: Any) -> str:
    """The outcome file of a run that succeeded, or of what `changes` makes of it."""
    made = {
        "schema_version": 1,
        "status": "succeeded",
        "run_name": run,
        "workload": workload,
        "world_size": 16,
        "training_backend": "aml-distributed",
        "dataset_digest": "d" * 64,
        "mlflow_run_id": "0" * 32,
        "model": {"name": workload, "version": "3", "uri": f"models:/{workload}/3"},
        "metrics": {"accuracy": 0.973, "loss": 0.11},
        "curve": [{"step": step, "loss": 2.0 / (step + 1)} for step in range(60)],
        "durations_seconds": {"train": 3300.0},
        "warnings": [],
        "failure": None,
    }
    return json.dumps(made | changes)


def failure(error: str, **changes: Any) -> dict[str, Any]:
    """The failure record of a first failing rank."""
    made = {
        "time_unix_seconds": 1.0,
        "rank": 3,
        "local_rank": 3,
        "node_rank": 0,
        "error": error,
        "traceback": f"Traceback (most recent call last):\n{error}",
        "exit_code": 1,
    }
    return made | changes
