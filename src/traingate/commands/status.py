"""`traingate status [WORKLOAD|RUN]`."""

from collections.abc import Iterator
from datetime import UTC, datetime

import click

from traingate import pipeline
from traingate.backends.base import Observation
from traingate.commands import world
from traingate.documents.reading import platform_of, workloads
from traingate.report import words
from traingate.report.text import printable


@click.command("status")
@click.argument("name", metavar="[WORKLOAD|RUN]", required=False)
def command(name: str | None) -> None:
    """List the runs the platform's backend knows, of one workload, or show one run."""
    top = world.repository()
    backend = world.backend(platform_of(top))
    names = backend.run_names(name)
    if not names and (name is None or name in workloads(top)):
        click.echo(f"No runs of {name} yet." if name else "No runs yet.")
        return
    for run_name in names or ((name,) if name else ()):
        for line in lines(pipeline.observe(backend, run_name)):
            click.echo(line)


def lines(seen: Observation) -> Iterator[str]:
    """One line a run, and its reason on a second."""
    yield f"{seen.run_name}  {seen.state:<10} {_when(seen)}".rstrip()
    if seen.reason:
        yield f"    {printable(seen.reason)}"


def _when(seen: Observation) -> str:
    if seen.started_at is None:
        return "-"
    started = datetime.fromtimestamp(seen.started_at, tz=UTC)
    took = words.duration(seen.finished_at - seen.started_at) if seen.finished_at else ""
    return f"{started:%Y-%m-%d %H:%M:%S}Z  {took}"
