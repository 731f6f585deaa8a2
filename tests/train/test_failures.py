"""Ranks that fail, and what is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from launching import DATA, ROOT, Launch
from mlflow import MlflowClient

from train_aml.results import Results

pytestmark = pytest.mark.filterwarnings("ignore:.*noload.*:sqlalchemy.exc.SADeprecationWarning")

FAULTS = str(Path(__file__).parent / "faults.py")
SCHEMA = json.loads((ROOT / "schemas" / "outcome.schema.json").read_text())


def faulty(folder: Path, fault: str, rank: int, **changes: int) -> Launch:
    arguments = (FAULTS, fault, str(rank), "--data", str(DATA), "--epochs", "1")
    return Launch(folder=folder, run="faulty-l1", arguments=arguments, **changes)


def versions(run: Launch) -> int:
    return len(MlflowClient(run.tracking_uri).search_model_versions("name = 'digits-ddp'"))


def rows(run: Launch) -> int:
    results = Results(run.results_url)
    found = len(results.rows(run.run))
    results.close()
    return found


def test_rank_zero_failing_before_registering(tmp_path: Path, started: list[Launch]):
    run = faulty(tmp_path, "raise-before-registering", 0)
    started.append(run)
    assert run.run_to_end() == [1, 0], run.logs()
    outcome = run.outcome()
    jsonschema.Draft202012Validator(SCHEMA).validate(outcome)
    assert outcome["status"] == "failed"
    assert outcome["failure"]["error"] == "RuntimeError: planted"
    assert outcome["failure"]["rank"] == 0
    assert (versions(run), rows(run)) == (0, 0)
    client = MlflowClient(run.tracking_uri)
    experiment = client.get_experiment_by_name("digits-ddp")
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.info.status == "FAILED"

    again = Launch(
        folder=tmp_path,
        run=run.run,
        arguments=("-m", "train_aml.train_distributed", "--data", str(DATA), "--epochs", "1"),
    )
    started.append(again)
    assert again.run_to_end() == [0, 0], again.logs()
    assert (versions(run), rows(run)) == (1, 1)
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.info.status == "FINISHED"


def test_a_rank_that_raises_leaves_its_record(tmp_path: Path, started: list[Launch]):
    run = faulty(tmp_path, "raise-in-epoch", 1)
    started.append(run)
    codes = run.run_to_end()
    assert codes[1] == 1
    assert codes[0] != 0
    first = min((run.failure(r) for r in (0, 1)), key=lambda f: f["time_unix_seconds"])
    assert first["rank"] == 1
    assert first["error"] == "RuntimeError: planted"
    assert "planted" in first["traceback"]
    assert (versions(run), rows(run)) == (0, 0)


def test_another_workloads_model_is_refused_before_training(tmp_path: Path, started: list[Launch]):
    client = MlflowClient(f"sqlite:///{tmp_path}/tracking.db")
    client.create_registered_model("digits-ddp", tags={"traingate.workload": "segmentation"})
    run = Launch(folder=tmp_path, run="thief-l1")
    started.append(run)
    codes = run.run_to_end()
    assert codes[0] == 69, run.logs()
    outcome = run.outcome()
    assert "was made by workload 'segmentation'" in outcome["failure"]["error"]
    assert outcome["curve"] == []
    assert versions(run) == 0

    allowed = Launch(
        folder=tmp_path,
        run="guest-l1",
        arguments=("-m", "train_aml.train_distributed", "--data", str(DATA), "--epochs", "1"),
        processes=1,
        variables={"TRAINGATE_MODEL_EXISTING": "true"},
    )
    started.append(allowed)
    assert allowed.run_to_end() == [0], allowed.logs()
    assert versions(allowed) == 1


def test_by_hand_without_a_contract(tmp_path: Path, started: list[Launch]):
    run = Launch(folder=tmp_path, run="", processes=1)
    started.append(run)
    assert run.run_to_end() == [69]
    assert "not inside a traingate run: TRAINGATE_RUN missing" in run.log(0)
    jsonschema.Draft202012Validator(SCHEMA).validate(run.outcome())


def test_missing_data_is_the_datas_fault(tmp_path: Path, started: list[Launch]):
    run = Launch(
        folder=tmp_path,
        run="nodata-l1",
        arguments=("-m", "train_aml.train_distributed", "--data", str(tmp_path / "none")),
        processes=1,
    )
    started.append(run)
    assert run.run_to_end() == [65]
    assert "digits.npz" in run.outcome()["failure"]["error"]
