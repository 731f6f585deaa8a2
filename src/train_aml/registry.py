"""The model registry: one version a run, in a model that belongs to one workload."""

from __future__ import annotations

import logging
from importlib.metadata import version as installed
from typing import TYPE_CHECKING, Any

from train_aml.outcome import Model
from train_aml.ownership import OWNER_TAG, refuse_foreign
from train_aml.provenance import mlflow_version
from train_aml.tracking import Tracking, refusals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor, nn

    from train_aml.environment import Contract

ARTIFACT_NAME = "model"


class Registry:
    """The registered model named by the contract, on the tracking run's server."""

    def __init__(self, contract: Contract, tracking: Tracking) -> None:
        self._contract = contract
        self._tracking = tracking
        self._client = tracking.client

    def check_owner(self) -> None:
        """Refuse a model that another workload made, before any training is spent on it.

        Raises:
            ModelOwnedElsewhere: and the admission does not say `existing: true`.
        """
        with refusals(f"model registry, model {self._contract.model!r}"):
            model = self._find_model()
        if model is not None:
            refuse_foreign(self._contract, model.tags)

    def register(self, module: nn.Module, example: Tensor, tags: Mapping[str, str]) -> Model:
        """Upload the plain module and register it, unless this run has a version already.

        `example` is an input batch of more than one sample, so that the exported program's batch
        dimension stays free.
        """
        name = self._contract.model
        with refusals(f"model registry, model {name!r}"):
            number = self._find_version()
            if not number:
                uri, model_id = self._find_upload() or self._upload(module, example)
                self._create_model()
                made = self._client.create_model_version(
                    name,
                    uri,
                    run_id=self._tracking.run_id,
                    model_id=model_id,
                    tags=dict(tags),
                )
                number = self._settle(str(made.version))
        return Model(name=name, version=str(number), uri=f"models:/{name}/{number}")

    def _find_model(self) -> Any | None:
        from mlflow.exceptions import MlflowException  # noqa: PLC0415 - off the critical path

        try:
            return self._client.get_registered_model(self._contract.model)
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return None

    def _create_model(self) -> None:
        from mlflow.exceptions import MlflowException  # noqa: PLC0415 - as above

        try:
            self._client.create_registered_model(
                self._contract.model, tags={OWNER_TAG: self._contract.workload}
            )
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
            self.check_owner()

    def _find_version(self) -> str:
        """The run's version: the first, should two starts of it be about to settle on one."""
        found = self._client.search_model_versions(
            f"name = '{self._contract.model}' and run_id = '{self._tracking.run_id}'"
        )
        return str(min((int(version.version) for version in found), default=""))

    def _settle(self, made: str) -> str:
        """The version that stands when another start of the same run registered meanwhile.

        MLflow registers a run twice if asked twice. Whoever made the later version sees the
        earlier one, so that all agree on that one.
        """
        standing = self._find_version() or made
        if standing != made:
            self._client.delete_model_version(self._contract.model, made)
        return standing

    def _find_upload(self) -> tuple[str, str] | None:
        """The model an earlier start of this run uploaded without living to register it."""
        found = self._client.search_logged_models(
            [self._tracking.experiment_id],
            f"source_run_id = '{self._tracking.run_id}' and name = '{ARTIFACT_NAME}'",
        )
        ready = [model for model in found if str(model.status) == "READY"]
        return (ready[0].model_uri, ready[0].model_id) if ready else None

    def _upload(self, module: nn.Module, example: Tensor) -> tuple[str, str]:
        import mlflow  # noqa: PLC0415 - as above
        import mlflow.pytorch  # noqa: PLC0415 - as above
        import torch  # noqa: PLC0415 - this module is imported before torch is
        from mlflow.models import infer_signature  # noqa: PLC0415 - as above

        # A program exported in training mode keeps its dropout for ever; one exported on a GPU
        # cannot be moved to a CPU.
        module, example = module.eval().cpu(), example.cpu()
        with torch.no_grad():
            prediction = module(example)
        mlflow.set_experiment(experiment_id=self._tracking.experiment_id)
        # MLflow says at warning level that the input example is a tensor turned into an array.
        logging.getLogger("mlflow").setLevel(logging.ERROR)
        info = mlflow.pytorch.log_model(
            module,
            name=ARTIFACT_NAME,
            run_id=self._tracking.run_id,
            input_example=example.numpy(),
            signature=infer_signature(example.numpy(), prediction.numpy()),
            pip_requirements=_requirements(),
            serialization_format="pt2",
        )
        return info.model_uri, info.model_id


def _requirements() -> list[str]:
    """What loading the model needs. Said here because MLflow's own inference takes seven seconds.

    It needs the whole of MLflow even where the training had its client alone.
    """
    return [
        f"mlflow=={mlflow_version()}",
        *(f"{name}=={installed(name).partition('+')[0]}" for name in ("torch", "numpy")),
    ]
