"""The guard: the first failure on any rank reaches every rank, and a stalled rank is named.

A thread on each rank watches the rendezvous store. Without it a rank that fails but keeps its
sockets open (blocked in `finally`, hanging, stopped) leaves the others waiting in a collective for
its whole timeout, and then the wrong one is blamed.
"""

from __future__ import annotations

import faulthandler
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch.distributed as dist

from train_aml.failure import Failure, record
from train_aml.problems import ExitCode
from train_aml.unwinding import escaping

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch._C._distributed_c10d import Store

    from train_aml.ranks import Ranks

POLL_SECONDS = 0.25
#: A rank whose own `finally` is still at work this long after the others were told is cut off.
UNWINDING_GRACE_SECONDS = 0.5
#: How long the heart of a rank may miss when another rank has lost its connection to a peer.
SILENCE_SECONDS = 1.5
#: How long a stalled rank has to say where it stands before it is reported without.
ANSWER_SECONDS = 2.0

CAUSE, SUSPICION, QUESTION = "cause", "suspicion", "question"


@dataclass(kw_only=True, slots=True)
class Pulse:
    """What rank zero last heard of a rank."""

    beat_at: float
    beats: int = -1
    ticks: int = -1
    tick_at: float = 0.0


class Guard:
    """Watches over one rank; `on_cause` gets another rank's failure and must end the process."""

    def __init__(
        self,
        ranks: Ranks,
        store: Store,
        on_cause: Callable[[Failure], None],
        *,
        stall_seconds: float,
    ) -> None:
        self._ranks = ranks
        self._store = store
        self._on_cause = on_cause
        self._stall_seconds = stall_seconds
        self._ticks = 0
        self._beats = 0
        self._own: Failure | None = None
        self._escaping: BaseException | None = None
        self._leaving = False
        now = time.monotonic()
        self._pulses = [Pulse(beat_at=now) for _ in range(ranks.world_size)]
        self._stopped = threading.Event()
        self._main = threading.get_ident()
        self._thread = threading.Thread(target=self._watch, name="guard", daemon=True)
        self._thread.start()

    def tick(self) -> None:
        """Count a point of progress: before and after what all ranks do together.

        A rank outside has then fewer ticks than those that wait for it inside.
        """
        self._ticks += 1

    def fail(self, failure: Failure) -> Failure:
        """Tell the others, unless another rank was first; the cause is returned either way."""
        self._own = failure
        try:
            told = self._store.compare_set(CAUSE, "", failure.to_json())
            return Failure.from_json(bytes(told).decode())
        except dist.DistError:  # Rank zero and its store are gone; there is nobody to tell.
            return failure

    def find_cause(self, error: BaseException) -> Failure | None:
        """Whose fault `error` is, when it says no more than that a connection broke."""
        self._leaving = True
        if not lost_a_peer(error):
            return None
        deadline = time.monotonic() + 2 * SILENCE_SECONDS
        try:
            self._store.set(SUSPICION, str(self._ranks.rank))
            while time.monotonic() < deadline:
                if self._store.check([CAUSE]):
                    return self._cause()
                time.sleep(POLL_SECONDS / 5)
        except dist.DistError:
            return _gone(0, f"its store, where the ranks meet, is gone; on rank {self._ranks.rank}")
        return None

    def stop(self) -> None:
        """Stop watching: from here on no rank waits for another."""
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(POLL_SECONDS) and self._own is None:
            try:
                self._poll()
            except dist.DistError as error:
                if not self._stopped.is_set() and self._own is None:
                    reason = f"its store, where the ranks meet, is gone ({type(error).__name__})"
                    self._on_cause(_gone(0, reason))
                return

    def _poll(self) -> None:
        self._beats += 1
        self._store.set(f"pulse/{self._ranks.rank}", f"{self._beats} {self._ticks}")
        self._report_escaping()
        if self._store.check([CAUSE]):
            self._on_cause(self._cause())
            return
        if self._store.check([QUESTION]):
            self._answer()
        if self._ranks.is_zero:
            self._listen()

    def _cause(self) -> Failure:
        return Failure.from_json(self._store.get(CAUSE).decode())

    def _report_escaping(self) -> None:
        if self._leaving:
            return
        error = escaping(self._main)
        if error is not None and lost_a_peer(error):
            self._store.set(SUSPICION, str(self._ranks.rank))
        elif error is not None and error is self._escaping:
            cause = self.fail(record(error, self._ranks))
            cut_off = threading.Timer(UNWINDING_GRACE_SECONDS, self._on_cause, [cause])
            cut_off.daemon = True
            cut_off.start()
        self._escaping = error

    def _listen(self) -> None:
        now = time.monotonic()
        keys = [f"pulse/{rank}" for rank in range(self._ranks.world_size)]
        for pulse, key in zip(self._pulses, keys, strict=True):
            if not self._store.check([key]):
                continue
            beats, ticks = (int(number) for number in self._store.get(key).split())
            if beats != pulse.beats:
                pulse.beats, pulse.beat_at = beats, now
            if ticks != pulse.ticks:
                pulse.ticks, pulse.tick_at = ticks, now
        self._look_for_the_dead(now)
        self._look_for_the_stalled(now)

    def _look_for_the_dead(self, now: float) -> None:
        if not self._store.check([SUSPICION]):
            return
        for rank, pulse in enumerate(self._pulses):
            if rank != 0 and now - pulse.beat_at > SILENCE_SECONDS:
                self._tell(_gone(rank, "it was killed, or ended itself"))
                return

    def _look_for_the_stalled(self, now: float) -> None:
        if any(p.ticks <= 0 or now - p.tick_at < self._stall_seconds for p in self._pulses):
            return
        behind = min(pulse.ticks for pulse in self._pulses)
        stalled = [rank for rank, pulse in enumerate(self._pulses) if pulse.ticks == behind]
        if not self._store.check([QUESTION]):
            self._store.set(QUESTION, " ".join(str(rank) for rank in stalled))
            for pulse in self._pulses:  # Leaves the ranks asked time to answer.
                pulse.tick_at = now - self._stall_seconds + ANSWER_SECONDS
            return
        self._tell(_stalled(stalled[0], stalled, self._stall_seconds, "it did not say where"))

    def _answer(self) -> None:
        """Say where this rank stands, when it is among those that hold up the others."""
        stalled = [int(rank) for rank in self._store.get(QUESTION).split()]
        if self._ranks.rank not in stalled:
            return
        frame = sys._current_frames().get(self._main)  # noqa: SLF001 - documented, for debugging
        stack = "".join(traceback.format_stack(frame)) if frame else ""
        faulthandler.dump_traceback(all_threads=True)
        self._tell(_stalled(self._ranks.rank, stalled, self._stall_seconds, "it stands at", stack))

    def _tell(self, failure: Failure) -> None:
        self._store.compare_set(CAUSE, "", failure.to_json())
        self._on_cause(self._cause())


def lost_a_peer(error: BaseException) -> bool:
    """Whether `error` only says that another rank went away."""
    if isinstance(error, dist.DistError):
        return True
    # gloo and the store raise plain RuntimeErrors; the texts are those of torch 2.13.
    texts = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "gloo")
    return isinstance(error, RuntimeError) and any(text in str(error) for text in texts)


def _gone(rank: int, why: str) -> Failure:
    return Failure(
        time_unix_seconds=time.time(),
        rank=rank,
        local_rank=None,
        node_rank=None,
        error=f"RankLost: rank {rank} is gone without a word: {why}. Look at the end of its log; "
        "without one, at the memory of its node and at whether the node was taken away.",
        traceback="",
        exit_code=int(ExitCode.PLATFORM),
    )


def _stalled(rank: int, ranks: list[int], seconds: float, where: str, stack: str = "") -> Failure:
    names = ", ".join(str(each) for each in ranks)
    return Failure(
        time_unix_seconds=time.time(),
        rank=rank,
        local_rank=None,
        node_rank=None,
        error=f"RankStalled: no progress for {seconds:.0f} s, held up by rank {names}; {where} "
        "(see its stack). Mend what blocks there, or give `stall_seconds` more.",
        traceback=stack,
        exit_code=int(ExitCode.CODE),
    )
