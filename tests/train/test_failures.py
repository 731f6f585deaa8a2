"""Ranks that fail: the first cause reaches every rank and the outcome, and nothing stays behind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest
from launching import DATA, DIGITS, ROOT, Launch, fault
from mlflow import MlflowClient
from stores import rows, tracked, versions

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:.*noload.*:sqlalchemy.exc.SADeprecationWarning")

SCHEMA = json.loads((ROOT / "schemas" / "outcome.schema.json").read_text())


def failed(run: Launch, started: list[Launch]) -> dict[str, object]:
    """Let the run fail; its failure as the outcome tells it."""
    started.append(run)
    codes = run.run_to_end()
    assert 0 not in codes, run.logs()
    outcome = run.outcome()
    jsonschema.Draft202012Validator(SCHEMA).validate(outcome)
    assert outcome["status"] == "failed"
    assert (versions(run), rows(run)) == ([], [])
    failure: dict[str, object] = outcome["failure"]
    return failure


@pytest.mark.parametrize(
    ("action", "rank"),
    [
        ("raise", 1),
        ("stuck-in-finally", 0),
        pytest.param("raise", 0, marks=pytest.mark.exhaustive),
        pytest.param("stuck-in-finally", 1, marks=pytest.mark.exhaustive),
    ],
)
def test_the_cause_reaches_every_rank(
    tmp_path: Path, started: list[Launch], action: str, rank: int
):
    run = Launch(folder=tmp_path, run="failing-l1", arguments=fault(action, "backward:10", rank))
    failure = failed(run, started)
    assert failure["rank"] == rank
    assert failure["error"] == "RuntimeError: planted"
    assert 'raise RuntimeError("planted")' in str(failure["traceback"])
    assert failure["exit_code"] == 1
    assert [process.returncode for process in run.ranks] == [1, 1]
    assert f"stopped, because rank {rank} failed: RuntimeError: planted" in run.log(1 - rank)
    # The launcher looks for the earliest record; those who were only stopped wrote none.
    assert run.failure(rank)["error"] == "RuntimeError: planted"
    assert not run.failure_path(1 - rank).exists()
    assert tracked(run).info.status == "FAILED"


def test_the_cause_is_found_among_four_ranks(tmp_path: Path, started: list[Launch]):
    run = Launch(
        folder=tmp_path,
        run="failing-l1",
        arguments=fault("raise", "backward:10", 2),
        nodes=2,
        processes=2,
    )
    failure = failed(run, started)
    assert (failure["rank"], failure["node_rank"], failure["local_rank"]) == (2, 1, 0)
    assert [path.name for path in sorted(tmp_path.glob("failure*"))] == ["failure2.json"]


@pytest.mark.parametrize("action", ["kill", pytest.param("vanish0", marks=pytest.mark.exhaustive)])
def test_a_rank_that_is_gone_without_a_word_is_named(
    tmp_path: Path, started: list[Launch], action: str
):
    run = Launch(folder=tmp_path, run="gone-l1", arguments=fault(action, "backward:10", 1))
    started.append(run)
    codes = run.run_to_end()
    assert codes == [69, -9 if action == "kill" else 0], run.logs()
    failure = run.outcome()["failure"]
    assert failure["rank"] == 1
    assert failure["error"].startswith("RankLost: rank 1 is gone without a word")
    assert (versions(run), rows(run)) == ([], [])


def test_a_killed_rank_zero_is_named_by_the_others(tmp_path: Path, started: list[Launch]):
    run = Launch(folder=tmp_path, run="gone-l1", arguments=fault("kill", "backward:10", 0))
    started.append(run)
    assert run.run_to_end() == [-9, 69], run.logs()
    assert "rank 0 failed: RankLost: rank 0 is gone without a word" in run.log(1)
    assert not run.outcome_path.exists()


def test_leaving_early_is_no_success(tmp_path: Path, started: list[Launch]):
    run = Launch(folder=tmp_path, run="early-l1", arguments=fault("exit0", "backward:10", 1))
    failure = failed(run, started)
    assert failure["rank"] == 1
    assert str(failure["error"]).startswith("LeftEarly: the script ended itself in the middle")


def test_a_stalled_rank_is_named_with_its_stack(tmp_path: Path, started: list[Launch]):
    run = Launch(
        folder=tmp_path,
        run="stalled-l1",
        arguments=fault("hang", "step:10", 1, "--stall-seconds", "8"),
    )
    failure = failed(run, started)
    assert failure["rank"] == 1
    assert "held up by rank 1;" in str(failure["error"])
    assert "time.sleep(1_000)" in str(failure["traceback"])


def test_a_loss_that_is_no_number_names_step_and_rank(tmp_path: Path, started: list[Launch]):
    run = Launch(folder=tmp_path, run="nan-l1", arguments=fault("-", "loss:7", 1))
    failure = failed(run, started)
    assert failure["rank"] == 1
    assert "the loss became nan at step 7 on rank 1" in str(failure["error"])


def test_rank_zero_failing_before_registering(tmp_path: Path, started: list[Launch]):
    run = Launch(
        folder=tmp_path, run="late-l1", arguments=fault("raise", "register", 0, "--epochs", "1")
    )
    started.append(run)
    assert run.run_to_end() == [1, 0], run.logs()
    outcome = run.outcome()
    assert outcome["status"] == "failed"
    assert outcome["failure"]["error"] == "RuntimeError: planted"
    assert (versions(run), rows(run), tracked(run).info.status) == ([], [], "FAILED")

    again = Launch(folder=tmp_path, run=run.run, arguments=(*DIGITS, "--epochs", "1"))
    started.append(again)
    assert again.run_to_end() == [0, 0], again.logs()
    assert (len(versions(run)), len(rows(run)), tracked(run).info.status) == (1, 1, "FINISHED")


def test_another_workloads_model_is_refused_before_training(tmp_path: Path, started: list[Launch]):
    run = Launch(folder=tmp_path, run="thief-l1", processes=1)
    client = MlflowClient(run.tracking_uri, run.tracking_uri)
    client.create_registered_model("digits-ddp", tags={"traingate.workload": "segmentation"})
    started.append(run)
    assert run.run_to_end() == [69], run.logs()
    outcome = run.outcome()
    assert "was made by workload 'segmentation'" in outcome["failure"]["error"]
    assert outcome["curve"] == []
    assert (versions(run), rows(run)) == ([], [])

    allowed = Launch(
        folder=tmp_path,
        run="guest-l1",
        arguments=(*DIGITS, "--epochs", "1"),
        processes=1,
        variables={"TRAINGATE_MODEL_EXISTING": "true"},
    )
    started.append(allowed)
    assert allowed.run_to_end() == [0], allowed.logs()
    assert len(versions(allowed)) == 1


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
        arguments=("-m", "train_aml.train_distributed", "--data", str(DATA / "none")),
        processes=1,
    )
    failure = failed(run, started)
    assert "digits.npz" in str(failure["error"])
    assert failure["exit_code"] == 65


def test_fewer_samples_than_ranks_is_the_datas_fault(tmp_path: Path, started: list[Launch]):
    run = Launch(folder=tmp_path, run="tiny-l1", arguments=(*DIGITS, "--global-batch-size", "1"))
    failure = failed(run, started)
    assert "a global batch of 1 cannot be shared by 2 processes" in str(failure["error"])
    assert failure["exit_code"] == 65
