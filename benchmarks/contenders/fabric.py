"""Lightning Fabric."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - its name in every PyTorch script
from common import (
    BATCH_PER_RANK,
    CUDA,
    EPOCHS,
    LEARNING_RATE,
    WORLD_SIZE,
    Clock,
    leave,
    load_data,
    make_model,
)
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, TensorDataset

fabric = Fabric(accelerator="cuda" if CUDA else "cpu", devices=WORLD_SIZE, strategy="ddp")
fabric.launch()
model = make_model()
model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE))
loader = fabric.setup_dataloaders(
    DataLoader(TensorDataset(*load_data()), BATCH_PER_RANK, shuffle=True)
)
clock = Clock()
for epoch in range(EPOCHS):
    loader.sampler.set_epoch(epoch)
    for images, labels in loader:
        optimizer.zero_grad()
        fabric.backward(F.cross_entropy(model(images), labels))
        optimizer.step()
        clock.step()
    clock.epoch()
clock.report()
fabric.barrier()
leave()
