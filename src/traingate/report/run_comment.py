"""What stands on the pull request about a run, a refusal, and a run nobody knows."""

from collections.abc import Sequence
from datetime import UTC, datetime

from traingate.github.approvals import Reason
from traingate.github.body import Section, compose
from traingate.github.markers import Marker
from traingate.github.text import code, link, plain, prose
from traingate.loop.record import LOST, SUBMITTED, SUBMITTING, WITHDRAWN, Record
from traingate.report import words
from traingate.report.markdown import table

_SIGNS = {
    SUBMITTING: "📝",
    SUBMITTED: "📨",
    WITHDRAWN: "🚫",
    LOST: "❓",
    "Completed": "✅",
    "Failed": "❌",
    "Canceled": "⏹️",
}


def run_body(record: Record, *, now: float, pointer: str) -> str:
    """The run comment: written before the job is sent, edited when its state changes."""
    sign = _SIGNS.get(record.state, "⏳")
    head = f"### {sign} Run {code(record.run)} is {code(record.state)}"
    sections = [Section(head=head), Section(head=table(_facts(record, now)))]
    if record.reason:
        sections.insert(1, Section(head=prose(record.reason, 2_000)))
    sections.append(Section(head=_next(record)))
    return compose(str(record.marker), sections, pointer=pointer)


def refusal_marker(workload: str) -> Marker:
    return Marker(kind="refusal", key=workload)


def refusal_body(workload: str, reasons: Sequence[Reason], *, pointer: str) -> str:
    """Why a merge submitted nothing for a workload, and what to do about each reason."""
    head = f"### 🚫 Nothing was submitted for {code(workload)}"
    items = tuple(f"- {prose(one.problem, 1_000)} **{prose(one.todo, 500)}**" for one in reasons)
    tail = (
        "\nOnce that is done, an owner of the request can start it from the default branch: "
        f"*Actions*, *submit*, *Run workflow*, workload {code(workload)}."
    )
    section = Section(head=head + "\n", items=items, tail=tail)
    return compose(str(refusal_marker(workload)), [section], pointer=pointer)


def lost_marker(run: str) -> Marker:
    return Marker(kind="lost", key=run)


def lost_body(record: Record) -> str:
    """The backend has not heard of a run that was announced long ago."""
    hours = f"{record.patience_seconds / 3600:.0f} h"
    return (
        f"{lost_marker(record.run)}\n"
        f"### ❓ Nobody knows run {code(record.run)}\n\n"
        f"It was announced more than {hours} ago, and the backend has no such run: the workflow "
        "was cut off before it sent the job, or somebody deleted the job.\n\n"
        "**Re-run the workflow run that announced it** (*Re-run all jobs*): submitting is safe "
        "to repeat and takes up where it stopped.\n"
    )


def missed_marker() -> Marker:
    return Marker(kind="missed", key="merge")


def missed_body(workloads: Sequence[str]) -> str:
    """The merge changed requests, and no submit workflow ever looked at it."""
    names = ", ".join(map(code, workloads))
    return (
        f"{missed_marker()}\n"
        f"### 🚫 Nothing was submitted for {names}\n\n"
        "This merge changed a request, but the submit workflow did not run for it. GitHub starts "
        "no workflow for a merge made with `GITHUB_TOKEN` (an automatic merge by another "
        "workflow), nor when Actions were switched off or the workflow file was broken.\n\n"
        "**Start it from the default branch**: *Actions*, *submit*, *Run workflow*. Merge by "
        "hand, or with a GitHub App's token, and the next merge submits by itself.\n"
    )


def _facts(record: Record, now: float) -> list[tuple[str, str]]:
    rows = [
        ("Workload", f"{code(record.workload)}, attempt {record.attempt} of its admission"),
        ("Topology", f"{words.topology(record.topology)}, on {where(record)}"),
        ("Approved by", plain(record.approver)),
        ("Announced", f"{datetime.fromtimestamp(record.written_at, tz=UTC):%Y-%m-%d %H:%M} UTC"),
    ]
    if record.started_at is not None:
        seconds = (record.finished_at or now) - record.started_at
        rows.append(("Duration", words.duration(max(seconds, 0.0))))
    rows.append(("Cost", cost_so_far(record, now)))
    rows.append(("Digest", code(record.digest)))
    if record.url:
        rows.append(("Where", link(record.url, place(record))))
    return rows


def where(record: Record) -> str:
    """What a run runs on."""
    return f"target {code(record.target)}" if record.target else "this repository's own runner"


def place(record: Record) -> str:
    """Where a run lives, in words."""
    return "the workflow run" if record.backend == "local" else "Azure ML studio"


def cost_so_far(record: Record, now: float) -> str:
    """Dollars since the start, against the ceiling; an estimate by the plan's own price."""
    if record.backend == "local":
        return "none: trained on GitHub's own runner"
    if record.cost is None:
        return words.cost(None)
    if record.started_at is None:
        return words.cost(record.cost)
    hours = max((record.finished_at or now) - record.started_at, 0.0) / 3600
    usd = hours * record.topology.nodes * record.cost.usd_per_hour_and_node
    return f"about ${usd:,.2f} so far, ${record.cost.usd:,.2f} at most"


def _next(record: Record) -> str:
    if record.state == SUBMITTING:
        return "The job is about to be sent."
    if record.state == LOST:
        return "**Re-run the workflow run that announced it**: submitting is safe to repeat."
    if record.is_open:
        return "This comment changes when the run's state does; its result comes as a new one."
    return "The run is over."
