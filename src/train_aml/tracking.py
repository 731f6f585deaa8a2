"""Rank zero's MLflow run: found by its run name or created, continued after a preemption."""

from __future__ import annotations

import logging
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from train_aml.imports import IMPORTS
from train_aml.locations import SQLITE_PREFIX, Server
from train_aml.ownership import refuse_deleted
from train_aml.problems import StoreProblem, StoreRefusal
from train_aml.rest import REFUSALS, Rest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mlflow import MlflowClient
    from mlflow.entities import Experiment

    from train_aml.environment import Contract
    from train_aml.spool import Point

#: The name under which MLflow finds the credentials that `Tracking` was given.
AUTH_PROVIDER = "traingate"
RUN_TAG = "traingate.run"
MAX_PARAM_CHARACTERS = 6_000
#: What MLflow takes in one log_batch call.
MAX_PARAMS_A_CALL = 100
MAX_METRICS_A_CALL = 1_000


class Tracking:
    """The run named by the contract on the tracking server at `uri`.

    Importing this module does not import MLflow; constructing `Tracking` does, and takes more
    than a second, so do it in a thread.
    """

    def __init__(self, contract: Contract, uri: str, *, tags: Mapping[str, str]) -> None:
        server = Server.at(uri)
        with IMPORTS:
            self.client: MlflowClient = _connect(server)
        self._rest = Rest(server) if server.is_remote else None
        self._contract = contract
        self._uri = server.address
        with refusals(f"tracking server, experiment {contract.workload!r}"):
            self.experiment_id = self._experiment()
            self.run_id = self._find() or self._create(tags)
            self._continue(tags)

    def log(self, metrics: Mapping[str, float], *, step: int) -> None:
        """Write `metrics` (name to value) at `step`."""
        now = int(time.time() * 1000)
        self.log_points([(name, value, step, now) for name, value in metrics.items()])

    def log_points(self, points: Sequence[Point]) -> None:
        """Write metric points; a point sent twice is stored once."""
        for start in range(0, len(points), MAX_METRICS_A_CALL):
            batch = points[start : start + MAX_METRICS_A_CALL]
            if self._rest is None:
                self._log_batch(batch)
            else:
                self._rest.log_points(self.run_id, batch)

    def _log_batch(self, points: Sequence[Point]) -> None:
        from mlflow.entities import Metric  # noqa: PLC0415 - as above

        with refusals("tracking server, metrics"):
            self.client.log_batch(
                self.run_id,
                metrics=[
                    Metric(name, value, milliseconds, step)
                    for name, value, step, milliseconds in points
                ],
            )

    def logged_steps(self) -> dict[str, set[int]]:
        """The steps of each metric that the run has already, from an earlier start."""
        with refusals("tracking server, metric history"):
            return {
                name: {point.step for point in self.client.get_metric_history(self.run_id, name)}
                for name in self.client.get_run(self.run_id).data.metrics
            }

    def log_params(self, params: Mapping[str, object]) -> None:
        """Write the parameters the run does not have yet.

        MLflow's parameters never change. A resumed run brings the same ones, apart from such as
        the world size, whose first value stands.
        """
        from mlflow.entities import Param  # noqa: PLC0415 - as above

        with refusals("tracking server, parameters"):
            known = self.client.get_run(self.run_id).data.params
            new = [
                Param(name, str(value)[:MAX_PARAM_CHARACTERS])
                for name, value in params.items()
                if name not in known
            ]
            for start in range(0, len(new), MAX_PARAMS_A_CALL):
                self.client.log_batch(self.run_id, params=new[start : start + MAX_PARAMS_A_CALL])

    def set_tags(self, tags: Mapping[str, str]) -> None:
        from mlflow.entities import RunTag  # noqa: PLC0415 - as above

        with refusals("tracking server, tags"):
            self.client.log_batch(self.run_id, tags=[RunTag(k, v) for k, v in tags.items()])

    def finish(self, status: Literal["FINISHED", "FAILED", "KILLED"]) -> None:
        with refusals("tracking server, end of run"):
            self.client.set_terminated(self.run_id, status=status)

    def _experiment(self) -> str:
        name = self._contract.workload
        experiment = self.client.get_experiment_by_name(name)
        if experiment is None:
            experiment = self._create_experiment(name)
        refuse_deleted(name, experiment.experiment_id, experiment.lifecycle_stage)
        return str(experiment.experiment_id)

    def _create_experiment(self, name: str) -> Experiment:
        from mlflow.exceptions import MlflowException  # noqa: PLC0415 - as above

        try:
            created = self.client.create_experiment(name, artifact_location(self._uri, name))
            return self.client.get_experiment(created)
        except MlflowException as error:
            # Another job of the workload was faster.
            experiment = self.client.get_experiment_by_name(name)
            if error.error_code != "RESOURCE_ALREADY_EXISTS" or experiment is None:
                raise
            return experiment

    def _find(self) -> str:
        runs = self.client.search_runs(
            [self.experiment_id],
            f"tags.`{RUN_TAG}` = '{self._contract.run}'",
            order_by=["attributes.start_time ASC"],
            max_results=1,
        )
        return str(runs[0].info.run_id) if runs else ""

    def _create(self, tags: Mapping[str, str]) -> str:
        run = self.client.create_run(
            self.experiment_id, run_name=self._contract.run, tags=dict(tags)
        )
        made = str(run.info.run_id)
        # Another start of the same run may have created one at this moment: the first stands.
        standing = self._find() or made
        if standing != made:
            self.client.delete_run(made)
        return standing

    def _continue(self, tags: Mapping[str, str]) -> None:
        if self.client.get_run(self.run_id).info.status != "RUNNING":
            self.client.update_run(self.run_id, status="RUNNING")
        self.set_tags(tags)


def _connect(server: Server) -> MlflowClient:
    import mlflow  # noqa: PLC0415 - its 1.4 s belong off the critical path
    import mlflow.pytorch  # noqa: PLC0415 - as above
    from mlflow.tracking.request_auth.abstract_request_auth_provider import (  # noqa: PLC0415
        RequestAuthProvider,
    )
    from mlflow.tracking.request_auth.registry import (  # noqa: PLC0415 - as above
        _request_auth_provider_registry as providers,
    )

    # That it makes its tables is no news in the middle of a training's log.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)
    # The fluent functions that log a model know no client; both must mean the same server.
    mlflow.set_tracking_uri(server.address)
    mlflow.set_registry_uri(server.address)
    # MLflow puts its server into the environment, for children that have no business there.
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI"):
        os.environ.pop(name, None)
    if server.username:
        # MLflow's own way, MLFLOW_TRACKING_PASSWORD, would hand the password to every child.
        class Credentials(RequestAuthProvider):
            def get_name(self) -> str:
                return AUTH_PROVIDER

            def get_auth(self) -> tuple[str, str]:
                return server.username, server.password

        providers._registry[:] = [one for one in providers if one.get_name() != AUTH_PROVIDER]  # noqa: SLF001
        providers.register(Credentials)  # type: ignore[no-untyped-call]
        os.environ["MLFLOW_TRACKING_AUTH"] = AUTH_PROVIDER
    with refusals(f"tracking server {server.address}"):
        return mlflow.MlflowClient(server.address, server.address)


def artifact_location(uri: str, experiment: str) -> str | None:
    """Where an experiment's artifacts go: a server decides itself, a SQLite file keeps them near.

    Without a server MLflow would put them under the working directory of the run that came first.
    """
    if not uri.startswith(SQLITE_PREFIX):
        return None
    return (
        Path(uri.removeprefix(SQLITE_PREFIX)).resolve().parent / "artifacts" / experiment
    ).as_uri()


@contextmanager
def refusals(what: str) -> Iterator[None]:
    """Turn MLflow's and the transport's errors into a `StoreProblem` that names `what`."""
    from mlflow.exceptions import MlflowException  # noqa: PLC0415 - as above

    try:
        yield
    except MlflowException as error:
        raise (StoreRefusal if error.error_code in REFUSALS else StoreProblem)(
            f"{what}: {str(error).splitlines()[0]} [{error.error_code}]. Check "
            "TRAINGATE_TRACKING_URI, that the server is reachable from the job, and its rights."
        ) from error
    except OSError as error:
        raise StoreProblem(
            f"{what}: {type(error).__name__}: {error}. Check that the artifact location is "
            "reachable from the job and writable."
        ) from error
