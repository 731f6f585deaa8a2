"""TG410: the job stays inside what was admitted."""

from collections.abc import Iterator

from traingate.cost import cost_ceiling
from traingate.documents.admission import Admission
from traingate.documents.request import Request
from traingate.findings import Location, Severity
from traingate.rules.rule import Broken, rule
from traingate.rules.subject import Subject, subject


@rule("TG410", "outside-envelope", Severity.ERROR, binding=True)
def outside_envelope(request: Request) -> Iterator[Broken]:
    """The job asks for no more than the admission allows.

    What it does: compares target, nodes, GPUs, hours, runs and dollars with the envelope, one
    finding each with both numbers. A `max_instance_count` above `instance_count` is refused.
    Dollars are those of this run and the ones before it, each at the ceiling: nodes x (start-up
    + timeout + idle) x price.

    Why it is bad: the envelope is what was reviewed. More than that is another request.

    Example: `instance_count: 4` where the envelope says `nodes: 2`.

    Fix: a smaller job, or a wider envelope in the same pull request, reviewed.

    Source: this repository's form of an admission.
    """
    it, admission = subject(request), request.admission
    if it is None or admission is None:
        return
    yield from _place(it, admission)
    yield from _length(it, admission)
    yield from _money(it, admission, request)


def _place(it: Subject, admission: Admission) -> Iterator[Broken]:
    envelope, document = admission.envelope, it.job.document
    target = it.job.compute or "serverless"
    nodes = document.at("resources", "instance_count")
    # An unknown target is another rule's finding.
    if it.target is not None and target not in envelope.targets:
        yield Broken(
            at=document.at("compute"),
            message=f"Target {target} is not admitted; {', '.join(envelope.targets)} is.",
            fix="Use an admitted target, or admit this one.",
        )
    if it.nodes > envelope.nodes:
        yield _more(nodes, f"{it.nodes} nodes", f"{envelope.nodes}")
    gpus = it.topology.gpus_paid
    if gpus is not None and gpus > envelope.gpus:
        yield _more(nodes, f"{gpus} GPUs", f"{envelope.gpus}")

    most = it.job.max_instance_count or 0
    if most > it.nodes:
        yield Broken(
            at=document.at("resources", "max_instance_count"),
            message=f"The job may grow to {most} nodes, which nobody has priced or admitted.",
            fix=f"Delete it, or write `instance_count: {most}`.",
        )


def _length(it: Subject, admission: Admission) -> Iterator[Broken]:
    hours = (it.job.timeout_seconds or 0) / 3600
    if hours > admission.envelope.hours:
        yield _more(
            it.job.document.at("limits", "timeout"),
            f"{hours:g} hours",
            f"{admission.envelope.hours:g}",
        )


def _money(it: Subject, admission: Admission, request: Request) -> Iterator[Broken]:
    envelope = admission.envelope
    used = request.context.runs_used.get(request.workload, 0)
    if used >= envelope.runs:
        yield _more(
            admission.document.at("envelope", "runs"), f"Run {used + 1}", f"{envelope.runs}"
        )
    cost = cost_ceiling(it.job, it.topology, it.target, request.context.platform)
    if cost is None and it.job.instance_type and it.job.timeout_seconds:
        yield Broken(
            at=it.job.document.at("resources", "instance_type"),
            message=f"No price is known for {it.job.instance_type}, so its dollars cannot be held "
            f"to the ${envelope.cost_usd:,.2f} admitted.",
            fix="Have its price put into platform.yml (`prices_usd_per_hour`).",
        )
    dollars = cost.usd * (used + 1) if cost else 0
    if dollars > envelope.cost_usd:
        runs = f" ({used} runs before it at the same ceiling)" if used else ""
        yield _more(
            it.job.document.at("limits", "timeout"),
            f"A run of at most ${dollars:,.2f}{runs}",
            f"${envelope.cost_usd:,.2f}",
        )


def _more(at: Location, asked: str, admitted: str) -> Broken:
    return Broken(
        at=at,
        message=f"{asked}, but {admitted} admitted.",
        fix="Ask for less, or widen the envelope in this pull request.",
    )
