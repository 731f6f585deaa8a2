"""Lightning Trainer, without logger, progress bar and checkpoints."""

from __future__ import annotations

import logging

import lightning.pytorch as pl
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
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
clock = Clock()


class Module(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.model = make_model()

    def training_step(self, batch: list[torch.Tensor], _index: int) -> torch.Tensor:
        return F.cross_entropy(self.model(batch[0]), batch[1])

    def on_train_batch_end(self, *_: object) -> None:
        clock.step()

    def on_train_epoch_end(self) -> None:
        clock.epoch()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=LEARNING_RATE)


trainer = pl.Trainer(
    accelerator="cuda" if CUDA else "cpu",
    devices=WORLD_SIZE,
    strategy="ddp",
    max_epochs=EPOCHS,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Module(), DataLoader(TensorDataset(*load_data()), BATCH_PER_RANK, shuffle=True))
clock.report()
leave()
