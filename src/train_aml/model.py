"""A small convolutional network for the digits."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from train_aml.data import CLASSES


class DigitsNet(nn.Module):
    """Images (n, 1, 8, 8) in, logits (n, 10) out.

    GroupNorm rather than BatchNorm: its statistics are a sample's own, so that the result does
    not depend on how many processes share a batch.
    """

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, kernel_size=3, padding=1),
            nn.GroupNorm(8, 32),
            nn.ReLU(),
            nn.Conv2d(32, 64, kernel_size=3, padding=1),
            nn.GroupNorm(8, 64),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(64 * 4 * 4, 128), nn.ReLU(), nn.Linear(128, CLASSES)
        )

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.classifier(self.features(images))
        return logits


def make(seed: int) -> DigitsNet:
    """The network with the weights that belong to `seed`, the same on every rank."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return DigitsNet()
