"""`traingate watch RUN`."""

import sys
import time

import click

from traingate import pipeline
from traingate.backends.base import Observation
from traingate.commands import world
from traingate.commands.card import show_card
from traingate.commands.ending import raise_unless_well
from traingate.documents.reading import platform_of
from traingate.report import words


@click.command("watch")
@click.argument("run", metavar="RUN")
@click.option("--every", type=click.FloatRange(0.1), default=15.0, show_default=True,
              help="Seconds between looks.")  # fmt: skip
def command(run: str, *, every: float) -> None:
    """Follow a run to its end: live on a terminal, else a line for each change of state."""
    platform = platform_of(world.repository())
    backend = world.backend(platform)
    began, state = time.monotonic(), ""
    while True:
        seen = pipeline.observe(backend, run)
        _show(seen, time.monotonic() - began, is_new=seen.state != state)
        if seen.is_over:
            break
        state = seen.state
        time.sleep(every)
    click.echo()
    show_card(platform, seen)
    raise_unless_well(seen)


def _show(seen: Observation, watched_seconds: float, *, is_new: bool) -> None:
    line = f"{seen.run_name}  {seen.state}"
    if sys.stdout.isatty():
        click.echo(f"\r\x1b[2K{line}, watched for {words.duration(watched_seconds)}", nl=False)
    elif is_new:
        click.echo(line)
