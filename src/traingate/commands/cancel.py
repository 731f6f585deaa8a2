"""`traingate cancel RUN`."""

import click

from traingate.commands import world
from traingate.documents.reading import platform_of


@click.command("cancel")
@click.argument("run", metavar="RUN")
def command(run: str) -> None:
    """Ask for a run's end; a run that is over stays as it ended."""
    backend = world.backend(platform_of(world.repository()))
    backend.cancel(run)
    click.echo(f"{run} is {backend.observe(run).state}")
