from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from launching import DATA
from sklearn.datasets import load_digits

from train_aml import data
from train_aml.problems import DataProblem

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def save(folder: Path, **arrays: NDArray[np.uint8]) -> Path:
    np.savez_compressed(folder / data.FILE_NAME, **arrays)
    return folder


def test_the_digits_in_the_repository_are_scikit_learns():
    original = load_digits()
    ours = data.load(DATA)
    assert torch.equal(ours.images[:, 0] * 16, torch.from_numpy(original.images).float())
    assert torch.equal(ours.labels, torch.from_numpy(original.target).long())


def test_the_split_keeps_file_order_and_loses_nothing():
    parts = data.split(data.load(DATA))
    assert [len(p) for p in (parts.train, parts.validation, parts.test)] == [1257, 180, 360]
    joined = torch.cat([parts.train.labels, parts.validation.labels, parts.test.labels])
    assert torch.equal(joined, data.load(DATA).labels)


IMAGES = np.zeros((3, 8, 8), dtype=np.uint8)
LABELS = np.zeros(3, dtype=np.uint8)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"images": IMAGES}, "KeyError"),
        ({"images": IMAGES, "labels": LABELS[:2]}, "do not belong together"),
        ({"images": IMAGES[:, :7], "labels": LABELS}, "do not belong together"),
        ({"images": IMAGES, "labels": LABELS + 10}, "labels to 10"),
        ({"images": IMAGES + 17, "labels": LABELS}, "grey values go to 17"),
    ],
)
def test_refuses_other_arrays(tmp_path: Path, arrays: dict[str, NDArray[np.uint8]], message: str):
    with pytest.raises(DataProblem, match=message):
        data.load(save(tmp_path, **arrays))


def test_refuses_what_is_no_archive(tmp_path: Path):
    with pytest.raises(DataProblem, match="FileNotFoundError"):
        data.load(tmp_path)
    (tmp_path / data.FILE_NAME).write_bytes(b"not an archive")
    with pytest.raises(DataProblem, match=r"digits.npz: \w+Error"):
        data.load(tmp_path)


def test_shifts_belong_to_the_sample_and_move_it_by_a_pixel_at_most():
    images = torch.zeros(20, 1, 8, 8)
    images[:, 0, 4, 4] = 1
    views = data.ShiftedViews(images)
    places = views.draw(seed=3, epoch=1)
    index = torch.tensor([7, 2])
    both, alone = views.batch(places, index), views.batch(places, index[1:])
    assert torch.equal(both[1:], alone)
    assert both.sum() == 2
    assert both[:, 0, 3:6, 3:6].sum() == 2
    assert not torch.equal(places, views.draw(seed=3, epoch=2))
    assert set(views.draw(seed=0, epoch=0).tolist()) <= set(range(9))
    assert torch.equal(views.batch(torch.full((20,), 4), index), images[index])
