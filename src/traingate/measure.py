"""A measurement: one process, a few steps, and what they say about the whole training."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from traingate.documents.admission import Admission, Model
from traingate.documents.rehearsal import Rehearsal
from traingate.documents.request import Request
from traingate.errors import Refusal, RunFailed
from traingate.outcome import Outcome
from traingate.plan import Plan
from traingate.rehearsal.scaling import scale

_AFTER_VALUE = re.compile(r"[^\n]*(?:\n[ \t]*\}[^\n]*)?")

#: The version of `evidence.json`'s shape.
VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What is to be measured, and how it stands for the whole.

    `memory_scale` is how many times more GPU memory the model to be trained needs than the one
    that the job trains here: a model that fits no GPU is measured by a smaller one.
    """

    steps: int
    timeout_seconds: int
    memory_scale: float = 1.0


def one_process(plan: Plan, request: Request, asked: Asked) -> Plan:
    """`plan` with one process and a limit of steps, as work of its own.

    It registers under another name: a training that was cut short is no version of the model.

    Raises:
        Refusal: the job's inputs are not here.
    """
    alone = Rehearsal(
        nodes=1,
        processes_per_node=1,
        steps=asked.steps,
        timeout_seconds=asked.timeout_seconds,
        inputs={},
        environment_variables={},
    )
    small = scale(plan, request, alone, hold_at=None)
    digest = hashlib.sha256(f"{plan.digest} measured over {asked.steps}".encode()).hexdigest()
    return replace(
        small,
        payload=_payload(plan.payload, small, asked),
        model=Model(name=f"{plan.model.name}-measurement", existing=plan.model.existing),
        digest=digest,
    )


def evidence(
    outcome: Outcome, admission: Admission, asked: Asked, *, size: str
) -> dict[str, str | float]:
    """The evidence block that the outcome carries, in the order of the admission's form.

    Raises:
        RunFailed: the training left no figures to project from.
        Refusal: the need is memory, and no GPU was measured.
    """
    figures = outcome.metrics
    block: dict[str, str | float] = {"run": outcome.run_name, "size": size}
    peak = figures.get("gpu_memory_peak_gib")
    if peak is not None:
        block["peak_gpu_memory_gib"] = round(peak, 2)
    if admission.need == "memory":
        if peak is None:
            raise Refusal(
                "`need: memory` rests on the peak of a GPU, and this machine has none.",
                todo="Measure where a GPU is: `--backend azureml`, or a machine of that size.",
            )
        block["required_gpu_memory_gib"] = round(peak * asked.memory_scale, 2)
    else:
        block["hours"] = max(round(_hours(figures), 4), 0.0001)
        block["wanted_hours"] = admission.envelope.hours
    return block


def evidence_json(block: Mapping[str, Any], outcome_text: str) -> str:
    """`jobs/<workload>/evidence.json`: the block, and the outcome file it was computed from."""
    document = {"version": VERSION, "evidence": dict(block), "outcome": json.loads(outcome_text)}
    return json.dumps(document, indent=1) + "\n"


def with_evidence(admission: Admission, block: Mapping[str, Any]) -> str:
    """The admission's text with the block in place of its evidence, or before its envelope."""
    document = admission.document
    text, lines = document.text, [f"  {name}: {_written(it)}" for name, it in block.items()]
    written = "\n".join(["evidence:", *lines])
    if ("evidence",) in document.keys:
        start = document.keys["evidence",].start
        last = max(it.end for path, it in document.values.items() if path[:1] == ("evidence",))
        # The last value's line is the block's last, but for the brace of a flow mapping.
        tail = _AFTER_VALUE.match(text, last)
        return f"{text[:start]}{written}{text[tail.end() if tail else last :]}"
    start = document.keys["envelope",].start
    return f"{text[:start]}{written}\n{text[start:]}"


def _payload(payload: Mapping[str, Any], small: Plan, asked: Asked) -> dict[str, Any]:
    """The job file's own keys, changed as the plan's job was."""
    changed = dict(payload)
    changed["resources"] = {**(payload.get("resources") or {}), "instance_count": 1}
    changed["limits"] = {**(payload.get("limits") or {}), "timeout": asked.timeout_seconds}
    changed["environment_variables"] = dict(small.job.environment_variables)
    if payload.get("distribution"):
        changed["distribution"] = {**payload["distribution"], "process_count_per_instance": 1}
    return changed


def _hours(figures: Mapping[str, float]) -> float:
    """One process's time for the whole training; the global batch is the same, so the steps are."""
    seconds, steps = figures.get("step_seconds"), figures.get("planned_steps")
    if seconds is None or steps is None:
        raise RunFailed(
            "The training logged neither `step_seconds` nor `planned_steps`.",
            todo="Use `session.loop`, or log both with `session.log`.",
        )
    return seconds * steps / 3600


def _written(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else f"{value:g}"
