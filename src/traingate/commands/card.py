"""`traingate card RUN`."""

import click

from traingate import pipeline
from traingate.backends.local import LocalBackend
from traingate.backends.local.folder import run_folder
from traingate.commands import world
from traingate.documents.reading import platform_of
from traingate.outcome import Outcome, UnusableOutcome, read_outcome
from traingate.plan import CostCeiling, Topology
from traingate.report.card import Run, card


@click.command("card")
@click.argument("run", metavar="RUN")
def command(run: str) -> None:
    """Print the card of a run, as it would stand on the pull request."""
    backend = world.local_backend(platform_of(world.repository()))
    click.echo(local_card(backend, run), nl=False)


def local_card(backend: LocalBackend, run_name: str) -> str:
    """The card of a local run, which is also written to its folder."""
    observation = pipeline.observe(backend, run_name)
    folder = run_folder(backend.repository, run_name)
    facts, last = folder.facts(), folder.entries()[-1].details
    run = Run(
        workload=facts["workload"],
        observation=observation,
        topology=Topology(**facts["topology"]),
        cost=CostCeiling(**facts["cost"]) if facts["cost"] else None,
        where="on this machine",
        logs=f"`{(folder.path / 'user_logs').relative_to(backend.repository)}/`",
        kind=last.get("kind"),
        traceback=(last.get("failure") or {}).get("traceback"),
    )
    text = card(run, _outcome(observation.outcome))
    folder.card.write_text(text, encoding="utf-8")
    return text


def _outcome(text: str | None) -> Outcome | None:
    if text is None:
        return None
    try:
        return read_outcome(text)
    except UnusableOutcome:  # The run's recorded reason says so already.
        return None
