"""How fast a training is, and what it takes: the figures that an admission's evidence rests on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")

BYTES_A_GIB = 1 << 30
#: NVML averages over up to a second, so asking more often tells nothing new.
UTILISATION_EVERY_SECONDS = 1.0


class Meter:
    """Speed and use of this process since the last reading.

    Times are the host's. On a GPU the host runs ahead of the device within a step, so read over
    several steps, after something that waits for the device (`.item()`, a copy to the host).
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._began = time.perf_counter()
        self._waited_seconds = 0.0
        self._utilisation_at = 0.0
        self._has_utilisation = device.type == "cuda"

    def restart(self) -> None:
        """Leave out what has happened since the last reading: an evaluation, a checkpoint."""
        self._began, self._waited_seconds = time.perf_counter(), 0.0

    def batches(self, batches: Iterable[T]) -> Iterator[T]:
        """Pass `batches` on and count the time that they kept the training waiting."""
        iterator = iter(batches)
        while True:
            asked = time.perf_counter()
            try:
                batch = next(iterator)
            except StopIteration:
                return
            finally:
                self._waited_seconds += time.perf_counter() - asked
            yield batch

    def read(self, *, steps: int, samples: int) -> dict[str, float]:
        """The figures over the last `steps`, of `samples` in all, and start anew.

        `samples_per_second`, `step_seconds`, `data_wait_share` (of the time, from 0 to 1); on a
        GPU also `gpu_memory_peak_gib` (what tensors of this process occupied at most so far) and,
        where NVML's Python binding is installed, `gpu_utilisation_percent`.
        """
        now = time.perf_counter()
        seconds = max(now - self._began, 1e-9)
        figures = {
            "samples_per_second": samples / seconds,
            "step_seconds": seconds / max(steps, 1),
            "data_wait_share": min(self._waited_seconds / seconds, 1.0),
        }
        self.restart()
        if self._device.type == "cuda":
            peak = torch.cuda.max_memory_allocated(self._device)
            figures["gpu_memory_peak_gib"] = peak / BYTES_A_GIB
        if self._has_utilisation and now - self._utilisation_at > UTILISATION_EVERY_SECONDS:
            self._utilisation_at = now
            figures |= self._utilisation()
        return figures

    def _utilisation(self) -> dict[str, float]:
        try:
            return {"gpu_utilisation_percent": float(torch.cuda.utilization(self._device))}
        except (ImportError, RuntimeError):
            # No binding, or a driver that does not tell (MIG slices): never asked again.
            self._has_utilisation = False
            return {}
