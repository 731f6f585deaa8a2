"""TG101 to TG105, TG109 to TG111: how many processes for how many GPUs."""

from collections.abc import Iterator

from traingate.documents.request import Request
from traingate.findings import Severity
from traingate.rules.rule import Broken, rule
from traingate.rules.subject import Subject, launchers, plural, subject

_COUNT = ("distribution", "process_count_per_instance")


@rule("TG101", "idle-gpus", Severity.ERROR)
def idle_gpus(request: Request) -> Iterator[Broken]:
    """Each GPU that is paid for has a process.

    What it does: compares `process_count_per_instance` with the GPUs of a node. Without the key
    Azure ML starts one process a node. A launcher in the command that runs once a node takes
    the other GPUs itself, so the rule is then silent. A single node without `distribution` is a
    warning only: one process can drive several GPUs by itself.

    Why it is bad: the idle GPUs cost as much as the busy ones, and nothing in the logs says so.

    Example: two nodes of four GPUs, `type: pytorch`, no count: six of eight GPUs idle.

    Fix: `process_count_per_instance: <GPUs of a node>`.

    Source: Azure ML, "Distributed training with PyTorch": the count typically equals the GPUs of
    a node and defaults to one.
    """
    it = subject(request)
    gpus = _gpus(it)
    if it is None or gpus <= 1 or it.topology.processes_per_node >= gpus:
        return
    if launchers(request) or _fits_one_node(it) or it.kind not in {"pytorch", "mpi", None}:
        return
    if (it.kind is None and it.nodes > 1) or (it.kind == "mpi" and it.processes is None):
        return  # nodes-without-distribution, or mpi-without-process-count, says it.
    idle = it.nodes * (gpus - it.topology.processes_per_node)
    key = it.job.document.at(*_COUNT) if it.kind else it.job.document.at("command")
    runs = plural(it.topology.processes_per_node, "process")
    yield Broken(
        at=key,
        message=f"{idle} of {it.nodes * gpus} GPUs stay idle: {plural(gpus, 'GPU')} and {runs} on "
        f"each of {plural(it.nodes, 'node')}.",
        fix=f"Write `process_count_per_instance: {gpus}`."
        if it.kind
        else f"Add `distribution: {{type: pytorch, process_count_per_instance: {gpus}}}`.",
        severity=None if it.kind else Severity.WARNING,
    )


@rule("TG102", "more-processes-than-gpus", Severity.ERROR)
def more_processes_than_gpus(request: Request) -> Iterator[Broken]:
    """No node starts more processes than it has GPUs.

    What it does: compares `process_count_per_instance` with the whole GPUs of the target's size.
    Sizes without a GPU and with a slice of one have their own rules.

    Why it is bad: two ranks on one GPU end with NCCL's "Duplicate GPU detected", or train at
    half speed with half the memory.

    Example: `process_count_per_instance: 2` on a size with one GPU.

    Fix: `process_count_per_instance: <GPUs of a node>`.

    Source: Azure/azureml-examples#675.
    """
    it = subject(request)
    gpus = _gpus(it)
    if it is None or it.processes is None or gpus < 1 or it.processes <= gpus:
        return
    if _is_world_size(it, gpus):
        return
    yield Broken(
        at=it.job.document.at(*_COUNT),
        message=f"{it.processes} processes for {plural(gpus, 'GPU')} on each node.",
        fix=f"Write `process_count_per_instance: {gpus}`.",
    )


@rule("TG103", "process-count-is-world-size", Severity.ERROR)
def process_count_is_world_size(request: Request) -> Iterator[Broken]:
    """The process count is that of one node, not of all.

    What it does: recognises a `process_count_per_instance` that equals nodes times GPUs.

    Why it is bad: Azure ML starts that many on every node, so 4 nodes of 4 GPUs with 16 become
    64 processes on 16 GPUs. It is the commonest misreading of the key.

    Example: `instance_count: 4`, four GPUs a node, `process_count_per_instance: 16`.

    Fix: `process_count_per_instance: 4`.

    Source: MicrosoftDocs/azure-docs#111307, microsoft/MLOps#75.
    """
    it = subject(request)
    gpus = _gpus(it)
    if it is not None and _is_world_size(it, gpus):
        yield Broken(
            at=it.job.document.at(*_COUNT),
            message=f"{it.processes} is the world size ({it.nodes} nodes x {gpus} GPUs); this key "
            "counts the processes of one node.",
            fix=f"Write `process_count_per_instance: {gpus}`.",
            edits=it.job.document.replace(_COUNT, str(gpus)),
        )


@rule("TG109", "mpi-without-process-count", Severity.ERROR)
def mpi_without_process_count(request: Request) -> Iterator[Broken]:
    """An MPI job says how many processes a node gets.

    What it does: asks for `process_count_per_instance` with `type: mpi`.

    Why it is bad: the service documents the key as required, the SDK does not check it, and one
    process a node is rarely meant.

    Example: `distribution: {type: mpi}`.

    Fix: `process_count_per_instance: <GPUs of a node>`.

    Source: Azure ML command job reference, MpiConfiguration.
    """
    it = subject(request)
    if it is not None and it.kind == "mpi" and it.processes is None:
        gpus = _gpus(it)
        yield Broken(
            at=it.job.document.at("distribution", "type"),
            message="MPI needs `process_count_per_instance`.",
            fix=f"Write `process_count_per_instance: {gpus or 1}`.",
        )


@rule("TG110", "distribution-for-one-process", Severity.NOTE)
def distribution_for_one_process(request: Request) -> Iterator[Broken]:
    """A distribution with a world size of one is a debugging run.

    What it does: notes a `distribution` that starts a single process in all.

    Why it is bad: it is right for a first try, and useless afterwards: one process needs no
    admission and trains cheaper on the ordinary path.

    Example: one node, `process_count_per_instance: 1`.

    Fix: none while debugging; else more processes, or the ordinary path.

    Source: this repository's purpose: distributed training is the exception.
    """
    it = subject(request)
    if it is None or it.kind is None or it.topology.world_size != 1:
        return
    if not launchers(request) and (_gpus(it) <= 1 or it.kind == "ray"):
        yield Broken(
            at=it.job.document.at("distribution"),
            message="This distribution starts one process in all.",
            fix="Right for a debugging run; otherwise raise the counts.",
        )


@rule("TG111", "nodes-to-spare", Severity.ERROR)
def nodes_to_spare(request: Request) -> Iterator[Broken]:
    """The processes need more than one node.

    What it does: refuses several nodes whose processes would all find a GPU on one node of the
    same target.

    Why it is bad: each further node costs its full price for GPUs nobody uses, and gradients
    cross the network that would have stayed inside a node.

    Example: `instance_count: 2`, `process_count_per_instance: 2`, four GPUs a node.

    Fix: `instance_count: 1` with `process_count_per_instance: 4`.

    Source: Azure ML bills nodes, not processes.
    """
    it = subject(request)
    if it is not None and _fits_one_node(it) and not launchers(request):
        world = it.topology.world_size
        yield Broken(
            at=it.job.document.at("resources", "instance_count"),
            message=f"{world} processes on {it.nodes} nodes would fit one: it has {_gpus(it)} "
            "GPUs.",
            fix=f"Write `instance_count: 1` and `process_count_per_instance: {world}`.",
        )


def _gpus(it: Subject | None) -> int:
    """Whole GPUs of a node where a source says so, else 0: then no rule here speaks."""
    if it is None or it.size is None or not it.size.gpus_sourced:
        return 0
    return it.size.whole_gpus


def _is_world_size(it: Subject, gpus: int) -> bool:
    return it.nodes > 1 and gpus >= 1 and it.processes == it.nodes * gpus


def _fits_one_node(it: Subject) -> bool:
    """Whether one node would do. A missing count is another mistake: idle-gpus names it."""
    counted = it.processes is not None and it.kind in {"pytorch", "mpi"}
    return it.nodes > 1 and counted and it.topology.world_size <= _gpus(it)
