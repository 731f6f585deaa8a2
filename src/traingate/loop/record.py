"""What a run comment remembers of its run, in its own marker.

The comment is the only store of the loop: it is written before the job is sent, so a run that
exists always has one, and whoever comes next reads in it how far the last one got.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from traingate.backends.base import TERMINAL_STATES
from traingate.github.comments import Comment, Thread
from traingate.github.markers import Marker
from traingate.plan import CostCeiling, Topology

#: States of our own, beside Azure ML's: the comment exists but the job may not yet; the job was
#: sent; another run took the admission's last place; the backend never heard of the job.
SUBMITTING = "Submitting"
SUBMITTED = "Submitted"
WITHDRAWN = "Withdrawn"
LOST = "Lost"
_CLOSED = TERMINAL_STATES | {WITHDRAWN, LOST}


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One run as the loop knows it. Times are seconds since the epoch.

    `admission` is the git blob id of the admission that allows it; `patience_seconds` is how
    long the backend may not know the run before it counts as lost.
    """

    run: str
    workload: str
    digest: str
    admission: str
    origin: str
    attempt: int
    commit: str
    pull_request: int
    approver: str
    backend: str
    target: str | None
    model: str
    topology: Topology
    cost: CostCeiling | None
    patience_seconds: float
    written_at: float
    state: str = SUBMITTING
    reason: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    url: str | None = None

    @property
    def is_open(self) -> bool:
        return self.state not in _CLOSED

    @property
    def may_be_sent(self) -> bool:
        """Whether the job may still have to be sent; sending it twice makes one job."""
        return self.state in {SUBMITTING, LOST}

    @property
    def is_overdue_at(self) -> float:
        return self.written_at + self.patience_seconds

    @property
    def marker(self) -> Marker:
        return Marker(kind="run", key=self.run, data=asdict(self))

    def ceiling_usd(self) -> float:
        return self.cost.usd if self.cost else 0.0

    def at(self, state: str, **changes: Any) -> "Record":
        """The same run in another state."""
        return replace(self, state=state, **changes)


def record_of(comment: Comment) -> Record | None:
    """The run a comment of ours remembers, or None when an older version wrote another shape."""
    data = dict(comment.marker.data or {})
    try:
        topology = Topology(**data.pop("topology"))
        cost = data.pop("cost")
        return Record(**data, topology=topology, cost=CostCeiling(**cost) if cost else None)
    except (TypeError, KeyError):
        return None


def records(thread: Thread) -> tuple[Record, ...]:
    """The runs of a thread, in the order in which they were announced."""
    found = (record_of(comment) for comment in thread.kind("run"))
    return tuple(record for record in found if record is not None)


def counted(threads: Iterable[Thread], workload: str, admission: str) -> tuple[Record, ...]:
    """The runs that use up an admission, first come first: comment ids grow with time."""
    comments = sorted(
        (comment for thread in threads for comment in thread.kind("run")), key=lambda one: one.id
    )
    found = (record_of(comment) for comment in comments)
    return tuple(
        record
        for record in found
        if record is not None
        and (record.workload, record.admission) == (workload, admission)
        and record.state != WITHDRAWN
    )
