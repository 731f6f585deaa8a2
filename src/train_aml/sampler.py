"""Which samples a rank trains on at a step: a function of seed, epoch, step, rank and world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from train_aml.problems import DataProblem

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """One step's share of work: `index` (this rank's samples) out of `size` over all ranks."""

    epoch: int
    step: int
    index: Tensor
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampler:
    """Cuts each epoch's order into batches of nearly equal size, and each batch over the ranks.

    The batches depend on `samples`, `global_batch_size`, `seed` and the epoch alone; the world
    size only decides who computes which part. Sizes differ by one at most, so no rank is ever
    without a sample, no sample is doubled and none is dropped.

    Raises:
        DataProblem: a batch would leave some rank without a sample.
    """

    samples: int
    global_batch_size: int
    seed: int
    rank: int = 0
    world_size: int = 1

    def __post_init__(self) -> None:
        if self.samples < self.world_size:
            raise DataProblem(
                f"{self.samples} samples for {self.world_size} processes: some rank would have "
                "nothing to train on. Use fewer processes or more data."
            )
        if self.global_batch_size < 1 or self.smallest_batch < self.world_size:
            raise DataProblem(
                f"a global batch of {self.global_batch_size} cannot be shared by "
                f"{self.world_size} processes. Give at least one sample a process, better many."
            )

    @property
    def steps_an_epoch(self) -> int:
        return -(-self.samples // self.global_batch_size)

    @property
    def smallest_batch(self) -> int:
        return self.samples // self.steps_an_epoch

    def order(self, epoch: int) -> Tensor:
        """The epoch's order of all samples (samples,)."""
        generator = torch.Generator().manual_seed((self.seed * 1_000_003 + epoch) % 2**63)
        return torch.randperm(self.samples, generator=generator)

    def epoch(self, epoch: int, *, first: int = 0) -> Iterator[Batch]:
        """The epoch's batches from its `first` step on."""
        order, steps = self.order(epoch), self.steps_an_epoch
        for step in range(first, steps):
            start, stop = step * self.samples // steps, (step + 1) * self.samples // steps
            yield Batch(
                epoch=epoch,
                step=epoch * steps + step,
                index=order[start:stop][self.rank :: self.world_size],
                size=stop - start,
            )


def shard(samples: int, *, rank: int, world_size: int) -> Tensor:
    """A rank's part of an evaluation: every sample once over all ranks, without padding."""
    return torch.arange(samples)[rank::world_size]
