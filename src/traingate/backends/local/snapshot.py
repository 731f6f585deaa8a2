"""The code and input files of a run, copied out of the work tree as the digest saw them."""

import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from traingate.backends.local.folder import RunFolder
from traingate.errors import Refusal
from traingate.plan import Plan


def take(repository: Path, plan: Plan, folder: RunFolder) -> None:
    """Copy the job's code into `code/` and each local input to `inputs/<name>`.

    Only files of the plan are copied: tracked, or untracked and not ignored, and never a
    symbolic link, because Azure ML would follow it out of the folder.

    Raises:
        Refusal: an input is something only Azure ML can provide, or names no file.
    """
    base = PurePosixPath(plan.job.file).parent
    if plan.job.code:
        _copy(repository, plan, base / plan.job.code, folder.code)
    for name, given in plan.job.inputs.items():
        if given.path is None:
            continue
        if not given.is_local:
            raise Refusal(
                f"Input `{name}` is {given.path}, which only Azure ML can provide.",
                todo="Run this job with `backend: azureml`, or rehearse it with a local path.",
            )
        _copy(repository, plan, base / given.path, folder.inputs / name)


def _copy(repository: Path, plan: Plan, source: PurePosixPath, into: Path) -> None:
    source = _normal(source)
    found = [path for path in plan.files if _is_under(path, source)]
    if not found:
        raise Refusal(
            f"{source} holds no file that git tracks or would track.",
            todo="Add the files, or mend the path in the job.",
        )
    _refuse_links(plan, found)
    for path in found:
        relative = PurePosixPath(path).relative_to(source)
        target = into / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(repository / path, target)


def _refuse_links(plan: Plan, paths: Iterable[str]) -> None:
    links = [path for path in paths if plan.files[path].is_symlink]
    if links:
        raise Refusal(
            f"{links[0]} is a symbolic link.",
            todo="Put the file itself into the job's folder: a link would leave it.",
        )


def _is_under(path: str, folder: PurePosixPath) -> bool:
    return PurePosixPath(path).is_relative_to(folder)


def _normal(path: PurePosixPath) -> PurePosixPath:
    """`jobs/w/./src/../data` as git writes it."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return PurePosixPath(*parts)
