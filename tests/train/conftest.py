"""Shared runs: each starts torch several times, so the tests that only look share them."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# importlib mode puts no test folder on the path, and the helpers of these tests are a module.
sys.path.insert(0, str(Path(__file__).parent))

from launching import TEMPLATE, Launch

if TYPE_CHECKING:
    from collections.abc import Iterator

#: World size: nodes x processes a node.
TOPOLOGIES = {1: (1, 1), 2: (1, 2), 4: (2, 2)}


@pytest.fixture(scope="session", autouse=True)
def tracking_template(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Make the tracking database that every run starts from a copy of."""
    path = tmp_path_factory.mktemp("template") / "tracking.db"
    with warnings.catch_warnings():
        # MLflow's own tables use what the newest SQLAlchemy deprecates.
        warnings.simplefilter("ignore")
        from mlflow import MlflowClient

        MlflowClient(f"sqlite:///{path}").search_experiments()
    TEMPLATE.path, TEMPLATE.exists = path, True


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Launch]:
    """The digits trained to the end on one, two and four processes, each on its own stores."""
    runs = {}
    for world_size, (nodes, processes) in TOPOLOGIES.items():
        run = Launch(
            folder=tmp_path_factory.mktemp(f"world{world_size}"),
            run=f"digits-ddp-{'0' * 11}{world_size}-l1",
            nodes=nodes,
            processes=processes,
        )
        codes = run.run_to_end()
        assert codes == [0] * world_size, run.logs()
        runs[world_size] = run
    return runs


@pytest.fixture
def started() -> Iterator[list[Launch]]:
    """A list for runs that a test starts; what is still alive at its end is killed."""
    runs: list[Launch] = []
    yield runs
    for run in runs:
        run.kill()
