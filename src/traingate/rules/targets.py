"""TG201, TG202, TG209 to TG211: the compute a job names, and what it offers."""

import difflib
from collections.abc import Iterator

from traingate.documents.request import Request
from traingate.findings import Severity
from traingate.rules.rule import Broken, rule
from traingate.rules.subject import plural, subject

_COUNT = ("resources", "instance_count")


@rule("TG201", "unknown-target", Severity.ERROR)
def unknown_target(request: Request) -> Iterator[Broken]:
    """The job names a target the platform offers.

    What it does: looks `compute` up in `targets` of platform.yml; a job without `compute` runs
    serverless and needs the target `serverless` there. It is a warning for `compute: local` while
    the platform's backend is local, and for a job file read without its admission, which admits
    nothing anyway.

    Why it is bad: the SDK checks no compute. The job would be refused at submit, or wait in a
    queue nobody watches; and no price, no maximum and no network are known for it.

    Example: `compute: azureml:gpu-clsuter`.

    Fix: name one of the platform's targets.

    Source: azure-ai-ml 1.35.2 builds the compute's id without asking for it.
    """
    it = subject(request)
    if it is None or it.target is not None or _is_unfinished_serverless(request):
        return
    targets = request.context.platform.targets
    name = it.job.compute or "serverless"
    near = difflib.get_close_matches(name, targets, n=1)
    local = name == "local" and request.context.platform.backend == "local"
    yield Broken(
        at=it.job.document.at("compute"),
        message=f"The platform offers no target `{name}`.",
        fix=f"Did you mean `{near[0]}`?"
        if near
        else f"Name one of: {', '.join(targets) or 'none are declared in platform.yml'}.",
        severity=Severity.WARNING if local or request.admission is None else None,
    )


@rule("TG202", "too-many-nodes", Severity.ERROR)
def too_many_nodes(request: Request) -> Iterator[Broken]:
    """The target has as many nodes as the job asks for.

    What it does: compares `instance_count` with the target's `max_nodes`.

    Why it is bad: the job queues for nodes that can never come, until somebody cancels it.

    Example: `instance_count: 8` on a target with `max_nodes: 4`.

    Fix: fewer nodes, or a platform change first.

    Source: Azure/azureml-examples#1192.
    """
    it = subject(request)
    if it is not None and it.target is not None and it.nodes > it.target.max_nodes:
        yield Broken(
            at=it.job.document.at(*_COUNT),
            message=f"{plural(it.nodes, 'node')} on a target that has at most "
            f"{it.target.max_nodes}: the job would wait for ever.",
            fix=f"Write `instance_count: {it.target.max_nodes}`, or choose another target.",
        )


@rule("TG209", "target-never-idle", Severity.WARNING)
def target_never_idle(request: Request) -> Iterator[Broken]:
    """The target costs nothing while nobody trains.

    What it does: warns of a target with `min_nodes` above zero.

    Why it is bad: those nodes are billed day and night. The cost ceiling on the card covers a
    run, not the weeks between two runs.

    Example: `min_nodes: 1`.

    Fix: `min_nodes: 0` in platform.yml and on the cluster.

    Source: Azure ML, "Manage and optimize costs": set the minimum to zero.
    """
    it = subject(request)
    if it is not None and it.target is not None and it.target.min_nodes > 0:
        yield Broken(
            at=it.job.document.at("compute"),
            message=f"Target {it.target.name} keeps {plural(it.target.min_nodes, 'node')} running "
            "when nothing trains.",
            fix="Set its minimum to 0 in platform.yml and on the cluster.",
        )


@rule("TG210", "node-to-node-blocked", Severity.ERROR)
def node_to_node_blocked(request: Request) -> Iterator[Broken]:
    """The nodes of a job can reach each other.

    What it does: refuses several nodes on a target with `node_to_node: false`, whatever the
    distribution.

    Why it is bad: rendezvous, MPI and NCCL's sockets all need it. Each rank starts, finds nobody
    and ends at its timeout half an hour later, on nodes that are billed.

    Example: `instance_count: 2` where the subnet's rules deny traffic inside it.

    Fix: a target that allows it, or one node.

    Source: network security groups allow it by default; a custom Deny rule above 65000 breaks
    it (Azure, "Network security groups overview").
    """
    it = subject(request)
    if it is not None and it.nodes > 1 and it.target is not None and not it.target.node_to_node:
        yield Broken(
            at=it.job.document.at(*_COUNT),
            message=f"Target {it.target.name} blocks traffic between nodes; {it.nodes} of them "
            "cannot form a process group.",
            fix="Use one node, or a target that allows it.",
        )


@rule("TG211", "serverless-incomplete", Severity.ERROR)
def serverless_incomplete(request: Request) -> Iterator[Broken]:
    """A job runs on a named target, or serverless with everything that needs.

    What it does: asks a job without `compute` (or with `compute: serverless`) for both
    `resources.instance_type` and `instance_count`, and refuses `instance_type` beside a named
    compute.

    Why it is bad: without them Azure ML picks a small CPU size; beside a cluster the type is
    ignored and the reader believes it.

    Example: `compute: azureml:gpu-cluster` with `instance_type: Standard_ND96isr_H100_v5`.

    Fix: one or the other.

    Source: Azure ML, "Model training on serverless compute".
    """
    it = subject(request)
    if it is None:
        return
    written = it.job.document.values
    if not _is_serverless(request):
        if it.job.instance_type is not None:
            yield Broken(
                at=it.job.document.at("resources", "instance_type"),
                message=f"`instance_type` is ignored beside `compute: {it.job.compute}`.",
                fix="Delete one of the two.",
            )
        return
    missing = [
        key for key in ("instance_type", "instance_count") if ("resources", key) not in written
    ]
    if missing:
        yield Broken(
            at=it.job.document.at("resources"),
            message=f"A job without a named compute runs serverless; `resources.{missing[0]}` is "
            "missing.",
            fix="Write both `instance_type` and `instance_count`, or name a `compute`.",
        )


def _is_serverless(request: Request) -> bool:
    return request.job is not None and request.job.compute in {None, "", "serverless"}


def _is_unfinished_serverless(request: Request) -> bool:
    """Whether `serverless-incomplete` already says what is wrong with the compute."""
    job = request.job
    return _is_serverless(request) and job is not None and job.instance_type is None
