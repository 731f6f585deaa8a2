"""What rank zero remembers of a run: its newest metrics, its loss curve, its durations."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from train_aml.outcome import MAX_CURVE_POINTS, CurvePoint

if TYPE_CHECKING:
    from collections.abc import Mapping

LOSS_METRIC = "train_loss"


class Curve:
    """A loss curve of bounded length: when it is full, every other point goes."""

    def __init__(self) -> None:
        self._stride = 1
        self._points: list[tuple[int, float]] = []
        self._last: tuple[int, float] | None = None

    def add(self, step: int, loss: float) -> None:
        if self._last is not None and step <= self._last[0]:
            return  # A resumed run goes over these steps again.
        self._last = (step, loss)
        if step % self._stride == 0:
            self._points.append((step, loss))
        if len(self._points) > 2 * MAX_CURVE_POINTS:
            self._stride *= 2
            self._points = [point for point in self._points if point[0] % self._stride == 0]

    def points(self) -> tuple[CurvePoint, ...]:
        ends = [self._last] if self._last and self._last not in self._points[-1:] else []
        return tuple(CurvePoint(step=step, loss=loss) for step, loss in [*self._points, *ends])

    def state_dict(self) -> dict[str, Any]:
        return {"stride": self._stride, "points": list(self._points), "last": self._last}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._stride = state["stride"]
        self._points = [tuple(point) for point in state["points"]]
        self._last = tuple(state["last"]) if state["last"] else None


class History:
    """Newest metrics, loss curve and durations; part of a checkpoint."""

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}
        self.curve = Curve()
        self.durations_seconds: dict[str, float] = {}
        self._started = time.perf_counter()

    def add(self, metrics: Mapping[str, float], step: int) -> None:
        self.metrics.update(metrics)
        if LOSS_METRIC in metrics:
            self.curve.add(step, metrics[LOSS_METRIC])

    def lap(self, name: str) -> None:
        """Note, once, how long after the start of this process `name` was reached."""
        self.durations_seconds.setdefault(name, time.perf_counter() - self._started)

    def state_dict(self) -> dict[str, Any]:
        return {"metrics": dict(self.metrics), "curve": self.curve.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.metrics = dict(state["metrics"])
        self.curve.load_state_dict(state["curve"])
