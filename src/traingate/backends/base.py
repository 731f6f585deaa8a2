"""What every backend can do, in words both share: the run's name and Azure ML's states."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from traingate.plan import Plan

#: The only states after which nothing more happens. Any other state, one we have never heard
#: of included, keeps a run open (Azure ML calls NotResponding terminal and then goes on).
TERMINAL_STATES = frozenset({"Completed", "Failed", "Canceled"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """Where a run comes from; sent along with the job, never part of the digest.

    `origin` is `p<pull request>`, `r<workflow run id>` or `l<n>`; `attempt` counts the runs of
    a workload for people.
    """

    origin: str
    attempt: int = 1
    commit: str | None = None
    pull_request: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """A run that exists. `is_new` is False when it had been submitted before.

    `notes` are what the person who submits should know and nothing is refused for.
    """

    run_name: str
    digest: str
    is_new: bool
    url: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What a backend knows of a run now.

    `state` is Azure ML's word (Queued, Running, Completed, Failed, Canceled, ...); `reason`
    says why it failed; `outcome` is the text of its outcome file, untrusted, None without one.
    Times are seconds since the epoch.
    """

    run_name: str
    state: str
    reason: str | None = None
    outcome: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    url: str | None = None
    properties: Mapping[str, str]

    @property
    def is_over(self) -> bool:
        return self.state in TERMINAL_STATES


class Backend(Protocol):
    """One place where runs live. Every method may raise `TraingateError`."""

    def submit(self, plan: Plan, provenance: Provenance) -> Submission:
        """Make the run exist, exactly once under its name.

        Raises:
            Refusal: another digest lies under the name, or the world differs from the plan.
        """
        ...

    def observe(self, run_name: str) -> Observation:
        """The run's state and, once it is over, its outcome.

        Raises:
            UsageProblem: no run has that name.
        """
        ...

    def cancel(self, run_name: str) -> None:
        """Ask for the run's end; a run that is over stays as it ended."""
        ...

    def run_names(self, workload: str | None) -> tuple[str, ...]:
        """The runs it knows of one workload (or of all), oldest first."""
        ...
