"""What the commands of the pull-request loop start from: GitHub's environment, read once."""

import os
import secrets
from collections.abc import Iterable
from contextlib import chdir
from pathlib import Path

import click

from traingate.backends.base import Backend
from traingate.commands import world as local
from traingate.documents import git
from traingate.documents.platform import Platform
from traingate.errors import UsageProblem
from traingate.github.api import Endpoint, GitHub
from traingate.github.clock import SystemClock
from traingate.github.events import Event, read_event
from traingate.loop.history import History
from traingate.loop.world import World

_IN_WORKFLOW = "Run this command in the workflow that belongs to it."


def variable(name: str, *, todo: str = _IN_WORKFLOW) -> str:
    """A variable the runner or the workflow sets.

    Raises:
        UsageProblem: it is not set.
    """
    value = os.environ.get(name, "")
    if not value:
        raise UsageProblem(f"{name} is not set.", todo=todo)
    return value


def event() -> Event:
    """The event that started the workflow."""
    return read_event(variable("GITHUB_EVENT_NAME"), Path(variable("GITHUB_EVENT_PATH")))


def github_world(repository: Path, *, branch: str, tip: str) -> World:
    """The loop's world for the clone at `repository`."""
    teams_token = os.environ.get("TRAINGATE_TEAMS_TOKEN", "")
    server, name = variable("GITHUB_SERVER_URL"), variable("GITHUB_REPOSITORY")
    return World(
        github=GitHub(_endpoint(variable("GITHUB_TOKEN"))),
        teams=GitHub(_endpoint(teams_token)) if teams_token else None,
        history=History(git.root(repository)),
        branch=branch,
        tip=tip,
        today=local.today(),
        clock=SystemClock(),
        run_url=f"{server}/{name}/actions/runs/{variable('GITHUB_RUN_ID')}",
        open_backend=open_backend,
    )


def _endpoint(token: str) -> Endpoint:
    return Endpoint(
        api_url=variable("GITHUB_API_URL"),
        graphql_url=variable("GITHUB_GRAPHQL_URL"),
        token=token,
        repository=variable("GITHUB_REPOSITORY"),
    )


def open_backend(platform: Platform, tree: Path) -> Backend:
    """The backend a platform names, for requests in the work tree at `tree`."""
    with chdir(tree):
        return local.backend(platform)


def reading_backend(platform: Platform) -> Backend:
    """The same backend as the identity that can only read."""
    return local.backend(platform, "reader")


def summary(texts: Iterable[str]) -> None:
    """Add to the job summary, if there is one."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in texts)


def output(name: str, value: str) -> None:
    """Set an output of the step; the delimiter is random, so no value can end it."""
    path = os.environ.get("GITHUB_OUTPUT")
    if path:
        fence = secrets.token_hex(16)
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{name}<<{fence}\n{value}\n{fence}\n")


def told(lines: Iterable[str]) -> None:
    """Print lines whose text was made harmless before."""
    for line in lines:
        click.echo(line)
