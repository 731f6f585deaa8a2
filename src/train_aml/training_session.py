"""The session: everything a training script shares with the platform, in one object."""

from __future__ import annotations

import copy
import os
import time
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from train_aml import environment, process_group, rng
from train_aml.checkpoint import Checkpoints
from train_aml.ending import Ending
from train_aml.guard import POLL_SECONDS, Guard
from train_aml.loop import Loop, Recipe
from train_aml.problems import TrainingProblem
from train_aml.rank_zero import RankZero
from train_aml.ranks import Ranks, detect
from train_aml.signals import Notice, Preempted
from train_aml.strategy import wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    import torch
    from torch import Tensor
    from torch._C._distributed_c10d import Store
    from torch.optim import Optimizer

    from train_aml.environment import Contract
    from train_aml.rehearsal import Bounds
    from train_aml.strategy import Network, Precision, Strategy

T = TypeVar("T")

LOCAL_FIRST_TIMEOUT_SECONDS = 3_600.0
AWAIT_CAUSE_SECONDS = 5.0


class Session:
    """One process's part in a run; enter it with `with`. The process ends with the block.

    Inside the block `ranks`, `device` and `contract` are set and, for more than one process,
    torch's default process group is up. A failure of any rank ends all of them.
    """

    ranks: Ranks
    contract: Contract
    device: torch.device

    def __init__(
        self,
        *,
        checkpoints: str | Path | None,
        checkpoint_every_seconds: float,
        stall_seconds: float,
    ) -> None:
        self.notice = Notice()
        self._ending = Ending()
        self.guard: Guard | None = None
        self.zero: RankZero | None = None
        self._checkpoint_folder = checkpoints
        self._checkpoint_every_seconds = checkpoint_every_seconds
        self._checkpoints: Checkpoints | None = None
        self._checkpoint_at = time.monotonic()
        self._stall_seconds = stall_seconds
        self._store: Store | None = None
        self._local_firsts = 0
        self._model: tuple[nn.Module | None, Tensor, dict[str, float]] | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException as error:  # noqa: BLE001 - every way to fail ends in a record
            self._ending.fail(error)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> NoReturn:
        try:
            if error is None:
                self._succeed()
            elif isinstance(error, Preempted):
                self._ending.preempt(error)
        except BaseException as late:  # noqa: BLE001 - every way to fail ends in a record
            error = late
        assert error is not None
        self._ending.fail(error)

    def wrap(
        self,
        module: nn.Module,
        *,
        strategy: Strategy = "ddp",
        precision: Precision = "fp32",
        **options: Any,
    ) -> Network:
        """Move `module`, the same on every rank, to the device and spread its work."""
        return wrap(
            module, self.ranks, self.device, strategy=strategy, precision=precision, **options
        )

    def loop(self, network: Network, optimizer: Optimizer, recipe: Recipe) -> Loop:
        """A training loop (see `Loop`), standing where the newest checkpoint left off."""
        loop = Loop(self, network, optimizer, recipe)
        if self._checkpoint_folder is not None:
            self._checkpoints = Checkpoints(self._checkpoint_folder, self.ranks)
            self._restore(loop, self._checkpoints)
        return loop

    def describe(self, *, data_digest: str, **params: object) -> None:
        """Say what is trained on which data; it becomes the run's parameters and tags."""
        if self.zero is not None:
            self.zero.describe(data_digest, params)

    def ready(self) -> None:
        """Wait for rank zero's stores: nobody trains for a model that could not be registered.

        They are asked without importing MLflow, which happens once the first step is done.

        Raises:
            StoreProblem: on rank zero; a store is away, or the model belongs to another workload.
        """
        if self.zero is not None:
            self.zero.ready()
        self.barrier()

    def local_first(self, load: Callable[[], T]) -> T:
        """Call `load` on each node's first process, then on its others: one download a node.

        Waiting goes through the rendezvous store, so that no collective times out meanwhile.
        """
        self._local_firsts += 1
        key = f"local_first/{self._local_firsts}/{self.ranks.node_rank}"
        if self._store is None:
            return load()
        if self.ranks.local_rank == 0:
            loaded = load()
            self._store.set(key, "loaded")
            return loaded
        deadline = time.monotonic() + LOCAL_FIRST_TIMEOUT_SECONDS
        while not self._store.check([key]):
            if time.monotonic() > deadline:
                raise TrainingProblem(
                    f"local rank 0 of node {self.ranks.node_rank} is still loading after "
                    f"{LOCAL_FIRST_TIMEOUT_SECONDS:.0f} s; look at its log."
                )
            time.sleep(0.02)
        return load()

    def barrier(self) -> None:
        """Wait until every rank is here."""
        if self.ranks.world_size > 1:
            self.tick()
            dist.barrier()
            self.tick()

    def sum(self, values: Tensor) -> Tensor:
        """Add `values` up over all ranks, in place; every rank gets the sum."""
        if self.ranks.world_size > 1:
            self.tick()
            dist.all_reduce(values)
            self.tick()
        return values

    def say(self, text: str) -> None:
        """Print a line into the job's log, from rank zero alone."""
        if self.ranks.is_zero:
            print(text, flush=True)  # noqa: T201 - the job's log

    def log(self, metrics: Mapping[str, float], *, step: int) -> None:
        """Keep `metrics` for the run; the newest value of each goes into the outcome."""
        if self.zero is not None:
            self.zero.log(metrics, step)

    def register(
        self, model: Network | nn.Module, example: Tensor, metrics: Mapping[str, float]
    ) -> None:
        """Have the plain module registered when the block ends; call it on every rank.

        `example` is an input batch of more than one sample, `metrics` the figures that the model
        is judged by. A module of your own strategy must be the whole one, on rank zero at least.
        """
        if len(example) < 2:  # noqa: PLR2004 - the smallest number that is more than one
            raise TrainingProblem(
                "the example batch has one sample, which would fix the registered model's batch "
                "size at one. Give two samples or more."
            )
        plain = model.module if isinstance(model, DistributedDataParallel) else model
        module = copy.deepcopy(plain) if isinstance(plain, nn.Module) else plain.export()
        self._model = (module, example.detach().cpu(), dict(metrics))

    def tick(self) -> None:
        """Count a point of progress, so that a stalled rank can be told from those that wait."""
        if self.guard is not None:
            self.guard.tick()

    @property
    def checkpoint_due(self) -> bool:
        """Whether this rank's clock asks for a checkpoint; rank zero's is the one that counts."""
        waited = time.monotonic() - self._checkpoint_at
        return self._checkpoints is not None and waited > self._checkpoint_every_seconds

    def checkpoint(self, loop: Loop) -> None:
        """Write a checkpoint of `loop` where there is a folder for it; every rank must call it."""
        if self._checkpoints is None:
            return
        self.tick()
        own = {"rng": rng.state()}
        if self.zero is not None:
            self.zero.flush()
            own |= {"history": self.zero.history.state_dict(), "best": loop.best_state}
        self._checkpoints.save(
            loop.step_count, tensors=loop.tensors(), shared=loop.state_dict(), own=own
        )
        self._checkpoint_at = time.monotonic()
        self.tick()

    def hold(self, bounds: Bounds) -> None:
        """Stand still for a rehearsal's kill, once everything so far is where it belongs."""
        if self.zero is not None:
            self.zero.flush()
        self.barrier()
        bounds.hold(is_zero=self.ranks.is_zero)

    def await_cause(self) -> None:
        """Give another rank's failure the time to arrive; returns if it does not."""
        time.sleep(2 * POLL_SECONDS if self.guard is None else AWAIT_CAUSE_SECONDS)

    def _start(self) -> None:
        azureml_run_id = environment.clean(os.environ)
        self.ranks = self._ending.ranks = detect(os.environ)
        self.contract = environment.Contract.read(os.environ)
        self.notice.listen()
        if self.ranks.is_zero:
            self.zero = self._ending.zero = RankZero(self.contract, self.ranks, azureml_run_id)
        self.device = process_group.device_of(self.ranks)
        local_world_size = 1
        if self.ranks.world_size > 1:
            self._store = process_group.rendezvous(
                self.ranks, os.environ, process_group.RENDEZVOUS_TIMEOUT_SECONDS
            )
            self.guard = self._ending.guard = Guard(
                self.ranks,
                process_group.guard_store(os.environ),
                self._ending.stop_for,
                stall_seconds=self._stall_seconds,
            )
            process_group.join(self.ranks, self._store, self.device)
            local_world_size = process_group.processes_on(self.ranks.node_rank)
        process_group.share_cores(local_world_size)

    def _restore(self, loop: Loop, checkpoints: Checkpoints) -> None:
        newest = checkpoints.newest()
        if newest is None:
            return
        tensors = loop.tensors()
        shared, own = checkpoints.load(newest, tensors)
        loop.load_state_dict(shared, tensors)
        if own is not None:
            rng.restore(own["rng"])
        if self.zero is not None and own is not None:
            self.zero.history.load_state_dict(own["history"])
            loop.best_state = own["best"]
            print(f"resumed at step {newest.step} from {newest.path}", flush=True)  # noqa: T201 - the job's log

    def _succeed(self) -> None:
        if self._model is None:
            raise TrainingProblem(
                "the session ended without a model. Call `session.register(model, example, "
                "metrics)` on every rank before the block ends."
            )
        self._ending.succeed(*self._model)


def session(
    *,
    checkpoints: str | Path | None = None,
    checkpoint_every_seconds: float = 300.0,
    stall_seconds: float = 600.0,
) -> Session:
    """A session for this process, from the environment that the launcher and the planner set.

    `checkpoints` is a folder that survives the node: a mounted output of the job. Without progress
    for `stall_seconds` the run is ended, and the rank that holds up the others is named.
    """
    return Session(
        checkpoints=checkpoints,
        checkpoint_every_seconds=checkpoint_every_seconds,
        stall_seconds=stall_seconds,
    )
