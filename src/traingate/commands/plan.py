"""`traingate plan WORKLOAD`."""

import click

from traingate import pipeline
from traingate.commands import world
from traingate.documents.history import read_request_at
from traingate.plan import Plan
from traingate.report import plan as report

_FORMATS = {"text": report.text, "markdown": report.markdown, "json": report.as_json}


@click.command("plan")
@click.argument("workload")
@click.option(
    "--format", "form", type=click.Choice(list(_FORMATS)), default="text", show_default=True
)
@click.option("--base", metavar="REV", help="Say what changed since this commit.")
def command(workload: str, *, form: str, base: str | None) -> None:
    """Show what a request would run, and what it costs at most."""
    planned = pipeline.plan(world.clean_request(workload))
    click.echo(_FORMATS[form](planned, _at(base, workload)), nl=False)


def _at(revision: str | None, workload: str) -> Plan | None:
    """The plan as `revision` has it; None when it has no such request."""
    if revision is None:
        return None
    request = read_request_at(world.repository(), revision, workload, world.today())
    return pipeline.plan(request) if request else None
