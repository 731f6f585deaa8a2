"""`traingate check [WORKLOAD...]`."""

import click

from traingate import pipeline
from traingate.commands import world
from traingate.documents.reading import workloads
from traingate.findings import has_errors
from traingate.report import text


@click.command("check")
@click.argument("names", metavar="[WORKLOAD]...", nargs=-1)
def command(names: tuple[str, ...]) -> int:
    """Find every mistake in the requests named, or in all of them."""
    findings = pipeline.check(world.read(names or workloads(world.repository())))
    for line in text.lines(findings):
        click.echo(line)
    return 1 if has_errors(findings) else 0
