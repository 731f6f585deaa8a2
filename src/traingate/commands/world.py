"""What every command starts from: the repository, the day, and the backend of its platform."""

import os
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from traingate import pipeline
from traingate.documents import git
from traingate.documents.platform import Platform
from traingate.documents.reading import Reading, workloads
from traingate.documents.request import Request
from traingate.errors import TraingateError, UsageProblem
from traingate.findings import Finding, Severity, has_errors

if TYPE_CHECKING:
    from traingate.backends.azureml.backend import AzureMLBackend
    from traingate.backends.azureml.credential import Role
    from traingate.backends.base import Backend
    from traingate.backends.local import LocalBackend, Stores


def repository() -> Path:
    """The top of the work tree that the command was called in."""
    return git.root(Path.cwd())


def today() -> date:
    """The day a request is judged on; `TRAINGATE_TODAY` fixes it in tests."""
    fixed = os.environ.get("TRAINGATE_TODAY")
    return date.fromisoformat(fixed) if fixed else datetime.now(tz=UTC).date()


def read(names: tuple[str, ...]) -> Reading:
    """The requests of these workloads, judged today."""
    return pipeline.read(repository(), names, today())


#: What an admission lacks while it is being written; a trial on this machine may go ahead.
UNFINISHED = frozenset({"TG401", "TG402", "TG403", "TG405", "TG406"})


def clean_request(workload: str, *, but_for: frozenset[str] = frozenset()) -> Request:
    """The one request of `workload`, without errors but for those of the rules named.

    Raises:
        UsageProblem: there is no such request.
        Refused: it has errors, which are printed by the command that called.
    """
    top = repository()
    if not any((top / path).exists() for path in _files(workload)):
        raise UsageProblem(f"There is no request `{workload}` here.", todo=_instead(top, workload))
    reading = read((workload,))
    findings = tuple(one for one in pipeline.check(reading) if one.rule not in but_for)
    if has_errors(findings):
        raise Refused(findings)
    return reading.requests[0]


def _instead(top: Path, workload: str) -> str:
    """What to do about a name that no request has."""
    every = workloads(top)
    near = get_close_matches(workload, every, n=1)
    if near:
        return f"Did you mean `{near[0]}`?"
    others = f"Name one of: {', '.join(every)}; or write" if every else "Write"
    return f"{others} a new one with `traingate new {workload}`."


class Refused(TraingateError):
    """A request with errors was asked to go on; `findings` are those of `traingate check`."""

    exit_code = 1

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        told = "\n".join(str(one) for one in findings if one.severity is Severity.ERROR)
        super().__init__(f"The request has errors:\n{told}\n", todo="Mend them, then repeat.")
        self.findings = findings


def backend(platform: Platform, role: "Role" = "submitter") -> "Backend":
    """The backend that platform.yml names, imported only now."""
    if platform.backend == "azureml":
        return azureml_backend(platform, role)
    return local_backend(platform)


def azureml_backend(platform: Platform, role: "Role" = "submitter") -> "AzureMLBackend":
    """The workspace that platform.yml names.

    Raises:
        TraingateError: the `azure` extra is not installed, or there is no identity to use.
    """
    try:
        from traingate.backends.azureml.backend import connect  # noqa: PLC0415 - only when used
    except ImportError as error:
        raise TraingateError(
            f"The Azure ML backend needs a package that is not here ({error.name}).",
            todo="Install it: pip install 'traingate[azure]'.",
        ) from error
    return connect(platform, repository(), os.environ, role=role)


def local_backend(platform: Platform, runs: Path | None = None) -> "LocalBackend":
    """This machine, with the platform's local stores in place of the job's.

    `runs` is where its runs live when they are not those of `traingate submit`.
    """
    from traingate.backends.local import LocalBackend  # noqa: PLC0415 - not for `check`

    here = LocalBackend(repository=repository(), stores=local_stores(platform), out=sys.stdout)
    return here if runs is None else replace(here, runs=runs)


def local_stores(platform: Platform) -> "Stores":
    """The platform's local stores, wherever in the repository the command was called."""
    from traingate.backends.local import Stores  # noqa: PLC0415 - not for `check`

    top = repository()
    return Stores(
        tracking_uri=_store(top, platform.tracking_uri),
        results_url=_store(top, platform.results_url),
    )


def _store(top: Path, location: str) -> str:
    """A store's location, with an SQLite file named from the repository's top."""
    head, slashes, path = location.partition(":///")
    if head != "sqlite" or not slashes or path.startswith("/"):
        return location
    return f"{head}{slashes}{top / path}"


def _files(workload: str) -> tuple[str, str]:
    return f"admissions/{workload}.md", f"jobs/{workload}/job.yml"
