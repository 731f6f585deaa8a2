"""Distributed data parallel written by hand, with DataLoader and DistributedSampler."""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812 - its name in every PyTorch script
from common import (
    BATCH_PER_RANK,
    CUDA,
    DEVICE,
    EPOCHS,
    LEARNING_RATE,
    Clock,
    leave,
    load_data,
    make_model,
)
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

if CUDA:
    torch.cuda.set_device(DEVICE)
dist.init_process_group("nccl" if CUDA else "gloo")
dataset = TensorDataset(*load_data())
model = DistributedDataParallel(make_model().to(DEVICE))
optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
sampler: DistributedSampler[tuple[torch.Tensor, ...]] = DistributedSampler(dataset)
loader = DataLoader(dataset, BATCH_PER_RANK, sampler=sampler)
clock = Clock()
for epoch in range(EPOCHS):
    sampler.set_epoch(epoch)
    for images, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images.to(DEVICE)), labels.to(DEVICE))
        loss.backward()
        optimizer.step()
        clock.step()
    clock.epoch()
clock.report()
dist.barrier()
dist.destroy_process_group()
leave()
