"""`traingate plan WORKLOAD`."""

import click

from traingate import pipeline
from traingate.commands import world
from traingate.report import words


@click.command("plan")
@click.argument("workload")
def command(workload: str) -> None:
    """Show what a request would run, and what it costs at most."""
    planned = pipeline.plan(world.clean_request(workload))
    rows = {
        "workload": planned.workload,
        "topology": words.topology(planned.topology),
        "target": planned.target.name if planned.target else "-",
        "size": planned.topology.size or "-",
        "cost": words.cost(planned.cost),
        "model": planned.model.name,
        "digest": planned.digest,
    }
    for name, value in rows.items():
        click.echo(f"{name:<10}{value}")
