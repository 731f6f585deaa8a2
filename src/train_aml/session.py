"""The session: everything a training script shares with the platform, in one object."""

from __future__ import annotations

import contextlib
import copy
import os
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NoReturn, Self, TypeVar

import torch
import torch.distributed as dist

from train_aml import environment, process_group
from train_aml.exits import end
from train_aml.failure import record
from train_aml.outcome import CurvePoint, Outcome
from train_aml.problems import TrainingProblem
from train_aml.provenance import training_backend
from train_aml.ranks import Ranks, detect
from train_aml.stores import Finish, Stores, now_milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from torch import Tensor, nn
    from torch._C._distributed_c10d import Store

    from train_aml.environment import Contract
    from train_aml.outcome import Status

T = TypeVar("T")

LOSS_METRIC = "train_loss"
#: How long a failed run's end may wait for a tracking server that does not answer.
CLOSE_FAILED_RUN_SECONDS = 10.0
LOCAL_FIRST_TIMEOUT_SECONDS = 3600.0


class Session:
    """One process's part in a run; enter it with `with`. The process ends with the block.

    Inside the block `ranks`, `device` and `contract` are set and, for more than one process,
    torch's default process group is up. Rank zero opens its stores in the background meanwhile.
    """

    ranks: Ranks
    contract: Contract
    device: torch.device

    def __init__(self) -> None:
        self._started_at = datetime.now(UTC)
        self._started = time.perf_counter()
        self._durations_seconds: dict[str, float] = {}
        self._metrics: dict[str, float] = {}
        self._points: list[tuple[str, float, int, int]] = []
        self._params: dict[str, object] = {}
        self._data_digest = ""
        self._finish: Finish | None = None
        self._stores: Future[Stores] | None = None
        self._store: Store | None = None
        self._local_firsts = 0

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException as error:  # noqa: BLE001 - every way to fail ends in a record
            self._fail(error)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> NoReturn:
        if error is not None:
            self._fail(error)
        try:
            self._succeed()
        except BaseException as failure:  # noqa: BLE001 - every way to fail ends in a record
            self._fail(failure)

    def describe(self, *, data_digest: str, **params: object) -> None:
        """Say what is trained on which data; it becomes the run's parameters and tags."""
        self._data_digest = data_digest
        self._params = params

    def ready(self) -> None:
        """Wait for rank zero's stores: nobody trains for a model that could not be registered.

        Raises:
            StoreProblem: on rank zero; a store is away, or the model belongs to another workload.
        """
        if self._stores is not None:
            self._stores.result().describe(self._data_digest, self._params)
        if self.ranks.world_size > 1:
            dist.barrier()

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

    def sum(self, values: Tensor) -> Tensor:
        """Add `values` up over all ranks, in place; every rank gets the sum."""
        if self.ranks.world_size > 1:
            dist.all_reduce(values)
        return values

    def log(self, metrics: Mapping[str, float], *, step: int) -> None:
        """Keep `metrics` for the run; the newest value of each goes into the outcome."""
        if self.ranks.is_zero:
            now = now_milliseconds()
            self._metrics.update(metrics)
            self._points.extend((name, value, step, now) for name, value in metrics.items())

    def register(self, module: nn.Module, example: Tensor, metrics: Mapping[str, float]) -> None:
        """Have `module`, the plain one, registered when the block ends; call it on every rank.

        `example` is an input batch of more than one sample, `metrics` the figures that the model
        is judged by.
        """
        if self.ranks.is_zero:
            module = copy.deepcopy(module)
        self._finish = Finish(module=module, example=example.detach(), metrics=dict(metrics))

    def _start(self) -> None:
        azureml_run_id = environment.clean(os.environ)
        self.ranks = detect(os.environ)
        self.contract = environment.Contract.read(os.environ)
        if self.ranks.is_zero:
            self._stores = ThreadPoolExecutor(1, thread_name_prefix="stores").submit(
                Stores,
                self.contract,
                world_size=self.ranks.world_size,
                azureml_run_id=azureml_run_id,
            )
        self.device = process_group.device_of(self.ranks)
        local_world_size = 1
        if self.ranks.world_size > 1:
            self._store = process_group.rendezvous(
                self.ranks, os.environ, process_group.RENDEZVOUS_TIMEOUT_SECONDS
            )
            process_group.join(self.ranks, self._store, self.device)
            local_world_size = process_group.processes_on(self.ranks.node_rank)
        process_group.share_cores(local_world_size)

    def _succeed(self) -> NoReturn:
        if self._finish is None:
            raise TrainingProblem(
                "the session ended without a model. Call `session.register(model, example, "
                "metrics)` on every rank before the block ends."
            )
        self._lap("training")
        if self.ranks.world_size > 1:
            dist.barrier()
            # From here on rank zero works alone: no collective can time out under a slow upload.
            dist.destroy_process_group()
        if self._stores is None:
            end(0)
        stores = self._stores.result()
        stores.log(self._points)
        model = stores.finish(self._finish, self._data_digest, self._started_at)
        self._metrics.update(self._finish.metrics)
        self._lap("registration")
        replace(
            self._outcome("succeeded"), model=model, mlflow_run_id=stores.tracking.run_id
        ).write()
        print(f"registered {model.uri}")  # noqa: T201 - the job's log
        end(0)

    def _fail(self, error: BaseException) -> NoReturn:
        ranks: Ranks | None = getattr(self, "ranks", None)
        failure = record(error, ranks)
        print(failure.traceback, file=sys.stderr, flush=True)  # noqa: T201 - the job's log
        if ranks is None or ranks.is_zero:
            self._close_failed_run()
            replace(self._outcome("failed"), failure=failure).write()
        end(failure.exit_code)

    def _close_failed_run(self) -> None:
        """Mark the run as failed if its server answers in time; the failure itself matters more."""

        def close() -> None:
            assert self._stores is not None
            # Whatever keeps the run from being closed must not hide why it failed.
            with contextlib.suppress(Exception):
                stores = self._stores.result()
                stores.log(self._points)
                stores.tracking.finish("FAILED")

        if self._stores is not None:
            thread = threading.Thread(target=close, daemon=True)
            thread.start()
            thread.join(CLOSE_FAILED_RUN_SECONDS)

    def _outcome(self, status: Status) -> Outcome:
        contract = getattr(self, "contract", None)
        ranks = getattr(self, "ranks", None)
        world_size = ranks.world_size if ranks else 1
        return Outcome(
            status=status,
            run_name=contract.run if contract else os.environ.get("TRAINGATE_RUN", ""),
            workload=contract.workload if contract else os.environ.get("TRAINGATE_WORKLOAD", ""),
            world_size=world_size,
            training_backend=training_backend(world_size),
            dataset_digest=self._data_digest,
            metrics=self._metrics,
            curve=tuple(
                CurvePoint(step=step, loss=value)
                for name, value, step, _ in self._points
                if name == LOSS_METRIC
            ),
            durations_seconds={
                **self._durations_seconds,
                "total": time.perf_counter() - self._started,
            },
        )

    def _lap(self, name: str) -> None:
        spent = sum(self._durations_seconds.values())
        self._durations_seconds[name] = time.perf_counter() - self._started - spent


def session() -> Session:
    """A session for this process, from the environment that the launcher and the planner set."""
    return Session()
