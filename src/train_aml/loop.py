"""The training loop: steps, epochs, and the moments at which all ranks look up together."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from train_aml.history import LOSS_METRIC
from train_aml.meter import Meter
from train_aml.problems import DataProblem, TrainingProblem
from train_aml.rehearsal import Bounds
from train_aml.signals import Preempted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor
    from torch.optim import Optimizer
    from torch.optim.lr_scheduler import LRScheduler

    from train_aml.sampler import Batch, Sampler
    from train_aml.strategy import Network
    from train_aml.training_session import Session

#: How often the ranks exchange their losses, a preemption notice and rank zero's clock. One small
#: message this often costs nothing measurable; one every step costs up to a quarter of the speed.
SYNC_SECONDS = 0.25
MAX_STEPS_BETWEEN_SYNCS = 1_024


class NonFiniteLoss(TrainingProblem):
    """A rank's loss became infinite or no number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Epoch:
    """One pass over the data: its number, from 0, and this rank's batches that are still to do."""

    number: int
    batches: Iterator[Batch]


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """What a loop does: which batches, for how many epochs, and what surrounds a step.

    `accumulate` cuts each rank's part of a batch into as many pieces, one backward pass each, to
    save memory; `clip_norm` bounds the gradient's total norm.
    """

    sampler: Sampler
    epochs: int
    schedule: LRScheduler | None = None
    accumulate: int = 1
    clip_norm: float | None = None

    def __post_init__(self) -> None:
        if self.sampler.smallest_batch // self.sampler.world_size < self.accumulate:
            raise DataProblem(
                f"{self.accumulate} pieces of a batch need as many samples a rank, but the "
                f"smallest batch has {self.sampler.smallest_batch} for {self.sampler.world_size} "
                "ranks. Accumulate less or use a larger global batch."
            )


class Loop:
    """Trains a network; made by `Session.loop`, which also restores the newest checkpoint."""

    def __init__(
        self,
        session: Session,
        network: Network,
        optimizer: Optimizer,
        recipe: Recipe,
    ) -> None:
        self._session = session
        self._network = network
        self._optimizer = optimizer
        self._recipe = recipe
        self._sampler = recipe.sampler
        self._schedule = recipe.schedule
        self._epoch = 0
        self._done = 0
        self._losses: list[Tensor] = []
        self._sizes: list[int] = []
        self._next_sync = 1
        self._last_sync = time.perf_counter()
        self._meter = Meter(session.device)
        self._bounds = Bounds.read(os.environ)
        self._best_score = -math.inf
        #: The best weights so far, on rank zero; empty elsewhere.
        self.best_state: dict[str, Any] = {}

    @property
    def step_count(self) -> int:
        """How many steps are done."""
        return self._epoch * self._sampler.steps_an_epoch + self._done

    def epochs(self) -> Iterator[Epoch]:
        """The epochs that are still to do; one that was cut off comes again with its rest."""
        while self._epoch < self._recipe.epochs and not self._bounds.is_over(self.step_count):
            self._network.train()
            self._meter.restart()
            yield Epoch(number=self._epoch, batches=self._batches())
            if self._done == self._sampler.steps_an_epoch:
                self._epoch, self._done = self._epoch + 1, 0
        if self._bounds.max_steps is not None:
            # `traingate measure` projects the whole training from its first steps.
            planned = self._recipe.epochs * self._sampler.steps_an_epoch
            self._session.log({"planned_steps": planned}, step=max(self.step_count - 1, 0))
        self._session.checkpoint(self)

    def step(self, batch: Batch, loss_sum: Callable[[Tensor], Tensor]) -> None:
        """Do one optimizer step on `batch`.

        `loss_sum` gets sample indices (k,) and returns the sum of their losses. The gradient is
        that of the mean loss over the whole global batch, at any number of ranks and of parts.
        """
        self._session.tick()
        self._optimizer.zero_grad(set_to_none=False)
        *parts, last = batch.index.tensor_split(self._recipe.accumulate)
        losses = []
        for part in parts:
            with self._network.without_sync():
                losses.append(self._backward(loss_sum(part), batch.size))
        losses.append(self._backward(loss_sum(last), batch.size))
        if self._recipe.clip_norm is not None:
            self._network.clip(self._recipe.clip_norm)
        self._optimizer.step()
        if self._schedule is not None:
            self._schedule.step()
        self._done += 1
        self._losses.append(torch.stack(losses).sum() if parts else losses[0])
        self._sizes.append(batch.size)
        if (
            len(self._losses) >= self._next_sync
            or self._done == self._sampler.steps_an_epoch
            or self._bounds.is_at(self.step_count)
        ):
            self._sync()

    def keep_if_best(self, score: float) -> bool:
        """Remember the network's weights if `score`, the same on every rank, beats all before."""
        if score <= self._best_score:
            return False
        self._best_score = score
        self.best_state = self._network.full_state()
        return True

    def use_best(self) -> None:
        """Go back to the weights that were remembered last."""
        if self._best_score > -math.inf:
            self._network.load_full_state(self.best_state)

    def tensors(self) -> dict[str, Any]:
        """The part of a checkpoint that the ranks write together, sharded as they are."""
        return self._network.training_state(self._optimizer)

    def state_dict(self) -> dict[str, Any]:
        """The part of a checkpoint that all ranks share."""
        return {
            "epoch": self._epoch,
            "done": self._done,
            "steps_an_epoch": self._sampler.steps_an_epoch,
            "schedule": self._schedule.state_dict() if self._schedule else None,
            "best_score": self._best_score,
        }

    def load_state_dict(self, state: dict[str, Any], tensors: dict[str, Any]) -> None:
        if state["steps_an_epoch"] != self._sampler.steps_an_epoch:
            raise TrainingProblem(
                f"the checkpoint counts {state['steps_an_epoch']} steps an epoch, this run "
                f"{self._sampler.steps_an_epoch}: its data or global batch differ. Give another "
                "checkpoint folder, or the same data and batch."
            )
        self._network.load_training_state(self._optimizer, tensors)
        if self._schedule is not None and state["schedule"] is not None:
            self._schedule.load_state_dict(state["schedule"])
        self._epoch, self._done = state["epoch"], state["done"]
        self._best_score = state["best_score"]

    def _batches(self) -> Iterator[Batch]:
        for batch in self._meter.batches(self._sampler.epoch(self._epoch, first=self._done)):
            yield batch
            if self._bounds.is_over(self.step_count):
                return

    def _backward(self, loss_sum: Tensor, size: int) -> Tensor:
        # DDP and FSDP average over the ranks. Their parts differ in size, so each rank counts its
        # samples against the whole batch.
        loss = loss_sum * (self._sampler.world_size / size)
        self._session.tick()
        loss.backward()  # type: ignore[no-untyped-call]
        self._session.tick()
        return loss_sum.detach()

    def _sync(self) -> None:
        """Exchange what happened since the last time, and act on it together."""
        first = self.step_count - len(self._losses)
        own = torch.stack(self._losses).double().cpu()
        seconds = time.perf_counter() - self._last_sync
        notice = self._session.notice.received
        due = self._session.checkpoint_due
        mine = torch.cat([torch.tensor([notice, due, seconds], dtype=torch.float64), own])
        everyone = _gather(mine, self._sampler.world_size)
        self._session.tick()
        if self._session.zero is not None:
            self._session.zero.check()
        self._refuse_non_finite(everyone[:, 3:], first)
        self._log(everyone[:, 3:].sum(0), first)
        steps_in_time = SYNC_SECONDS * len(self._losses) / max(everyone[:, 2].max().item(), 1e-6)
        self._next_sync = min(
            max(1, int(steps_in_time)), 2 * self._next_sync, MAX_STEPS_BETWEEN_SYNCS
        )
        self._losses, self._sizes = [], []
        self._last_sync = time.perf_counter()
        if everyone[:, 0].any():
            self._session.checkpoint(self)
            raise Preempted(f"SIGTERM on rank {int(everyone[:, 0].argmax())}")
        if everyone[0, 1] or self._bounds.is_checkpoint(self.step_count):
            self._session.checkpoint(self)
        if self.step_count == self._bounds.hold_at:
            self._session.hold(self._bounds)

    def _refuse_non_finite(self, losses: Tensor, first: int) -> None:
        bad = (~losses.isfinite()).T.nonzero()
        if len(bad) == 0:
            return
        # The earliest step: afterwards every rank's weights, and so its loss, are spoilt.
        step, rank = bad[0].tolist()
        culprit = NonFiniteLoss(
            f"the loss became {losses[rank, step]} at step {first + step} on rank {rank}. Look at "
            "that rank's batch; try a lower learning rate, gradient clipping or fp32."
        )
        if self._session.ranks.rank != rank:
            self._session.await_cause()
        raise culprit

    def _log(self, totals: Tensor, first: int) -> None:
        if self._session.zero is None:
            return
        self._session.zero.history.lap("to_first_step")
        for offset, (total, size) in enumerate(zip(totals.tolist(), self._sizes, strict=True)):
            self._session.log({LOSS_METRIC: total / size}, step=first + offset)
        figures = self._meter.read(steps=len(self._sizes), samples=sum(self._sizes))
        self._session.log(figures, step=first + len(self._sizes) - 1)


def _gather(mine: Tensor, world_size: int) -> Tensor:
    """Every rank's vector, (world size, length)."""
    if world_size == 1:
        return mine.unsqueeze(0)
    everyone = [torch.empty_like(mine) for _ in range(world_size)]
    dist.all_gather(everyone, mine)
    return torch.stack(everyone)
