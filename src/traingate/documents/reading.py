"""Step one: files in, requests and what could not be understood out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TypeVar

from traingate.documents import git
from traingate.documents.admission import Admission, admission
from traingate.documents.files import Files, decode
from traingate.documents.front_matter import split
from traingate.documents.job import Job, job
from traingate.documents.located import Document, parse
from traingate.documents.platform import Platform, platform
from traingate.documents.request import Context, Request
from traingate.documents.schema import violations
from traingate.documents.sources import read_sources
from traingate.errors import TraingateError
from traingate.findings import Finding, has_errors

__all__ = [
    "Read",
    "Reading",
    "decode",
    "platform_of",
    "read_admission",
    "read_job",
    "read_platform",
    "read_requests",
    "workloads",
]

T = TypeVar("T")
Read = tuple[T | None, tuple[Finding, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The requests asked for, and the findings of files that could not be understood."""

    requests: tuple[Request, ...]
    findings: tuple[Finding, ...]


def read_job(data: bytes, file: str) -> Read[Job]:
    """The typed job, or the findings that say where `data` is none."""
    text, findings = decode(data, file)
    if text is None:
        return None, findings
    document, findings = parse(text, file)
    return _typed(document, findings, "job", job)


def read_admission(data: bytes, file: str) -> Read[Admission]:
    """The typed admission, or the findings that say where `data` is none."""
    text, findings = decode(data, file)
    if text is None:
        return None, findings
    document, sections, findings = split(text, file)
    return _typed(document, findings, "admission", lambda it: admission(it, sections))


def read_platform(data: bytes, file: str = "platform.yml") -> Read[Platform]:
    """The typed policy, or the findings that say where `data` is none."""
    text, findings = decode(data, file)
    if text is None:
        return None, findings
    document, findings = parse(text, file)
    return _typed(document, findings, "platform", platform)


def read_requests(
    repository: Path,
    workloads: tuple[str, ...],
    today: date,
    instead: Mapping[str, bytes] | None = None,
) -> Reading:
    """Read the requests of `workloads` in the work tree at `repository`.

    Args:
        repository: the top of the work tree.
        workloads: the slugs asked for.
        today: the day the requests are judged on.
        instead: by path, the bytes of files that are about to be written (`check --diff`).

    Raises:
        TraingateError: there is no readable platform.yml, without which nothing can be judged.
    """
    files = Files(root=repository, instead=instead or {})
    names = files.below("admissions", ".md")
    admissions = {file: _file(files, file, read_admission) for file in names}
    context = _context(files, workloads, today, admissions)
    readings = [_request(files, workload, context, admissions) for workload in workloads]
    return Reading(
        requests=tuple(request for request, _ in readings),
        findings=tuple(finding for _, findings in readings for finding in findings),
    )


def workloads(repository: Path) -> tuple[str, ...]:
    """Every workload that has an admission or a job folder, sorted."""
    admitted = {path.stem for path in (repository / "admissions").glob("*.md")}
    jobs = {path.parent.name for path in (repository / "jobs").glob("*/job.yml")}
    return tuple(sorted((admitted | jobs) - {"README"}))


def platform_of(repository: Path) -> Platform:
    """The policy of the repository.

    Raises:
        TraingateError: there is none, or it cannot be understood.
    """
    return _platform(Files(root=repository))


def _platform(files: Files) -> Platform:
    data, _ = files.read("platform.yml")
    if data is None:
        raise TraingateError(
            f"There is no platform.yml in {files.root}.",
            todo="Run the command in a traingate repository, or copy platform.yml from one.",
        )
    policy, findings = read_platform(data)
    if policy is None:
        raise TraingateError(
            "platform.yml cannot be understood:\n" + "\n".join(map(str, findings)) + "\n",
            todo="Mend it first: every request is judged by it.",
        )
    return policy


def _context(
    files: Files,
    workloads: tuple[str, ...],
    today: date,
    admissions: Mapping[str, Read[Admission]],
) -> Context:
    tree = git.work_tree(files.root, "jobs", "admissions")
    return Context(
        repository=git.repository_name(files.root),
        today=today,
        platform=_platform(files),
        tree=tree,
        admissions=tuple(one for one, _ in admissions.values() if one is not None),
        terraform={
            file: (files.read(file)[0] or b"").decode(errors="replace")
            for file in files.below("infra", ".tf")
        },
        sources=read_sources(files.root, tree, workloads),
    )


def _request(
    files: Files,
    workload: str,
    context: Context,
    admissions: Mapping[str, Read[Admission]],
) -> tuple[Request, tuple[Finding, ...]]:
    request = Request(workload=workload, job=None, admission=None, context=context)
    job_read = _file(files, request.job_file, read_job)
    admission_read = admissions.get(request.admission_file) or _file(
        files, request.admission_file, read_admission
    )
    return (
        Request(workload=workload, job=job_read[0], admission=admission_read[0], context=context),
        job_read[1] + admission_read[1],
    )


def _file(files: Files, file: str, read: Callable[[bytes, str], Read[T]]) -> Read[T]:
    data, findings = files.read(file)
    return (None, findings) if data is None else read(data, file)


def _typed(
    document: Document | None,
    findings: tuple[Finding, ...],
    schema: str,
    build: Callable[[Document], T],
) -> Read[T]:
    if document is None:
        return None, findings
    findings += violations(document, schema)
    return (None if has_errors(findings) else build(document)), findings
