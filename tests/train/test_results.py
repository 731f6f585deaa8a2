from __future__ import annotations

import multiprocessing
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from train_aml.problems import StoreProblem
from train_aml.results import Result, Results

if TYPE_CHECKING:
    from pathlib import Path

ROW = Result(
    run_name="digits-ddp-0123456789ab-l1",
    workload="digits-ddp",
    model_name="digits-ddp",
    model_version=1,
    model_uri="models:/digits-ddp/1",
    mlflow_run_id="f" * 32,
    metrics={"test_accuracy": 0.98},
    dataset_digest="0" * 64,
    image="",
    git_commit="",
    backend="single-node",
    world_size=1,
    attempt=1,
    started_at=datetime(2026, 1, 1, 12, tzinfo=UTC),
    finished_at=datetime(2026, 1, 1, 13, tzinfo=UTC),
)


def test_a_retry_updates_its_own_row(tmp_path: Path):
    results = Results(f"sqlite:///{tmp_path}/results.db")
    results.record(ROW)
    results.record(replace(ROW, metrics={"test_accuracy": 0.99}))
    results.record(replace(ROW, run_name="another"))
    (row,) = results.rows(ROW.run_name)
    results.close()
    assert row["metrics"] == {"test_accuracy": 0.99}


def test_no_row_yet(tmp_path: Path):
    results = Results(f"sqlite:///{tmp_path}/results.db")
    results.prepare()
    assert results.rows(ROW.run_name) == []
    results.close()


def prepare_and_record(url: str, name: str, start: multiprocessing.synchronize.Barrier) -> None:
    start.wait(30)
    results = Results(url)
    results.prepare()
    results.record(replace(ROW, run_name=name))
    results.close()


def test_processes_that_create_the_table_at_once_all_write(tmp_path: Path):
    url = f"sqlite:///{tmp_path}/results.db"
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(4)
    writers = [
        context.Process(target=prepare_and_record, args=(url, f"run-{i}", start)) for i in range(4)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0] * 4
    results = Results(url)
    assert [len(results.rows(f"run-{i}")) for i in range(4)] == [1] * 4
    results.close()


def test_names_the_database_but_not_its_password():
    results = Results("postgresql://trainer:planted-secret@127.0.0.1:1/results")
    with pytest.raises(StoreProblem) as caught:
        results.prepare()
    assert "127.0.0.1:1/results" in str(caught.value)
    assert "planted-secret" not in str(caught.value)
    assert "Check that it is reachable" in str(caught.value)


@pytest.mark.parametrize("url", ["mysql://x/y", "postgres", "mssql+pyodbc://x"])
def test_refuses_other_databases(url: str):
    with pytest.raises(StoreProblem):
        Results(url)
