"""How a session ends on this rank; every way ends the process."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, NoReturn

import torch.distributed as dist

from train_aml.exits import end
from train_aml.failure import Failure, record
from train_aml.problems import ExitCode, TrainingProblem
from train_aml.rank_zero import write_early_failure

if TYPE_CHECKING:
    from torch import Tensor, nn

    from train_aml.guard import Guard
    from train_aml.rank_zero import RankZero
    from train_aml.ranks import Ranks
    from train_aml.signals import Preempted

#: The store lives in rank zero: it goes last, so that the others can read why.
STORE_GRACE_SECONDS = 1.0


class LeftEarly(TrainingProblem):
    """A rank called `sys.exit(0)` while the others were still training."""


class Ending:
    """Ends the process; what is not there yet when it ends is None."""

    def __init__(self) -> None:
        self.ranks: Ranks | None = None
        self.guard: Guard | None = None
        self.zero: RankZero | None = None
        self._once = threading.Lock()

    def succeed(self, module: nn.Module | None, example: Tensor, metrics: dict[str, float]) -> None:
        """Leave the others, then have rank zero register `module`, and end."""
        self._part()
        if self.zero is not None and module is not None:
            self.zero.succeed(module, example, metrics)
        end(ExitCode.OK)

    def preempt(self, notice: Preempted) -> None:
        """Leave the others and end as preempted."""
        self._part()
        print(f"preempted: {notice}; start the run again to go on", flush=True)  # noqa: T201 - the job's log
        if self.zero is not None:
            self.zero.preempt()
        end(ExitCode.PREEMPTED)

    def fail(self, error: BaseException) -> NoReturn:
        """Tell the others and end, with `error` or with the failure on another rank behind it."""
        if isinstance(error, SystemExit) and not error.code:
            error = LeftEarly(
                "the script ended itself in the middle of the session, as if all were well. Let "
                "the `with` block run to its end on every rank."
            ).with_traceback(error.__traceback__)
        if self.guard is not None and self.ranks is not None:
            cause = self.guard.find_cause(error)
            if cause is not None and cause.rank != self.ranks.rank:
                self.stop_for(cause)
        self._end_once()
        failure = record(error, self.ranks)
        print(failure.traceback, file=sys.stderr, flush=True)  # noqa: T201 - the job's log
        if self.guard is not None:
            failure = self.guard.fail(failure)
        self._end_failed(failure)

    def stop_for(self, cause: Failure) -> NoReturn:
        """End because of `cause`, most likely on another rank; the guard's thread calls this."""
        self._end_once()
        own = self.ranks is not None and cause.rank == self.ranks.rank
        why = "" if own else f"stopped, because rank {cause.rank} failed: "
        print(f"{why}{cause.error}\n{cause.traceback}", file=sys.stderr, flush=True)  # noqa: T201 - the job's log
        self._end_failed(cause)

    def _part(self) -> None:
        # From here on no collective can time out under a slow upload, and nobody is watched.
        if dist.is_initialized():
            dist.barrier()
        if self.guard is not None:
            self.guard.stop()
        if dist.is_initialized():
            dist.destroy_process_group()

    def _end_once(self) -> None:
        # The main thread and the guard's may both find a reason; the first one ends the process.
        self._once.acquire()

    def _end_failed(self, failure: Failure) -> NoReturn:
        told_at = time.monotonic()
        if self.zero is not None:
            self.zero.fail(failure)
        elif self.ranks is None or self.ranks.is_zero:
            write_early_failure(failure, self.ranks.world_size if self.ranks else 1)
        if self.guard is not None and self.zero is not None:
            time.sleep(max(0.0, STORE_GRACE_SECONDS - (time.monotonic() - told_at)))
        end(failure.exit_code)
