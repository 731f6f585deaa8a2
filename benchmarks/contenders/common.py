"""What every contender shares: models, data, batch, and how it says what it measured."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

LAUNCHED_AT = float(os.environ["BENCHMARK_LAUNCHED_AT"])
MODEL = os.environ["BENCHMARK_MODEL"]
EPOCHS = int(os.environ["BENCHMARK_EPOCHS"])
RANK, WORLD_SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
LOCAL_RANK = int(os.environ["LOCAL_RANK"])
BATCH_PER_RANK = 32
WARM_UP_SECONDS = 5.0
LEARNING_RATE = 1e-3
#: Divisible by every world size used, so that no contender pads or drops.
SAMPLES = 1472
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda", LOCAL_RANK) if CUDA else torch.device("cpu")
DATA = Path(__file__).parents[2] / "jobs" / "digits-ddp" / "data" / "digits.npz"


class Transformer(nn.Module):
    """Rows of pixels as tokens: (n, 1, 8, 8) to (n, 10)."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 4, 128, dropout=0.0, batch_first=True)
        self.embedding = nn.Linear(8, width)
        self.position = nn.Parameter(torch.zeros(8, width))
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, images: Tensor) -> Tensor:
        tokens = self.embedding(images.squeeze(1)) + self.position
        logits: Tensor = self.head(self.encoder(tokens).mean(1))
        return logits


def make_model() -> nn.Module:
    torch.manual_seed(0)
    if MODEL == "digits":
        return nn.Sequential(
            *(nn.Conv2d(1, 32, 3, padding=1), nn.GroupNorm(8, 32), nn.ReLU()),
            *(nn.Conv2d(32, 64, 3, padding=1), nn.GroupNorm(8, 64), nn.ReLU()),
            *(nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1024, 128), nn.ReLU(), nn.Linear(128, 10)),
        )
    if MODEL == "mlp":
        return nn.Sequential(
            *(nn.Flatten(), nn.Linear(64, 128), nn.ReLU()),
            *(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)),
        )
    if MODEL == "transformer":
        return Transformer()
    raise SystemExit(f"unknown model {MODEL!r}")


def load_data() -> tuple[Tensor, Tensor]:
    with np.load(DATA) as archive:
        images, labels = archive["images"][:SAMPLES], archive["labels"][:SAMPLES]
    return (
        torch.from_numpy(images.astype(np.float32) / 16).unsqueeze(1),
        torch.from_numpy(labels.astype(np.int64)),
    )


class Clock:
    """Call `step` after each step and `epoch` after each epoch.

    Speed is measured over the epochs that begin `WARM_UP_SECONDS` after the first step; until then
    ours imports MLflow beside the training, and everybody's caches fill.
    """

    def __init__(self) -> None:
        self._first_step_seconds = 0.0
        self._measured_from = self._cpu_from = 0.0
        self._epochs = 0

    def step(self) -> None:
        if not self._first_step_seconds:
            if CUDA:
                torch.cuda.synchronize()
            self._first_step_seconds = time.time() - LAUNCHED_AT

    def epoch(self) -> None:
        if CUDA:
            torch.cuda.synchronize()
        if self._measured_from:
            self._epochs += 1
        elif time.time() - LAUNCHED_AT - self._first_step_seconds > WARM_UP_SECONDS:
            self._measured_from, self._cpu_from = time.perf_counter(), time.process_time()

    def report(self) -> None:
        if RANK:
            return
        if not self._epochs:
            sys.exit(f"the training ended within {WARM_UP_SECONDS:.0f} s; give more --epochs")
        seconds = time.perf_counter() - self._measured_from
        samples = SAMPLES * self._epochs
        measured = {
            "samples_per_second": samples / seconds,
            "cpu_seconds": (time.process_time() - self._cpu_from) / samples * 1e6,
            "first_step_seconds": self._first_step_seconds,
            "trained_seconds": time.time() - LAUNCHED_AT,
        }
        print("MEASURED " + json.dumps(measured), flush=True)


def leave() -> None:
    """End as every rank under torch 2.13 must, see train_aml.exits."""
    sys.stdout.flush()
    os._exit(0)
