"""TG104 to TG112: who starts the processes, and whether the script can use them."""

import re
from collections.abc import Iterator

from traingate.documents.request import Request
from traingate.findings import Severity
from traingate.rules.imports import local_only_libraries
from traingate.rules.places import at_offset, within
from traingate.rules.rule import Broken, rule
from traingate.rules.subject import launchers, plural, subject

#: A shell test of a rank before the launcher: then it may run once on purpose.
_GUARD = re.compile(r"(?:\bif\b|\btest\b|\[|\bcase\b)[^;\n]{0,255}RANK", re.IGNORECASE)


@rule("TG104", "nodes-without-distribution", Severity.ERROR)
def nodes_without_distribution(request: Request) -> Iterator[Broken]:
    """Several nodes have a distribution that joins them.

    What it does: refuses `instance_count` above one without `distribution`.

    Why it is bad: nothing tells the nodes of each other. Each is billed, and only the first runs
    the command, or all run it alone and overwrite each other's results.

    Example: `resources: {instance_count: 2}` and no `distribution`.

    Fix: `distribution: {type: pytorch, process_count_per_instance: <GPUs>}`, or one node.

    Source: Azure ML, "Distributed training": MASTER_ADDR and its kin are set by the distribution.
    """
    it = subject(request)
    if it is not None and it.nodes > 1 and it.kind is None:
        gpus = it.size.whole_gpus if it.size else 0
        yield Broken(
            at=it.job.document.at("resources", "instance_count"),
            message=f"{it.nodes} nodes without a `distribution` do not know of each other.",
            fix="Add `distribution: {type: pytorch, process_count_per_instance: "
            f"{gpus or '<GPUs of a node>'}}}`, or use one node.",
        )


@rule("TG106", "launcher-in-command", Severity.ERROR)
def launcher_in_command(request: Request) -> Iterator[Broken]:
    """One program starts the processes: Azure ML, or a launcher in the command.

    What it does: finds `torchrun`, `python -m torch.distributed.run` or `.launch`, `accelerate
    launch`, `deepspeed`, `mpirun`, `horovodrun` and `ray start` where a shell would run them.
    Under a distribution with more than one process a node that is an error. With a process
    count of one, or none, it is a note: one launcher a node is a pattern people use on purpose.
    Shell scripts of the request that the command runs or sources are read too. Words in
    arguments (`echo torchrun`, `pip install accelerate`) are no launchers. Where the command
    tests a rank first (`if [ $RANK = 0 ]`), it is a warning.

    Why it is bad: Azure ML starts the command once for each process. With a launcher inside,
    4 processes become 4 launchers of 4 workers each: every GPU is taken four times and the
    rendezvous fails or hangs.

    Example: `command: torchrun --nproc_per_node 4 train.py` with `process_count_per_instance: 4`.

    Fix: `command: python train.py`, which finds RANK, LOCAL_RANK and WORLD_SIZE set. To keep the
    launcher: `process_count_per_instance: 1`.

    Source: Azure ML, "Distributed GPU training": "You don't need a launcher utility";
    huggingface/accelerate#3494.
    """
    it = subject(request)
    if it is None or it.kind is None:
        return
    several = (it.processes or 1) > 1
    for file, name in launchers(request):
        script = request.sources.get(file) if file != it.job.file else None
        guarded = _GUARD.search(it.job.command if script is None else script) is not None
        if script is None:
            where = within(it.job.document, ("command",), name.split()[-1])
        else:
            where = at_offset(file, script, max(0, script.find(name.split()[-1])))
        if several:
            yield Broken(
                at=where,
                message=f"`{name}` runs {it.processes} times on each node, once for each process "
                "Azure ML starts, and takes every GPU again each time.",
                fix="Run the script with plain `python`, or write `process_count_per_instance: 1`.",
                severity=Severity.WARNING if guarded else None,
            )
        else:
            yield Broken(
                at=where,
                message=f"`{name}` starts the processes of a node itself; Azure ML starts it once "
                "a node.",
                fix="Nothing to mend if that is meant.",
                severity=Severity.NOTE,
            )


@rule("TG107", "legacy-parameter-server", Severity.WARNING)
def legacy_parameter_server(request: Request) -> Iterator[Broken]:
    """No parameter servers.

    What it does: warns of `parameter_server_count` above zero.

    Why it is bad: asynchronous parameter servers are TensorFlow 1's way. Current strategies
    (MultiWorkerMirroredStrategy) do not use them, and their nodes would train nothing.

    Example: `distribution: {type: tensorflow, worker_count: 2, parameter_server_count: 1}`.

    Fix: delete the key.

    Source: Azure ML, "Distributed training with TensorFlow": parameter servers are legacy.
    """
    it = subject(request)
    if it is not None and it.job.distribution and it.job.distribution.parameter_server_count > 0:
        yield Broken(
            at=it.job.document.at("distribution", "parameter_server_count"),
            message="Parameter servers are legacy TensorFlow; their nodes train nothing.",
            fix="Delete `parameter_server_count` and use MultiWorkerMirroredStrategy.",
        )


@rule("TG108", "workers-and-nodes-differ", Severity.ERROR)
def workers_and_nodes_differ(request: Request) -> Iterator[Broken]:
    """A TensorFlow job has one worker a node.

    What it does: compares `worker_count`, plus parameter servers, with `instance_count`.

    Why it is bad: with fewer nodes than workers the cluster in TF_CONFIG never completes and
    every worker waits; with more, nodes are paid and idle.

    Example: `worker_count: 4` with `instance_count: 2`.

    Fix: make the two equal, or leave `worker_count` out: it follows `instance_count`.

    Source: azure-ai-ml 1.35.2, `TensorFlowDistribution`: worker_count defaults to instance_count.
    """
    it = subject(request)
    if it is None or it.kind != "tensorflow" or it.job.distribution is None:
        return
    workers = it.job.distribution.worker_count
    if workers is None:
        return
    tasks = workers + it.job.distribution.parameter_server_count
    if tasks != it.nodes:
        yield Broken(
            at=it.job.document.at("distribution", "worker_count"),
            message=f"{tasks} TensorFlow tasks on {plural(it.nodes, 'node')}: one runs on each.",
            fix=f"Write `instance_count: {tasks}`, or leave `worker_count` out.",
        )


@rule("TG112", "single-process-library", Severity.ERROR)
def single_process_library(request: Request) -> Iterator[Broken]:
    """A script that many processes run can divide the work between them.

    What it does: reads the imports of the request's Python files. Where they name a library that
    trains in one process only (scikit-learn, XGBoost, LightGBM, CatBoost without their
    distributed parts) and nothing that communicates (PyTorch, TensorFlow, JAX, MPI, Horovod,
    Dask, Ray, Spark), a world size above one is an error.

    Why it is bad: each process trains the same model on the same data, and the last one to
    write wins. The bill grows, the time does not shrink.

    Example: `from sklearn.ensemble import RandomForestClassifier` on four processes.

    Fix: the ordinary single-node path with `n_jobs=-1`, or the library's distributed part
    (`xgboost.dask`, `lightgbm.dask`).

    Source: the libraries' own documentation of their parallelism.
    """
    it = subject(request)
    if it is None or it.kind is None or it.topology.world_size <= 1:
        return
    names = local_only_libraries(request.sources)
    if names:
        yield Broken(
            at=it.job.document.at("distribution"),
            message=f"{it.topology.world_size} processes would each train the same model: "
            f"{', '.join(names)} works in one process and nothing here communicates.",
            fix="Train it on the ordinary single-node path, or use its distributed part.",
        )
