from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import torch

from train_aml import rng
from train_aml.checkpoint import COMPLETE, Checkpoints
from train_aml.ranks import SINGLE_PROCESS

if TYPE_CHECKING:
    from pathlib import Path


def save(checkpoints: Checkpoints, step: int) -> None:
    checkpoints.save(step, {"w": torch.full((3,), float(step))}, {"step": step}, {"own": step})


def test_the_newest_comes_back(tmp_path: Path):
    checkpoints = Checkpoints(tmp_path / "new" / "folder", SINGLE_PROCESS)
    assert checkpoints.newest() is None
    save(checkpoints, 5)
    save(checkpoints, 40)
    newest = checkpoints.newest()
    assert newest is not None
    tensors = {"w": torch.zeros(3)}
    assert checkpoints.load(newest, tensors) == ({"step": 40}, {"own": 40})
    assert tensors["w"].tolist() == [40.0] * 3


def test_only_the_last_two_are_kept(tmp_path: Path):
    checkpoints = Checkpoints(tmp_path, SINGLE_PROCESS)
    for step in (1, 2, 3, 4):
        save(checkpoints, step)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "step-000000000003",
        "step-000000000004",
    ]


def test_what_is_not_complete_does_not_count(tmp_path: Path):
    checkpoints = Checkpoints(tmp_path, SINGLE_PROCESS)
    for step in (1, 2):
        save(checkpoints, step)
    (tmp_path / "step-000000000002" / COMPLETE).unlink()
    (tmp_path / "step-000000000009").mkdir()
    (tmp_path / "notes.txt").write_text("not ours")
    newest = checkpoints.newest()
    assert newest is not None
    assert newest.step == 1
    (tmp_path / "step-000000000001" / COMPLETE).write_text("{")
    assert checkpoints.newest() is None


def test_random_numbers_go_on_where_they_were():
    saved = rng.state()
    first = (torch.rand(2).tolist(), random.random(), np.random.rand())  # noqa: NPY002, S311 - what is saved
    rng.restore(saved)
    assert (torch.rand(2).tolist(), random.random(), np.random.rand()) == first  # noqa: NPY002, S311 - as above
