"""The admission: markdown whose front matter says what was allowed, and for how long."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from traingate.documents.located import Document


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """The registered model's name; `existing` when another workload made it first."""

    name: str
    existing: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """The single-process measurement. Memory in GiB a GPU, durations in hours."""

    run: str
    size: str
    peak_gpu_memory_gib: float | None = None
    required_gpu_memory_gib: float | None = None
    hours: float | None = None
    wanted_hours: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Envelope:
    """The most that is admitted: nodes and GPUs of one run, hours a run, runs, dollars in all."""

    targets: tuple[str, ...]
    nodes: int
    gpus: int
    hours: float
    runs: int
    cost_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiver:
    """One rule set aside for one target. The reason and the expiry are the rules' to demand."""

    rule: str
    target: str | None = None
    reason: str | None = None
    expires: date | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A heading of the prose: its level (1 to 6), its line, whether text follows in its section."""

    heading: str
    line: int
    level: int = 2
    has_text: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Admission:
    """One admission. `need` is memory, time or demonstration; `expires` is the last valid day."""

    document: Document
    workload: str
    owner: str
    model: Model
    need: str
    evidence: Evidence | None
    envelope: Envelope
    expires: date | None
    waivers: tuple[Waiver, ...]
    sections: tuple[Section, ...]

    @property
    def file(self) -> str:
        return self.document.file


def admission(document: Document, sections: tuple[Section, ...]) -> Admission:
    """The typed admission of a document that `schemas/admission.schema.json` accepts."""
    raw: dict[str, Any] = document.value
    evidence = raw.get("evidence")
    return Admission(
        document=document,
        workload=raw["workload"],
        owner=raw["owner"],
        model=Model(**(raw.get("model") or {"name": raw["workload"]})),
        need=raw["need"],
        evidence=Evidence(**evidence) if evidence else None,
        envelope=Envelope(**raw["envelope"] | {"targets": tuple(raw["envelope"]["targets"])}),
        expires=_day(raw.get("expires")),
        waivers=tuple(
            Waiver(**waiver | {"expires": _day(waiver.get("expires"))})
            for waiver in raw.get("waivers") or ()
        ),
        sections=sections,
    )


def _day(written: date | str | None) -> date | None:
    """A day that was written with quotes or without; the schema has checked that it exists."""
    return date.fromisoformat(written) if isinstance(written, str) else written
