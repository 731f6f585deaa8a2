"""What git knows of the repository: its files with their blob ids, its commit, its name.

Blob ids come from git itself, so a large folder costs nothing to hash.
"""

import os
import re
import subprocess
from pathlib import Path

from traingate.documents.request import Blob, Tree
from traingate.errors import TraingateError, UsageProblem

#: One listing of all that `git add` would look at, each path with its state before it. Starting
#: git costs more than what it does, so it is asked once.
_STATES = ("--cached", "--modified", "--others", "--exclude-standard", "--stage", "-t")
_STAGED, _OTHER = {"H", "S"}, "?"  # `S`: as in the index, and not checked out on purpose.


def root(start: Path) -> Path:
    """The top of the work tree that holds `start`.

    Raises:
        TraingateError: `start` is in no git work tree, or git is not installed.
    """
    return Path(_git(start, "rev-parse", "--show-toplevel").strip())


def work_tree(repository: Path, *folders: str) -> Tree:
    """Tracked files and untracked files that are not ignored, as they lie on the disk.

    Args:
        repository: the top of the work tree.
        folders: only what lies below these (relative to the top); everything when empty.
    """
    listed = _git(repository, "ls-files", *_STATES, "-z", "--", *folders)
    blobs: dict[str, Blob] = {}
    unstaged: set[str] = set()
    for line in filter(None, listed.split("\0")):
        state, _, rest = line.partition(" ")
        if state in _STAGED:
            path, blob = _staged(rest)
            blobs[path] = blob
        else:  # Not in the index (`?`), or there with another content or in several versions.
            unstaged.add(rest if state == _OTHER else _staged(rest)[0])
    # What a submodule holds is its own repository's; here it stays one entry.
    unstaged -= {path for path, blob in blobs.items() if blob.is_submodule}
    for path in unstaged:
        blobs.pop(path, None)
    on_disk = [path for path in unstaged if os.path.lexists(repository / path)]
    return Tree(blobs=dict(sorted((blobs | _hashed(repository, sorted(on_disk))).items())))


def tree_at(repository: Path, revision: str, *folders: str) -> Tree:
    """The files of a commit.

    Raises:
        UsageProblem: git knows no such revision.
    """
    done = _run(repository, "ls-tree", "-r", "-z", "--full-tree", revision, "--", *folders)
    if done.returncode != 0:
        raise UsageProblem(
            f"git has no files of the commit `{revision}` here: {done.stderr.strip()}.",
            todo="Name a commit, branch or tag that `git log` shows, or fetch it first.",
        )
    blobs = {}
    for line in filter(None, done.stdout.split("\0")):
        about, _, path = line.partition("\t")
        mode, _, object_id = about.split(" ")
        blobs[path] = Blob(mode=mode, object_id=object_id)
    return Tree(blobs=blobs)


def file_at(repository: Path, revision: str, path: str) -> bytes | None:
    """The bytes of a regular file of a commit; None where it has none of that path."""
    blob = tree_at(repository, revision, path).blobs.get(path)
    if blob is None or not blob.mode.startswith("100"):
        return None
    done = subprocess.run(
        ["git", "-C", str(repository), "cat-file", "blob", blob.object_id],
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        why = done.stderr.decode(errors="replace").strip()
        raise TraingateError(
            f"git cannot read {path} of {revision}: {why}.",
            todo="Fetch the commit with its files (`git fetch --unshallow`), then repeat.",
        )
    return done.stdout


def commit(repository: Path) -> str | None:
    """The commit checked out, or None before the first one."""
    done = _run(repository, "rev-parse", "--verify", "--quiet", "HEAD")
    return done.stdout.strip() or None


def repository_name(repository: Path) -> str:
    """`owner/name`: GitHub's when a remote or the runner says so, else the folder's name."""
    if name := os.environ.get("GITHUB_REPOSITORY"):
        return name
    url = _run(repository, "config", "--get", "remote.origin.url").stdout.strip()
    match = re.search(r"github\.com[:/]([^/\s]+/[^/\s]+?)(?:\.git)?/?$", url)
    return match.group(1) if match else f"local/{repository.name}"


def has_remote(repository: Path) -> bool:
    """Whether there is a remote `origin`, wherever it leads."""
    return bool(_run(repository, "config", "--get", "remote.origin.url").stdout.strip())


def _staged(line: str) -> tuple[str, Blob]:
    about, _, path = line.partition("\t")
    mode, object_id, _ = about.split(" ")
    return path, Blob(mode=mode, object_id=object_id)


def _hashed(repository: Path, paths: list[str]) -> dict[str, Blob]:
    """Blobs of files that the index does not describe, as `git add` would write them."""
    links = [path for path in paths if (repository / path).is_symlink()]
    files = [path for path in paths if path not in set(links) and (repository / path).is_file()]
    ids = [object_id for some in _batched(files) for object_id in _hash(repository, some)]
    blobs = {
        path: Blob(mode=_mode(repository / path), object_id=object_id)
        for path, object_id in zip(files, ids, strict=True)
    }
    for path in links:
        target = str((repository / path).readlink())
        object_id = _git(repository, "hash-object", "--stdin", stdin=target).strip()
        blobs[path] = Blob(mode="120000", object_id=object_id)
    return blobs


def _hash(repository: Path, files: list[str]) -> list[str]:
    # As arguments, not on standard input: there git would read a quoted name as an escape.
    return _git(repository, "hash-object", "--", *files).split()


def _batched(files: list[str], size: int = 500) -> list[list[str]]:
    """Slices of `files` that fit a command line."""
    return [files[start : start + size] for start in range(0, len(files), size)]


def _mode(path: Path) -> str:
    return "100755" if os.access(path, os.X_OK) else "100644"


def _git(repository: Path, *arguments: str, stdin: str = "") -> str:
    done = _run(repository, *arguments, stdin=stdin)
    if done.returncode != 0:
        raise TraingateError(
            f"git {arguments[0]} failed in {repository}: {done.stderr.strip()}.",
            todo="Run the command inside a git checkout of this repository.",
        )
    return done.stdout


def _run(repository: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", "-C", str(repository), *arguments],
            input=stdin,
            capture_output=True,
            # A name may be any bytes, and one that is no text must not hide all the others.
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
    except FileNotFoundError as error:
        raise TraingateError("git is not installed.", todo="Install git and retry.") from error
