"""What refuses a run before it trains, asked of real tracking stores without MLflow."""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pytest
from answering import Answers, serve_answers
from mlflow import MlflowClient
from servers import PASSWORD, QUOTED, USER, Server

import requests
from train_aml.environment import Contract
from train_aml.preflight import check
from train_aml.problems import ModelOwnedElsewhere, StoreProblem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_numbers = itertools.count()

pytestmark = pytest.mark.filterwarnings("ignore:.*noload.*:sqlalchemy.exc.SADeprecationWarning")

READER = "reader"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")


@pytest.fixture(params=["server", "file"])
def uri(request: pytest.FixtureRequest, tmp_path: Path, template: Path) -> str:
    """A tracking server with passwords, or a file that MLflow has made."""
    if request.param == "server":
        server: Server = request.getfixturevalue("sqlite_server")
        return server.uri
    path = tmp_path / "tracking.db"
    path.write_bytes(template.read_bytes())
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "tracking.db"
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def contract(uri: str) -> Contract:
    """A workload that no other test knows."""
    return a_contract(uri)


def a_contract(uri: str) -> Contract:
    workload = f"preflight-{next(_numbers)}"
    return Contract(
        run=f"{workload}-l1", workload=workload, model=workload, model_existing=False,
        digest="d" * 64, attempt=1, image="", commit="", pull_request="", repository="",
        tracking_uri=uri, results_url="",
    )  # fmt: skip


@pytest.fixture
def client(uri: str, monkeypatch: pytest.MonkeyPatch) -> MlflowClient:
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", USER)
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", PASSWORD)
    address = uri.replace(f"{USER}:{QUOTED}@", "")
    return MlflowClient(address, address)


def refused(contract: Contract) -> str:
    with pytest.raises(StoreProblem) as caught:
        check(contract, contract.tracking_uri)
    assert PASSWORD not in str(caught.value)
    assert QUOTED not in str(caught.value)
    return str(caught.value)


def test_a_new_workload_may_start_and_start_again(contract: Contract):
    assert check(contract, contract.tracking_uri)
    assert check(contract, contract.tracking_uri)


def test_a_model_of_another_workload_is_refused(contract: Contract, client: MlflowClient):
    client.create_registered_model(contract.model, tags={"traingate.workload": "segmentation"})
    with pytest.raises(ModelOwnedElsewhere, match="workload 'segmentation'"):
        check(contract, contract.tracking_uri)
    assert check(replace(contract, model_existing=True), contract.tracking_uri)


def test_a_model_that_nobody_marked_is_refused(contract: Contract, client: MlflowClient):
    client.create_registered_model(contract.model)
    with pytest.raises(ModelOwnedElsewhere, match="something other than traingate"):
        check(contract, contract.tracking_uri)


def test_a_model_of_its_own_is_not(contract: Contract, client: MlflowClient):
    client.create_registered_model(contract.model, tags={"traingate.workload": contract.workload})
    assert check(contract, contract.tracking_uri)


def test_a_deleted_experiment_is_refused(contract: Contract, client: MlflowClient):
    made = client.create_experiment(contract.workload)
    client.delete_experiment(made)
    assert f"mlflow experiments restore --experiment-id {made}" in refused(contract)


def test_a_user_who_may_only_read_is_refused(sqlite_server: Server):
    contract = a_contract(sqlite_server.uri)
    assert check(contract, contract.tracking_uri)
    password = "another-long-password"
    made = requests.post(
        f"{sqlite_server.uri}/api/2.0/mlflow/users/create",
        json={"username": READER, "password": password},
        timeout=30,
    )
    assert made.ok, made.text
    said = refused(
        replace(contract, tracking_uri=f"http://{READER}:{password}@127.0.0.1:{sqlite_server.port}")
    )
    assert "set-experiment-tag" in said
    assert "its rights" in said


def test_a_wrong_password_is_refused(sqlite_server: Server):
    wrong = f"http://{USER}:wrong-pass%40word@127.0.0.1:{sqlite_server.port}"
    said = refused(a_contract(wrong))
    assert "401" in said
    assert "percent-encoded" in said
    assert "wrong-pass" not in said


def test_a_server_that_is_away_is_named():
    said = refused(a_contract(f"http://{USER}:{QUOTED}@127.0.0.1:9"))
    assert "tracking server http://127.0.0.1:9" in said
    assert "reachable from the job" in said


@pytest.fixture
def answers() -> Iterator[Answers]:
    yield from serve_answers()


@pytest.mark.parametrize("version", ["2.22.4", "4.0.0"])
def test_a_server_of_another_major_version_is_refused(answers: Answers, version: str):
    answers.by_path["/version"] = (200, version)
    said = refused(a_contract(answers.address))
    assert f"runs MLflow {version}" in said
    assert "Use an image with the server's major version" in said


@pytest.mark.parametrize("status", [200, 404])
def test_a_page_before_the_server_is_left_to_mlflow(answers: Answers, status: int):
    answers.otherwise = (status, "<html>Sign in</html>")
    assert not check(a_contract(answers.address), answers.address)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("experiments/get-by-name", '{"experiment": null}'),
        ("registered-models/get", "{}"),
        ("registered-models/get", '{"registered_model": {"tags": [{"value": "x"}]}}'),
        ("registered-models/get", "[" * 100_000),
    ],
)
def test_an_answer_that_is_not_understood_is_left_to_mlflow(
    answers: Answers, path: str, answer: str
):
    answers.otherwise = (200, '{"experiment": {"experiment_id": "1"}, "registered_model": {}}')
    answers.by_path[f"/api/2.0/mlflow/{path}"] = (200, answer)
    assert not check(a_contract(answers.address), answers.address)


def test_a_missing_file_of_authorities_is_named(answers: Answers, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/no/such/file.pem")
    secure = answers.address.replace("http://", "https://")
    assert "/no/such/file.pem" in refused(a_contract(secure))


def test_a_password_that_is_not_encoded_is_not_shown():
    with pytest.raises(StoreProblem, match="Percent-encode") as caught:
        check(a_contract(""), "http://bob:s3cr/etpw@tracking.example.com")
    assert "s3cr" not in str(caught.value)


def test_a_server_that_breaks_is_asked_again_and_then_named(answers: Answers):
    answers.otherwise = (503, "<html>busy</html>")
    said = refused(a_contract(answers.address))
    assert "[503]" in said
    assert len(answers.asked) > 2


def test_a_job_that_makes_the_experiment_first_is_no_problem(answers: Answers):
    answers.by_path["/api/2.0/mlflow/experiments/get-by-name"] = said_of("RESOURCE_DOES_NOT_EXIST")
    answers.by_path["/api/2.0/mlflow/experiments/create"] = said_of("RESOURCE_ALREADY_EXISTS")
    answers.by_path["/api/2.0/mlflow/registered-models/get"] = said_of("RESOURCE_DOES_NOT_EXIST")
    assert check(a_contract(answers.address), answers.address)


def said_of(code: str) -> tuple[int, str]:
    return 400, json.dumps({"error_code": code, "message": code})


def test_a_file_of_other_tables_is_left_to_mlflow(tmp_path: Path):
    path = tmp_path / "tracking.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE experiments (other TEXT)")
    assert not check(a_contract(""), f"sqlite:///{path}")


def test_a_file_of_another_mlflow_is_left_to_it(tmp_path: Path, template: Path):
    path = tmp_path / "tracking.db"
    path.write_bytes(template.read_bytes())
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = 'older'")
    assert not check(a_contract(""), f"sqlite:///{path}")


@pytest.mark.parametrize("uri", ["postgresql://host/db", "sqlite:////nowhere/at/all.db"])
def test_other_stores_are_left_to_mlflow(uri: str):
    assert not check(a_contract(""), uri)


def test_a_file_that_is_not_there_yet_can_refuse_nothing(tmp_path: Path):
    assert check(a_contract(""), f"sqlite:///{tmp_path}/tracking.db")


def test_all_of_it_happens_without_mlflow(contract: Contract):
    script = (
        "import json, sys\n"
        "from train_aml.environment import Contract\n"
        "from train_aml.stores import Stores\n"
        "fields = json.loads(sys.argv[1])\n"
        "assert Stores(Contract(**fields), world_size=2, azureml_run_id='').checked\n"
        "assert 'mlflow' not in sys.modules\n"
    )
    fields = asdict(contract) | {"results_url": "sqlite://"}
    subprocess.run(
        [sys.executable, "-c", script, json.dumps(fields)], check=True, env=dict(os.environ)
    )
