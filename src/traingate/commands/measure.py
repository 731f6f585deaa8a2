"""`traingate measure WORKLOAD`."""

import sys
import time
from pathlib import Path

import click

from traingate import pipeline
from traingate.backends.base import Backend, Observation
from traingate.commands import world
from traingate.commands.ending import raise_unless_well
from traingate.commands.submit import next_provenance
from traingate.documents.platform import Platform
from traingate.documents.sources import evidence_file
from traingate.measure import Asked, evidence, evidence_json, one_process, with_evidence
from traingate.outcome import read_outcome
from traingate.plan import Plan

MEASUREMENTS = Path(".traingate", "measurements")
_POLL_SECONDS = 15.0


@click.command("measure")
@click.argument("workload")
@click.option("--steps", type=click.IntRange(2), default=50, show_default=True)
@click.option("--timeout", type=click.IntRange(1), default=3600, show_default=True,
              help="Seconds it may take.")  # fmt: skip
@click.option("--memory-scale", type=click.FloatRange(1.0), default=1.0,
              help="How many times more memory the model to be trained needs.")  # fmt: skip
@click.option("--backend", type=click.Choice(["local", "azureml"]), default="local")
@click.option("--size", help="What this machine is, for the evidence; found out by default.")
def command(
    workload: str, *, steps: int, timeout: int, memory_scale: float, backend: str, size: str | None
) -> None:
    """Run one process for a few steps and write the admission's evidence from what it left."""
    request = world.clean_request(workload, but_for=world.UNFINISHED)
    asked = Asked(steps=steps, timeout_seconds=timeout, memory_scale=memory_scale)
    small = one_process(pipeline.plan(request), request, asked)
    seen = _run(small, request.context.platform, backend)
    raise_unless_well(seen, again="Nothing was written; measure again.")
    assert seen.outcome is not None
    assert request.admission is not None
    where = size or (small.topology.size if backend == "azureml" else None) or _this_machine()
    outcome = read_outcome(seen.outcome)
    block = evidence(outcome, request.admission, asked, size=where)
    top = world.repository()
    text = with_evidence(request.admission, block)
    (top / evidence_file(workload)).write_text(evidence_json(block, seen.outcome), encoding="utf-8")
    (top / request.admission_file).write_bytes(text.encode())
    click.echo(f"wrote {evidence_file(workload)} and the evidence of {request.admission_file}:")
    for name, value in block.items():
        click.echo(f"  {name}: {value}")
    share = outcome.metrics.get("data_wait_share")
    if share is not None:
        click.echo(f"The training waited for data {share:.0%} of its time.")


def _run(small: Plan, platform: Platform, backend: str) -> Observation:
    if backend == "local":
        here = world.local_backend(platform, runs=MEASUREMENTS)
        return _over(here, pipeline.submit(here, small, next_provenance(here, small)).run_name)
    there = world.azureml_backend(platform)
    submission = pipeline.submit(there, small, next_provenance(there, small))
    click.echo(f"{submission.run_name}: {submission.url or ''}")
    return _over(there, submission.run_name)


def _over(backend: Backend, run_name: str) -> Observation:
    while not (seen := pipeline.observe(backend, run_name)).is_over:
        time.sleep(_POLL_SECONDS)
    return seen


def _this_machine() -> str:
    return f"this machine ({sys.platform})"
