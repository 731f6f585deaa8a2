"""Step one: files in, requests and what could not be understood out."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
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
from traingate.documents.rebase import rebased
from traingate.documents.rehearsal import Rehearsal, rehearsal
from traingate.documents.request import Context, Request
from traingate.documents.schema import violations
from traingate.documents.sources import read_sources
from traingate.errors import TraingateError
from traingate.findings import Finding, Severity, has_errors
from traingate.fixes import apply, compatible

__all__ = [
    "Read",
    "Reading",
    "decode",
    "platform_of",
    "read_admission",
    "read_each",
    "read_job",
    "read_platform",
    "read_rehearsal",
    "read_requests",
    "workloads",
]

T = TypeVar("T")
Read = tuple[T | None, tuple[Finding, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The requests asked for, their context, and the findings of files not understood."""

    context: Context
    requests: tuple[Request, ...]
    findings: tuple[Finding, ...]


def read_job(data: bytes, file: str) -> Read[Job]:
    """The typed job, or the findings that say where `data` is none."""
    text, findings = decode(data, file)
    if text is None:
        return None, findings
    return _typed(text, "job", lambda it: _parsed(it, file, job))


def read_admission(data: bytes, file: str) -> Read[Admission]:
    """The typed admission, or the findings that say where `data` is none."""
    text, findings = decode(data, file)
    if text is None:
        return None, findings
    return _typed(text, "admission", lambda it: _split(it, file))


def read_platform(data: bytes, file: str = "platform.yml") -> Read[Platform]:
    """The typed policy, or the findings that say where `data` is none."""
    text, findings = decode(data, file)
    if text is None:
        return None, findings
    return _typed(text, "platform", lambda it: _parsed(it, file, platform))


def read_rehearsal(data: bytes, file: str) -> Read[Rehearsal]:
    """The typed rehearsal, or the findings that say where `data` is none."""
    text, findings = decode(data, file)
    if text is None:
        return None, findings
    return _typed(text, "rehearsal", lambda it: _parsed(it, file, rehearsal))


def read_requests(
    repository: Path,
    workloads: tuple[str, ...],
    today: date,
    *,
    instead: Mapping[str, bytes] | None = None,
    policy: Platform | None = None,
) -> Reading:
    """Read the requests of `workloads` in the work tree at `repository`, all at once.

    Args:
        repository: the top of the work tree.
        workloads: the slugs asked for.
        today: the day the requests are judged on.
        instead: by path, the bytes of files that are about to be written (`check --diff`).
        policy: judges the requests in place of the work tree's own, because a pull request must
            not bring the rules it is held against.

    Raises:
        TraingateError: there is no readable platform.yml, without which nothing can be judged.
    """
    each = tuple(read_each(repository, workloads, today, instead=instead, policy=policy))
    return Reading(
        context=each[0].context,
        requests=tuple(request for one in each for request in one.requests),
        findings=tuple(finding for one in each for finding in one.findings),
    )


def read_each(
    repository: Path,
    workloads: tuple[str, ...],
    today: date,
    *,
    instead: Mapping[str, bytes] | None = None,
    policy: Platform | None = None,
) -> Iterator[Reading]:
    """As `read_requests`, one request at a time: first the context alone, then each workload.

    Whoever keeps none of them needs the memory of one, however many there are. Every admission
    is read twice for it: once for what the others must know of it, once as a request's own.
    """
    files = Files(root=repository, instead=instead or {})
    context = _context(files, today, policy or _platform(files))
    yield Reading(context=context, requests=(), findings=())
    for workload in workloads:
        yield _request(files, workload, context)


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


def _context(files: Files, today: date, policy: Platform) -> Context:
    return Context(
        repository=git.repository_name(files.root),
        today=today,
        platform=policy,
        tree=git.work_tree(files.root, "jobs", "admissions"),
        admissions=tuple(_admissions(files)),
        terraform={
            file: (files.read(file)[0] or b"").decode(errors="replace")
            for ending in (".tf", ".tf.json")
            for file in files.below("infra", ending)
        },
    )


def _admissions(files: Files) -> Iterator[Admission]:
    """Every admission that can be read, without the places in its file."""
    for file in files.below("admissions", ".md"):
        one, _ = _file(files, file, read_admission)
        if one is not None:
            yield replace(one, document=one.document.bare())


def _request(files: Files, workload: str, context: Context) -> Reading:
    empty = Request(workload=workload, job=None, admission=None, context=context)
    job_found, of_job = _file(files, empty.job_file, read_job)
    admission_found, of_admission = _file(files, empty.admission_file, read_admission)
    request = replace(
        empty,
        job=job_found,
        admission=admission_found,
        sources=read_sources(files.root, context.tree, empty.folder),
    )
    found = of_job + of_admission + _of_rehearsal(files, f"{empty.folder}/rehearsal.yml")
    return Reading(context=context, requests=(request,), findings=found)


def _of_rehearsal(files: Files, file: str) -> tuple[Finding, ...]:
    """What is wrong with the rehearsal, which a request may do without."""
    if file not in files.instead and not (files.root / file).exists():
        return ()
    return _file(files, file, read_rehearsal)[1]


def _file(files: Files, file: str, read: Callable[[bytes, str], Read[T]]) -> Read[T]:
    data, findings = files.read(file)
    return (None, findings) if data is None else read(data, file)


Parsed = tuple[Document | None, Callable[[Document], T], tuple[Finding, ...]]


def _parsed(text: str, file: str, build: Callable[[Document], T]) -> Parsed[T]:
    document, findings = parse(text, file)
    return document, build, findings


def _split(text: str, file: str) -> Parsed[Admission]:
    document, sections, findings = split(text, file)
    return document, lambda it: admission(it, sections), findings


def _typed(text: str, schema: str, parse_as: Callable[[str], Parsed[T]]) -> Read[T]:
    """The object that `text` describes, and everything wrong with it.

    Where every error has a certain mend, the object is that of the mended text: so the rules
    can speak at once, and `--fix` need not be called twice.
    """
    document, build, findings = parse_as(text)
    if document is None:
        return None, findings
    findings += violations(document, schema)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if not errors:
        return build(document), findings
    if not all(finding.edits for finding in errors):
        return None, findings
    edits = compatible(edit for finding in errors for edit in finding.edits)
    document, build, left = parse_as(apply(text, edits))
    if document is None or left or has_errors(violations(document, schema)):
        return None, findings
    return build(rebased(document, text, edits)), findings
