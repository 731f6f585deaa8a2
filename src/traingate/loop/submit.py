"""What a push to the default branch, or a dispatch on it, submits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from traingate.errors import Refusal, TraingateError
from traingate.github.approvals import Reason
from traingate.github.events import DispatchEvent, PushEvent
from traingate.loop.admit import Admitted, dispatched, merged
from traingate.loop.announce import announce, refuse
from traingate.loop.history import is_workload, paths_of, workload_of, workloads_in
from traingate.loop.merge import pull_numbers
from traingate.loop.record import Record
from traingate.loop.world import World


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What became of one changed request: a record, reasons against it, or a world that broke.

    All three are empty when the merge removed the request.
    """

    workload: str
    pull_request: int | None
    record: Record | None = None
    reasons: tuple[Reason, ...] = ()
    error: TraingateError | None = None


def submit_push(world: World, push: PushEvent) -> tuple[Decision, ...]:
    """Decide about every request that the pushed merges changed, oldest merge first.

    Raises:
        Refusal: the push is none whose commits could be attributed.
    """
    if push.branch != push.default_branch or push.deleted:
        raise Refusal(
            f"The push was to {push.branch or 'a tag'}, not to {push.default_branch}.",
            todo="Merge a pull request.",
        )
    if push.forced or push.before is None or not world.history.has(push.after, world.tip):
        raise Refusal(
            f"{push.default_branch} was rewritten, so nobody can say what this push brought.",
            todo="Forbid force pushes in the ruleset; start runs by *Run workflow* on submit.",
        )
    return tuple(
        decision
        for commit in world.history.pushed(push.before, push.after)
        for decision in _merge(world, commit)
    )


def submit_dispatch(world: World, dispatch: DispatchEvent, run_id: str) -> Decision:
    """Decide about one workload of the default branch's tip.

    Raises:
        Refusal: the dispatch was on another ref, or there is no such request.
    """
    workload = dispatch.workload
    if dispatch.ref != f"refs/heads/{dispatch.default_branch}":
        raise Refusal(
            f"The workflow was started on {dispatch.ref}.",
            todo=f"Start it on {dispatch.default_branch}; nothing else was reviewed.",
        )
    if not is_workload(workload) or not world.history.request_files(workload, world.tip):
        raise Refusal(f"There is no request {workload!r}.", todo="Name a workload of jobs/.")
    newest = world.history.last_touching(world.tip, *paths_of(workload))
    assert newest is not None
    number, containing = pull_numbers(world, newest)
    if number is None:
        return _unattributed(world, newest, workload, containing)

    def judge() -> Admitted | tuple[Reason, ...]:
        return dispatched(world, dispatch, number, run_id)

    return _decide(world, workload, number, judge)


def _merge(world: World, commit: str) -> Iterator[Decision]:
    changed = world.history.changed(commit)
    names = workloads_in(changed)
    if not names:
        return
    number, containing = pull_numbers(world, commit)
    for workload in names:
        if number is None:
            yield _unattributed(world, commit, workload, containing)
        elif not world.history.request_files(workload, commit):
            yield Decision(workload=workload, pull_request=number)  # The merge removed it.
        else:
            files = tuple(path for path in changed if workload_of(path) == workload)
            judge = partial(merged, world, commit, number, workload, files)
            yield _decide(world, workload, number, judge)


def _unattributed(world: World, commit: str, workload: str, containing: int | None) -> Decision:
    reason = Reason(
        problem=f"Commit {commit[:12]} changed the request `{workload}` and is no pull request's "
        "merge commit: it was pushed directly, rebased or merged along with something else.",
        todo="Open a pull request that touches the request, have it approved and merge it by "
        "squash; the ruleset can forbid everything else.",
    )
    if containing is not None:
        refuse(world, containing, workload, (reason,))
    return Decision(workload=workload, pull_request=containing, reasons=(reason,))


def _decide(
    world: World, workload: str, number: int, judge: Callable[[], Admitted | tuple[Reason, ...]]
) -> Decision:
    """One request's decision; what breaks here must not keep the others from theirs."""
    try:
        verdict = judge()
        result = announce(world, verdict) if isinstance(verdict, Admitted) else verdict
        if isinstance(result, Record):
            return Decision(workload=workload, pull_request=number, record=result)
        refuse(world, number, workload, result)
        return Decision(workload=workload, pull_request=number, reasons=result)
    except TraingateError as error:
        return Decision(workload=workload, pull_request=number, error=error)
