"""TG405 and TG406: the evidence is what was measured, and nothing is left to write."""

import json
import math
from collections.abc import Iterator
from typing import Any

from traingate.documents.request import Request
from traingate.documents.sources import evidence_file
from traingate.findings import Location, Severity
from traingate.rules.rule import Broken, rule

_MARK = "TODO"
_FIELDS = (
    "run",
    "size",
    "peak_gpu_memory_gib",
    "required_gpu_memory_gib",
    "hours",
    "wanted_hours",
)


@rule("TG405", "evidence-not-measured", Severity.ERROR, binding=True)
def evidence_not_measured(request: Request) -> Iterator[Broken]:
    """The evidence is what `traingate measure` wrote.

    What it does: compares `evidence` with jobs/WORKLOAD/evidence.json, in which the measurement
    keeps its outcome. A number that differs is an error; without the file it is a warning, for
    what was measured elsewhere.

    Why it is bad: numbers that were typed are numbers that were hoped for.

    Example: `hours: 61.5` where the file says 16.2.

    Fix: `traingate measure WORKLOAD`.

    Source: this repository's purpose: an exception rests on a measurement.
    """
    admission = request.admission
    if admission is None or admission.evidence is None or admission.need == "demonstration":
        return
    file = evidence_file(request.workload)
    fix = f"Run `traingate measure {request.workload}`, which writes both."
    measured = _measured(request.sources.get(file))
    if measured is None:
        yield Broken(
            at=admission.document.at("evidence"),
            message=f"The evidence is typed by hand: no measurement lies in {file}.",
            fix=fix,
            severity=Severity.WARNING,
        )
        return
    for name in _FIELDS:
        written, kept = getattr(admission.evidence, name), measured.get(name)
        if not _same(written, kept):
            yield Broken(
                at=admission.document.at("evidence", name),
                message=f"`{name}` is {_shown(written)} here and {_shown(kept)} in {file}.",
                fix=fix,
            )


@rule("TG406", "left-to-write", Severity.ERROR)
def left_to_write(request: Request) -> Iterator[Broken]:
    """The admission is finished.

    What it does: finds the mark `TODO`, which `traingate new` leaves where only a person knows
    what to write.

    Why it is bad: a reviewer would have to ask for it.

    Example: `TODO: what the model is for`.

    Fix: write it, and delete the mark.

    Source: this repository's form of an admission.
    """
    admission = request.admission
    if admission is None:
        return
    for number, line in enumerate(admission.document.text.splitlines(), start=1):
        column = line.find(_MARK)
        if column >= 0:
            yield Broken(
                at=Location(file=admission.file, line=number, column=column + 1),
                message="This is still to be written.",
                fix=f"Write it in place of the line's `{_MARK}`.",
            )


def _measured(text: str | None) -> dict[str, Any] | None:
    """The block of evidence.json; an empty one when the file is not what `measure` writes."""
    if text is None:
        return None
    try:
        found = json.loads(text)["evidence"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _same(written: object, kept: object) -> bool:
    if isinstance(written, int | float) and isinstance(kept, int | float):
        return math.isclose(written, kept, rel_tol=1e-9)
    return written == kept


def _shown(value: object) -> str:
    return "missing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
