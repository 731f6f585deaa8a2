from __future__ import annotations

from itertools import chain

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from train_aml.problems import DataProblem
from train_aml.sampler import Sampler, shard


def batches(world_size: int, epoch: int = 0, **changes: int) -> list[list[list[int]]]:
    """The indices by step, then by rank."""
    settings = {"samples": 23, "global_batch_size": 6, "seed": 1, **changes}
    by_rank = [
        [
            batch.index.tolist()
            for batch in Sampler(**settings, rank=rank, world_size=world_size).epoch(epoch)
        ]
        for rank in range(world_size)
    ]
    return [list(step) for step in zip(*by_rank, strict=True)]


@given(st.data(), st.integers(1, 8), st.integers(0, 3), st.integers(0, 5))
def test_every_sample_once_whatever_the_world(
    data: st.DataObject, world_size: int, epoch: int, seed: int
):
    samples = data.draw(st.integers(2 * world_size, 60))
    batch = data.draw(st.integers(2 * world_size, samples))
    sizes = {"samples": samples, "global_batch_size": batch, "seed": seed}
    steps = batches(world_size, epoch, **sizes)
    alone = batches(1, epoch, **sizes)
    assert [sorted(chain(*step)) for step in steps] == [sorted(step[0]) for step in alone]
    assert sorted(chain(*(step[0] for step in alone))) == list(range(samples))
    assert all(part for step in steps for part in step)
    assert max(len(step[0]) for step in alone) <= batch


def test_each_epoch_has_its_own_order():
    assert batches(2, epoch=0) != batches(2, epoch=1)
    assert batches(2, epoch=1) == batches(2, epoch=1)
    assert batches(2, seed=1) != batches(2, seed=2)


def test_an_epoch_can_be_entered_in_the_middle():
    sampler = Sampler(samples=23, global_batch_size=6, seed=1)
    whole, rest = list(sampler.epoch(2)), list(sampler.epoch(2, first=2))
    assert [batch.step for batch in whole] == [8, 9, 10, 11]
    assert [batch.step for batch in rest] == [10, 11]
    assert torch.equal(whole[2].index, rest[0].index)


@pytest.mark.parametrize(
    ("samples", "batch", "world_size", "message"),
    [
        (3, 4, 4, "3 samples for 4 processes"),
        (100, 3, 4, "a global batch of 3 cannot be shared by 4 processes"),
        (5, 4, 4, "a global batch of 4 cannot be shared by 4 processes"),
        (10, 0, 1, "a global batch of 0"),
    ],
)
def test_refuses_ranks_without_samples(samples: int, batch: int, world_size: int, message: str):
    with pytest.raises(DataProblem, match=message):
        Sampler(samples=samples, global_batch_size=batch, seed=0, world_size=world_size)


@given(st.integers(0, 50), st.integers(1, 8))
def test_evaluation_counts_every_sample_once(samples: int, world_size: int):
    shards = [shard(samples, rank=rank, world_size=world_size) for rank in range(world_size)]
    assert sorted(torch.cat(shards).tolist()) == list(range(samples))
