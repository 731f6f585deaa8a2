"""Runs and dollars an admission still allows, counted from the run comments themselves."""

from traingate.documents.request import Request
from traingate.github.approvals import Reason
from traingate.github.comments import Thread, read_thread
from traingate.loop.admit import Admitted
from traingate.loop.history import paths_of
from traingate.loop.merge import pull_numbers
from traingate.loop.record import Record, counted
from traingate.loop.world import World


def admission_id(request: Request) -> str:
    """The git blob id of the admission: another text is another admission."""
    return request.context.tree.blobs[request.admission_file].object_id


def threads(world: World, request: Request, own: Thread) -> tuple[Thread, ...]:
    """The threads that can hold runs of the request's admission.

    Those are the pull requests that changed the request since a merge first brought this very
    admission: removing it and bringing it back gives no new runs. A dispatched run is announced
    on the newest of them.
    """
    blob, path = admission_id(request), request.admission_file
    history, found = world.history, {own.number: own}
    brought = [
        commit
        for commit in history.touching(path, at=world.tip)
        if history.object_id(f"{commit}:{path}") == blob
    ]
    if not brought:
        return (own,)
    for commit in history.touching(*paths_of(request.workload), at=world.tip, since=brought[-1]):
        number, _ = pull_numbers(world, commit)
        if number is not None and number not in found:
            found[number] = read_thread(world.github, number)
    return tuple(found.values())


def used(found: tuple[Thread, ...], request: Request) -> tuple[Record, ...]:
    """The runs that count against the request's admission, oldest first."""
    return counted(found, request.workload, admission_id(request))


def exceeded(taken: tuple[Record, ...], admitted: Admitted) -> tuple[Reason, ...]:
    """Why this run would leave the envelope, given all that were announced before it."""
    assert admitted.request.admission is not None
    envelope = admitted.request.admission.envelope
    todo = "Renew the admission in a pull request: raise `envelope.runs` or `envelope.cost_usd`."
    before = _before(taken, admitted.run)
    if len(before) >= envelope.runs:
        names = ", ".join(record.run for record in before[-3:])
        problem = f"The admission's {envelope.runs} runs are used up (the last: {names})."
        return (Reason(problem=problem, todo=todo),)
    spent = sum(record.ceiling_usd() for record in before)
    own = admitted.plan.cost.usd if admitted.plan.cost else 0.0
    if spent + own > envelope.cost_usd:
        problem = (
            f"This run may cost ${own:,.2f}, and the ceilings of the runs before it come to "
            f"${spent:,.2f} of the ${envelope.cost_usd:,.2f} admitted."
        )
        return (Reason(problem=problem, todo=todo),)
    return ()


def _before(taken: tuple[Record, ...], run: str) -> tuple[Record, ...]:
    names = [record.run for record in taken]
    return taken[: names.index(run)] if run in names else taken
