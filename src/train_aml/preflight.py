"""What refuses a run before it trains, asked of the tracking store without MLflow.

The questions whose answers may end a run are few. Whatever is not understood here is left to
MLflow, which the run then waits for.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from train_aml.locations import SQLITE_PREFIX, Server
from train_aml.ownership import OWNER_TAG, refuse_deleted, refuse_foreign
from train_aml.problems import StoreProblem
from train_aml.provenance import mlflow_version
from train_aml.rest import Rest, ServerSays, Unclear

if TYPE_CHECKING:
    from train_aml.environment import Contract

#: The tables of MLflow 3.17.2, by the number of their last migration. Others are left to MLflow.
SCHEMA = "dc11669786a5"


def check(contract: Contract, uri: str) -> bool:
    """Ask the store at `uri` whether the run may start; False where only MLflow can tell.

    Raises:
        StoreProblem: the store is away, refuses, is of another version, or its experiment is
            deleted.
        ModelOwnedElsewhere: the model belongs to another workload.
    """
    server = Server.at(uri)
    if server.is_remote:
        return _check_server(contract, server)
    if uri.startswith(SQLITE_PREFIX) and "?" not in uri:
        return _check_file(contract, uri.removeprefix(SQLITE_PREFIX))
    return False


def _check_server(contract: Contract, server: Server) -> bool:
    try:
        with Rest(server) as rest:
            _check_version(rest, server.address)
            _check_experiment(rest, contract.workload)
            _check_model(rest, contract)
    except Unclear:
        return False
    return True


def _check_version(rest: Rest, address: str) -> None:
    """Models would be logged in another way under another major version."""
    answer, ours = rest.version(), mlflow_version()
    if answer.status_code in (401, 403):
        raise StoreProblem(
            f"tracking server {address}: {answer.status_code} {answer.reason}. Check the user and "
            "the password in TRAINGATE_TRACKING_URI (https://USER:PASSWORD@HOST, with special "
            "characters percent-encoded)."
        )
    found = re.match(r"(\d+)\.\d+", answer.text)
    # A proxy may pass on the interface alone; then the calls that follow must tell.
    if answer.ok and found and found[1] != ours.partition(".")[0]:
        raise StoreProblem(
            f"tracking server {address} runs MLflow {answer.text.strip()}, and this image has "
            f"MLflow {ours}. Use an image with the server's major version."
        )


def _check_experiment(rest: Rest, name: str) -> None:
    """Make the workload's experiment, or see that this user may write to it."""
    try:
        found = rest.get("experiments/get-by-name", experiment_name=name)
    except ServerSays as absent:
        if absent.code != "RESOURCE_DOES_NOT_EXIST":
            raise
        try:
            tags = [{"key": OWNER_TAG, "value": name}]
            rest.post("experiments/create", name=name, tags=tags)
        except ServerSays as raced:
            # Another job of the workload was faster.
            if raced.code != "RESOURCE_ALREADY_EXISTS":
                raise
        return
    experiment = _part(found, "experiment")
    if "experiment_id" not in experiment:
        raise Unclear
    number = experiment["experiment_id"]
    refuse_deleted(name, number, experiment.get("lifecycle_stage"))
    rest.post("experiments/set-experiment-tag", experiment_id=number, key=OWNER_TAG, value=name)


def _check_model(rest: Rest, contract: Contract) -> None:
    try:
        found = rest.get("registered-models/get", name=contract.model)
    except ServerSays as absent:
        if absent.code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return
    tags = _part(found, "registered_model").get("tags", ())
    try:
        owners = {tag["key"]: tag.get("value", "") for tag in tags}
    except (TypeError, KeyError) as error:
        raise Unclear from error
    refuse_foreign(contract, owners)


def _part(answer: dict[str, Any], name: str) -> dict[str, Any]:
    part = answer.get(name)
    if not isinstance(part, dict):
        raise Unclear
    return part


def _check_file(contract: Contract, path: str) -> bool:
    """Look into MLflow's own tables; a file that does not have them as expected is left to it."""
    try:
        with closing(sqlite3.connect(path)) as database:
            # Whether it may be written to.
            database.execute("BEGIN IMMEDIATE")
            if not database.execute("SELECT 1 FROM sqlite_master").fetchone():
                # Making its tables takes MLflow seconds, and none of them can refuse anything.
                return True
            (schema,) = database.execute("SELECT version_num FROM alembic_version").fetchone()
            if schema != SCHEMA:
                return False
            experiment = database.execute(
                "SELECT experiment_id, lifecycle_stage FROM experiments WHERE name = ?",
                (contract.workload,),
            ).fetchone()
            exists = database.execute(
                "SELECT 1 FROM registered_models WHERE name = ?", (contract.model,)
            ).fetchone()
            tags = database.execute(
                "SELECT key, value FROM registered_model_tags WHERE name = ?", (contract.model,)
            ).fetchall()
    except (sqlite3.Error, TypeError):
        return False
    if experiment:
        refuse_deleted(contract.workload, *experiment)
    if exists:
        refuse_foreign(contract, dict(tags))
    return True
