"""Rank zero's stores against real MLflow servers with passwords."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import torch
from racing import open_run, race, register_upload
from servers import PASSWORD, QUOTED
from torch import nn

from train_aml.environment import Contract
from train_aml.problems import ModelOwnedElsewhere, StoreProblem
from train_aml.stores import Stores
from train_aml.tracking import Tracking

if TYPE_CHECKING:
    from servers import Server

_numbers = itertools.count()

pytestmark = [
    # torch.export's and MLflow's own, while a model is logged.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", os.environ)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    monkeypatch.setenv("MLFLOW_TRACKING_AUTH", "")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")


@pytest.fixture
def contract(server: Server, tmp_path) -> Contract:
    """A workload that no other test knows, on the server."""
    workload = f"probe-{next(_numbers)}"
    return Contract(
        run=f"{workload}-0123456789ab-l1",
        workload=workload,
        model=workload,
        model_existing=False,
        digest="d" * 64,
        attempt=1,
        image="",
        commit="",
        pull_request="",
        repository="",
        tracking_uri=server.uri,
        results_url=f"sqlite:///{tmp_path}/results.db",
    )


def open_stores(contract: Contract) -> Stores:
    return Stores(contract, world_size=2, azureml_run_id="").open()


def finish(stores: Stores) -> Any:
    module = nn.Sequential(nn.Linear(4, 2))
    return stores.finish(
        module, torch.zeros(2, 4), {"test_accuracy": 0.5}, "d" * 64, datetime.now(UTC)
    )


def refused(contract: Contract) -> str:
    with pytest.raises(StoreProblem) as caught:
        open_stores(contract)
    assert PASSWORD not in str(caught.value)
    assert QUOTED not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("server", ["sqlite", "postgresql"], indirect=True)
def test_a_run_repeated_to_its_end_leaves_one_run_one_version_and_one_row(contract: Contract):
    models = []
    for _ in range(2):
        stores = open_stores(contract)
        stores.log([("train_loss", 0.5, 0, 1_000), ("train_loss", float("inf"), 1, 1_001)])
        models.append(finish(stores))
    client = stores.tracking.client
    assert models[0] == models[1]
    (version,) = client.search_model_versions(f"name = '{contract.model}'")
    assert version.tags["traingate.run"] == contract.run
    (run,) = client.search_runs([stores.tracking.experiment_id])
    assert run.info.status == "FINISHED"
    assert [p.step for p in client.get_metric_history(run.info.run_id, "train_loss")] == [0, 1]
    assert len(stores.results.rows(contract.run)) == 1
    stores.results.close()


def test_the_password_is_in_no_variable(contract: Contract):
    open_stores(contract).results.close()
    assert not [name for name, value in os.environ.items() if PASSWORD in value or QUOTED in value]


@pytest.mark.timeout(300)
def test_sixteen_processes_make_one_experiment_and_none_lands_in_default(contract: Contract):
    contracts = [replace(contract, run=f"{contract.workload}-{n:012}-l1") for n in range(16)]
    opened = race(open_run, [(contract.tracking_uri, each) for each in contracts])
    assert len({experiment for experiment, _ in opened}) == 1
    assert len({run for _, run in opened}) == 16
    client = Tracking(contract, contract.tracking_uri, tags={"traingate.run": contract.run}).client
    assert client.search_runs(["0"]) == []


def test_starts_of_one_run_at_the_same_moment_settle_on_one(contract: Contract):
    opened = race(open_run, [(contract.tracking_uri, contract)] * 6)
    tracking = Tracking(contract, contract.tracking_uri, tags={"traingate.run": contract.run})
    (left,) = tracking.client.search_runs([tracking.experiment_id])
    assert {run for _, run in opened} == {left.info.run_id}


def test_registrations_of_one_run_at_the_same_moment_leave_one_version(contract: Contract):
    stores = open_stores(contract)
    module = nn.Sequential(nn.Linear(4, 2))
    upload = stores.registry._upload(module, torch.zeros(2, 4))
    versions = race(register_upload, [(contract.tracking_uri, contract, upload)] * 6)
    (left,) = stores.tracking.client.search_model_versions(f"name = '{contract.model}'")
    assert set(versions) == {str(left.version)}
    stores.results.close()


def test_a_model_of_another_workload_is_refused_before_anything_is_trained(contract: Contract):
    stores = open_stores(contract)
    finish(stores)
    stores.results.close()
    other = replace(contract, workload=f"{contract.workload}-other", run="other-run")
    with pytest.raises(ModelOwnedElsewhere, match="existing: true"):
        open_stores(other)
    allowed = open_stores(replace(other, model_existing=True))
    assert finish(allowed).version == "2"
    allowed.results.close()


def test_a_deleted_experiment_says_how_to_restore_it(contract: Contract):
    stores = open_stores(contract)
    stores.tracking.client.delete_experiment(stores.tracking.experiment_id)
    stores.results.close()
    said = refused(contract)
    assert f"mlflow experiments restore --experiment-id {stores.tracking.experiment_id}" in said


def test_a_deleted_version_is_made_again(contract: Contract):
    stores = open_stores(contract)
    first = finish(stores)
    stores.tracking.client.delete_model_version(contract.model, first.version)
    assert (
        stores.registry.register(nn.Sequential(nn.Linear(4, 2)), torch.zeros(2, 4), {}).version
        == "2"
    )
    stores.results.close()
