"""What can stop a training process, and the exit code each kind ends with."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a training process says why it ended; the advice on the pull request rests on it."""

    OK = 0
    CODE = 1
    DATA = 65
    PLATFORM = 69
    PREEMPTED = 75


class TrainingProblem(Exception):
    """A reason to stop that we can name; its message ends with what to do about it."""

    exit_code = ExitCode.CODE


class EnvironmentProblem(TrainingProblem):
    """The launcher's variables are missing, empty or contradict each other."""

    exit_code = ExitCode.PLATFORM


class StoreProblem(TrainingProblem):
    """The tracking server, the model registry or the results database refuses or is away."""

    exit_code = ExitCode.PLATFORM


class StoreRefusal(StoreProblem):
    """The tracking server has understood the request and will not grant it, however often asked."""


class ModelOwnedElsewhere(StoreProblem):
    """The registered model belongs to another workload, and the admission does not share it."""


class DataProblem(TrainingProblem):
    """The input data is not what this training reads."""

    exit_code = ExitCode.DATA


def exit_code_of(error: BaseException) -> int:
    """The exit code a process ends with when `error` leaves its training."""
    if isinstance(error, TrainingProblem):
        return int(error.exit_code)
    if isinstance(error, SystemExit) and isinstance(error.code, int) and error.code != 0:
        return error.code
    return int(ExitCode.CODE)
