"""The lines about Azure, and what becomes of a look that is not allowed."""

from collections.abc import Iterator

from traingate.doctor.arm import ArmProblem
from traingate.doctor.diagnosis import Area, Diagnosis, Probe
from traingate.doctor.tokens import NotAsked

AREA = Area(name="azure")


def looked_up(subject: str, probe: Probe, *, by_hand: str) -> Iterator[Diagnosis]:
    """What `probe` finds; where it may not look, a skipped line with the reason.

    Args:
        subject: the line's name.
        probe: raises `ArmProblem` or `NotAsked` where it may not look.
        by_hand: the command with which somebody who may looks instead.
    """
    try:
        yield from probe()
    except NotAsked as error:
        yield AREA.skipped(subject, error.problem, error.todo)
    except ArmProblem as error:
        if not error.is_forbidden:
            raise
        told = f"You may not read it (HTTP {error.status}); somebody with Reader there may."
        yield AREA.skipped(subject, told, by_hand)
