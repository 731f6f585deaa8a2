"""Who runs where: nodes, processes, ranks, and what Azure ML tells each of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from traingate.catalog import Size, size_named
from traingate.documents.job import Job
from traingate.documents.platform import Target

#: The port Azure ML gives the process group (documentation of its v1 launcher: 6105).
MASTER_PORT = 6105

#: How many ranks a plan spells out; a typo in a count must not fill the memory.
MOST_RANKS = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Topology:
    """Who runs where: `world_size` = nodes x processes a node.

    `gpus_per_node` counts whole GPUs (a slice is 0) and is None for a size the catalogue does
    not know.
    """

    nodes: int
    processes_per_node: int
    distribution: str | None
    size: str | None
    gpus_per_node: int | None

    @property
    def world_size(self) -> int:
        return self.nodes * self.processes_per_node

    @property
    def backend_tag(self) -> str:
        """`training.backend` of the model this makes: a lone process is a single-node run."""
        return "single-node" if self.world_size == 1 else "aml-distributed"

    @property
    def gpus_paid(self) -> int | None:
        return None if self.gpus_per_node is None else self.nodes * self.gpus_per_node

    @property
    def gpus_used(self) -> int | None:
        """GPUs with a process of their own; a launcher inside the command may use more."""
        if self.gpus_per_node is None:
            return None
        return self.nodes * min(self.processes_per_node, self.gpus_per_node)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rank:
    """One process: its place, and the variables that tell it."""

    rank: int
    node: int
    local_rank: int
    variables: tuple[tuple[str, str], ...]


def topology(job: Job, target: Target | None) -> Topology:
    """The topology of `job` on `target` (its own `instance_type` wins, as on Azure ML)."""
    name = size_name(job, target)
    size: Size | None = size_named(name) if name else None
    return Topology(
        nodes=job.instance_count,
        processes_per_node=_processes_per_node(job),
        distribution=job.distribution.type if job.distribution else None,
        size=size.name if size else name,
        gpus_per_node=size.whole_gpus if size else None,
    )


def size_name(job: Job, target: Target | None) -> str | None:
    """The VM size a node of `job` has, as it was written."""
    return job.instance_type or (target.size if target else None)


def ranks(topology: Topology) -> tuple[Rank, ...]:
    """The processes of the run in rank order, at most `MOST_RANKS` of them.

    Node 0's address is known only when it runs.
    """
    per_node = topology.processes_per_node
    shown = min(topology.world_size, MOST_RANKS)
    return tuple(_rank(topology, *divmod(rank, per_node)) for rank in range(shown))


def _processes_per_node(job: Job) -> int:
    """As Azure ML starts them: one process a node unless the distribution says otherwise."""
    if job.distribution is None or job.distribution.type in {"tensorflow", "ray"}:
        return 1
    return job.distribution.process_count_per_instance or 1


def pytorch_variables(
    topology: Topology, node: int, local: int, *, address: str, port: int
) -> dict[str, str]:
    """What Azure ML's PyTorch launcher tells a process; `address` is node 0's.

    Source: azure-docs how-to-train-distributed-gpu.
    """
    return {
        "MASTER_ADDR": address,
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(topology.world_size),
        "NODE_RANK": str(node),
        "RANK": str(node * topology.processes_per_node + local),
        "LOCAL_RANK": str(local),
    }


def tensorflow_variables(workers: Sequence[str], index: int) -> dict[str, str]:
    """What Azure ML tells the TensorFlow worker number `index` of `workers` (host:port)."""
    task = {"type": "worker", "index": index}
    told = {"cluster": {"worker": list(workers)}, "task": task, "environment": "cloud"}
    return {"TF_CONFIG": json.dumps(told)}


def _rank(topology: Topology, node: int, local: int) -> Rank:
    rank = node * topology.processes_per_node + local
    variables: dict[str, str] = {}
    match topology.distribution:
        case "pytorch":
            variables = pytorch_variables(
                topology, node, local, address="<node 0>", port=MASTER_PORT
            )
        case "mpi":
            variables = _mpi(topology, rank, local)
        case "tensorflow":
            workers = [f"<node {index}>:2222" for index in range(topology.nodes)]
            variables = tensorflow_variables(workers, node)
    return Rank(rank=rank, node=node, local_rank=local, variables=tuple(variables.items()))


def _mpi(topology: Topology, rank: int, local: int) -> dict[str, str]:
    return {
        "OMPI_COMM_WORLD_SIZE": str(topology.world_size),
        "OMPI_COMM_WORLD_RANK": str(rank),
        "OMPI_COMM_WORLD_LOCAL_SIZE": str(topology.processes_per_node),
        "OMPI_COMM_WORLD_LOCAL_RANK": str(local),
    }
