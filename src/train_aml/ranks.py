"""Which of the job's processes this one is, read from the launcher's variables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from train_aml.problems import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

Launcher = Literal["pytorch", "mpi", "tensorflow", "none"]

PYTORCH_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")
MPI_VARIABLES = (
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
)
#: Variables by which a PyTorch launcher says that it started this process. MASTER_ADDR and
#: MASTER_PORT alone do not: MPI jobs set them by hand for torch.distributed.
PYTORCH_SIGNS = ("RANK", "LOCAL_RANK", "WORLD_SIZE")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranks:
    """This process's place in the job.

    `local_world_size` is None where the launcher does not say (Azure ML's PyTorch launcher sets
    no LOCAL_WORLD_SIZE); the process group can count it once it is up.
    """

    rank: int
    local_rank: int
    world_size: int
    local_world_size: int | None
    node_rank: int
    launcher: Launcher

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.world_size:
            raise EnvironmentProblem(
                f"rank {self.rank} lies outside the world of {self.world_size} processes "
                f"({self.launcher} launcher). Ranks count from 0 to world size - 1; start every "
                "process through one launcher and let it set the variables."
            )
        if self.local_world_size is not None and self.local_rank >= self.local_world_size:
            raise EnvironmentProblem(
                f"local rank {self.local_rank} lies outside the {self.local_world_size} processes "
                f"of its node ({self.launcher} launcher). Let the launcher set both variables."
            )
        if self.local_rank > self.rank or self.node_rank > self.rank:
            raise EnvironmentProblem(
                f"rank {self.rank} can be neither local rank {self.local_rank} nor on node "
                f"{self.node_rank}: neither can exceed the rank. Let the launcher set all three."
            )

    @property
    def is_zero(self) -> bool:
        """Whether this is the one process that talks to the stores (never just LOCAL_RANK=0)."""
        return self.rank == 0


SINGLE_PROCESS = Ranks(
    rank=0, local_rank=0, world_size=1, local_world_size=1, node_rank=0, launcher="none"
)


def detect(environ: Mapping[str, str]) -> Ranks:
    """Read the ranks from the variables of Azure ML's, torchrun's or OpenMPI's launcher.

    Raises:
        EnvironmentProblem: a variable is empty, not a number, missing beside its fellows, or two
            launchers disagree. The message lists the variables found.
    """
    _refuse_empty(environ)
    pytorch = any(name in environ for name in PYTORCH_SIGNS)
    mpi = any(name in environ for name in MPI_VARIABLES)
    if mpi:
        return _from_mpi(environ, also_pytorch=pytorch)
    if pytorch:
        return _from_pytorch(environ)
    if "TF_CONFIG" in environ:
        return _from_tf_config(environ["TF_CONFIG"])
    return SINGLE_PROCESS


def found(environ: Mapping[str, str]) -> str:
    """The launcher's variables as `NAME='value'`, for messages."""
    names = (*PYTORCH_VARIABLES, "LOCAL_WORLD_SIZE", *MPI_VARIABLES, "TF_CONFIG")
    pairs = [f"{name}={environ[name]!r}" for name in names if name in environ]
    return "found " + (", ".join(pairs) if pairs else "none of the launcher's variables")


def _refuse_empty(environ: Mapping[str, str]) -> None:
    names = (*PYTORCH_VARIABLES, "LOCAL_WORLD_SIZE", *MPI_VARIABLES, "TF_CONFIG")
    empty = [name for name in names if environ.get(name, "set").strip() == ""]
    if empty:
        raise EnvironmentProblem(
            f"{', '.join(empty)} set but empty; {found(environ)}. Unset what the launcher does not "
            "set, or start the script through the launcher."
        )


def _integer(environ: Mapping[str, str], name: str) -> int:
    text = environ[name].strip()
    if not text.isascii() or not text.isdigit():
        raise EnvironmentProblem(
            f"{name}={environ[name]!r} is not a whole number from 0 up; {found(environ)}. "
            "Let the launcher set it."
        )
    return int(text)


def _demand(environ: Mapping[str, str], names: tuple[str, ...], launcher: str) -> None:
    missing = [name for name in names if name not in environ]
    if missing:
        raise EnvironmentProblem(
            f"half-set environment of a {launcher} launcher: {', '.join(missing)} missing; "
            f"{found(environ)}. Start the script through the launcher, or unset all of these "
            "variables to train in one process."
        )


def _from_pytorch(environ: Mapping[str, str]) -> Ranks:
    _demand(environ, ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"), "PyTorch")
    rank, local_rank = _integer(environ, "RANK"), _integer(environ, "LOCAL_RANK")
    local_world_size = (
        _integer(environ, "LOCAL_WORLD_SIZE") if "LOCAL_WORLD_SIZE" in environ else None
    )
    return Ranks(
        rank=rank,
        local_rank=local_rank,
        world_size=_integer(environ, "WORLD_SIZE"),
        local_world_size=local_world_size,
        node_rank=_pytorch_node(environ, rank, local_rank, local_world_size),
        launcher="pytorch",
    )


def _pytorch_node(
    environ: Mapping[str, str], rank: int, local_rank: int, local_world_size: int | None
) -> int:
    # Azure ML sets NODE_RANK, torchrun sets GROUP_RANK instead.
    for name in ("NODE_RANK", "GROUP_RANK"):
        if name in environ:
            node = _integer(environ, name)
            break
    else:
        if local_world_size is None:
            raise EnvironmentProblem(
                "neither NODE_RANK nor LOCAL_WORLD_SIZE is set, so the node cannot be told; "
                f"{found(environ)}. Start the script through Azure ML's PyTorch distribution, "
                "torchrun or `traingate submit`."
            )
        node = rank // local_world_size
    if local_world_size is not None and rank != node * local_world_size + local_rank:
        raise EnvironmentProblem(
            f"rank {rank} is not node {node} x {local_world_size} processes + local rank "
            f"{local_rank}; {found(environ)}. Let the launcher set all of them."
        )
    return node


def _from_mpi(environ: Mapping[str, str], *, also_pytorch: bool) -> Ranks:
    _demand(environ, MPI_VARIABLES, "MPI")
    rank = _integer(environ, "OMPI_COMM_WORLD_RANK")
    world_size = _integer(environ, "OMPI_COMM_WORLD_SIZE")
    local_world_size = _integer(environ, "OMPI_COMM_WORLD_LOCAL_SIZE")
    if local_world_size == 0:
        raise EnvironmentProblem(
            f"OMPI_COMM_WORLD_LOCAL_SIZE is 0; {found(environ)}. Start the script through mpirun."
        )
    if also_pytorch:
        for name, value in (("RANK", rank), ("WORLD_SIZE", world_size)):
            if name in environ and _integer(environ, name) != value:
                raise EnvironmentProblem(
                    f"{name} and OpenMPI's variables disagree; {found(environ)}. Use one launcher: "
                    "`distribution: mpi` or `distribution: pytorch`, not torchrun inside mpirun."
                )
    local_rank = _integer(environ, "OMPI_COMM_WORLD_LOCAL_RANK")
    return Ranks(
        rank=rank,
        local_rank=local_rank,
        world_size=world_size,
        local_world_size=local_world_size,
        # OpenMPI names no node; ranks are placed node by node, so counting is the best there is.
        node_rank=(rank - local_rank) // local_world_size,
        launcher="mpi",
    )


def _from_tf_config(text: str) -> Ranks:
    """MultiWorkerMirroredStrategy's cluster: one process a worker, one worker a node."""
    try:
        config = json.loads(text)
        workers = config["cluster"]["worker"]
        kind, index = config["task"]["type"], int(config["task"]["index"])
    except (ValueError, KeyError, TypeError) as error:
        raise EnvironmentProblem(
            f"TF_CONFIG is not TensorFlow's cluster description ({type(error).__name__}: {error}); "
            f"it reads {text[:200]!r}. Let the launcher write it."
        ) from error
    if kind != "worker":
        raise EnvironmentProblem(
            f"TF_CONFIG makes this process a {kind!r}; only workers train here. "
            "Use `distribution: tensorflow` with `worker_count` alone."
        )
    return Ranks(
        rank=index,
        local_rank=0,
        world_size=len(workers),
        local_world_size=1,
        node_rank=index,
        launcher="tensorflow",
    )
