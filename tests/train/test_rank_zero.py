"""Rank zero's stores: asked before the first step, opened after it, however long that takes."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from train_aml import rank_zero as module
from train_aml.environment import Contract
from train_aml.outcome import Model
from train_aml.problems import ModelOwnedElsewhere, StoreProblem
from train_aml.rank_zero import RankZero
from train_aml.ranks import Ranks

if TYPE_CHECKING:
    from pathlib import Path

CONTRACT = Contract(
    run="try-l1", workload="try", model="try", model_existing=False, digest="none", attempt=1,
    image="", commit="", pull_request="", repository="", tracking_uri="", results_url="",
)  # fmt: skip
RANKS = Ranks(rank=0, local_rank=0, node_rank=0, world_size=1, local_world_size=1, launcher="none")
LIMIT_SECONDS = 20.0


class Stores:
    """Stands for the stores: each opening ends as `answers` says, the last answer stands."""

    checked = True

    def __init__(self, *answers: Exception | None) -> None:
        self.answers = list(answers)
        self.opened = threading.Event()
        self.failed = threading.Event()
        self.taken: list[Any] = []
        self.tracking = self
        self.run_id = "f" * 32

    def open(self) -> Stores:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is not None:
            self.failed.set()
            raise answer
        self.opened.set()
        return self

    def describe(self, *_described: object) -> None:
        """What is trained on which data."""

    def log(self, points: list[Any]) -> None:
        self.taken.extend(points)

    def finish(self, *_arguments: object) -> Model:
        return Model(name="try", version="1", uri="models:/try/1")


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE_SECONDS", 0.005)
    monkeypatch.chdir(tmp_path)


def start(monkeypatch: pytest.MonkeyPatch, stores: Stores) -> RankZero:
    monkeypatch.setattr(module, "_ask", lambda *_arguments: stores)
    zero = RankZero(CONTRACT, RANKS, "")
    zero.ready()
    return zero


def end(zero: RankZero) -> None:
    zero.succeed(torch.nn.Linear(1, 1), torch.zeros(2, 1), {"test_accuracy": 0.5})


def test_nothing_is_opened_before_the_first_metric(monkeypatch: pytest.MonkeyPatch):
    stores = Stores(None)
    zero = start(monkeypatch, stores)
    assert not stores.opened.is_set()
    zero.log({"train_loss": 0.5}, 0)
    assert stores.opened.wait(LIMIT_SECONDS)
    end(zero)


def test_a_server_that_is_away_while_it_would_be_opened_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    away = StoreProblem("tracking server: no answer. Look at it.")
    stores = Stores(away, away, None)
    zero = start(monkeypatch, stores)
    zero.log({"train_loss": 0.5}, 0)
    assert stores.opened.wait(LIMIT_SECONDS)
    end(zero)
    assert [step for _, _, step, _ in stores.taken] == [0]
    outcome = json.loads((tmp_path / "outputs" / "traingate" / "outcome.json").read_text())
    assert outcome["status"] == "succeeded"


def test_one_that_stays_away_is_fatal_at_registration(monkeypatch: pytest.MonkeyPatch):
    stores = Stores(StoreProblem("tracking server: no answer. Look at it."))
    zero = start(monkeypatch, stores)
    zero.log({"train_loss": 0.5}, 0)
    assert stores.failed.wait(LIMIT_SECONDS)
    zero.log({"train_loss": 0.4}, 1)
    with pytest.raises(StoreProblem, match="no answer"):
        end(zero)


def test_a_refusal_ends_the_training_at_its_next_metric(monkeypatch: pytest.MonkeyPatch):
    stores = Stores(ModelOwnedElsewhere("made by another workload. Choose another name."))
    zero = start(monkeypatch, stores)
    zero.log({"train_loss": 0.5}, 0)
    with pytest.raises(ModelOwnedElsewhere):
        zero._stores.result(LIMIT_SECONDS)
    with pytest.raises(ModelOwnedElsewhere):
        zero.log({"train_loss": 0.4}, 1)


def test_numbers_of_other_libraries_are_numbers(monkeypatch: pytest.MonkeyPatch):
    stores = Stores(None)
    zero = start(monkeypatch, stores)
    zero.log({"train_loss": np.float32(0.5)}, np.int64(3))
    zero.log({"train_loss": torch.tensor(0.25)}, torch.tensor(4))  # type: ignore[arg-type, dict-item]
    with pytest.raises(TypeError):
        zero.log({"train_loss": 0.5}, 1.5)  # type: ignore[arg-type]
    end(zero)
    assert [point[:3] for point in stores.taken] == [
        ("train_loss", 0.5, 3),
        ("train_loss", 0.25, 4),
    ]
    assert json.dumps(stores.taken)
