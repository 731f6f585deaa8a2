"""The evidence block: computed from an outcome, and put into an admission's text."""

from dataclasses import replace

import pytest

from traingate.documents.reading import read_admission
from traingate.errors import Refusal, RunFailed
from traingate.measure import Asked, evidence, with_evidence
from traingate.outcome import Outcome

FRONT = """\
---
workload: vision-ddp
owner: "@contoso/vision"
need: {need}
{evidence}envelope: {{targets: [gpu], nodes: 1, gpus: 2, hours: 12, runs: 1, cost_usd: 10}}
expires: 2027-03-31
---

## Why one node is not enough

Prose.
"""
BLOCK = "evidence:\n  run: old-l1\n  size: Standard_X\n  hours: 1\n  wanted_hours: 2\n"
FLOW = "evidence: {run: old-l1, size: Standard_X, hours: 1, wanted_hours: 2}  # measured\n"
SPREAD = "evidence: {\n  run: old-l1, size: S,\n  hours: 1, wanted_hours: 2\n}\n"
ASKED = Asked(steps=50, timeout_seconds=60)
OUTCOME = Outcome(
    status="succeeded",
    run_name="vision-ddp-0-l1",
    workload="vision-ddp",
    world_size=1,
    training_backend="single-node",
    model=None,
    metrics={"step_seconds": 0.36, "planned_steps": 100_000.0, "gpu_memory_peak_gib": 40.125},
    curve=(),
    durations_seconds={},
    dataset_digest="",
    mlflow_run_id="",
    warnings=(),
    failure=None,
)


def admission(need="time", written=""):
    text = FRONT.format(need=need, evidence=written)
    typed, findings = read_admission(text.encode(), "admissions/vision-ddp.md")
    assert typed is not None, findings
    return typed


def test_hours_are_the_step_time_times_the_planned_steps():
    block = evidence(OUTCOME, admission(), ASKED, size="Standard_NC24ads_A100_v4")
    assert block == {
        "run": "vision-ddp-0-l1",
        "size": "Standard_NC24ads_A100_v4",
        "peak_gpu_memory_gib": 40.12,
        "hours": 10.0,
        "wanted_hours": 12,
    }


def test_memory_is_the_peak_scaled_to_the_full_model():
    asked = replace(ASKED, memory_scale=3.0)
    block = evidence(OUTCOME, admission("memory"), asked, size="S")
    assert block["required_gpu_memory_gib"] == 120.38


def test_memory_needs_a_gpu():
    on_cpu = replace(OUTCOME, metrics={"step_seconds": 1.0, "planned_steps": 1.0})
    with pytest.raises(Refusal, match="this machine has none"):
        evidence(on_cpu, admission("memory"), ASKED, size="S")


def test_without_figures_there_is_nothing_to_project():
    with pytest.raises(RunFailed, match="neither `step_seconds` nor `planned_steps`"):
        evidence(replace(OUTCOME, metrics={}), admission(), ASKED, size="S")


@pytest.mark.parametrize("written", ["", BLOCK, FLOW, SPREAD])
def test_the_block_takes_its_place_and_the_rest_stays_to_the_byte(written):
    before = admission(written=written)
    block = evidence(OUTCOME, before, ASKED, size="S")

    after = with_evidence(before, block)

    again, findings = read_admission(after.encode(), "admissions/vision-ddp.md")
    assert again is not None, findings
    assert again.evidence.hours == 10.0
    assert with_evidence(again, block) == after
    without = after.replace(after[after.index("evidence:") : after.index("envelope:")], "")
    assert without == FRONT.format(need="time", evidence="")
