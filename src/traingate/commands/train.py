"""`traingate train`: train one admitted run on this machine, with no right to write anywhere."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from traingate import pipeline
from traingate.backends.base import Observation, Provenance
from traingate.commands import loop, world
from traingate.errors import Refusal, RunFailed, UsageProblem


@dataclass(frozen=True, kw_only=True, slots=True)
class AdmittedRun:
    """What `traingate admit` handed on: enough to make the same run, or to notice it is not."""

    run: str
    workload: str
    digest: str
    origin: str
    attempt: int
    commit: str
    pull_request: int


@click.command("train")
def command() -> None:
    """Train the run in TRAINGATE_ADMITTED; the work tree is at its commit."""
    admitted = admitted_run()
    request = world.clean_request(admitted.workload)
    planned = pipeline.plan(request)
    if planned.digest != admitted.digest:
        raise Refusal(
            f"The files here have digest {planned.digest}, and {admitted.digest} was admitted.",
            todo=f"Check out {admitted.commit}.",
        )
    backend = loop.open_backend(request.context.platform, Path.cwd())
    provenance = Provenance(
        origin=admitted.origin,
        attempt=admitted.attempt,
        commit=admitted.commit,
        pull_request=admitted.pull_request,
    )
    pipeline.submit(backend, planned, provenance)
    _raise_unless_completed(pipeline.observe(backend, admitted.run))


def admitted_run() -> AdmittedRun:
    """The run of this job.

    Raises:
        UsageProblem: TRAINGATE_ADMITTED holds none.
    """
    try:
        given: dict[str, Any] = json.loads(loop.variable("TRAINGATE_ADMITTED"))
        return AdmittedRun(**given)
    except (ValueError, TypeError) as error:
        raise UsageProblem(
            f"TRAINGATE_ADMITTED holds no admitted run: {error}.",
            todo="Hand on an item of the output `runs` of `traingate admit`.",
        ) from error


def _raise_unless_completed(seen: Observation) -> None:
    if seen.state != "Completed":
        raise RunFailed(
            f"{seen.run_name} is {seen.state}: {seen.reason or 'no reason was given'}.",
            todo="Its comment on the pull request says what to do.",
        )
