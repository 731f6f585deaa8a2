from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from train_aml.problems import EnvironmentProblem
from train_aml.ranks import SINGLE_PROCESS, Ranks, detect

AZURE_ML = {
    "MASTER_ADDR": "10.0.0.4",
    "MASTER_PORT": "6105",
    "WORLD_SIZE": "4",
    "NODE_RANK": "1",
    "RANK": "2",
    "LOCAL_RANK": "0",
}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}


def test_no_launcher_is_one_process():
    assert detect({"PATH": "/bin"}) == SINGLE_PROCESS
    assert detect({}).is_zero


def test_azure_ml_pytorch():
    assert detect(AZURE_ML) == Ranks(
        rank=2, local_rank=0, world_size=4, local_world_size=None, node_rank=1, launcher="pytorch"
    )


def test_first_process_of_the_second_node_is_not_rank_zero():
    assert not detect(AZURE_ML).is_zero


def test_torchrun_without_node_rank():
    torchrun = {**AZURE_ML, "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "1"}
    del torchrun["NODE_RANK"]
    assert detect(torchrun).node_rank == 1
    del torchrun["GROUP_RANK"]
    assert detect(torchrun).node_rank == 1


def test_open_mpi():
    assert detect(OPEN_MPI) == Ranks(
        rank=3, local_rank=1, world_size=4, local_world_size=2, node_rank=1, launcher="mpi"
    )


def test_open_mpi_with_a_master_address_is_still_mpi():
    assert detect({**OPEN_MPI, "MASTER_ADDR": "n0", "MASTER_PORT": "6105"}).launcher == "mpi"


def test_tf_config():
    config = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}
    assert detect({"TF_CONFIG": json.dumps(config)}) == Ranks(
        rank=1, local_rank=0, world_size=2, local_world_size=1, node_rank=1, launcher="tensorflow"
    )


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({**AZURE_ML, "RANK": ""}, "RANK set but empty"),
        ({**AZURE_ML, "NODE_RANK": " "}, "NODE_RANK set but empty"),
        ({**AZURE_ML, "RANK": "4", "NODE_RANK": "2"}, "rank 4 lies outside the world of 4"),
        ({**AZURE_ML, "WORLD_SIZE": "0"}, "outside the world of 0"),
        ({**AZURE_ML, "RANK": "-1"}, "RANK='-1' is not a whole number"),
        ({**AZURE_ML, "WORLD_SIZE": "two"}, "WORLD_SIZE='two' is not a whole number"),
        ({"RANK": "0"}, "WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT missing"),
        ({"LOCAL_RANK": "0"}, "half-set environment of a PyTorch launcher"),
        ({"OMPI_COMM_WORLD_RANK": "0"}, "half-set environment of a MPI launcher"),
        ({**OPEN_MPI, "RANK": "1"}, "RANK and OpenMPI's variables disagree"),
        ({**OPEN_MPI, "WORLD_SIZE": "8"}, "WORLD_SIZE and OpenMPI's variables disagree"),
        ({**OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "0"}, "LOCAL_SIZE is 0"),
        ({**OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_RANK": "2"}, "local rank 2 lies outside the 2"),
        ({**AZURE_ML, "LOCAL_RANK": "3"}, "neither can exceed the rank"),
        ({**AZURE_ML, "LOCAL_WORLD_SIZE": "4"}, "rank 2 is not node 1 x 4 processes"),
        ({k: v for k, v in AZURE_ML.items() if k != "NODE_RANK"}, "neither NODE_RANK nor"),
        ({"TF_CONFIG": "{"}, "TF_CONFIG is not"),
        (
            {"TF_CONFIG": '{"cluster": {"worker": ["a"]}, "task": {"type": "ps", "index": 0}}'},
            "makes this process a 'ps'",
        ),
        (
            {"TF_CONFIG": '{"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 1}}'},
            "rank 1 lies outside the world of 1",
        ),
    ],
)
def test_refuses(environ: dict[str, str], message: str):
    with pytest.raises(EnvironmentProblem, match="^.*" + message):
        detect(environ)


def test_message_names_the_variables_found_and_ends_with_what_to_do():
    with pytest.raises(EnvironmentProblem) as caught:
        detect({"RANK": "0", "WORLD_SIZE": "2"})
    assert str(caught.value) == (
        "half-set environment of a PyTorch launcher: LOCAL_RANK, MASTER_ADDR, MASTER_PORT missing; "
        "found RANK='0', WORLD_SIZE='2'. Start the script through the launcher, or unset all of "
        "these variables to train in one process."
    )


NAMES = (*AZURE_ML, "LOCAL_WORLD_SIZE", "GROUP_RANK", *OPEN_MPI)


@given(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["", "0", "1", "2", "3", "4", "x"])))
def test_any_environment_gives_consistent_ranks_or_a_problem(environ: dict[str, str]):
    try:
        ranks = detect(environ)
    except EnvironmentProblem as problem:
        assert str(problem).endswith(".")  # noqa: PT017 - either way out is right
        return
    assert 0 <= ranks.local_rank <= ranks.rank < ranks.world_size
    assert ranks.local_world_size is None or ranks.local_rank < ranks.local_world_size
    assert 0 <= ranks.node_rank <= ranks.rank


@given(st.integers(1, 5), st.integers(1, 8), st.booleans())
def test_every_topology_has_one_rank_zero(nodes: int, processes: int, mpi: bool):  # noqa: FBT001
    found = []
    for rank in range(nodes * processes):
        local_rank, node = rank % processes, rank // processes
        environ = (
            {
                "OMPI_COMM_WORLD_RANK": str(rank),
                "OMPI_COMM_WORLD_SIZE": str(nodes * processes),
                "OMPI_COMM_WORLD_LOCAL_RANK": str(local_rank),
                "OMPI_COMM_WORLD_LOCAL_SIZE": str(processes),
            }
            if mpi
            else {
                **AZURE_ML,
                "RANK": str(rank),
                "WORLD_SIZE": str(nodes * processes),
                "LOCAL_RANK": str(local_rank),
                "NODE_RANK": str(node),
            }
        )
        ranks = detect(environ)
        assert (ranks.rank, ranks.local_rank, ranks.node_rank) == (rank, local_rank, node)
        found.append(ranks.is_zero)
    assert found.count(True) == 1
