"""What a run left in its stores."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from mlflow import MlflowClient

from train_aml.results import Results

if TYPE_CHECKING:
    from launching import Launch
    from mlflow.entities import Run
    from mlflow.entities.model_registry import ModelVersion

MODEL = "digits-ddp"


def tracked(launch: Launch) -> Run:
    """The one run on the tracking server."""
    client = MlflowClient(launch.tracking_uri, launch.tracking_uri)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    (run,) = client.search_runs(experiments)
    return run


def versions(launch: Launch) -> list[ModelVersion]:
    return list(
        MlflowClient(launch.tracking_uri, launch.tracking_uri).search_model_versions(
            f"name = '{MODEL}'"
        )
    )


def rows(launch: Launch) -> list[dict[str, object]]:
    results = Results(launch.results_url)
    found = results.rows(launch.run)
    results.close()
    return found


def logged_steps(launch: Launch, metric: str = "train_loss") -> list[int]:
    client = MlflowClient(launch.tracking_uri, launch.tracking_uri)
    history = client.get_metric_history(tracked(launch).info.run_id, metric)
    return [point.step for point in history]


def uploads(launch: Launch) -> int:
    client = MlflowClient(launch.tracking_uri, launch.tracking_uri)
    run = tracked(launch)
    return len(client.search_logged_models([run.info.experiment_id]))


def weights(launch: Launch) -> str:
    """A hash of the registered model's weights."""
    import mlflow

    mlflow.set_tracking_uri(launch.tracking_uri)
    mlflow.set_registry_uri(launch.tracking_uri)
    model = mlflow.pytorch.load_model(f"models:/{MODEL}/1")
    digest = hashlib.sha256()
    for name, value in model.state_dict().items():
        digest.update(name.encode() + value.detach().numpy().tobytes())
    return digest.hexdigest()
