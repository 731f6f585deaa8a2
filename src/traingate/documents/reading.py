"""Step one: files in, requests and what could not be understood out."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TypeVar

from traingate.documents import git
from traingate.documents.admission import Admission, admission
from traingate.documents.front_matter import split
from traingate.documents.job import Job, job
from traingate.documents.located import Document, parse
from traingate.documents.platform import Platform, platform
from traingate.documents.request import Context, Request
from traingate.documents.schema import violations
from traingate.documents.sources import read_sources
from traingate.errors import TraingateError
from traingate.findings import Finding, Location, Severity

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


def decode(data: bytes, file: str) -> Read[str]:
    """The text of a UTF-8 file, with or without byte order mark."""
    try:
        return data.decode("utf-8-sig"), ()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return None, (
            Finding(
                rule="TG001",
                name="unreadable-file",
                severity=Severity.ERROR,
                location=Location(file=file, line=line),
                message="This is not UTF-8 text.",
                fix="Save the file as UTF-8.",
            ),
        )


def read_requests(repository: Path, workloads: tuple[str, ...], today: date) -> Reading:
    """Read the requests of `workloads` in the work tree at `repository`.

    Raises:
        TraingateError: there is no readable platform.yml, without which nothing can be judged.
    """
    context = _context(repository, workloads, today)
    readings = [_request(repository, workload, context) for workload in workloads]
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
    path = repository / "platform.yml"
    if not path.is_file():
        raise TraingateError(
            f"There is no platform.yml in {repository}.",
            todo="Run the command in a traingate repository, or copy platform.yml from one.",
        )
    policy, findings = read_platform(path.read_bytes())
    if policy is None:
        raise TraingateError(
            "platform.yml cannot be understood: " + "; ".join(map(str, findings)) + ".",
            todo="Mend it first: every request is judged by it.",
        )
    return policy


def _context(repository: Path, workloads: tuple[str, ...], today: date) -> Context:
    tree = git.work_tree(repository, "jobs", "admissions")
    files = sorted((repository / "admissions").glob("*.md"))
    read = [read_admission(file.read_bytes(), f"admissions/{file.name}")[0] for file in files]
    return Context(
        repository=git.repository_name(repository),
        today=today,
        platform=platform_of(repository),
        tree=tree,
        admissions=tuple(one for one in read if one is not None),
        terraform={
            f"infra/{file.name}": file.read_text(encoding="utf-8", errors="replace")
            for pattern in ("*.tf", "*.tf.json")
            for file in sorted((repository / "infra").glob(pattern))
        },
        sources=read_sources(repository, tree, workloads),
    )


def _request(
    repository: Path, workload: str, context: Context
) -> tuple[Request, tuple[Finding, ...]]:
    request = Request(workload=workload, job=None, admission=None, context=context)
    job_read = _file(repository / request.job_file, request.job_file, read_job)
    admission_read = _file(
        repository / request.admission_file, request.admission_file, read_admission
    )
    return (
        Request(workload=workload, job=job_read[0], admission=admission_read[0], context=context),
        job_read[1] + admission_read[1],
    )


def _file(path: Path, file: str, read: Callable[[bytes, str], Read[T]]) -> Read[T]:
    if path.is_file():
        return read(path.read_bytes(), file)
    missing = Finding(
        rule="TG003",
        name="missing-file",
        severity=Severity.ERROR,
        location=Location(file=file),
        message="A request is two files, and this one is missing.",
        fix=f"Write {file}.",
    )
    return None, (missing,)


def _typed(
    document: Document | None,
    findings: tuple[Finding, ...],
    schema: str,
    build: Callable[[Document], T],
) -> Read[T]:
    if document is None:
        return None, findings
    findings += violations(document, schema)
    return (None if findings else build(document)), findings
