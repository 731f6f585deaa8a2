"""`traingate report`: tell what became of open runs on their pull requests."""

from pathlib import Path

import click

from traingate.backends.base import Backend, Observation
from traingate.commands import loop
from traingate.commands.train import admitted_run
from traingate.documents import git
from traingate.documents.reading import platform_of
from traingate.errors import UsageProblem
from traingate.github.comments import read_thread
from traingate.github.text import visible
from traingate.loop.record import records
from traingate.loop.report import label, report, settle
from traingate.loop.world import World
from traingate.report.github import notice


@click.command("report")
@click.option("--trained", is_flag=True, help="Only the run this job has trained here.")
def command(*, trained: bool) -> None:
    """Look at everything open once; write only where a state changed."""
    tip = git.commit(Path.cwd())
    assert tip is not None
    world = loop.github_world(Path.cwd(), branch="", tip=tip)
    backend = loop.reading_backend(platform_of(Path.cwd()))
    if trained:
        _trained(world, backend)
        return
    failures = report(world, backend)
    loop.told(visible(notice(str(failure))) for failure in failures)
    if failures:
        raise failures[0]


def _trained(world: World, backend: Backend) -> None:
    """Finish the comment of the run that ended in this job, however it ended."""
    admitted = admitted_run()
    is_private = bool(world.github.get("")["private"])
    thread = read_thread(world.github, admitted.pull_request)
    for record in records(thread):
        if record.run == admitted.run and record.is_open:
            try:
                seen = backend.observe(record.run)
            except UsageProblem:
                seen = Observation(
                    run_name=record.run,
                    state="Failed",
                    reason="the job ended before the training started",
                    properties={"kind": "platform"},
                )
            thread = settle(world, thread, record, seen, is_private=is_private)
    label(world, thread)
