"""`traingate admit`: submit what a push to the default branch, or a dispatch on it, admits."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from traingate.commands import loop
from traingate.documents import git
from traingate.errors import UsageProblem
from traingate.github.events import DispatchEvent, PushEvent
from traingate.github.text import code, plain, visible
from traingate.loop.record import Record
from traingate.loop.submit import Decision, submit_dispatch, submit_push
from traingate.report.github import notice


@click.command("admit")
def command() -> int:
    """Verify the reviews, then announce and submit; exit 1 when something was refused.

    Runs in a full clone of the default branch's tip. With `backend: local` the announced runs
    are the output `runs`, for a job without this one's rights.
    """
    event = loop.event()
    if not isinstance(event, PushEvent | DispatchEvent):
        raise UsageProblem(
            "Only a push or a dispatch submits.", todo="Start it by push or workflow_dispatch."
        )
    tip = git.commit(Path.cwd())
    assert tip is not None
    world = loop.github_world(Path.cwd(), branch=event.default_branch, tip=tip)
    if isinstance(event, PushEvent):
        decisions: Sequence[Decision] = submit_push(world, event)
    else:
        run_id = loop.variable("GITHUB_RUN_ID")
        decisions = [submit_dispatch(world, _by_whom(event), run_id)]
    loop.told(map(visible, _lines(decisions)))
    loop.summary(_summary(decisions))
    loop.output("runs", json.dumps([_run(one.record) for one in decisions if _trains(one)]))
    for decision in decisions:
        if decision.error is not None:
            raise decision.error
    return 1 if any(decision.reasons for decision in decisions) else 0


def _by_whom(event: DispatchEvent) -> DispatchEvent:
    """The dispatch as by the person whose press started this attempt.

    A re-run keeps the payload of the first one and takes the branch as it is now, so whoever
    re-runs an owner's dispatch would start another request in the owner's name.
    """
    person = loop.variable("GITHUB_TRIGGERING_ACTOR")
    return event if person.lower() == event.person.lower() else replace(event, person=person)


def _trains(decision: Decision) -> bool:
    record = decision.record
    return record is not None and record.backend == "local" and record.is_open


def _run(record: Record | None) -> dict[str, object]:
    assert record is not None
    wanted = ("run", "workload", "digest", "origin", "attempt", "commit", "pull_request")
    return {name: value for name, value in asdict(record).items() if name in wanted}


def _lines(decisions: Sequence[Decision]) -> Iterator[str]:
    if not decisions:
        yield "No request was changed; nothing is submitted."
    for decision in decisions:
        if decision.record is not None:
            yield f"{decision.record.run}: {decision.record.state}"
        elif decision.error is not None:
            yield notice(f"{decision.workload}: {decision.error}")
        elif not decision.reasons:
            yield f"{decision.workload} was removed; nothing is submitted for it."
        for reason in decision.reasons:
            yield notice(f"{decision.workload}: {reason}")


def _summary(decisions: Sequence[Decision]) -> Iterator[str]:
    for decision in decisions:
        on = f" on #{decision.pull_request}" if decision.pull_request else ""
        if decision.record is not None:
            yield f"- {code(decision.record.run)}{on}: {code(decision.record.state)}"
        for reason in decision.reasons:
            yield f"- {code(decision.workload)}{on}: {plain(str(reason), 2_000)}"
