"""Whether one request may run: by the merge that brought it, or by somebody who starts it again.

Both end in the same `Admitted`, or in every reason why not.
"""

from dataclasses import dataclass

from traingate.documents.request import Request
from traingate.github.approvals import Reason, could_approve
from traingate.github.events import DispatchEvent
from traingate.github.pulls import Person, read_pull
from traingate.loop.history import paths_of, workload_of
from traingate.loop.merge import Runnable, planned, platform_at, pull_numbers, verify_merge
from traingate.loop.world import World
from traingate.plan import Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class Admitted:
    """A request that may run.

    `origin` is `p<pull request>` or `r<workflow run id>`; the run is announced on
    `pull_request`.
    """

    request: Request
    plan: Plan
    commit: str
    pull_request: int
    origin: str
    approver: str

    @property
    def run(self) -> str:
        return self.plan.run_name(self.origin)


def merged(
    world: World, commit: str, number: int, workload: str, files: tuple[str, ...]
) -> Admitted | tuple[Reason, ...]:
    """Judge the merge of `number`, which changed `files` of the request.

    The branch may have moved since: an admission that was withdrawn or replaced meanwhile no
    longer admits this run, however long ago the workflow run was started.
    """
    verdict = verify_merge(world, commit, number, workload, files)
    if verdict.approver is None:
        return verdict.reasons
    path = paths_of(workload)[0]
    then, now = (world.history.object_id(f"{at}:{path}") for at in (commit, world.tip))
    if then != now:
        problem = f"{path} was withdrawn or replaced on {world.branch} since this merge."
        todo = "Start the workload again from the default branch if it still shall run."
        return (Reason(problem=problem, todo=todo),)
    return _admitted(world, workload, commit, number, f"p{number}", verdict.approver)


def dispatched(
    world: World, dispatch: DispatchEvent, number: int, run_id: str
) -> Admitted | tuple[Reason, ...]:
    """Judge a dispatch: every file's last merge, then the person, then the request as it is."""
    workload, tip = dispatch.workload, world.tip
    for commit in _sources(world, workload):
        if reasons := _source(world, commit, workload):
            return reasons
    person = Person(login=dispatch.person, is_human=dispatch.is_human)
    files = world.history.request_files(workload, tip)
    owners = world.history.owners(tip)
    assert owners is not None  # Each merge above was verified against one.
    is_member = world.membership(platform_at(world.history, tip))
    pull = read_pull(world.github, number)
    reason = could_approve(person, pull, files, owners, is_member)
    if reason is not None:
        return (
            Reason(
                problem=f"{person.login} could not have approved this request: {reason.problem}",
                todo="Let an owner of its files start the workflow.",
            ),
        )
    return _admitted(world, workload, tip, number, f"r{run_id}", person.login)


def _sources(world: World, workload: str) -> tuple[str, ...]:
    """The last merge of every file of the request, and the last one that removed some."""
    files = world.history.request_files(workload, world.tip)
    commits = [world.history.last_touching(world.tip, path) for path in files]
    commits.append(world.history.last_touching(world.tip, *paths_of(workload)))
    return tuple(dict.fromkeys(filter(None, commits)))


def _source(world: World, commit: str, workload: str) -> tuple[Reason, ...]:
    number, _ = pull_numbers(world, commit)
    changed = world.history.changed(commit) if number is not None else ()
    files = tuple(path for path in changed if workload_of(path) == workload)
    if number is None:
        problem = f"The request last changed in {commit[:12]}, which is no pull request's merge."
        todo = "Open a pull request that touches those files and have it approved."
        return (Reason(problem=problem, todo=todo),)
    return verify_merge(world, commit, number, workload, files).reasons


def _admitted(
    world: World, workload: str, commit: str, number: int, origin: str, approver: str
) -> Admitted | tuple[Reason, ...]:
    result = planned(world, commit, workload)
    if not isinstance(result, Runnable):
        return result
    return Admitted(
        request=result.request,
        plan=result.plan,
        commit=commit,
        pull_request=number,
        origin=origin,
        approver=approver,
    )
