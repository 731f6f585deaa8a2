"""What became of the open runs, told where the conversation is, and only when it changed."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial

from traingate import pipeline
from traingate.backends.base import Backend, Observation
from traingate.errors import TraingateError, UsageProblem
from traingate.github.comments import Thread, put
from traingate.github.labels import DONE, FAILED, REFUSED, RUNNING, put_label
from traingate.github.open_runs import Followed, read_open_runs
from traingate.loop.announce import write_record
from traingate.loop.ending import ending_of
from traingate.loop.history import workloads_in
from traingate.loop.record import LOST, WITHDRAWN, Record, records
from traingate.loop.repair import rebuild
from traingate.loop.world import World
from traingate.report.outcome_comment import outcome_body, outcome_marker
from traingate.report.run_comment import lost_body, lost_marker, missed_body, missed_marker

#: A merge younger than this may still be being submitted; an older one than that is history.
MISSED_AFTER, MISSED_UNTIL = timedelta(hours=1), timedelta(hours=48)


def report(world: World, backend: Backend) -> tuple[TraingateError, ...]:
    """Look at everything open once.

    Returns:
        What kept single pull requests from being looked at; the others were.
    """
    found = read_open_runs(world.github, world.now() - MISSED_UNTIL)
    steps: list[Callable[[], None]] = [
        partial(follow, world, backend, one, is_private=found.is_private) for one in found.running
    ]
    steps += [partial(_unlabelled, world, one) for one in found.unlabelled]
    return tuple(_failures(steps))


def follow(world: World, backend: Backend, merge: Followed, *, is_private: bool) -> None:
    """Observe the open runs of one pull request and set its label when none is left."""
    thread = merge.thread
    if not records(thread) and (commit := _on_branch(world, merge)) is not None:
        thread = rebuild(world, backend, thread, commit)
    for record in records(thread):
        if record.is_open:
            observation = _observed(world, backend, record)
            if observation is not None:
                thread = settle(world, thread, record, observation, is_private=is_private)
    label(world, thread)


def settle(
    world: World, thread: Thread, record: Record, seen: Observation, *, is_private: bool
) -> Thread:
    """Tell a change of state; at the end the outcome first, so that it is never lost."""
    # A local run's own address is a folder on a runner that is gone; its page is the workflow's.
    url = record.url if record.backend == "local" else seen.url or record.url
    pointer = f"All of it: {url or world.run_url}"
    if seen.state == LOST:
        thread = put(world.github, thread, lost_marker(record.run), lost_body(record))
        return write_record(world, thread, record.at(LOST))
    if not seen.is_over:
        now = record.at(seen.state, started_at=seen.started_at, url=url)
        return thread if seen.state == record.state else write_record(world, thread, now)
    ending = ending_of(seen, record.run, record.model)
    finished_at = seen.finished_at or world.clock.now()
    final = record.at(
        ending.state,
        reason=ending.reason,
        started_at=seen.started_at,
        finished_at=finished_at,
        url=url,
    )
    marker = outcome_marker(record.run)
    if not thread.of(marker):
        body = outcome_body(final, ending, is_private=is_private, pointer=pointer)
        thread = put(world.github, thread, marker, body)
    return write_record(world, thread, final)


def label(world: World, thread: Thread) -> None:
    """Replace `traingate:running` once every run of the pull request is over."""
    told = [record for record in records(thread) if record.state != WITHDRAWN]
    if any(record.is_open for record in told):
        return
    succeeded = bool(told) and all(record.state == "Completed" for record in told)
    put_label(world.github, thread.number, DONE if succeeded else FAILED if told else REFUSED)


def _observed(world: World, backend: Backend, record: Record) -> Observation | None:
    """What the backend says, or that it has not heard of the run for too long; None to wait."""
    try:
        return pipeline.observe(backend, record.run)
    except UsageProblem:
        if world.clock.now() < record.is_overdue_at:
            return None
    return Observation(run_name=record.run, state=LOST, properties={})


def _unlabelled(world: World, merge: Followed) -> None:
    """A merge nothing was said about, or whose label somebody took away."""
    commit = _on_branch(world, merge)
    if commit is None or merge.merged_at is None:
        return
    if any(record.is_open for record in records(merge.thread)):
        put_label(world.github, merge.number, RUNNING)
        return
    if records(merge.thread):
        label(world, merge.thread)
        return
    changed = world.history.changed(commit)
    names = [name for name in workloads_in(changed) if world.history.request_files(name, commit)]
    if names and world.now() - merge.merged_at >= MISSED_AFTER:
        put(world.github, merge.thread, missed_marker(), missed_body(names))
        put_label(world.github, merge.number, REFUSED)


def _on_branch(world: World, merge: Followed) -> str | None:
    """The merge commit, if the default branch has it: a merge elsewhere admits nothing."""
    commit = merge.merge_commit
    return commit if commit is not None and world.history.has(commit, world.tip) else None


def _failures(steps: list[Callable[[], None]]) -> Iterator[TraingateError]:
    for step in steps:
        try:
            step()
        except TraingateError as error:
            yield error
