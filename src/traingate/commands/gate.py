"""`traingate gate`: what a pull request asks for, on its diff, its summary and its thread."""

import os
from pathlib import Path

import click

from traingate.commands import loop
from traingate.documents import git
from traingate.errors import UsageProblem
from traingate.github.comments import put, read_thread
from traingate.github.events import Event, MergeGroupEvent, PullRequestEvent
from traingate.github.text import visible
from traingate.loop.gate import Assessment, assess
from traingate.loop.history import History
from traingate.loop.world import World
from traingate.report.gate_card import gate_card, gate_marker, unchanged_card
from traingate.report.github import annotations, notice

#: GitHub drops a step's summary above 1 MiB; several cards share it.
_SUMMARY_LIMIT = 200_000
_WHOLE = "All of it: `traingate check` on your machine."


@click.command("gate")
@click.option(
    "--checkout",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    help="The pull request's clone, read as data.",
)
@click.option("--comment", is_flag=True, help="Write the cards as comments too.")
def command(checkout: Path, *, comment: bool) -> int:
    """Assess the requests a pull request changes; exit 1 when one may not run."""
    event = loop.event()
    head = git.commit(checkout)
    assert head is not None
    world = loop.github_world(checkout, branch="", tip=_base(event, checkout))
    number = event.number if isinstance(event, PullRequestEvent) else None
    assessments = assess(world, head, number)
    if comment:
        assert isinstance(event, PullRequestEvent)
        _comment(world, event, assessments)
        return 0
    _tell(assessments)
    return 0 if all(one.is_ready or one.is_removed for one in assessments) else 1


def _base(event: Event, checkout: Path) -> str:
    """What the change is held against: a merge commit's first parent, or the queue's base."""
    if isinstance(event, MergeGroupEvent):
        return event.base
    if not isinstance(event, PullRequestEvent):
        raise UsageProblem(
            "The gate judges pull requests.", todo="Start it by pull_request or merge_group."
        )
    history = History(checkout)
    base = history.object_id("HEAD^1")
    if base is None or history.object_id("HEAD^2") is None:
        raise UsageProblem(
            f"{checkout} is no merge commit.",
            todo="Check out the pull request's merge ref with `fetch-depth: 0`.",
        )
    return base


def _tell(assessments: tuple[Assessment, ...]) -> None:
    if not assessments:
        loop.told(["No request is changed."])
        loop.summary(["No request is changed: a merge submits nothing."])
    findings = [one for of in assessments for one in of.findings]
    shown = annotations(findings).commands
    loop.told(map(visible, shown))
    if more := len(findings) - len(shown):
        loop.told([f"{more:,} more are in the job summary and on the pull request."])
    for of in assessments:
        if of.deciding:
            text = f"{of.workload} is changed together with {', '.join(of.deciding[:5])}"
            loop.told([notice(f"{text}: make it two pull requests.")])
    loop.summary(gate_card(of, pointer=_WHOLE, limit=_SUMMARY_LIMIT) for of in assessments)


def _comment(world: World, event: PullRequestEvent, assessments: tuple[Assessment, ...]) -> None:
    """Write the cards while the pull request is open and this is its newest commit."""
    pull = world.github.get(f"pulls/{event.number}")
    if pull["state"] != "open" or pull["head"]["sha"] != event.head:
        loop.told(["The pull request was merged, closed or pushed to meanwhile; nothing written."])
        return
    rehearsed = os.environ.get("TRAINGATE_REHEARSED") or None
    pointer = f"All of it: {world.run_url}"
    thread = read_thread(world.github, event.number)
    names = {of.workload for of in assessments}
    for of in assessments:
        card = gate_card(of, pointer=pointer, rehearsed=rehearsed)
        thread = put(world.github, thread, gate_marker(of.workload), card)
    for comment in thread.kind("gate"):
        if comment.marker.key not in names:
            put(world.github, thread, comment.marker, unchanged_card(comment.marker.key))
