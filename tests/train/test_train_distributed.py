"""The digits, trained by real processes on one, two and four ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import jsonschema
import pytest
from launching import DATA, ROOT, Launch
from mlflow import MlflowClient

from train_aml.provenance import dataset_digest
from train_aml.results import Results

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlflow.entities import Run

#: MLflow's own tables use an option that the newest SQLAlchemy deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.*noload.*:sqlalchemy.exc.SADeprecationWarning")

WORLD_SIZES = (1, 2, 4)
#: Sums over the ranks are formed in another order; float32 keeps about seven digits of each.
FIRST_EPOCH_TOLERANCE = 1e-4


def client(run: Launch) -> MlflowClient:
    return MlflowClient(run.tracking_uri, run.tracking_uri)


def only_run(run: Launch) -> Run:
    mlflow = client(run)
    experiments = [e.experiment_id for e in mlflow.search_experiments()]
    (found,) = mlflow.search_runs(experiments)
    return found


@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_leaves_one_finished_run(trained: Mapping[int, Launch], world_size: int):
    found = only_run(trained[world_size])
    assert found.info.status == "FINISHED"
    assert found.info.run_name == trained[world_size].run
    assert found.data.params["global_batch_size"] == "64"
    history = client(trained[world_size]).get_metric_history(found.info.run_id, "train_loss")
    assert [point.step for point in history] == list(range(300))


@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_leaves_one_version_with_all_tags(trained: Mapping[int, Launch], world_size: int):
    run = trained[world_size]
    (version,) = client(run).search_model_versions("name = 'digits-ddp'")
    assert version.run_id == only_run(run).info.run_id
    assert version.tags == {
        "dataset.digest": dataset_digest(DATA),
        "code.image": "registry.example.com/train-aml@sha256:" + "0" * 64,
        "git.commit": "c" * 40,
        "git.repository": "contoso/training",
        "git.pull_request": "7",
        "traingate.run": run.run,
        "traingate.digest": "d" * 64,
        "traingate.workload": "digits-ddp",
        "traingate.attempt": "1",
        "training.backend": "single-node" if world_size == 1 else "aml-distributed",
        "training.world_size": str(world_size),
    }


@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_leaves_one_row(trained: Mapping[int, Launch], world_size: int):
    run = trained[world_size]
    results = Results(run.results_url)
    (row,) = results.rows(run.run)
    results.close()
    assert row["model_uri"] == "models:/digits-ddp/1"
    assert row["mlflow_run_id"] == only_run(run).info.run_id
    assert row["backend"] == ("single-node" if world_size == 1 else "aml-distributed")
    assert row["world_size"] == world_size
    assert row["dataset_digest"] == dataset_digest(DATA)
    assert row["metrics"]["test_accuracy"] >= 0.96
    assert row["started_at"] < row["finished_at"]


@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_outcome_follows_its_schema(trained: Mapping[int, Launch], world_size: int):
    outcome = trained[world_size].outcome()
    schema = json.loads((ROOT / "schemas" / "outcome.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(outcome)
    assert outcome["status"] == "succeeded"
    assert outcome["model"]["uri"] == "models:/digits-ddp/1"
    assert outcome["metrics"]["test_accuracy"] >= 0.96
    assert outcome["curve"][0]["step"] == 0
    assert outcome["curve"][-1]["step"] == 299
    assert len(outcome["curve"]) == 200


def test_first_epoch_does_not_depend_on_the_world_size(trained: Mapping[int, Launch]):
    losses = []
    for run in trained.values():
        run_id = only_run(run).info.run_id
        steps = client(run).get_metric_history(run_id, "train_loss")[:20]
        assert [point.step for point in steps] == list(range(20))
        losses.append(sum(point.value for point in steps) / 20)
    assert max(losses) - min(losses) < FIRST_EPOCH_TOLERANCE, losses


def test_only_rank_zero_speaks_to_the_stores(trained: Mapping[int, Launch]):
    run = trained[4]
    assert "registered models:/digits-ddp/1" in run.log(0)
    assert [run.log(rank) for rank in (1, 2, 3)] == ["", "", ""]


def test_model_predicts_where_this_repository_is_not(trained: Mapping[int, Launch]):
    script = f"""
import sys
sys.modules["train_aml"] = sys.modules["traingate"] = None  # importing them now fails
import mlflow, mlflow.pyfunc, mlflow.pytorch, numpy as np
mlflow.set_tracking_uri({trained[2].tracking_uri!r})
archive = np.load({str(DATA / "digits.npz")!r})
images = (archive["images"][-100:] / 16).astype("float32")[:, None]
served = mlflow.pyfunc.load_model("models:/digits-ddp/1").predict(images)
module = mlflow.pytorch.load_model("models:/digits-ddp/1")
assert (served.argmax(1) == archive["labels"][-100:]).mean() > 0.9
import torch
plain = module(torch.from_numpy(images)).detach().numpy()
assert np.abs(served - plain).max() == 0
names = list(module.state_dict())
assert "features.0.weight" in names, names
assert not [name for name in names if name.startswith("module.")], names
"""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=trained[2].folder,
        env=kept,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
