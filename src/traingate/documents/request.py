"""A request, and the context its rules may look at."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath

from traingate.documents.admission import Admission
from traingate.documents.job import Job
from traingate.documents.platform import Platform


@dataclass(frozen=True, kw_only=True, slots=True)
class Blob:
    """One file of the tree as git knows it: mode such as `100644` or `120000`, object id."""

    mode: str
    object_id: str

    @property
    def is_symlink(self) -> bool:
        return self.mode == "120000"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """The repository's files by path (POSIX, relative to its root)."""

    blobs: Mapping[str, Blob]

    def under(self, folder: str) -> dict[str, Blob]:
        """The files at `folder` or below it, by path."""
        prefix = f"{folder.rstrip('/')}/"
        return {
            path: blob
            for path, blob in self.blobs.items()
            if path == folder or path.startswith(prefix)
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What a rule may know beside the request itself.

    `admissions` holds every admission of the repository that could be read, this one included;
    `terraform` maps the root configuration's files to their text; `sources` maps the request's
    own text files (scripts) to their text.
    """

    repository: str
    today: date
    platform: Platform
    tree: Tree
    admissions: tuple[Admission, ...] = ()
    terraform: Mapping[str, str]
    sources: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """An admission and a job under one workload name; either may be missing or unreadable."""

    workload: str
    job: Job | None
    admission: Admission | None
    context: Context

    @property
    def job_folder(self) -> PurePosixPath:
        return PurePosixPath("jobs", self.workload)

    @property
    def job_file(self) -> str:
        return f"jobs/{self.workload}/job.yml"

    @property
    def admission_file(self) -> str:
        return f"admissions/{self.workload}.md"
