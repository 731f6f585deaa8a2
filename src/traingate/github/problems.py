"""What GitHub may answer instead of what was asked, as errors that say what to do."""

from collections.abc import Sequence

from traingate.errors import TraingateError


class GitHubProblem(TraingateError):
    """GitHub refused or could not be reached. `status` is None when no answer came at all."""

    def __init__(self, problem: str, *, todo: str, status: int | None = None) -> None:
        super().__init__(problem, todo=todo)
        self.status = status


class NotThere(GitHubProblem):
    """What was asked for does not exist, or this token may not know of it (404, 410)."""


class Unreachable(GitHubProblem):
    """No answer came, however often it was asked for."""


def refused(method: str, path: str, status: int, message: str) -> GitHubProblem:
    """The error for an answer that no retry will change."""
    problem = f"GitHub answered {status} to {method} {path}: {message or 'no reason given'}."
    kind = NotThere if status in {404, 410} else GitHubProblem
    return kind(problem, todo=_TODO.get(status, _OTHERWISE), status=status)


def unreachable(method: str, path: str, reason: str) -> GitHubProblem:
    """The error when the retries are used up or must not be made."""
    return Unreachable(
        f"GitHub did not answer {method} {path}: {reason}.",
        todo="Run the workflow again; every step may be repeated.",
    )


def exhausted(seconds: float) -> GitHubProblem:
    """The error when GitHub wants us to wait longer than the job may."""
    return GitHubProblem(
        f"GitHub's rate limit asks for a pause of {seconds:.0f} seconds.",
        todo="Run the workflow again after that; every step may be repeated.",
        status=429,
    )


def graphql_refused(messages: Sequence[str]) -> GitHubProblem:
    """The error for a GraphQL answer in which something needed is missing."""
    return GitHubProblem(
        "GitHub's GraphQL answer is incomplete: " + "; ".join(messages) + ".",
        todo="Check the token's permissions in the workflow file, then run it again.",
    )


_OTHERWISE = "Run the workflow again; if it stays, look at https://www.githubstatus.com."
_TODO = {
    401: "Give the step GITHUB_TOKEN from `github.token`.",
    403: "Give the job the permission this request needs, in the workflow file.",
    404: "Check that it exists and that the job's `permissions` let the token read it.",
    410: "It was deleted; open it again or ask on another pull request.",
    422: "This is a mistake in traingate if the message above is not about your input; report it.",
}
