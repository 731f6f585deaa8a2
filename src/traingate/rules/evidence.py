"""TG401 to TG404: the admission says why, and its numbers carry it."""

from collections.abc import Iterator

from traingate.catalog import size_named
from traingate.documents.admission import Admission, Section
from traingate.documents.request import Request
from traingate.findings import Location, Severity
from traingate.rules.rule import Broken, rule

HEADINGS = ("Why one node is not enough", "What was measured", "What was tried first")


@rule("TG401", "missing-section", Severity.ERROR)
def missing_section(request: Request) -> Iterator[Broken]:
    """The admission has its three sections, each with text.

    What it does: looks for the headings "Why one node is not enough", "What was measured" and
    "What was tried first", of any level, and for text under each (a subsection's counts).

    Why it is bad: the owner decides by this text. Without it the review is a guess.

    Example: `## What was measured` followed at once by the next heading.

    Fix: write the section.

    Source: this repository's form of an admission.
    """
    admission = request.admission
    if admission is None:
        return
    for heading in HEADINGS:
        found = [n for n, one in enumerate(admission.sections) if _same(one.heading, heading)]
        if not found:
            yield Broken(
                at=Location(file=admission.file),
                message=f"The section `{heading}` is missing.",
                fix=f"Add `## {heading}` with its text.",
            )
        elif not any(_has_text(admission.sections, n) for n in found):
            yield Broken(
                at=Location(file=admission.file, line=admission.sections[found[0]].line),
                message=f"The section `{heading}` is empty.",
                fix="Write why, with the numbers.",
            )


@rule("TG402", "no-evidence", Severity.ERROR, binding=True)
def no_evidence(request: Request) -> Iterator[Broken]:
    """The need is measured.

    What it does: asks for `evidence` with the numbers its need rests on: `peak_gpu_memory_gib`
    and `required_gpu_memory_gib` for memory, `hours` and `wanted_hours` for time. A
    demonstration needs none.

    Why it is bad: "it would be faster" is what everybody says of every training.

    Example: `need: memory` without `required_gpu_memory_gib`.

    Fix: run one process, measure, and write the numbers with the run's name.

    Source: this repository's purpose: an exception rests on a measurement.
    """
    admission = request.admission
    if admission is None or admission.need == "demonstration":
        return
    if admission.evidence is None:
        yield Broken(
            at=admission.document.at("need"),
            message=f"`need: {admission.need}` without evidence.",
            fix=f"Run `traingate measure {request.workload}`, which writes it.",
        )
        return
    for name in _NUMBERS.get(admission.need, ()):
        if getattr(admission.evidence, name) is None:
            yield Broken(
                at=admission.document.at("evidence"),
                message=f"`need: {admission.need}` rests on `{name}`, which is missing.",
                fix=f"Add the measured `{name}`.",
            )


@rule("TG403", "evidence-too-weak", Severity.ERROR, binding=True)
def evidence_too_weak(request: Request) -> Iterator[Broken]:
    """The numbers say that one node is not enough.

    What it does: for memory, compares `required_gpu_memory_gib` with what platform.yml says one
    node offers; for time, `hours` with `wanted_hours`; and for both, a measured peak with the
    memory of the GPU it was measured on.

    Why it is bad: the ordinary path would do, at a fraction of the price and without a review.

    Example: `need: memory`, 62 GiB required, 80 GiB offered.

    Fix: train it on the ordinary path; or measure what is really needed.

    Source: `single_node.gpu_memory_gib` in platform.yml.
    """
    admission = request.admission
    if admission is None or admission.evidence is None:
        return
    if admission.need == "memory":
        yield from _memory(admission, request.context.platform.single_node_gpu_memory_gib)
    elif admission.need == "time":
        yield from _time(admission)
    yield from _impossible(admission)


@rule("TG404", "demonstration-on-azure", Severity.ERROR, binding=True)
def demonstration_on_azure(request: Request) -> Iterator[Broken]:
    """A demonstration runs on the local backend.

    What it does: refuses `need: demonstration` where the platform's backend is azureml.

    Why it is bad: a demonstration needs no evidence and never expires. On Azure that would be a
    standing permission to spend.

    Example: `need: demonstration` with `backend: azureml`.

    Fix: `backend: local`, or a need that was measured.

    Source: this repository's form of an admission.
    """
    admission = request.admission
    azure = request.context.platform.backend == "azureml"
    if admission is not None and admission.need == "demonstration" and azure:
        yield Broken(
            at=admission.document.at("need"),
            message="A demonstration runs on the local backend only; this platform's is azureml.",
            fix="Write `need: memory` or `need: time` with its evidence.",
        )


_NUMBERS = {
    "memory": ("peak_gpu_memory_gib", "required_gpu_memory_gib"),
    "time": ("hours", "wanted_hours"),
}


def _same(written: str, heading: str) -> bool:
    return " ".join(written.split()).casefold() == heading.casefold()


def _has_text(sections: tuple[Section, ...], index: int) -> bool:
    """Whether text follows the heading before the next required one."""
    for section in sections[index:]:
        if section is not sections[index] and any(_same(section.heading, it) for it in HEADINGS):
            return False
        if section.has_text:
            return True
    return False


def _memory(admission: Admission, offered: float | None) -> Iterator[Broken]:
    evidence = admission.evidence
    required = evidence.required_gpu_memory_gib if evidence else None
    if required is not None and offered is not None and required <= offered:
        yield Broken(
            at=admission.document.at("evidence", "required_gpu_memory_gib"),
            message=f"{required:g} GiB fit one node, which offers {offered:g} GiB.",
            fix="Train it on the ordinary path.",
        )


def _time(admission: Admission) -> Iterator[Broken]:
    evidence = admission.evidence
    if evidence is None or evidence.hours is None or evidence.wanted_hours is None:
        return
    if evidence.hours <= evidence.wanted_hours:
        yield Broken(
            at=admission.document.at("evidence", "hours"),
            message=f"One GPU makes it in {evidence.hours:g} hours; {evidence.wanted_hours:g} are "
            "wanted.",
            fix="Train it on the ordinary path.",
        )


def _impossible(admission: Admission) -> Iterator[Broken]:
    evidence = admission.evidence
    if evidence is None or evidence.peak_gpu_memory_gib is None:
        return
    size = size_named(evidence.size)
    has = size.gpu_memory_gib if size else None
    if has is not None and evidence.peak_gpu_memory_gib > has:
        yield Broken(
            at=admission.document.at("evidence", "peak_gpu_memory_gib"),
            message=f"A peak of {evidence.peak_gpu_memory_gib:g} GiB cannot have been measured on "
            f"{evidence.size}: its GPU has {has:g} GiB.",
            fix="Correct the peak or the size.",
        )
