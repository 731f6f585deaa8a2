"""Shared runs: each starts torch several times, so the tests that only look share them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

# importlib mode puts no test folder on the path, and the helpers of these tests are a module.
sys.path.insert(0, str(Path(__file__).parent))

from launching import TEMPLATE, Launch

#: A busy machine starts torch slowly; what hangs is told by the launches' own, shorter limit.
TIMEOUT_SECONDS = 400

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS))


class Trained(Mapping[int, Launch]):
    """The digits trained to the end, by world size; each is trained when first asked for."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._runs: dict[int, Launch] = {}

    def __getitem__(self, world_size: int) -> Launch:
        if world_size not in self._runs:
            nodes, processes = TOPOLOGIES[world_size]
            run = Launch(
                folder=self._folders.mktemp(f"world{world_size}"),
                run=f"digits-ddp-{'0' * 11}{world_size}-l1",
                nodes=nodes,
                processes=processes,
            )
            assert run.run_to_end() == [0] * world_size, run.logs()
            self._runs[world_size] = run
        return self._runs[world_size]

    def __iter__(self) -> Iterator[int]:
        return iter(TOPOLOGIES)

    def __len__(self) -> int:
        return len(TOPOLOGIES)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The finished runs that tests only look at."""
    return Trained(tmp_path_factory)


@pytest.fixture
def started() -> Iterator[list[Launch]]:
    """A list for runs that a test starts; what is still alive at its end is killed."""
    runs: list[Launch] = []
    yield runs
    for run in runs:
        run.kill()
