"""train_aml as a job uses it: guard on, losses logged to the tracking store, no DataLoader."""

from __future__ import annotations

import os

import torch
import torch.nn.functional as F  # noqa: N812 - its name in every PyTorch script
from common import (
    BATCH_PER_RANK,
    DEVICE,
    EPOCHS,
    LEARNING_RATE,
    RANK,
    SAMPLES,
    WORLD_SIZE,
    Clock,
    leave,
    load_data,
    make_model,
)

import train_aml

with train_aml.session() as session:
    images, labels = (part.to(DEVICE) for part in load_data())
    session.ready()
    network = session.wrap(
        make_model(),
        strategy=os.environ.get("BENCHMARK_STRATEGY", "ddp"),
        precision=os.environ.get("BENCHMARK_PRECISION", "fp32"),
    )
    optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, fused=True)
    sampler = train_aml.Sampler(
        samples=SAMPLES,
        global_batch_size=BATCH_PER_RANK * WORLD_SIZE,
        seed=0,
        rank=RANK,
        world_size=WORLD_SIZE,
    )
    loop = session.loop(network, optimizer, train_aml.Recipe(sampler=sampler, epochs=EPOCHS))
    clock = Clock()

    def loss_sum(index: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(network(images[index]), labels[index], reduction="sum")

    for epoch in loop.epochs():
        for batch in epoch.batches:
            loop.step(batch, loss_sum)
            clock.step()
        clock.epoch()
    clock.report()
    session.barrier()
    leave()
