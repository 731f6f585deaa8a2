"""The results table on real databases: one row a run, whatever is retried or raced."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from racing import race, record_result
from servers import database

from train_aml import results as module
from train_aml.problems import StoreProblem
from train_aml.results import Result, Results

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RESULT = Result(
    run_name="probe-0123456789ab-l1",
    workload="probe",
    model_name="probe",
    model_version=1,
    model_uri="models:/probe/1",
    mlflow_run_id="a" * 32,
    metrics={"test_accuracy": 0.97},
    dataset_digest="d" * 64,
    image="registry.example.com/train@sha256:0",
    git_commit="c" * 40,
    backend="aml-distributed",
    world_size=2,
    attempt=1,
    started_at=datetime(2026, 11, 30, 12, tzinfo=UTC),
    finished_at=datetime(2026, 11, 30, 13, tzinfo=UTC),
)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/results.db"
    name = f"results_{abs(hash(request.node.nodeid))}"
    return database(request.getfixturevalue("postgres"), name)


@pytest.fixture
def results(url: str) -> Iterator[Results]:
    opened = Results(url)
    opened.prepare()
    yield opened
    opened.close()


def test_a_row_comes_back_as_it_was_written(results: Results):
    results.record(RESULT)
    (row,) = results.rows(RESULT.run_name)
    assert row["metrics"] == {"test_accuracy": 0.97}
    assert row["model_uri"] == "models:/probe/1"


def test_a_run_without_a_row_has_none(results: Results):
    assert results.rows(RESULT.run_name) == []


def test_the_same_result_again_is_the_same_row(results: Results):
    results.record(RESULT)
    results.record(replace(RESULT, attempt=2, finished_at=datetime(2026, 12, 1, tzinfo=UTC)))
    (row,) = results.rows(RESULT.run_name)
    assert row["attempt"] == 2


def test_a_retry_after_an_unclear_commit_finds_its_own_row(
    results: Results, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "RETRY_AFTER_SECONDS", (0.0, 0.0))
    write, calls = results._upsert, []

    def break_after_the_commit(row: dict[str, object]) -> bool:
        written = write(row)
        calls.append(written)
        if len(calls) == 1:
            raise sa.exc.OperationalError("COMMIT", {}, Exception("connection lost"))
        return written

    monkeypatch.setattr(results, "_upsert", break_after_the_commit)
    results.record(RESULT)
    assert calls == [True, True]
    assert len(results.rows(RESULT.run_name)) == 1


def test_another_model_under_the_same_run_is_loud(results: Results):
    results.record(RESULT)
    other = replace(RESULT, model_uri="models:/probe/2", model_version=2, mlflow_run_id="b" * 32)
    with pytest.raises(StoreProblem, match="has a row already, of models:/probe/1") as caught:
        results.record(other)
    assert "Remove the wrong row" in str(caught.value)
    (row,) = results.rows(RESULT.run_name)
    assert row["model_version"] == 1


def test_eight_processes_that_create_the_table_at_once_leave_one_row(url: str):
    assert race(record_result, [(url, replace(RESULT, attempt=n + 1)) for n in range(8)]) == [1] * 8


def test_a_wrong_password_is_named_without_it(postgres: str):
    parsed = sa.make_url(postgres)
    # Over the socket everyone is trusted, so a role that may not log in stands for a wrong one.
    url = parsed.set(username="nobody_here", password="s3cret-password")
    results = Results(url.render_as_string(hide_password=False))
    with pytest.raises(StoreProblem, match="user and password") as caught:
        results.prepare()
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("mysql://host/db", "results go to sqlite or postgresql"),
        ("no url", "is no database URL"),
        ("postgresql://user:s3cret@127.0.0.1:9/db?application_name=x", "127.0.0.1:9/db"),
        ("sqlite:////no/such/folder/results.db", "unable to open database file"),
    ],
)
def test_a_location_that_is_no_database_is_named(url: str, told: str):
    with pytest.raises(StoreProblem) as caught:
        Results(url).prepare()
    assert told in str(caught.value)
    assert "s3cret" not in str(caught.value)
