"""The outcome file as its readers see it: untrusted text, at most 64 KiB, held to its schema.

`train_aml` writes it as rank zero's last act; this is all that the control plane ever learns
of a run's result.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from traingate.documents.schema import instance_errors

MAX_BYTES = 64 * 1024
_INTEGER_BOUND = 2**63


class UnusableOutcome(Exception):
    """The text is no outcome; the message says why, in words for the reader of a card."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisteredModel:
    """A registered version; `uri` is `models:/<name>/<version>`."""

    name: str
    version: str
    uri: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureRecord:
    """The first failing rank, by its own account."""

    error: str
    rank: int | None = None
    local_rank: int | None = None
    node_rank: int | None = None
    traceback: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a run ended. `status` is succeeded, failed or preempted.

    `curve` holds (step, loss) pairs, `durations_seconds` what took how long.
    """

    status: str
    run_name: str
    workload: str
    world_size: int
    training_backend: str
    model: RegisteredModel | None
    metrics: Mapping[str, float]
    curve: tuple[tuple[int, float], ...]
    durations_seconds: Mapping[str, float]
    dataset_digest: str
    mlflow_run_id: str
    warnings: tuple[str, ...]
    failure: FailureRecord | None


def read_outcome(text: str) -> Outcome:
    """The outcome in `text`.

    Raises:
        UnusableOutcome: it is too large, no JSON, or not of the shape it must have.
    """
    if len(text.encode()) > MAX_BYTES:
        raise UnusableOutcome(f"the outcome file is larger than {MAX_BYTES} bytes")
    try:
        raw = json.loads(
            text, parse_constant=_refuse_constant, parse_int=_bounded, parse_float=_finite
        )
    except (ValueError, RecursionError) as error:
        raise UnusableOutcome(f"the outcome file is no JSON: {error}") from error
    if errors := instance_errors(raw, "outcome"):
        raise UnusableOutcome(f"the outcome file is not of its schema: {errors[0]}")
    return _outcome(raw)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _bounded(digits: str) -> int:
    """An integer; one that no float holds would raise wherever it is shown or drawn."""
    number = int(digits)
    if abs(number) >= _INTEGER_BOUND:
        raise ValueError("an integer has more than 64 bits")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is beyond a float")
    return number


def _outcome(raw: dict[str, Any]) -> Outcome:
    model, failure = raw.get("model"), raw.get("failure")
    points = [(point["step"], point["loss"]) for point in raw.get("curve", ())]
    return Outcome(
        status=raw["status"],
        run_name=raw["run_name"],
        workload=raw["workload"],
        world_size=raw["world_size"],
        training_backend=raw["training_backend"],
        model=_picked(RegisteredModel, model) if model else None,
        metrics=raw.get("metrics", {}),
        curve=tuple((step, loss) for step, loss in points if math.isfinite(loss)),
        durations_seconds=raw.get("durations_seconds", {}),
        dataset_digest=raw.get("dataset_digest", ""),
        mlflow_run_id=raw.get("mlflow_run_id", ""),
        warnings=tuple(raw.get("warnings", ())),
        failure=_picked(FailureRecord, failure) if failure else None,
    )


def _picked(kind: Any, raw: dict[str, Any]) -> Any:
    """An object of `kind` from the fields it has; a newer writer may know more."""
    return kind(**{name: raw[name] for name in kind.__dataclass_fields__ if name in raw})
