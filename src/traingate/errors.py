"""Every way the world can stop us, each with its exit code.

A mistake in the user's own file is a `Finding`, not an exception. What stands here is the
world refusing (network, credentials, a service) or a run that ended badly. Each message ends
with what to do; only the command line turns it into text and an exit code.
"""


class TraingateError(Exception):
    """The world stopped us; `str()` is the problem followed by what to do about it.

    Args:
        problem: what happened, one sentence with a full stop, or lines that end with a newline.
        todo: what the reader does next, one sentence with a full stop.
    """

    exit_code = 3

    def __init__(self, problem: str, *, todo: str) -> None:
        super().__init__(f"{problem}{todo}" if problem.endswith("\n") else f"{problem} {todo}")
        self.problem = problem
        self.todo = todo


class UsageProblem(TraingateError):
    """The command was asked for something that does not exist or contradicts itself."""

    exit_code = 2


class Refusal(TraingateError):
    """A reasoned no: not approved, outside the envelope, another digest under the name."""

    exit_code = 1


class RunFailed(TraingateError):
    """A run ended without a result, or with a failure in it."""

    exit_code = 4


class RunTimedOut(RunFailed):
    """A run was stopped at its `limits.timeout`."""

    exit_code = 5


class Interrupted(TraingateError):
    """A signal ended the command; the exit code is 128 + the signal's number."""

    def __init__(self, problem: str, *, todo: str, signal_number: int) -> None:
        super().__init__(problem, todo=todo)
        self.exit_code = 128 + signal_number
