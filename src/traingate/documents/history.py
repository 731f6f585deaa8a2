"""A request as a commit has it: what a change is compared with."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TypeVar

from traingate.documents import git
from traingate.documents.reading import Read, read_admission, read_job, read_platform
from traingate.documents.request import Context, Request

T = TypeVar("T")


def read_request_at(repository: Path, revision: str, workload: str, today: date) -> Request | None:
    """The request of `workload` at `revision`, or None where there is no understandable one.

    Only what a plan needs is read: neither the scripts nor the other admissions are.

    Raises:
        TraingateError: git does not know the revision.
    """

    def typed(path: str, read: Callable[[bytes, str], Read[T]]) -> T | None:
        data = git.file_at(repository, revision, path)
        return None if data is None else read(data, path)[0]

    tree = git.tree_at(repository, revision, f"jobs/{workload}", f"admissions/{workload}.md")
    policy = typed("platform.yml", read_platform)
    job = typed(f"jobs/{workload}/job.yml", read_job)
    admission = typed(f"admissions/{workload}.md", read_admission)
    if policy is None or job is None or admission is None:
        return None
    context = Context(
        repository=git.repository_name(repository),
        today=today,
        platform=policy,
        tree=tree,
        admissions=(admission,),
        terraform={},
    )
    return Request(workload=workload, job=job, admission=admission, context=context)
