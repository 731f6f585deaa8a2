from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from launching import ROOT

from train_aml.failure import Failure
from train_aml.outcome import MAX_BYTES, CurvePoint, Model, Outcome, thin

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = json.loads((ROOT / "schemas" / "outcome.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def outcome(**changes: object) -> Outcome:
    fields = {
        "status": "succeeded",
        "run_name": "digits-ddp-0123456789ab-l1",
        "workload": "digits-ddp",
        "world_size": 2,
        "training_backend": "aml-distributed",
        "model": Model(name="digits", version="1", uri="models:/digits/1"),
        **changes,
    }
    return Outcome(**fields)  # type: ignore[arg-type]


def failure(**changes: object) -> Failure:
    fields = {
        "time_unix_seconds": 1.5,
        "rank": 1,
        "local_rank": 1,
        "node_rank": 0,
        "error": "ValueError: x",
        "traceback": "...",
        "exit_code": 1,
        **changes,
    }
    return Failure(**fields)  # type: ignore[arg-type]


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@given(
    metrics=st.dictionaries(st.text(max_size=300), st.floats(), max_size=150),
    losses=st.lists(st.floats(), max_size=500),
    warnings=st.lists(st.text(max_size=1_000), max_size=30),
)
def test_whatever_it_holds_follows_the_schema(
    metrics: dict[str, float], losses: list[float], warnings: list[str]
):
    curve = tuple(CurvePoint(step=step, loss=loss) for step, loss in enumerate(losses))
    content = outcome(metrics=metrics, curve=curve, warnings=tuple(warnings)).to_json()
    assert len(content) <= MAX_BYTES
    VALIDATOR.validate(json.loads(content))


@pytest.mark.parametrize("character", ["x", "\x00", "\N{GRINNING FACE}", '"'])
def test_the_largest_stays_within_64_kib(character: str):
    content = outcome(
        status="failed",
        model=None,
        metrics={f"{i:03}" + character * 300: 1 / 3 for i in range(200)},
        curve=tuple(CurvePoint(step=10**9 + i, loss=-1 / 3e-300) for i in range(1_000)),
        warnings=(character * 1_000,) * 40,
        failure=failure(error=character * 2_000, traceback=character * 12_000),
    ).to_json()
    assert len(content) <= MAX_BYTES
    VALIDATOR.validate(json.loads(content))


def test_a_success_without_a_model_breaks_the_schema():
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(json.loads(outcome(model=None).to_json()))
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(json.loads(outcome(status="failed", model=None).to_json()))


def test_thinning_keeps_both_ends_and_the_order():
    points = thin([CurvePoint(step=step, loss=1.0) for step in range(1_234)])
    assert len(points) == 200
    assert (points[0].step, points[-1].step) == (0, 1_233)
    assert [p.step for p in points] == sorted({p.step for p in points})
    assert thin([CurvePoint(step=0, loss=math.nan), CurvePoint(step=1, loss=2.0)]) == (
        CurvePoint(step=1, loss=2.0),
    )


def test_writing_replaces_the_file_and_leaves_no_other(tmp_path: Path):
    path = tmp_path / "outputs" / "traingate" / "outcome.json"
    outcome(status="preempted", model=None).write(path)
    outcome().write(path)
    assert json.loads(path.read_text())["status"] == "succeeded"
    assert [p.name for p in path.parent.iterdir()] == ["outcome.json"]
