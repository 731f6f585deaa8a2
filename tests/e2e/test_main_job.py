"""The spine, end to end: requests through the command line, real ranks, a real MLflow store."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: What Azure ML injects into every process, poisonous for a self-hosted server.
POISON = {
    "MLFLOW_RUN_ID": "aml_job_abc",
    "MLFLOW_EXPERIMENT_ID": "7",
    "MLFLOW_EXPERIMENT_NAME": "elsewhere",
    "MLFLOW_TRACKING_TOKEN": "AML_TOKEN",
    "MLFLOW_TRACKING_URI": "azureml://eastus.api.azureml.ms/mlflow",
}

#: A training in miniature whose fault is named by a file, so that a rerun is the same digest.
SCRIPT = """
import os, pathlib, signal, time
import torch
import train_aml

fault = pathlib.Path(os.environ["FAULT_FILE"]).read_text()
with train_aml.session() as session:
    session.describe(data_digest="0" * 64)
    session.ready()
    module = torch.nn.Linear(4, 2)
    for step in range(10):
        loss = session.sum(torch.tensor([1.0 / (step + 1)]))
        session.log({"train_loss": loss.item()}, step=step)
        if step == 5 and session.ranks.rank == 1:
            print("step 5", flush=True)
            if fault == "raise":
                raise ValueError("the planted fault")
            if fault == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if fault == "hang":
                time.sleep(600)
    if fault == "register" and session.ranks.is_zero:
        raise RuntimeError("rank zero fell before registering")
    session.register(module, example=torch.zeros(2, 4), metrics={"test_accuracy": 0.5})
"""


@pytest.fixture
def fault(tmp_path, monkeypatch):
    """Name the fault that the next run has; none at first."""
    path = tmp_path / "fault"
    path.write_text("none")
    monkeypatch.setenv("FAULT_FILE", str(path))
    return path.write_text


def test_the_demonstration_ends_in_a_registered_model(repository, traingate, monkeypatch):
    shutil.copytree(ROOT / "jobs/digits-ddp", repository.path / "jobs/digits-ddp")
    for file in ("platform.yml", "admissions/digits-ddp.md"):
        repository.write(file, (ROOT / file).read_text())
    for name, value in POISON.items():
        monkeypatch.setenv(name, value)

    assert traingate("check", "digits-ddp").exit_code == 0
    submitted = traingate("submit", "digits-ddp")

    assert submitted.exit_code == 0, submitted.output
    assert "✅ digits-ddp is trained: `models:/digits-ddp/1`" in submitted.output
    assert "world size 2 (pytorch)" in submitted.output
    assert "xychart-beta" in submitted.output
    assert "AML_TOKEN" not in submitted.output
    assert kept(repository) == {"runs": ["FINISHED"], "versions": 1, "rows": 1}
    (run,) = repository.runs()
    assert traingate("card", run.name).output in submitted.output


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("raise", 4, "rank 1 (node 0, local rank 1) exited with status 1: ValueError: the planted"),
        ("kill", 4, "rank 1 (node 0, local rank 1) was killed by SIGKILL"),
        ("hang", 5, "timed out after 12 s (limits.timeout)"),
        ("register", 4, "rank 0 (node 0, local rank 0) exited with status 1: RuntimeError: rank"),
    ],
)
def test_a_fault_leaves_nothing_that_claims_success_and_a_rerun_works(
    repository, traingate, fault, name, code, told
):
    repository.request(SCRIPT, timeout=12 if name == "hang" else 100)
    fault(name)

    failed = traingate("submit", "probe")

    assert failed.exit_code == code, failed.output
    assert told in failed.output
    before = kept(repository)
    assert (before["versions"], before["rows"]) == (0, 0)
    assert "FINISHED" not in before["runs"]

    fault("none")
    repository.request(SCRIPT, timeout=100)
    again = traingate("submit", "probe", "--rerun")
    assert again.exit_code == 0, again.output
    after = kept(repository)
    assert (after["versions"], after["rows"]) == (1, 1)
    assert after["runs"].count("FINISHED") == 1


def test_ctrl_c_in_the_middle_leaves_nothing_that_claims_success(repository, fault):
    repository.request(SCRIPT)
    fault("hang")
    code = "from traingate.cli import main; main()"
    running = subprocess.Popen(
        [sys.executable, "-c", code, "submit", "probe"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    until = time.monotonic() + 60
    while not any("step 5" in log.read_text() for log in logs(repository)):
        assert time.monotonic() < until, "rank 1 never came to step 5"
        time.sleep(0.05)

    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=30)

    assert running.returncode == 130, output
    assert "stopped by SIGINT" in output
    left = kept(repository)
    assert (left["versions"], left["rows"]) == (0, 0)


def logs(repository) -> list[Path]:
    return list(repository.path.glob(".traingate/runs/*/user_logs/*.txt"))


def kept(repository) -> dict[str, object]:
    """What lies in the stores: the states of the MLflow runs, the versions, the results rows."""
    folder = repository.path / ".traingate"
    return {
        "runs": [state for (state,) in select(folder / "mlflow.db", "SELECT status FROM runs")],
        "versions": len(select(folder / "mlflow.db", "SELECT * FROM model_versions")),
        "rows": len(select(folder / "results.db", "SELECT * FROM training_results")),
    }


def select(database: Path, query: str) -> list[tuple[str, ...]]:
    if not database.exists():
        return []
    connection = sqlite3.connect(database)
    try:
        return connection.execute(query).fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return []
        raise
    finally:
        connection.close()
