"""The session as a team's own script uses it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import torch
from launching import DIGITS, ROOT, Launch
from stores import logged_steps, tracked, versions

from train_aml.problems import EnvironmentProblem
from train_aml.process_group import rendezvous
from train_aml.ranks import Ranks

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:.*noload.*:sqlalchemy.exc.SADeprecationWarning")


def test_the_example_in_the_readme_runs(tmp_path: Path, started: list[Launch]):
    readme = (ROOT / "jobs" / "README.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "train.py").write_text(example)
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(200, 3, generator=generator)
    targets = inputs @ torch.tensor([[1.0], [2.0], [3.0]])
    (tmp_path / "data").mkdir()
    torch.save({"inputs": inputs, "targets": targets}, tmp_path / "data" / "points.pt")
    run = Launch(
        folder=tmp_path,
        run="example-l1",
        arguments=("train.py", "--data", "data"),
    )
    started.append(run)
    assert run.run_to_end() == [0, 0], run.logs()
    assert len(versions(run)) == 1
    assert tracked(run).data.params["learning_rate"] == "0.05"
    assert logged_steps(run) == list(range(5 * 7))
    assert run.outcome()["metrics"]["mean_squared_error"] < 1.0


ONE_DOWNLOAD_A_NODE = """
import os, pathlib, train_aml

def load():
    node = pathlib.Path(f"node{os.environ['NODE_RANK']}")
    order = len(list(node.glob("*"))) if node.exists() else 0
    node.mkdir(exist_ok=True)
    (node / os.environ["RANK"]).write_text(str(order))
    return order

with train_aml.session() as session:
    session.local_first(load)
    session.barrier()
    raise SystemExit(65)
"""


def test_each_node_downloads_on_its_first_rank(tmp_path: Path, started: list[Launch]):
    (tmp_path / "train.py").write_text(ONE_DOWNLOAD_A_NODE)
    run = Launch(folder=tmp_path, run="nodes-l1", arguments=("train.py",), nodes=2)
    started.append(run)
    assert run.run_to_end() == [65] * 4, run.logs()
    order = {path.name: path.read_text() for path in tmp_path.glob("node*/*")}
    assert order == {"0": "0", "1": "1", "2": "0", "3": "1"}


FIRST_STEP_WITHOUT_MLFLOW = """
import sys, torch, train_aml

with train_aml.session() as session:
    session.describe(data_digest="0" * 64, learning_rate=0.1)
    session.ready()
    assert "mlflow" not in sys.modules
    session.log({"train_loss": 0.5}, step=0)
    session.register(torch.nn.Linear(4, 2), torch.zeros(2, 4), {"test_accuracy": 0.5})
"""


def test_mlflow_is_not_imported_before_the_first_step(tmp_path: Path, started: list[Launch]):
    (tmp_path / "train.py").write_text(FIRST_STEP_WITHOUT_MLFLOW)
    run = Launch(folder=tmp_path, run="light-l1", arguments=("train.py",), processes=1)
    started.append(run)
    assert run.run_to_end() == [0], run.logs()
    assert logged_steps(run) == [0]
    assert tracked(run).data.params["learning_rate"] == "0.1"
    assert tracked(run).data.tags["dataset.digest"] == "0" * 64


ONE_EPOCH = (*DIGITS, "--epochs", "1")


@pytest.mark.parametrize(
    "options",
    [
        ("--strategy", "fsdp", "--accumulate", "3"),
        pytest.param(("--accumulate", "4"), marks=pytest.mark.exhaustive),
        pytest.param(("--strategy", "none"), marks=pytest.mark.exhaustive),
        pytest.param(("--strategy", "fsdp"), marks=pytest.mark.exhaustive),
    ],
    ids=" ".join,
)
def test_every_strategy_computes_the_same(
    tmp_path: Path, started: list[Launch], trained: Mapping[int, Launch], options: tuple[str, ...]
):
    processes = 1 if "none" in options else 2
    run = Launch(
        folder=tmp_path,
        run="other-l1",
        arguments=(*DIGITS, "--epochs", "15", *options),
        processes=processes,
    )
    started.append(run)
    assert run.run_to_end() == [0] * processes, run.logs()
    ours, theirs = run.outcome()["curve"][:8], trained[2].outcome()["curve"][:8]
    assert [point["step"] for point in ours] == [point["step"] for point in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine["loss"] == pytest.approx(other["loss"], abs=1e-4)
    assert len(versions(run)) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_bf16_with_clipping_learns(tmp_path: Path, started: list[Launch], strategy: str):
    run = Launch(
        folder=tmp_path,
        run="bf16-l1",
        arguments=(*DIGITS, "--strategy", strategy, "--precision", "bf16", "--clip-norm", "1"),
    )
    started.append(run)
    assert run.run_to_end() == [0, 0], run.logs()
    assert run.outcome()["metrics"]["test_accuracy"] >= 0.96


def test_ends_without_a_model_is_a_failure(tmp_path: Path, started: list[Launch]):
    (tmp_path / "train.py").write_text("import train_aml\nwith train_aml.session(): pass\n")
    run = Launch(folder=tmp_path, run="empty-l1", arguments=("train.py",), processes=1)
    started.append(run)
    assert run.run_to_end() == [1]
    assert "the session ended without a model" in run.outcome()["failure"]["error"]


def test_nobody_at_the_address_names_the_variables():
    ranks = Ranks(
        rank=1, local_rank=1, world_size=2, local_world_size=2, node_rank=0, launcher="pytorch"
    )
    environ = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "RANK": "1", "WORLD_SIZE": "2"}
    with pytest.raises(EnvironmentProblem) as caught:
        rendezvous(ranks, environ, timeout_seconds=1)
    assert "rank 1 could not meet the other 1 at 127.0.0.1:1 within 1 s" in str(caught.value)
    assert "found RANK='1', WORLD_SIZE='2', MASTER_ADDR='127.0.0.1'" in str(caught.value)
    with pytest.raises(EnvironmentProblem, match="MASTER_PORT missing"):
        rendezvous(ranks, {"MASTER_ADDR": "127.0.0.1"}, timeout_seconds=1)
