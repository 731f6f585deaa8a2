"""`traingate status [WORKLOAD|RUN]`."""

from datetime import UTC, datetime

import click

from traingate import pipeline
from traingate.backends.local.folder import runs
from traingate.commands import world
from traingate.documents.reading import platform_of
from traingate.report import words


@click.command("status")
@click.argument("name", metavar="[WORKLOAD|RUN]", required=False)
def command(name: str | None) -> None:
    """List the runs of this work tree, of one workload, or show one run."""
    top = world.repository()
    backend = world.local_backend(platform_of(top))
    chosen = [
        folder.path.name
        for folder in runs(top)
        if name in {None, folder.path.name, folder.facts()["workload"]}
    ]
    if not chosen:
        click.echo(f"No runs of {name}." if name else "No runs yet.")
    for run_name in chosen:
        seen = pipeline.observe(backend, run_name)
        started = datetime.fromtimestamp(seen.started_at, tz=UTC) if seen.started_at else None
        when = f"{started:%Y-%m-%d %H:%M:%S}Z" if started else "-"
        took = (
            words.duration(seen.finished_at - seen.started_at)
            if seen.started_at and seen.finished_at
            else ""
        )
        click.echo(f"{run_name}  {seen.state:<10} {when}  {took}".rstrip())
        if seen.reason:
            click.echo(f"    {seen.reason}")
