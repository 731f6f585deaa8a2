"""What one probe found."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from traingate.errors import TraingateError


class State(StrEnum):
    """`wrong` is missing, too weak or drifted; `skipped` was not looked at."""

    WELL = "well"
    WRONG = "wrong"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """One line of the report.

    `mend` is the command or the change that mends what is wrong, or that looks up what was skipped.
    """

    area: str
    subject: str
    state: State
    told: str
    mend: str | None = None


Probe = Callable[[], Iterator[Diagnosis]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Area:
    """A part of the world, by its name on the report."""

    name: str

    def well(self, subject: str, told: str) -> Diagnosis:
        return Diagnosis(area=self.name, subject=subject, state=State.WELL, told=told)

    def wrong(self, subject: str, told: str, mend: str) -> Diagnosis:
        return Diagnosis(area=self.name, subject=subject, state=State.WRONG, told=told, mend=mend)

    def skipped(self, subject: str, told: str, mend: str | None = None) -> Diagnosis:
        return Diagnosis(area=self.name, subject=subject, state=State.SKIPPED, told=told, mend=mend)


def examined(area: Area, subject: str, probe: Probe) -> Iterator[Diagnosis]:
    """What `probe` finds; a world that does not answer is one wrong line, not the end."""
    try:
        yield from probe()
    except TraingateError as error:
        yield area.wrong(subject, error.problem, error.todo)
