"""The processes of a run and the variables each gets, as Azure ML would set them.

Source of the variables: azure-docs how-to-train-distributed-gpu (pytorch), "what Azure ML
sets": MASTER_ADDR, MASTER_PORT, WORLD_SIZE, NODE_RANK a node; RANK and LOCAL_RANK a process.
"""

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from traingate.errors import Refusal
from traingate.plan import Topology

#: What another launcher may have left in our own environment; none of it describes this run.
_FOREIGN = ("RANK", "LOCAL_RANK", "NODE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK",
            "MASTER_ADDR", "MASTER_PORT", "TF_CONFIG")  # fmt: skip
_FOREIGN_PREFIXES = ("TRAINGATE_", "OMPI_", "PMI_", "PMIX_", "TORCHELASTIC_")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rank:
    """One process: its place in the world and the variables that tell it so."""

    rank: int
    node_rank: int
    local_rank: int
    variables: Mapping[str, str]

    def __str__(self) -> str:
        return f"rank {self.rank} (node {self.node_rank}, local rank {self.local_rank})"


def ranks(topology: Topology) -> tuple[Rank, ...]:
    """The processes that Azure ML would start for this topology.

    Raises:
        Refusal: this machine cannot imitate the distribution.
    """
    imitate = _IMITATIONS.get(topology.distribution)
    if imitate is None:
        raise Refusal(
            f"The local backend does not start `{topology.distribution}` jobs.",
            todo="Run it with `backend: azureml`.",
        )
    return imitate(topology)


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """Our own environment without what would contradict the variables of this run."""
    return {
        name: value
        for name, value in environment.items()
        if name not in _FOREIGN and not name.startswith(_FOREIGN_PREFIXES)
    }


def threads_per_process(processes: int) -> int:
    """Cores a process may use, so that the ranks of one machine do not fight for them."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return max(1, (available or os.cpu_count() or 1) // processes)


def _pytorch(topology: Topology) -> tuple[Rank, ...]:
    port = _free_port()
    return tuple(
        _pytorch_rank(topology, node_rank, local_rank, port)
        for node_rank in range(topology.nodes)
        for local_rank in range(topology.processes_per_node)
    )


def _pytorch_rank(topology: Topology, node_rank: int, local_rank: int, port: int) -> Rank:
    rank = node_rank * topology.processes_per_node + local_rank
    variables = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(topology.world_size),
        "NODE_RANK": str(node_rank),
        "RANK": str(rank),
        "LOCAL_RANK": str(local_rank),
    }
    return Rank(rank=rank, node_rank=node_rank, local_rank=local_rank, variables=variables)


def _alone(topology: Topology) -> tuple[Rank, ...]:
    if topology.nodes > 1:
        raise Refusal(
            f"The job asks for {topology.nodes} nodes and has no distribution, so nothing "
            "would tell the nodes of each other.",
            todo="Add `distribution`, or ask for one node.",
        )
    return (Rank(rank=0, node_rank=0, local_rank=0, variables={}),)


def _free_port() -> int:
    """A port that is free now. Azure ML's fixed 6105 would let one run a machine collide."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


#: tensorflow and mpi join here.
_IMITATIONS: Mapping[str | None, Callable[[Topology], tuple[Rank, ...]]] = {
    None: _alone,
    "pytorch": _pytorch,
}
