"""A request, and the context its rules may look at."""

import posixpath
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from traingate.documents.admission import Admission
from traingate.documents.job import Job
from traingate.documents.platform import Platform, Target


@dataclass(frozen=True, kw_only=True, slots=True)
class Blob:
    """One file of the tree as git knows it: mode such as `100644` or `120000`, object id."""

    mode: str
    object_id: str

    @property
    def is_symlink(self) -> bool:
        return self.mode == "120000"

    @property
    def is_submodule(self) -> bool:
        return self.mode == "160000"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """The repository's files by path (POSIX, relative to its root)."""

    blobs: Mapping[str, Blob]
    _paths: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_paths", tuple(sorted(self.blobs)))

    def under(self, folder: str) -> dict[str, Blob]:
        """The files at `folder` or below it, by path; every file for the root, `.`.

        Bisects the sorted paths: a thousand requests ask this of one tree.
        """
        folder = folder.rstrip("/")
        if folder in {"", "."}:
            return dict(self.blobs)
        found = {folder: self.blobs[folder]} if folder in self.blobs else {}
        prefix = f"{folder}/"
        for index in range(bisect_left(self._paths, prefix), len(self._paths)):
            path = self._paths[index]
            if not path.startswith(prefix):
                break
            found[path] = self.blobs[path]
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What a rule may know beside the request itself.

    `admissions` holds every admission of the repository that could be read, this one included,
    their documents without text and places; `terraform` maps the root configuration's files to
    their text; `runs_used` counts the runs a workload has had, where that could be asked.
    """

    repository: str
    today: date
    platform: Platform
    tree: Tree
    admissions: tuple[Admission, ...] = ()
    terraform: Mapping[str, str]
    runs_used: Mapping[str, int] = field(default_factory=dict)
    _makers: Mapping[str, tuple[Admission, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        makers: dict[str, tuple[Admission, ...]] = {}
        for one in self.admissions:
            if not one.model.existing:
                name = one.model.name.casefold()
                makers[name] = (*makers.get(name, ()), one)
        object.__setattr__(self, "_makers", makers)

    def makers(self, model: str) -> tuple[Admission, ...]:
        """The admissions that say they make the registered model of that name, in any case."""
        return self._makers.get(model.casefold(), ())


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """An admission and a job under one workload name; either may be missing or unreadable.

    `sources` maps the request's own scripts and settings, by repository path, to their text.
    """

    workload: str
    job: Job | None
    admission: Admission | None
    context: Context
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The job folder as text: what the tree's paths begin with."""
        return f"jobs/{self.workload}"

    @property
    def job_file(self) -> str:
        return f"jobs/{self.workload}/job.yml"

    @property
    def admission_file(self) -> str:
        return f"admissions/{self.workload}.md"

    @property
    def target(self) -> Target | None:
        """The target the job names, None where the platform does not offer it.

        A job without `compute` runs serverless, under the target of that name.
        """
        if self.job is None:
            return None
        return self.context.platform.targets.get(self.job.compute or "serverless")

    def path(self, written: str) -> str | None:
        """A path of the job file as one of the repository; None when it leaves the repository.

        It may still leave the request's own folder; see `owns`.
        """
        if written.startswith("/") or "\\" in written:
            return None
        place = posixpath.normpath(posixpath.join(self.folder, written))
        return None if place == ".." or place.startswith("../") else place

    def owns(self, place: str) -> bool:
        """Whether a repository path lies in the request's own folder, or is that folder."""
        return place == self.folder or place.startswith(f"{self.folder}/")
