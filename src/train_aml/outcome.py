"""The outcome file: the one way a result leaves the job, and rank zero's last act."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from train_aml.failure import Failure, shorten
from train_aml.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA_VERSION = 1
#: Relative to the working directory, where Azure ML collects `outputs/`.
OUTCOME_PATH = Path("outputs") / "traingate" / "outcome.json"
MAX_BYTES = 64 * 1024
MAX_CURVE_POINTS = 200
MAX_METRICS = 100
MAX_METRIC_NAME_CHARACTERS = 100
MAX_WARNINGS = 20

Status = Literal["succeeded", "failed", "preempted"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """A registered version; `uri` is `models:/<name>/<version>`."""

    name: str
    version: str
    uri: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CurvePoint:
    """The mean training loss at a step."""

    step: int
    loss: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a run ended. `model` is there exactly when it succeeded, `failure` when it failed."""

    status: Status
    run_name: str
    workload: str
    world_size: int
    training_backend: str
    dataset_digest: str = ""
    mlflow_run_id: str = ""
    model: Model | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    curve: tuple[CurvePoint, ...] = ()
    durations_seconds: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    failure: Failure | None = None

    def to_json(self) -> bytes:
        """The file's content, at most 64 KiB of standard JSON whatever the fields hold."""
        bounded = replace(
            self,
            metrics=dict(list(_finite(self.metrics).items())[:MAX_METRICS]),
            durations_seconds=_finite(self.durations_seconds),
            curve=thin(self.curve),
            warnings=tuple(shorten(text, 500) for text in self.warnings[:MAX_WARNINGS]),
        )
        content = _dump(bounded)
        if len(content) > MAX_BYTES:  # Only long names or escaped text can still do this.
            failure = bounded.failure and replace(
                bounded.failure,
                error=shorten(bounded.failure.error, 300),
                traceback=shorten(bounded.failure.traceback, 1_500),
            )
            metrics = dict(list(bounded.metrics.items())[:10])
            content = _dump(replace(bounded, metrics=metrics, warnings=(), failure=failure))
        return content

    def write(self, path: Path = OUTCOME_PATH) -> None:
        write_atomically(path, self.to_json())


def thin(curve: Sequence[CurvePoint], limit: int = MAX_CURVE_POINTS) -> tuple[CurvePoint, ...]:
    """At most `limit` finite points, evenly spaced, the first and the last among them."""
    points = [point for point in curve if math.isfinite(point.loss)]
    if len(points) <= limit:
        return tuple(points)
    last = len(points) - 1
    return tuple(points[round(i * last / (limit - 1))] for i in range(limit))


def _finite(values: dict[str, float]) -> dict[str, float]:
    # JSON knows neither NaN nor infinity.
    return {
        name[:MAX_METRIC_NAME_CHARACTERS]: value
        for name, value in values.items()
        if math.isfinite(value)
    }


def _dump(outcome: Outcome) -> bytes:
    fields = {"schema_version": SCHEMA_VERSION, **asdict(outcome)}
    return json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()
