"""What `traingate rehearse` asks of a training: to end early, and to hold still for a kill."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from train_aml.files import write_atomically
from train_aml.problems import EnvironmentProblem, TrainingProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_STEPS_VARIABLE = "TRAINGATE_MAX_STEPS"
HOLD_VARIABLE = "TRAINGATE_HOLD_AT_STEP"
#: Written once all ranks hold; a start that finds it goes on.
HELD_PATH = Path("outputs") / "traingate" / "held.json"
HOLD_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """The steps (counted from 1) at which a rehearsal wants something; None where it does not.

    `hold_at` is held after a checkpoint one step before it, so that a resume does it again.
    """

    max_steps: int | None = None
    hold_at: int | None = None

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Bounds:
        """Read the bounds.

        Raises:
            EnvironmentProblem: a variable is no whole number from 1 up.
        """
        hold_at = None if HELD_PATH.exists() else _count(environ, HOLD_VARIABLE)
        return cls(max_steps=_count(environ, MAX_STEPS_VARIABLE), hold_at=hold_at)

    def is_at(self, steps: int) -> bool:
        """Whether the ranks must look up after so many steps."""
        return steps == self.max_steps or self.is_checkpoint(steps) or steps == self.hold_at

    def is_checkpoint(self, steps: int) -> bool:
        return self.hold_at is not None and steps == self.hold_at - 1

    def is_over(self, steps: int) -> bool:
        return self.max_steps is not None and steps >= self.max_steps

    def hold(self, *, is_zero: bool) -> None:
        """Say that the step is reached and wait for the kill.

        Raises:
            TrainingProblem: nobody came.
        """
        if is_zero:
            write_atomically(HELD_PATH, json.dumps({"step": self.hold_at}).encode())
        time.sleep(HOLD_SECONDS)
        raise TrainingProblem(
            f"held at step {self.hold_at} for {HOLD_SECONDS:.0f} s and nobody killed this process. "
            f"{HOLD_VARIABLE} is for `traingate rehearse`; unset it."
        )


def _count(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise EnvironmentProblem(f"{name}={text!r} is not a whole number from 1 up; unset it.")
    return int(text)
