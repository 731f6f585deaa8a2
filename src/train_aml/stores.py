"""Rank zero's stores: the tracking run, the model registry and the results database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from train_aml import locations, preflight
from train_aml.provenance import training_backend, version_tags
from train_aml.registry import Registry
from train_aml.results import Result, Results
from train_aml.tracking import Tracking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor, nn

    from train_aml.environment import Contract
    from train_aml.outcome import Model
    from train_aml.spool import Point


class Stores:
    """The three stores of one run. Construction asks each whether the run may start.

    It does so without MLflow; `open` imports it and makes or finds the run. `checked` is False
    where an answer was not understood, so that only `open` can tell.

    Raises:
        StoreProblem: one is away or refuses.
        ModelOwnedElsewhere: the model belongs to another workload.
    """

    tracking: Tracking
    registry: Registry

    def __init__(self, contract: Contract, *, world_size: int, azureml_run_id: str) -> None:
        self._contract = contract
        self._world_size = world_size
        self._azureml_run_id = azureml_run_id
        self.results = Results(locations.resolve(contract.results_url))
        self.results.prepare()
        self._tracking_uri = locations.resolve(contract.tracking_uri)
        self.checked = preflight.check(contract, self._tracking_uri)

    def open(self) -> Self:
        """Find or make the run, in a thread: importing MLflow takes more than a second.

        Raises:
            StoreProblem: the tracking server is away or refuses.
            ModelOwnedElsewhere: the model belongs to another workload.
        """
        tags = self._tags("")
        if self._azureml_run_id:
            tags["azureml.run_id"] = self._azureml_run_id
        self.tracking = Tracking(self._contract, self._tracking_uri, tags=tags)
        self._logged_steps = self.tracking.logged_steps()
        self.registry = Registry(self._contract, self.tracking)
        self.registry.check_owner()
        return self

    def log(self, points: Sequence[Point]) -> None:
        """Write the points that the run does not have yet: a resumed run goes over steps again."""
        self.tracking.log_points(
            [
                (name, value, step, milliseconds)
                for name, value, step, milliseconds in points
                if step not in self._logged_steps.get(name, ())
            ]
        )

    def describe(self, data_digest: str, params: Mapping[str, object]) -> None:
        """Write what is trained on which data to the run."""
        self.tracking.log_params(params)
        self.tracking.set_tags({"dataset.digest": self._tags(data_digest)["dataset.digest"]})

    def finish(
        self,
        module: nn.Module,
        example: Tensor,
        metrics: dict[str, float],
        data_digest: str,
        started_at: datetime,
    ) -> Model:
        """Register the model, write the row and end the run; repeating it changes nothing."""
        self.tracking.log(metrics, step=0)
        model = self.registry.register(module, example, self._tags(data_digest))
        contract = self._contract
        self.results.record(
            Result(
                run_name=contract.run,
                workload=contract.workload,
                model_name=model.name,
                model_version=int(model.version),
                model_uri=model.uri,
                mlflow_run_id=self.tracking.run_id,
                metrics=metrics,
                dataset_digest=data_digest,
                image=contract.image,
                git_commit=contract.commit,
                backend=training_backend(self._world_size),
                world_size=self._world_size,
                attempt=contract.attempt,
                started_at=started_at,
                finished_at=datetime.now(UTC),
            )
        )
        self.tracking.finish("FINISHED")
        return model

    def _tags(self, data_digest: str) -> dict[str, str]:
        return version_tags(self._contract, world_size=self._world_size, data_digest=data_digest)
