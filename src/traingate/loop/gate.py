"""What a pull request asks for, assessed from its files as data and the base's own policy."""

from collections.abc import Mapping
from dataclasses import dataclass

from traingate import pipeline
from traingate.documents.platform import Platform
from traingate.documents.request import Request
from traingate.findings import Finding, has_errors
from traingate.github.approvals import is_deciding
from traingate.github.comments import Thread
from traingate.loop import budget
from traingate.loop.history import workload_of, workloads_in
from traingate.loop.links import link_findings
from traingate.loop.merge import platform_at
from traingate.loop.record import Record
from traingate.loop.world import World
from traingate.plan import Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class Assessment:
    """One changed request: what is wrong with it, what it would run, and who may admit it.

    `plan` is None while the request has errors; `base_plan` is the plan of the same workload at
    the base, None for a new one. `used` are the runs that count against the admission already.
    `owners` maps every changed file of the request to its owners by the base's CODEOWNERS, and
    `deciding` are the pull request's other files that may not change together with a request.
    """

    workload: str
    number: int | None
    is_removed: bool
    findings: tuple[Finding, ...]
    request: Request | None
    plan: Plan | None
    base_plan: Plan | None
    used: tuple[Record, ...]
    owners: Mapping[str, tuple[str, ...]]
    deciding: tuple[str, ...]

    @property
    def is_ready(self) -> bool:
        """Whether an owner's approval is all that is missing."""
        return not has_errors(self.findings) and not self.deciding


def assess(world: World, head: str, number: int | None) -> tuple[Assessment, ...]:
    """Assess every request that differs between the base (`world.tip`) and `head`."""
    changed = world.history.changed(head, since=world.tip)
    policy = platform_at(world.history, world.tip)
    return tuple(
        _assess(world, _Change(head=head, number=number, paths=changed, policy=policy), workload)
        for workload in workloads_in(changed)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Change:
    """What is the same for all requests of a pull request."""

    head: str
    number: int | None
    paths: tuple[str, ...]
    policy: Platform


def _assess(world: World, change: _Change, workload: str) -> Assessment:
    history = world.history
    is_removed = not history.request_files(workload, change.head)
    now = _NOTHING if is_removed else read_at(world, change.head, workload, change.policy)
    was = _NOTHING
    if history.request_files(workload, world.tip):
        was = read_at(world, world.tip, workload, change.policy)
    own = Thread(number=change.number or 0, comments=())
    owners = history.owners(world.tip)
    files = [path for path in change.paths if workload_of(path) == workload]
    return Assessment(
        workload=workload,
        number=change.number,
        is_removed=is_removed,
        findings=now.findings,
        request=now.request,
        plan=now.plan,
        base_plan=was.plan,
        used=_used(world, now.request, own) if now.request else (),
        owners={path: owners.of(path) if owners else () for path in files},
        deciding=tuple(path for path in change.paths if is_deciding(path)),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """A request of a commit, its plan when it has no errors, and its findings."""

    request: Request | None = None
    plan: Plan | None = None
    findings: tuple[Finding, ...] = ()


_NOTHING = Read()


def read_at(world: World, commit: str, workload: str, policy: Platform) -> Read:
    """Read, check and plan a request of a commit, by `policy`."""
    if links := link_findings(world.history, commit, workload):
        return Read(findings=links)
    with world.history.checked_out(commit, workload) as tree:
        reading = pipeline.read(tree, (workload,), world.today, policy=policy)
        findings = pipeline.check(reading)
        request = reading.requests[0] if reading.requests else None
        runs = request is not None and not has_errors(findings)
        plan = pipeline.plan(request) if runs and request is not None else None
        return Read(request=request, plan=plan, findings=findings)


def _used(world: World, request: Request, own: Thread) -> tuple[Record, ...]:
    if request.admission_file not in request.context.tree.blobs:
        return ()
    return budget.used(budget.threads(world, request, own), request)
