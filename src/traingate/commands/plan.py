"""`traingate plan WORKLOAD`."""

import click

from traingate import pipeline
from traingate.commands import world
from traingate.documents.history import read_request_at
from traingate.plan import Plan
from traingate.report import plan as report

FORMATS = {"text": report.text, "markdown": report.markdown, "json": report.as_json}


@click.command("plan")
@click.argument("workload")
@click.option("--format", "shape", type=click.Choice(list(FORMATS)), default="text")
@click.option("--base", metavar="REV", help="Show what changed against this commit's plan.")
def command(workload: str, shape: str, base: str | None) -> None:
    """Show what a request would run, and what it costs at most."""
    planned = pipeline.plan(world.clean_request(workload))
    before = _plan_at(base, workload) if base else None
    click.echo(FORMATS[shape](planned, before), nl=False)


def _plan_at(revision: str, workload: str) -> Plan | None:
    """The plan of a commit; None where it had no such request."""
    request = read_request_at(world.repository(), revision, workload, world.today())
    return None if request is None else pipeline.plan(request)
