"""Bringing the ranks together, with a short rendezvous and a message that helps."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

from train_aml.problems import EnvironmentProblem
from train_aml.ranks import found

if TYPE_CHECKING:
    from collections.abc import Mapping

    from train_aml.ranks import Ranks

#: torch waits half an hour by default, which is half an hour of idle GPUs for a wrong address.
RENDEZVOUS_TIMEOUT_SECONDS = 120.0
COLLECTIVE_TIMEOUT_SECONDS = 1_800.0
#: A store without rank zero answers nothing; a request must not hang the guard.
GUARD_REQUEST_TIMEOUT_SECONDS = 10.0


def device_of(ranks: Ranks) -> torch.device:
    """The device this process computes on: its own GPU where there are any, else the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if ranks.local_rank >= count:
        raise EnvironmentProblem(
            f"local rank {ranks.local_rank} has no GPU: this node shows {count}. Ask for as many "
            "processes a node as it has GPUs."
        )
    device = torch.device("cuda", ranks.local_rank)
    torch.cuda.set_device(device)
    return device


def rendezvous(ranks: Ranks, environ: Mapping[str, str], timeout_seconds: float) -> Store:
    """Meet the other ranks at MASTER_ADDR:MASTER_PORT; rank zero hosts the store.

    Raises:
        EnvironmentProblem: nobody answers in time; the message lists the variables found.
    """
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if not environ.get(name)]
    if missing:
        raise EnvironmentProblem(
            f"{ranks.world_size} processes cannot meet: {' and '.join(missing)} missing; "
            f"{found(environ)}. Let the launcher set them; under MPI set both by hand."
        )
    # torchrun's agent already hosts the store at this address, and keeps it across restarts.
    agent_hosts = environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    try:
        store = TCPStore(
            environ["MASTER_ADDR"],
            int(environ["MASTER_PORT"]),
            world_size=None if agent_hosts else ranks.world_size,
            is_master=ranks.is_zero and not agent_hosts,
            timeout=timedelta(seconds=timeout_seconds),
        )
    except (dist.DistError, ValueError, RuntimeError) as error:
        raise EnvironmentProblem(
            f"rank {ranks.rank} could not meet the other {ranks.world_size - 1} at "
            f"{environ['MASTER_ADDR']}:{environ['MASTER_PORT']} within {timeout_seconds:.0f} s "
            f"({str(error).splitlines()[0]}); {found(environ)}. Check that every rank started, "
            "that rank zero's address is right and that the nodes may talk to each other."
        ) from error
    return PrefixStore(_prefix(environ, "session"), store)


def _prefix(environ: Mapping[str, str], part: str) -> str:
    # torchrun restarts all ranks on the same store.
    return f"train_aml/{environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{part}"


def guard_store(environ: Mapping[str, str]) -> Store:
    """A connection of its own for the guard: a client serves one request at a time."""
    store = TCPStore(
        environ["MASTER_ADDR"],
        int(environ["MASTER_PORT"]),
        is_master=False,
        wait_for_workers=False,
        timeout=timedelta(seconds=GUARD_REQUEST_TIMEOUT_SECONDS),
    )
    return PrefixStore(_prefix(environ, "guard"), store)


def join(ranks: Ranks, store: Store, device: torch.device) -> None:
    """Form the default process group: nccl on GPUs, gloo on CPUs."""
    cuda = device.type == "cuda"
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if cuda else "gloo",
        store=PrefixStore("group", store),
        rank=ranks.rank,
        world_size=ranks.world_size,
        timeout=timedelta(seconds=COLLECTIVE_TIMEOUT_SECONDS),
        device_id=device if cuda else None,
    )


def share_cores(local_world_size: int) -> None:
    """Give each process of this node its part of the cores, unless OMP_NUM_THREADS decides.

    Azure ML's launcher sets no thread count; two ranks on two cores that each start two threads
    run three to six times slower than with one each.
    """
    if not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // local_world_size))


def processes_on(node_rank: int) -> int:
    """How many ranks run on this node: Azure ML's launcher does not say."""
    nodes = [0] * dist.get_world_size()
    dist.all_gather_object(nodes, node_rank)
    return nodes.count(node_rank)
