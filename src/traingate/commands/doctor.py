"""`traingate doctor`."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from traingate.commands import world
from traingate.doctor import azure as cloud
from traingate.doctor import evidence as measured
from traingate.doctor import github as hub
from traingate.doctor import repository, stores, web
from traingate.doctor.diagnosis import Diagnosis, State, examined
from traingate.doctor.looking import AREA
from traingate.documents import git
from traingate.documents.reading import platform_of, workloads
from traingate.documents.sources import evidence_file
from traingate.errors import TraingateError
from traingate.github.api import Endpoint, GitHub
from traingate.report import diagnoses


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="For programs; the shape is versioned.")
@click.option("--github", "only_github", is_flag=True, help="Look at GitHub alone.")
@click.option(
    "--evidence", metavar="WORKLOAD", help="Compare its evidence with the tracking server."
)
@click.option("--branch", default="main", show_default=True, help="The branch that is guarded.")
def command(*, as_json: bool, only_github: bool, evidence: str | None, branch: str) -> int:
    """Look at the repository and the live world, and say what to mend and how."""
    top = world.repository()
    if evidence is not None:
        found = tuple(_evidence(top, evidence))
    elif only_github:
        found = tuple(_github(top, branch))
    else:
        github = tuple(_github(top, branch))
        found = (*_repository(top), *_stores(top), *github, *_azure(top, github))
    if as_json:
        click.echo(diagnoses.as_json(found))
    else:
        for line in diagnoses.lines(found):
            click.echo(line)
    return 1 if any(one.state is State.WRONG for one in found) else 0


def _repository(top: Path) -> Iterator[Diagnosis]:
    probes = {
        "platform.yml": lambda: repository.policy(platform_of(top)),
        "CODEOWNERS": lambda: repository.owners(top),
        "workflows": lambda: repository.workflows(top),
        "name": lambda: repository.name(top),
        "requests": lambda: repository.requests(top, world.today()),
    }
    for subject, probe in probes.items():
        yield from examined(repository.AREA, subject, probe)


def _stores(top: Path) -> Iterator[Diagnosis]:
    try:
        platform = platform_of(top)
    except TraingateError:  # The repository's lines say so already.
        return
    here = world.local_stores(platform)
    yield from examined(stores.AREA, "tracking", lambda: stores.tracking(here.tracking_uri))
    yield from examined(stores.AREA, "results", lambda: stores.results(here.results_url))


def _evidence(top: Path, workload: str) -> Iterator[Diagnosis]:
    path = top / evidence_file(workload)
    text = path.read_text(encoding="utf-8") if path.is_file() else None
    here = world.local_stores(platform_of(top))
    yield from examined(
        measured.AREA, workload, lambda: measured.compared(workload, text, here.tracking_uri)
    )


def _azure(top: Path, github: Sequence[Diagnosis]) -> Iterator[Diagnosis]:
    try:
        platform = platform_of(top)
    except TraingateError:  # The repository's lines say so already.
        return
    azure = platform.azure
    if platform.backend != "azureml" or azure is None:
        yield AREA.skipped("everything", f"The platform's backend is {platform.backend}.")
        return
    try:
        live = world.azureml_backend(platform, "reader")
    except TraingateError as error:
        yield AREA.skipped("everything", str(error))
        return
    requests = world.read(workloads(top)).requests
    jobs = {request.workload: request.job for request in requests if request.job}
    with web.client() as client:
        yield from cloud.everything(live, platform, jobs, _subjects(top, github), client)


def _subjects(top: Path, seen: Sequence[Diagnosis]) -> hub.Subjects | str:
    """What GitHub signs for this repository, or why that is not known.

    `seen` are GitHub's lines: what could not be asked a moment ago is not waited for again.
    """
    for one in seen:
        if one.subject == "subject" and one.state is not State.WELL:
            return f"The subjects are not known: {one.told}"
    endpoint = _endpoint(top)
    if isinstance(endpoint, str):
        return f"GitHub was not asked: {endpoint}"
    try:
        with GitHub(endpoint) as github:
            return hub.subjects(github) or "GitHub signs a customised subject."
    except TraingateError as error:
        return f"GitHub did not say which subjects it signs: {error.problem}"


def _github(top: Path, branch: str) -> Iterator[Diagnosis]:
    endpoint = _endpoint(top)
    if isinstance(endpoint, str):
        yield hub.AREA.skipped("everything", endpoint)
        return
    with GitHub(endpoint) as github:
        probes = {
            "ruleset": lambda: hub.rules(github, branch),
            "CODEOWNERS": lambda: hub.owners(github, branch),
            "environments": lambda: hub.environments(github, branch),
            "labels": lambda: hub.known_labels(github),
            "workflow permissions": lambda: hub.token_permissions(github),
            "subject": lambda: hub.subject(github),
        }
        yield from hub.reached(probes)


def _endpoint(top: Path) -> Endpoint | str:
    """How to reach the repository on GitHub, or why nobody can."""
    token, name = _token(), git.repository_name(top)
    if name.startswith("local/"):
        return "The repository has no GitHub remote."
    if token is None:
        return "No token: `gh auth login`, or set GITHUB_TOKEN."
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    return Endpoint(
        api_url=api,
        graphql_url=os.environ.get("GITHUB_GRAPHQL_URL", f"{api}/graphql"),
        token=token,
        repository=name,
    )


def _token() -> str | None:
    """The token of the environment, or of a signed-in `gh`."""
    if token := os.environ.get("GITHUB_TOKEN"):
        return token
    if shutil.which("gh") is None:
        return None
    done = subprocess.run(["gh", "auth", "token"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None
