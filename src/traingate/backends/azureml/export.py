"""The request's own files, copied out of the work tree exactly as the digest counted them.

azure-ai-ml follows symbolic links and absolute paths out of a folder, takes `.git` along and
leaves out what a `.gitignore` names even where git tracks it. So it gets a folder that holds
the digest's files and nothing else.
"""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from traingate.documents.request import Blob
from traingate.errors import Refusal, TraingateError


@contextlib.contextmanager
def exported(repository: Path, files: Mapping[str, Blob]) -> Iterator[Path]:
    """A temporary folder with `files` (by path relative to `repository`), gone afterwards.

    A `.gitignore` stays behind: the SDK would apply it to files that git tracks. A job's
    `.amlignore` goes along and is applied.

    Raises:
        Refusal: one of the files is a symbolic link or a submodule.
        TraingateError: a file is not what the digest counted.
    """
    for path, blob in files.items():
        if not blob.mode.startswith("100"):
            raise Refusal(
                f"{path} is a symbolic link or a submodule, which is never uploaded.",
                todo="Put the files themselves into the job's folder.",
            )
    with tempfile.TemporaryDirectory(prefix="traingate-") as name:
        folder = Path(name)
        for path in files:
            _copy(repository / path, folder / path)
        foreign = _attributes(repository, files)
        for path in foreign:
            _copy(repository / path, folder / path)
        _verify(repository, folder, files)
        for path in (*foreign, *(path for path in files if Path(path).name == ".gitignore")):
            (folder / path).unlink()
        yield folder


def _attributes(repository: Path, files: Mapping[str, Blob]) -> tuple[str, ...]:
    """The `.gitattributes` above the files: they decide how git hashes them."""
    above = {str(parent / ".gitattributes") for path in files for parent in Path(path).parents}
    return tuple(path for path in sorted(above - set(files)) if (repository / path).is_file())


def _copy(source: Path, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(source, destination, follow_symlinks=False)
    except OSError as error:
        raise TraingateError(
            f"{source} cannot be read: {error.strerror}.", todo="Restore it and plan again."
        ) from error


def _verify(repository: Path, folder: Path, files: Mapping[str, Blob]) -> None:
    """The copies have the ids the digest was taken over.

    git sees the folder as its work tree, so that its filters (line ends, LFS) apply.
    """
    git_dir = _git(repository, "rev-parse", "--absolute-git-dir").strip()
    ids = _git(
        folder,
        f"--git-dir={git_dir}",
        f"--work-tree={folder}",
        "hash-object",
        "--stdin-paths",
        stdin="".join(f"{path}\n" for path in files),
    ).split()
    for (path, blob), copied in zip(files.items(), ids, strict=True):
        if copied != blob.object_id:
            raise TraingateError(
                f"{path} changed while it was being submitted.",
                todo="Leave the request's files alone and submit again.",
            )


def _git(folder: Path, *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise TraingateError(
            f"git could not hash the request's files: {done.stderr.strip()}.",
            todo="Submit from a git checkout of this repository.",
        )
    return done.stdout
