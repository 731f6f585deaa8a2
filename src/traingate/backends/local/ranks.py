"""The processes of a run on this machine and the variables each gets, as Azure ML would set them.

MPI's come from mpirun itself.
"""

import contextlib
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from traingate.documents.job import Distribution
from traingate.errors import Refusal
from traingate.topology import Topology, pytorch_variables, tensorflow_variables

#: What another launcher may have left in our own environment; none of it describes this run.
_FOREIGN = ("RANK", "LOCAL_RANK", "NODE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK",
            "MASTER_ADDR", "MASTER_PORT", "TF_CONFIG")  # fmt: skip
#: What would let a request's code act as the person or the workflow that started it; the job has
#: none of it on Azure ML. The files are how a step of a workflow steers those after it.
_CREDENTIALS = ("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT",
                "GITHUB_STATE", "GITHUB_STEP_SUMMARY", "AZURE_CLIENT_SECRET",
                "AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_CLIENT_CERTIFICATE_PASSWORD",
                "AZURE_FEDERATED_TOKEN_FILE", "AZURE_USERNAME", "AZURE_PASSWORD")  # fmt: skip
_FOREIGN_PREFIXES = (
    "ACTIONS_",
    "TRAINGATE_",
    "OMPI_",
    "PRTE_",
    "PMI_",
    "PMIX_",
    "TORCHELASTIC_",
    "AZ_BATCH",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rank:
    """One process: its place in the world and the variables that tell it so."""

    rank: int
    node_rank: int
    local_rank: int
    variables: Mapping[str, str]
    is_mpi: bool = False

    def __str__(self) -> str:
        return f"rank {self.rank} (node {self.node_rank}, local rank {self.local_rank})"


def ranks(topology: Topology, distribution: Distribution | None) -> tuple[Rank, ...]:
    """The processes that Azure ML would start for this topology.

    Raises:
        Refusal: this machine cannot imitate the distribution.
    """
    imitate = _IMITATIONS.get(topology.distribution)
    if imitate is None:
        raise Refusal(
            f"`{topology.distribution}` jobs run on Azure ML only, whose service starts the head "
            "node and joins the workers to it.",
            todo="Run it with `backend: azureml`.",
        )
    if distribution is not None:
        _refuse_odd_workers(topology, distribution)
    return imitate(topology)


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """Our own environment without what contradicts this run or lends it somebody's rights."""
    return {
        name: value
        for name, value in environment.items()
        if name not in {*_FOREIGN, *_CREDENTIALS} and not name.startswith(_FOREIGN_PREFIXES)
    }


def threads_per_process(processes: int) -> int:
    """Cores a process may use, so that the ranks of one machine do not fight for them."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return max(1, (available or os.cpu_count() or 1) // processes)


def _pytorch(topology: Topology) -> tuple[Rank, ...]:
    (port,) = _free_ports(1)
    return tuple(
        Rank(
            rank=rank,
            node_rank=node,
            local_rank=local,
            variables=pytorch_variables(topology, node, local, address="127.0.0.1", port=port),
        )
        for rank, (node, local) in enumerate(_places(topology))
    )


def _refuse_odd_workers(topology: Topology, distribution: Distribution) -> None:
    if distribution.parameter_server_count:
        raise Refusal(
            f"The job asks for {distribution.parameter_server_count} parameter server(s). A "
            "parameter server waits for workers without end, so nothing would tell that the run "
            "is over.",
            todo="Leave out parameter_server_count and use MultiWorkerMirroredStrategy.",
        )
    if distribution.worker_count not in {None, topology.nodes}:
        raise Refusal(
            f"The job asks for {distribution.worker_count} workers on {topology.nodes} node(s).",
            todo="Make worker_count and instance_count equal: one worker a node.",
        )


def _tensorflow(topology: Topology) -> tuple[Rank, ...]:
    workers = [f"127.0.0.1:{port}" for port in _free_ports(topology.nodes)]
    return tuple(
        Rank(
            rank=node,
            node_rank=node,
            local_rank=0,
            variables=tensorflow_variables(workers, node),
        )
        for node in range(topology.nodes)
    )


def _mpi(topology: Topology) -> tuple[Rank, ...]:
    """Azure ML names the first node, by how many there are."""
    one = topology.nodes == 1
    name = "AZ_BATCHAI_MPI_MASTER_NODE" if one else "AZ_BATCH_MASTER_NODE"
    variables = {name: "127.0.0.1" if one else "127.0.0.1:6000"}
    return tuple(
        Rank(rank=rank, node_rank=node, local_rank=local, variables=variables, is_mpi=True)
        for rank, (node, local) in enumerate(_places(topology))
    )


def _places(topology: Topology) -> list[tuple[int, int]]:
    """Node and local rank of each rank: node by node."""
    return [divmod(rank, topology.processes_per_node) for rank in range(topology.world_size)]


def _alone(topology: Topology) -> tuple[Rank, ...]:
    if topology.nodes > 1:
        raise Refusal(
            f"The job asks for {topology.nodes} nodes and has no distribution, so nothing "
            "would tell the nodes of each other.",
            todo="Add `distribution`, or ask for one node.",
        )
    return (Rank(rank=0, node_rank=0, local_rank=0, variables={}),)


def _free_ports(count: int) -> list[int]:
    """Ports that are free now. Azure ML's fixed 6105 would let one run a machine collide."""
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


_IMITATIONS: Mapping[str | None, Callable[[Topology], tuple[Rank, ...]]] = {
    None: _alone,
    "pytorch": _pytorch,
    "tensorflow": _tensorflow,
    "mpi": _mpi,
}
