"""Runs that are cut off and started again: one run, one row, one version, the same weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from launching import DIGITS, Launch, fault
from stores import logged_steps, rows, tracked, uploads, versions, weights

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*noload.*:sqlalchemy.exc.SADeprecationWarning"),
    # Loading a model in the test's own process: torch warns about what MLflow does.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

#: A checkpoint whenever the ranks look up together, so that every kill has some behind it.
SHORT = ("--epochs", "2", "--checkpoints", "checkpoints", "--checkpoint-every-seconds", "0")
STEPS = 40


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """The weights of an undisturbed run by world size."""
    found = {}
    for world_size in (1, 2):
        run = Launch(
            folder=tmp_path_factory.mktemp("straight"),
            run="straight-l1",
            arguments=(*DIGITS, *SHORT),
            processes=world_size,
        )
        assert run.run_to_end() == [0] * world_size, run.logs()
        found[world_size] = weights(run)
    return found


def start_again(cut: Launch, started: list[Launch], processes: int = 2) -> Launch:
    """Start the run of `cut` again, undisturbed, in its folder and on its stores."""
    again = Launch(folder=cut.folder, run=cut.run, arguments=(*DIGITS, *SHORT), processes=processes)
    started.append(again)
    assert again.run_to_end() == [0] * processes, again.logs()
    return again


def assert_exactly_once(run: Launch) -> None:
    assert tracked(run).info.status == "FINISHED"
    assert tracked(run).info.run_name == run.run
    assert [version.run_id for version in versions(run)] == [tracked(run).info.run_id]
    (row,) = rows(run)
    assert row["model_uri"] == "models:/digits-ddp/1"
    outcome = run.outcome()
    assert outcome["status"] == "succeeded"
    assert outcome["model"]["uri"] == "models:/digits-ddp/1"
    assert outcome["metrics"]["test_accuracy"] == row["metrics"]["test_accuracy"]
    assert [point["step"] for point in outcome["curve"]] == list(range(STEPS))
    assert logged_steps(run) == list(range(STEPS))
    assert logged_steps(run, "validation_loss") == [19, 39]


@pytest.mark.parametrize("point", ["step:0", "backward:25", "checkpoint:2"])
def test_killed_while_training(
    tmp_path: Path, started: list[Launch], uninterrupted: dict[int, str], point: str
):
    cut = Launch(folder=tmp_path, run="cut-l1", arguments=fault("kill", point, 0, *SHORT))
    started.append(cut)
    assert cut.run_to_end() == [-9, 69], cut.logs()
    assert (versions(cut), rows(cut)) == ([], [])
    again = start_again(cut, started)
    resumed = "resumed at step" in again.log(0)
    assert resumed == (point != "step:0")
    assert_exactly_once(again)
    assert weights(again) == uninterrupted[2]


@pytest.mark.parametrize("point", ["register", "version", "row", "outcome"])
def test_killed_at_the_end(
    tmp_path: Path, started: list[Launch], uninterrupted: dict[int, str], point: str
):
    cut = Launch(
        folder=tmp_path, run="cut-l1", arguments=fault("kill", point, 0, *SHORT), processes=1
    )
    started.append(cut)
    assert cut.run_to_end() == [-9], cut.logs()
    assert not cut.outcome_path.exists()
    again = start_again(cut, started, processes=1)
    assert f"resumed at step {STEPS}" in again.log(0)
    assert_exactly_once(again)
    assert uploads(again) == 1
    assert weights(again) == uninterrupted[1]


def test_preempted_ranks_stop_together_and_go_on(
    tmp_path: Path, started: list[Launch], uninterrupted: dict[int, str]
):
    cut = Launch(folder=tmp_path, run="cut-l1", arguments=fault("sigterm", "step:5", 1, *SHORT))
    started.append(cut)
    assert cut.run_to_end() == [75, 75], cut.logs()
    assert cut.outcome()["status"] == "preempted"
    assert tracked(cut).info.status == "KILLED"
    assert not any(cut.failure_path(rank).exists() for rank in (0, 1))
    again = start_again(cut, started)
    assert_exactly_once(again)
    assert weights(again) == uninterrupted[2]


@pytest.mark.exhaustive
def test_a_torn_checkpoint_gives_way_to_the_one_before(
    tmp_path: Path, started: list[Launch], uninterrupted: dict[int, str]
):
    cut = Launch(folder=tmp_path, run="cut-l1", arguments=fault("kill", "backward:30", 0, *SHORT))
    started.append(cut)
    cut.run_to_end()
    older, newer = sorted((tmp_path / "checkpoints").glob("step-*"))[-2:]
    torn = max(newer.glob("*.distcp"), key=lambda path: path.stat().st_size)
    torn.write_bytes(torn.read_bytes()[:-1])
    again = start_again(cut, started)
    assert f"resumed at step {int(older.name.removeprefix('step-'))} " in again.log(0)
    assert_exactly_once(again)
    assert weights(again) == uninterrupted[2]


@pytest.mark.exhaustive
@pytest.mark.parametrize("rank", [0, 1, 3])
@pytest.mark.parametrize("step", [1, 5, 19, 20, 21, 38, 39])
def test_killed_at_any_step_on_any_rank(
    tmp_path: Path, started: list[Launch], step: int, rank: int
):
    cut = Launch(
        folder=tmp_path,
        run="cut-l1",
        arguments=fault("kill", f"backward:{step}", rank, *SHORT),
        nodes=2,
        processes=2,
    )
    started.append(cut)
    assert cut.run_to_end()[rank] == -9, cut.logs()
    again = Launch(folder=tmp_path, run=cut.run, arguments=(*DIGITS, *SHORT), nodes=2, processes=2)
    started.append(again)
    assert again.run_to_end() == [0] * 4, again.logs()
    assert_exactly_once(again)


@pytest.mark.exhaustive
def test_resumes_at_another_world_size(tmp_path: Path, started: list[Launch]):
    cut = Launch(folder=tmp_path, run="cut-l1", arguments=fault("kill", "backward:25", 1, *SHORT))
    started.append(cut)
    assert cut.run_to_end()[1] == -9
    again = start_again(cut, started, processes=1)
    assert "resumed at step" in again.log(0)
    assert_exactly_once(again)
