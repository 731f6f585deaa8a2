"""What rank zero alone does: open the stores, keep the metrics, end the run, write the outcome."""

from __future__ import annotations

import contextlib
import operator
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from train_aml.history import History
from train_aml.imports import IMPORTS
from train_aml.outcome import Outcome
from train_aml.problems import ModelOwnedElsewhere, StoreProblem, StoreRefusal
from train_aml.provenance import training_backend
from train_aml.pump import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, Pump

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor, nn

    from train_aml.environment import Contract
    from train_aml.failure import Failure
    from train_aml.outcome import Status
    from train_aml.ranks import Ranks
    from train_aml.stores import Stores

#: How long the end of a failed or preempted run may wait for a server that does not answer.
CLOSE_SECONDS = 10.0


class RankZero:
    """Asks the run's stores in the background whether it may start, and opens them once it does."""

    def __init__(self, contract: Contract, ranks: Ranks, azureml_run_id: str) -> None:
        self.history = History()
        self._contract = contract
        self._world_size = ranks.world_size
        self._started_at = datetime.now(UTC)
        self._data_digest = ""
        self._params: dict[str, object] = {}
        self._described: tuple[str, dict[str, object]] = ("", {})
        #: Set once the first step is done: until then MLflow's import would be in its way.
        self._under_way = threading.Event()
        self._is_over = threading.Event()
        thread = ThreadPoolExecutor(1, thread_name_prefix="stores")
        self._asked = thread.submit(_ask, contract, ranks.world_size, azureml_run_id)
        self._stores = thread.submit(self._open)
        self._pump = Pump(self._stores)

    def describe(self, data_digest: str, params: Mapping[str, object]) -> None:
        self._data_digest = data_digest
        self._params = dict(params)

    def ready(self) -> None:
        """Wait until the stores have said that the run may start.

        Raises:
            StoreProblem: a store is away, or the model belongs to another workload.
        """
        if not self._asked.result().checked:
            self._under_way.set()
            self._stores.result()

    def check(self) -> None:
        """Raise what `ready` would, if it is known by now: a script need not have waited."""
        for future in (self._asked, self._stores):
            if future.done():
                future.result()

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Keep the metrics; also numbers of numpy and tensors of one number.

        Raises:
            StoreProblem: as `check`.
        """
        self.check()
        self._under_way.set()
        step = operator.index(step)
        plain = {str(name): float(value) for name, value in metrics.items()}
        self.history.add(plain, step)
        self._pump.put(plain, step)

    def flush(self) -> None:
        """Have the metrics so far on the server or on the disk before a checkpoint counts."""
        self._pump.flush()

    def succeed(self, module: nn.Module, example: Tensor, metrics: dict[str, float]) -> None:
        """Register, write the row, end the run, and last of all write the outcome."""
        self._end_waiting()
        self.history.lap("to_end_of_training")
        warnings = self._pump.close()
        stores = self._stores.result()
        if self._described != (self._data_digest, self._params):
            stores.describe(self._data_digest, self._params)
        model = stores.finish(module, example, metrics, self._data_digest, self._started_at)
        self.history.metrics.update(metrics)
        replace(self._outcome("succeeded"), model=model, warnings=warnings).write()
        print(f"registered {model.uri}", flush=True)  # noqa: T201 - the job's log

    def fail(self, failure: Failure) -> None:
        """End the run as failed, if its server answers in time, and write the outcome."""
        warnings = self._end("FAILED")
        replace(self._outcome("failed"), failure=failure, warnings=warnings).write()

    def preempt(self) -> None:
        """End the run as stopped, if its server answers in time, and write the outcome."""
        warnings = self._end("KILLED")
        replace(self._outcome("preempted"), warnings=warnings).write()

    def _end(self, status: Literal["FAILED", "KILLED"]) -> tuple[str, ...]:
        """Send the last metrics and end the run, within a limit; what to say in the outcome."""

        def end() -> None:
            # A server that refuses now must not hide why the run ends.
            with contextlib.suppress(StoreProblem):
                self._stores.result().tracking.finish(status)

        self._end_waiting()
        until = time.monotonic() + CLOSE_SECONDS
        warnings = self._pump.close(CLOSE_SECONDS / 2)
        thread = threading.Thread(target=end, daemon=True)
        thread.start()
        thread.join(max(0.0, until - time.monotonic()))
        return warnings

    def _end_waiting(self) -> None:
        self._is_over.set()
        self._under_way.set()

    def _open(self) -> Stores:
        """Open the stores once the run is under way, and however long it takes until its end.

        They said that the run may start, so a server that is away now is no reason to stop it.
        """
        asked = self._asked.result()
        self._under_way.wait()
        pause_seconds = FIRST_PAUSE_SECONDS
        while True:
            is_last = self._is_over.is_set() or not asked.checked
            try:
                stores = asked.open()
                self._described = (self._data_digest, self._params)
                stores.describe(*self._described)
            except (StoreRefusal, ModelOwnedElsewhere):
                raise
            except StoreProblem:
                if is_last:
                    raise
            else:
                return stores
            self._is_over.wait(pause_seconds)
            pause_seconds = min(2 * pause_seconds, LONGEST_PAUSE_SECONDS)

    def _outcome(self, status: Status) -> Outcome:
        self.history.lap("total")
        opened = self._stores.done() and self._stores.exception() is None
        return Outcome(
            status=status,
            run_name=self._contract.run,
            workload=self._contract.workload,
            world_size=self._world_size,
            training_backend=training_backend(self._world_size),
            dataset_digest=self._data_digest,
            mlflow_run_id=self._stores.result().tracking.run_id if opened else "",
            metrics=dict(self.history.metrics),
            curve=self.history.curve.points(),
            durations_seconds=self.history.durations_seconds,
        )


def _ask(contract: Contract, world_size: int, azureml_run_id: str) -> Stores:
    with IMPORTS:
        # SQLAlchemy is imported here, in the background.
        from train_aml.stores import Stores  # noqa: PLC0415

    return Stores(contract, world_size=world_size, azureml_run_id=azureml_run_id)


def write_early_failure(failure: Failure, world_size: int = 1) -> None:
    """Write the outcome of a start that failed before its contract was read."""
    Outcome(
        status="failed",
        run_name=os.environ.get("TRAINGATE_RUN", ""),
        workload=os.environ.get("TRAINGATE_WORKLOAD", ""),
        world_size=world_size,
        training_backend=training_backend(world_size),
        failure=failure,
    ).write()
