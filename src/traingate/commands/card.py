"""`traingate card RUN|WORKLOAD`."""

import click

from traingate import pipeline
from traingate.backends.base import Observation
from traingate.commands import world
from traingate.documents.platform import Platform
from traingate.documents.reading import platform_of
from traingate.outcome import Outcome, UnusableOutcome, read_outcome
from traingate.plan import CostCeiling, Topology
from traingate.report.card import Run, card


@click.command("card")
@click.argument("name", metavar="RUN|WORKLOAD")
def command(name: str) -> None:
    """Print the card of a run, or of a workload's newest, as it would stand on a pull request."""
    platform = platform_of(world.repository())
    backend = world.backend(platform)
    newest = backend.run_names(name)[-1:]
    show_card(platform, pipeline.observe(backend, newest[0] if newest else name))


def show_card(platform: Platform, seen: Observation) -> None:
    """Print the card of a run on the platform's backend."""
    if platform.backend == "local":
        text = _local_card(platform, seen)
    else:
        run = Run(
            workload=seen.properties.get("traingate.workload", seen.run_name),
            observation=seen,
            where="on Azure ML",
            logs=seen.url or "-",
        )
        text = card(run, _outcome(seen.outcome))
    click.echo(text, nl=False)


def _local_card(platform: Platform, seen: Observation) -> str:
    """The card of a local run, which is also written to its folder."""
    backend = world.local_backend(platform)
    facts, last = backend.facts(seen.run_name), backend.last_details(seen.run_name)
    folder = backend.folder(seen.run_name)
    run = Run(
        workload=facts["workload"],
        observation=seen,
        topology=Topology(**facts["topology"]),
        cost=CostCeiling(**facts["cost"]) if facts["cost"] else None,
        where="on this machine",
        logs=f"`{(folder.path / 'user_logs').relative_to(backend.repository)}/`",
        kind=last.get("kind"),
        traceback=(last.get("failure") or {}).get("traceback"),
    )
    text = card(run, _outcome(seen.outcome))
    folder.card.write_text(text, encoding="utf-8")
    return text


def _outcome(text: str | None) -> Outcome | None:
    if text is None:
        return None
    try:
        return read_outcome(text)
    except UnusableOutcome:  # The run's reason says so already.
        return None
