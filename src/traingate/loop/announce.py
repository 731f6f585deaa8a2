"""The three writes of a submission, in this order: run comment, label, job.

Each may be repeated. Cut off anywhere, the next try finds in the run comment how far this one
got, and the backend refuses to make a second job under one name.
"""

from dataclasses import replace

from traingate import pipeline
from traingate.backends.base import Provenance
from traingate.errors import Refusal
from traingate.github.approvals import Reason
from traingate.github.comments import Thread, put, read_thread
from traingate.github.labels import REFUSED, RUNNING, put_label
from traingate.loop import budget
from traingate.loop.admit import Admitted
from traingate.loop.record import SUBMITTED, WITHDRAWN, Record, records
from traingate.loop.world import World
from traingate.report.run_comment import refusal_body, refusal_marker, run_body

#: How long a backend may not know a run that was announced.
PATIENCE_SECONDS = 3600.0


def announce(world: World, admitted: Admitted) -> Record | tuple[Reason, ...]:
    """Make the admitted run exist, or say why it may not.

    Returns:
        The run as recorded on the pull request. With the local backend it is announced but not
        yet trained: that happens in a job without this one's rights.
    """
    request = admitted.request
    thread = read_thread(world.github, admitted.pull_request)
    known = _known(world, thread, admitted)
    if known is not None and not known.may_be_sent:
        return known
    taken = budget.used(budget.threads(world, request, thread), request)
    if reasons := budget.exceeded(taken, admitted):
        return reasons
    record = known or first_record(world, admitted, attempt=len(taken) + 1)
    thread = write_record(world, thread, record)
    # Two may have seen the last place free; now both are announced, and the older keeps it.
    taken = budget.used(budget.threads(world, request, thread), request)
    if reasons := budget.exceeded(taken, admitted):
        write_record(world, thread, record.at(WITHDRAWN, reason=str(reasons[0])))
        return reasons
    put_label(world.github, admitted.pull_request, RUNNING)
    if record.backend == "local":
        return record
    return _send(world, thread, record, admitted)


def _known(world: World, thread: Thread, admitted: Admitted) -> Record | None:
    """The run as the thread remembers it, with all that was just verified put in its place.

    Any workflow of the repository can write as our identity, so a comment tells how far a run
    got and never what it is.
    """
    found = next((one for one in records(thread) if one.run == admitted.run), None)
    if found is None:
        return None
    told = ("state", "reason", "started_at", "finished_at", "url", "written_at")
    made = first_record(world, admitted, attempt=found.attempt)
    return replace(made, **{name: getattr(found, name) for name in told})


def refuse(world: World, number: int, workload: str, reasons: tuple[Reason, ...]) -> None:
    """Say on the pull request why nothing was submitted for a workload."""
    thread = read_thread(world.github, number)
    body = refusal_body(workload, reasons, pointer=f"All of it: {world.run_url}")
    put(world.github, thread, refusal_marker(workload), body)
    if not any(record.is_open for record in records(thread)):
        put_label(world.github, number, REFUSED)


def first_record(world: World, admitted: Admitted, *, attempt: int) -> Record:
    """The run as it is announced, before its job is sent."""
    plan, backend = admitted.plan, admitted.request.context.platform.backend
    timeout = plan.job.timeout_seconds or 0
    return Record(
        run=admitted.run,
        workload=plan.workload,
        digest=plan.digest,
        admission=budget.admission_id(admitted.request),
        origin=admitted.origin,
        attempt=attempt,
        commit=admitted.commit,
        pull_request=admitted.pull_request,
        approver=admitted.approver,
        backend=backend,
        target=plan.target.name if plan.target and backend != "local" else None,
        model=plan.model.name,
        topology=plan.topology,
        cost=plan.cost,
        patience_seconds=PATIENCE_SECONDS + (timeout if backend == "local" else 0),
        written_at=world.clock.now(),
        url=world.run_url if backend == "local" else None,
    )


def _send(
    world: World, thread: Thread, record: Record, admitted: Admitted
) -> Record | tuple[Reason, ...]:
    provenance = Provenance(
        origin=record.origin,
        attempt=record.attempt,
        commit=record.commit,
        pull_request=record.pull_request,
    )
    with world.history.checked_out(record.commit, record.workload) as tree:
        backend = world.open_backend(admitted.request.context.platform, tree)
        try:
            submission = pipeline.submit(backend, admitted.plan, provenance)
        except Refusal as refusal:
            write_record(world, thread, record.at(WITHDRAWN, reason=str(refusal)))
            return (Reason(problem=refusal.problem, todo=refusal.todo),)
    sent = record.at(SUBMITTED, url=submission.url)
    write_record(world, thread, sent)
    return sent


def write_record(world: World, thread: Thread, record: Record) -> Thread:
    """Make the run comment say what `record` knows."""
    body = run_body(record, now=world.clock.now(), pointer=f"All of it: {world.run_url}")
    return put(world.github, thread, record.marker, body)
