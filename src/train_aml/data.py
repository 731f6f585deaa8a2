"""The digits: 8 x 8 grey images of handwriting and what they show."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - its name in every PyTorch script
from torch import Tensor

from train_aml.problems import DataProblem

FILE_NAME = "digits.npz"
CLASSES = 10
BRIGHTEST = 16
#: Where an image may go: one pixel up, down, left, right, diagonally, or nowhere.
SHIFTS = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Digits:
    """Images (n, 1, 8, 8), float32 from 0 to 1, and labels (n,), int64 from 0 to 9."""

    images: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, start: int, stop: int) -> Digits:
        return Digits(images=self.images[start:stop], labels=self.labels[start:stop])

    def to(self, device: torch.device) -> Digits:
        return Digits(images=self.images.to(device), labels=self.labels.to(device))


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """The data cut in file order: neighbours share a writer, so a shuffled split is too easy."""

    train: Digits
    validation: Digits
    test: Digits


def load(folder: str | Path) -> Digits:
    """Read `folder`/digits.npz (`images` uint8 (n, 8, 8) from 0 to 16, `labels` uint8 (n,)).

    Raises:
        DataProblem: the file is missing, is no such archive, or holds something else.
    """
    path = Path(folder) / FILE_NAME
    try:
        with np.load(path, allow_pickle=False) as archive:
            images, labels = archive["images"], archive["labels"]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise DataProblem(
            f"{path}: {type(error).__name__}: {error}. Give a folder that holds {FILE_NAME} with "
            "the arrays `images` and `labels`."
        ) from error
    if images.shape != (len(labels), 8, 8) or labels.ndim != 1:
        raise DataProblem(
            f"{path}: images {images.shape} and labels {labels.shape} do not belong together; "
            "expected (n, 8, 8) and (n,)."
        )
    if len(labels) and (images.max() > BRIGHTEST or labels.max() >= CLASSES):
        raise DataProblem(
            f"{path}: grey values go to {images.max()} and labels to {labels.max()}; expected at "
            f"most {BRIGHTEST} and {CLASSES - 1}."
        )
    return Digits(
        images=torch.from_numpy(images.astype(np.float32) / BRIGHTEST).unsqueeze(1),
        labels=torch.from_numpy(labels.astype(np.int64)),
    )


def split(digits: Digits) -> Split:
    """The last fifth tests; of what comes before, the last eighth chooses the epoch to keep."""
    test_start = len(digits) * 4 // 5
    validation_start = test_start * 7 // 8
    return Split(
        train=digits.part(0, validation_start),
        validation=digits.part(validation_start, test_start),
        test=digits.part(test_start, len(digits)),
    )


class ShiftedViews:
    """Every image at each of its nine places, made once: (9, n, 1, 8, 8)."""

    def __init__(self, images: Tensor) -> None:
        padded = F.pad(images, (1, 1, 1, 1))
        self._views = torch.stack(
            [padded[:, :, y : y + 8, x : x + 8] for y in range(3) for x in range(3)]
        )

    def draw(self, seed: int, epoch: int) -> Tensor:
        """Where each sample goes this epoch (n,): by sample, so the world size does not matter."""
        generator = torch.Generator().manual_seed(_mix(seed, epoch))
        places = torch.randint(SHIFTS, (self._views.shape[1],), generator=generator)
        return places.to(self._views.device)

    def batch(self, places: Tensor, index: Tensor) -> Tensor:
        """The images at `index`, each at its place: (len(index), 1, 8, 8)."""
        return self._views[places[index], index]


def _mix(seed: int, epoch: int) -> int:
    # A stream of its own beside the sampler's, which is seeded from the same two numbers.
    return (seed * 1_000_003 + epoch * 7_919 + 1) % 2**63
