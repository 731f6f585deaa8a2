"""rehearsal.yml: how a job is scaled down to one machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from traingate.documents.located import Document


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehearsal:
    """The scaled-down run. `inputs` are literals or paths, as the job's input of that name is."""

    nodes: int = 1
    processes_per_node: int = 2
    steps: int = 20
    timeout_seconds: int = 120
    inputs: Mapping[str, str]
    environment_variables: Mapping[str, str]


def rehearsal(document: Document) -> Rehearsal:
    """The typed rehearsal of a document that `schemas/rehearsal.schema.json` accepts."""
    raw: dict[str, Any] = document.value
    given = {name: raw[name] for name in Rehearsal.__dataclass_fields__ if name in raw}
    inputs = {name: str(value) for name, value in (raw.get("inputs") or {}).items()}
    variables = raw.get("environment_variables") or {}
    return Rehearsal(**given | {"inputs": inputs, "environment_variables": variables})


def default_rehearsal() -> Rehearsal:
    """What a workload without a rehearsal.yml is rehearsed with."""
    return Rehearsal(inputs={}, environment_variables={})
