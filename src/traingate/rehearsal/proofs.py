"""What a rehearsal proves, read from what it left: the stores, the outcome, the model."""

import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traingate.outcome import Outcome

LOSS_METRIC = "train_loss"
#: Between two computations of one step: sums over ranks may be formed in another order.
LOSS_TOLERANCE = 1e-3
#: An outcome's curve of this length may have had more points.
MAX_CURVE_POINTS = 200
LOAD_SECONDS = 120
#: Loads the registered model as its consumers do, with nothing of this repository at hand.
_LOAD = """
import sys
import mlflow
tracking_uri, model_uri = sys.argv[1:]
mlflow.set_tracking_uri(tracking_uri)
mlflow.pyfunc.load_model(model_uri)
names = list(mlflow.pytorch.load_model(model_uri).state_dict())
wrapped = [name for name in names if name.startswith("module.")]
assert not wrapped, f"the module is wrapped: {wrapped[0]}"
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Left:
    """What a rehearsal left: its SQLite files and its outcome."""

    tracking: Path
    results: Path
    outcome: Outcome


def complaints(left: Left, *, steps: int, held_at: int | None) -> Iterator[str]:
    """What the rehearsal did not prove, each in one sentence; nothing when all is well."""
    yield from _exactly_one(left)
    if held_at is not None:
        yield from _resumed(left, steps=steps, held_at=held_at)
    if left.outcome.model is not None and (said := _load(left)):
        yield f"The registered model does not load: {said}."


def steps_logged(left: Left) -> list[int]:
    """The steps of the training loss, as the tracking server has them."""
    query = f"SELECT step FROM metrics WHERE key = '{LOSS_METRIC}' ORDER BY step"  # noqa: S608
    return [int(step) for (step,) in _select(left.tracking, query)]


def _exactly_one(left: Left) -> Iterator[str]:
    run_name = left.outcome.run_name
    queries = {
        "MLflow run": (left.tracking, "SELECT status FROM runs WHERE experiment_id <> 0"),
        "model version": (left.tracking, "SELECT version FROM model_versions"),
        "results row": (left.results, "SELECT run_name FROM training_results"),
    }
    for what, (database, query) in queries.items():
        found = len(_select(database, query))
        if found != 1:
            yield f"{run_name} left {found} of what must be one: {what}."
    if _select(left.tracking, "SELECT 1 FROM runs WHERE experiment_id = 0"):
        yield "There is a run in MLflow's Default experiment: a rank beside rank zero, or autolog."


def _resumed(left: Left, *, steps: int, held_at: int) -> Iterator[str]:
    logged = steps_logged(left)
    if logged != list(range(len(logged))):
        odd = next(n for n, step in enumerate(logged) if step != n)
        yield f"The steps do not continue: step {odd} is missing or there twice."
    elif len(logged) < min(steps, held_at):
        yield f"{len(logged)} steps were logged, fewer than the {held_at} before the kill."
    # The tracking server has the step from before the kill, the outcome from after the resume.
    before = _loss_at(left, held_at - 1)
    after = dict(left.outcome.curve).get(held_at - 1)
    if after is None and len(left.outcome.curve) >= MAX_CURVE_POINTS:
        return  # Thinned out of a long curve.
    if before is None or after is None:
        yield f"Step {held_at - 1} has no {LOSS_METRIC} before and after the resume to compare."
    elif not math.isclose(before, after, rel_tol=LOSS_TOLERANCE):
        yield (
            f"The loss does not continue: step {held_at - 1} had {before:.6g} before the kill and "
            f"{after:.6g} after the resume. Something is missing from the checkpoint."
        )


def _loss_at(left: Left, step: int) -> float | None:
    query = f"SELECT value FROM metrics WHERE key = '{LOSS_METRIC}' AND step = {step}"  # noqa: S608
    found = _select(left.tracking, query)
    return float(found[0][0]) if found else None


def _load(left: Left) -> str:
    """Why the model does not load elsewhere; nothing when it does."""
    assert left.outcome.model is not None
    uri = f"sqlite:///{left.tracking}"
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _LOAD, uri, left.outcome.model.uri],
            cwd=left.tracking.parent,
            env=kept,
            capture_output=True,
            text=True,
            timeout=LOAD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"loading takes more than {LOAD_SECONDS} s"
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason"])[-1]


def _select(database: Path, query: str) -> list[tuple[Any, ...]]:
    if not database.exists():
        return []
    with closing(sqlite3.connect(database)) as connection:
        try:
            return connection.execute(query).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise
