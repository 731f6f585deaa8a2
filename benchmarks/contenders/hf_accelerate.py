"""Hugging Face Accelerate."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - its name in every PyTorch script
from accelerate import Accelerator
from common import BATCH_PER_RANK, CUDA, EPOCHS, LEARNING_RATE, Clock, leave, load_data, make_model
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(cpu=not CUDA)
model = make_model()
loader = DataLoader(TensorDataset(*load_data()), BATCH_PER_RANK, shuffle=True)
model, optimizer, loader = accelerator.prepare(
    model, torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE), loader
)
clock = Clock()
for _ in range(EPOCHS):
    for images, labels in loader:
        optimizer.zero_grad()
        accelerator.backward(F.cross_entropy(model(images), labels))
        optimizer.step()
        clock.step()
    clock.epoch()
clock.report()
accelerator.wait_for_everyone()
leave()
