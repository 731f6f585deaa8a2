"""A run whose comment somebody deleted: found again by the name its files give it."""

from traingate import pipeline
from traingate.backends.base import Backend
from traingate.errors import UsageProblem
from traingate.github.comments import Thread
from traingate.loop.admit import Admitted
from traingate.loop.announce import first_record, write_record
from traingate.loop.history import workloads_in
from traingate.loop.merge import Runnable, planned
from traingate.loop.record import SUBMITTED
from traingate.loop.world import World


def rebuild(world: World, backend: Backend, thread: Thread, commit: str) -> Thread:
    """Announce again every run of a merge that the backend knows and the thread does not."""
    for workload in workloads_in(world.history.changed(commit)):
        if not world.history.request_files(workload, commit):
            continue
        result = planned(world, commit, workload)
        if isinstance(result, Runnable):
            thread = _again(world, backend, thread, _admitted(result, commit, thread.number))
    return thread


def _again(world: World, backend: Backend, thread: Thread, admitted: Admitted) -> Thread:
    try:
        seen = pipeline.observe(backend, admitted.run)
    except UsageProblem:
        return thread  # It never was sent, so there is nothing to follow.
    record = first_record(world, admitted, attempt=1).at(SUBMITTED, url=seen.url)
    return write_record(world, thread, record)


def _admitted(runnable: Runnable, commit: str, number: int) -> Admitted:
    return Admitted(
        request=runnable.request,
        plan=runnable.plan,
        commit=commit,
        pull_request=number,
        origin=f"p{number}",
        approver="the review above (the first run comment was deleted)",
    )
