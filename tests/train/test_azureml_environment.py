"""Azure ML's own MLflow variables in every rank's environment change nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from launching import DIGITS, Launch
from recording import RecordedServer

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "planted-azure-ml-token"
POISON = {
    "MLFLOW_TRACKING_TOKEN": TOKEN,
    "MLFLOW_TRACKING_URI": "azureml://westeurope.api.azureml.ms/mlflow/v1.0/subscriptions/x",
    "MLFLOW_REGISTRY_URI": "azureml://westeurope.api.azureml.ms/mlflow/v1.0/subscriptions/x",
    "MLFLOW_RUN_ID": "sincere_brush_123",
    "MLFLOW_EXPERIMENT_ID": "987654321",
    "MLFLOW_EXPERIMENT_NAME": "Default",
}


def test_poisoned_variables_change_nothing(tmp_path: Path, started: list[Launch]):
    with RecordedServer(folder=tmp_path) as server:
        run = Launch(
            folder=tmp_path / "run",
            run="poisoned-l1",
            arguments=(*DIGITS, "--epochs", "1"),
            tracking_uri=server.uri,
            variables=POISON,
        )
        started.append(run)
        assert run.run_to_end() == [0, 0], run.logs()
    created = [json.loads(r.body) for r in server.requests if "/runs/create" in r.line]
    assert [run["run_name"] for run in created] == ["poisoned-l1"]
    (version,) = [r for r in server.requests if "/model-versions/create" in r.line]
    assert json.loads(version.body)["name"] == "digits-ddp"
    assert run.outcome()["model"]["uri"] == "models:/digits-ddp/1"
    tags = {tag["key"]: tag["value"] for tag in created[0]["tags"]}
    assert tags["azureml.run_id"] == "sincere_brush_123"
    for request in server.requests:
        everything = request.line + request.headers + request.body.decode(errors="replace")
        assert TOKEN not in everything
        assert "Authorization" not in request.headers
