"""Rehearsals: a real one that is killed and resumed, and every way in which one can fall short."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from traingate import pipeline
from traingate.backends.base import Observation
from traingate.commands import world
from traingate.documents.reading import read_rehearsal
from traingate.documents.rehearsal import default_rehearsal
from traingate.errors import Refusal
from traingate.outcome import Outcome, RegisteredModel
from traingate.rehearsal import proofs, rehearse
from traingate.rehearsal.proofs import Left, complaints
from traingate.rehearsal.scaling import scale

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def digits(repository):
    shutil.copytree(ROOT / "jobs/digits-ddp", repository.path / "jobs/digits-ddp")
    for file in ("platform.yml", "admissions/digits-ddp.md"):
        repository.write(file, (ROOT / file).read_text())
    return repository


def test_the_demonstration_rehearses_a_kill_in_the_middle(digits, traingate):
    result = traingate("rehearse", "digits-ddp", "--preempt")

    assert result.exit_code == 0, result.output
    told = result.output.splitlines()
    assert told[-1] == "rehearsed on 2 × CPU: 40 steps, resumed after a kill at step 20"
    assert any(line.startswith("resumed at step 19 from ") for line in told)
    # Nothing of it is a run: neither a store nor the list of runs knows of it.
    assert traingate("status").output.strip() == "No runs yet."
    assert not (digits.path / ".traingate" / "mlflow.db").exists()


def test_a_script_that_cannot_be_killed_in_the_middle_says_what_it_lacks(repository, traingate):
    script = (
        "import train_aml, torch\n"
        "with train_aml.session() as session:\n"
        "    session.ready()\n"
        "    session.register(torch.nn.Linear(4, 2), torch.zeros(2, 4), {'accuracy': 0.5})\n"
    )
    repository.request(script)

    result = traingate("rehearse", "probe", "--preempt")

    assert result.exit_code == 4, result.output
    assert "it does not use `session.loop`" in result.output


@pytest.mark.parametrize(("signal_name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_stopped_rehearsal_has_not_failed(signal_name, code):
    seen = Observation(
        run_name="probe-1-l1", state="Canceled", reason=f"stopped by {signal_name}", properties={}
    )

    stopped = rehearse.failed(seen)

    assert stopped.exit_code == code
    assert str(stopped) == f"The rehearsal probe-1-l1 was stopped by {signal_name}. Rehearse again."


def test_a_rehearsal_that_fails_is_no_rehearsal(repository, traingate):
    repository.request("raise ValueError('the planted fault')\n")

    result = traingate("rehearse", "probe")

    assert result.exit_code == 4, result.output
    assert "ValueError: the planted fault" in result.output
    assert "rehearsed on" not in result.output


def test_a_rehearsal_file_with_a_mistake_is_refused_at_its_line(repository, traingate):
    repository.request("")
    repository.write("jobs/probe/rehearsal.yml", "nodes: 1\nprocesses: 2\n")

    result = traingate("rehearse", "probe")

    assert result.exit_code == 1
    assert "jobs/probe/rehearsal.yml:2:1" in result.output


class TestScaling:
    def scaled(self, repository, text, *, hold_at=None, **request):
        repository.request("", **request)
        asked = world.clean_request("probe")
        rehearsal, findings = read_rehearsal(text.encode(), "jobs/probe/rehearsal.yml")
        assert rehearsal is not None, findings
        return scale(pipeline.plan(asked), asked, rehearsal, hold_at=hold_at)

    def test_nodes_processes_time_and_steps(self, repository):
        plan = self.scaled(
            repository,
            "nodes: 2\nprocesses_per_node: 3\nsteps: 7\ntimeout_seconds: 9\n"
            "environment_variables: {A: b}\n",
            hold_at=4,
        )
        assert plan.topology.world_size == 6
        assert plan.job.timeout_seconds == 9
        variables = plan.job.environment_variables
        assert variables["TRAINGATE_MAX_STEPS"] == "7"
        assert variables["TRAINGATE_HOLD_AT_STEP"] == "4"
        assert variables["A"] == "b"

    def test_a_job_without_distribution_stays_one_process(self, repository):
        plan = self.scaled(repository, "nodes: 2\nprocesses_per_node: 3\n", processes=None)
        assert plan.topology.world_size == 1
        assert "TRAINGATE_HOLD_AT_STEP" not in plan.job.environment_variables

    def test_inputs_keep_their_kind_and_their_files(self, repository):
        repository.write("jobs/probe/small/part.csv", "1\n")
        repository.request("")
        job = repository.path / "jobs/probe/job.yml"
        added = "inputs:\n  rate: 0.1\n  data: {type: uri_folder, path: azureml:big:1}\n"
        job.write_text(job.read_text() + added)
        asked = world.clean_request("probe")
        given = replace(default_rehearsal(), inputs={"rate": "0.5", "data": "./small"})

        plan = scale(pipeline.plan(asked), asked, given, hold_at=None)

        assert plan.job.inputs["rate"].value == "0.5"
        assert plan.job.inputs["data"].path == "./small"
        assert "jobs/probe/small/part.csv" in plan.files

    def test_an_input_that_the_job_has_not_is_refused(self, repository):
        with pytest.raises(Refusal, match="has an input `dta` that the job has not"):
            self.scaled(repository, "inputs: {dta: ./small}\n")


class TestProofs:
    """What is missing is told, from stores made by hand in MLflow's shape."""

    @pytest.fixture(autouse=True)
    def loads(self, monkeypatch):
        monkeypatch.setattr(proofs, "_load", lambda _left: "")

    def left(
        self,
        folder: Path,
        *,
        runs: Iterable[int] = (1,),
        versions: int = 1,
        rows: int = 1,
        steps: Iterable[int] = range(40),
        redone: float = 0.5,
    ) -> Left:
        with closing(sqlite3.connect(folder / "tracking.db")) as tracking, tracking:
            tracking.execute("CREATE TABLE runs (experiment_id INT, status TEXT)")
            tracking.execute("CREATE TABLE model_versions (version INT)")
            tracking.execute("CREATE TABLE metrics (key TEXT, step INT, value REAL)")
            tracking.executemany("INSERT INTO runs VALUES (?, 'FINISHED')", [(n,) for n in runs])
            tracking.executemany(
                "INSERT INTO model_versions VALUES (?)", [(n,) for n in range(versions)]
            )
            tracking.executemany(
                "INSERT INTO metrics VALUES ('train_loss', ?, 0.5)", [(n,) for n in steps]
            )
        with closing(sqlite3.connect(folder / "results.db")) as results, results:
            results.execute("CREATE TABLE training_results (run_name TEXT)")
            results.executemany(
                "INSERT INTO training_results VALUES (?)", [(f"r{n}",) for n in range(rows)]
            )
        outcome = Outcome(
            status="succeeded",
            run_name="probe-1",
            workload="probe",
            world_size=2,
            training_backend="aml-distributed",
            model=RegisteredModel(name="probe", version="1", uri="models:/probe/1"),
            metrics={},
            curve=tuple((step, redone if step == 19 else 0.5) for step in range(40)),
            durations_seconds={},
            dataset_digest="",
            mlflow_run_id="",
            warnings=(),
            failure=None,
        )
        return Left(tracking=folder / "tracking.db", results=folder / "results.db", outcome=outcome)

    def told(self, left: Left) -> list[str]:
        return list(complaints(left, steps=40, held_at=20))

    def test_nothing_is_missing(self, tmp_path):
        assert self.told(self.left(tmp_path, redone=0.5 + 1e-6)) == []

    @pytest.mark.parametrize(
        ("left", "told"),
        [
            ({"runs": (1, 1)}, "left 2 of what must be one: MLflow run"),
            ({"runs": ()}, "left 0 of what must be one: MLflow run"),
            ({"runs": (1, 0)}, "a run in MLflow's Default experiment"),
            ({"versions": 2}, "left 2 of what must be one: model version"),
            ({"rows": 0}, "left 0 of what must be one: results row"),
            ({"steps": [*range(19), *range(20, 40)]}, "step 19 is missing or there twice"),
            ({"steps": [*range(20), *range(19, 40)]}, "step 20 is missing or there twice"),
            ({"steps": range(10)}, "fewer than the 20 before the kill"),
            ({"redone": 0.52}, "step 19 had 0.5 before the kill and 0.52 after the resume"),
        ],
    )
    def test_what_is_missing_is_said(self, tmp_path, left, told):
        said = self.told(self.left(tmp_path, **left))
        assert any(told in complaint for complaint in said), said

    def test_without_stores_nothing_is_proved(self, tmp_path):
        left = self.left(tmp_path)
        left.tracking.unlink()
        left.results.unlink()
        assert len(self.told(left)) == 5


def test_a_model_that_does_not_load_elsewhere_is_said(tmp_path):
    left = TestProofs().left(tmp_path)
    assert proofs._load(left) != ""
