"""What git tells of the default branch: which merge changed which request."""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traingate.errors import TraingateError
from traingate.github.codeowners import PLACES, CodeOwners

#: What a request is read with: the policy, every admission (two may claim one model), the root
#: Terraform, and how git turns blobs into files.
_JUDGED_BY = (".gitattributes", ".gitignore", "platform.yml", "admissions", "infra")


class History:
    """The commits of a full clone (`fetch-depth: 0`)."""

    def __init__(self, repository: Path) -> None:
        self.repository = repository

    def pushed(self, before: str, after: str) -> tuple[str, ...]:
        """The merges `before..after` along the first parents, oldest first."""
        listed = self._git("rev-list", "--first-parent", "--reverse", f"{before}..{after}")
        return tuple(listed.split())

    def has(self, commit: str, within: str) -> bool:
        """Whether `within` contains `commit`."""
        return self._run("merge-base", "--is-ancestor", commit, within).returncode == 0

    def changed(self, commit: str, since: str | None = None) -> tuple[str, ...]:
        """The paths that differ between a commit and `since` (its first parent), sorted."""
        listed = self._git(
            "diff", "--name-only", "--no-renames", "-z", since or f"{commit}^1", commit
        )
        return tuple(sorted(filter(None, listed.split("\0"))))

    def touching(self, *paths: str, at: str, since: str | None = None) -> tuple[str, ...]:
        """The merges up to `at` that changed any of `paths`, newest first, `since` included."""
        listed = self._git("log", "--first-parent", "--format=%H", at, "--", *paths).split()
        return tuple(listed[: listed.index(since) + 1] if since in listed else listed)

    def last_touching(self, tip: str, *paths: str) -> str | None:
        """The newest merge that changed any of `paths`."""
        found = self._git("log", "--first-parent", "-1", "--format=%H", tip, "--", *paths)
        return found.strip() or None

    def request_files(self, workload: str, commit: str) -> tuple[str, ...]:
        """The files of a request at a commit."""
        listed = self._git(
            "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", *paths_of(workload)
        )
        return tuple(filter(None, listed.split("\0")))

    def links(self, commit: str, *paths: str) -> tuple[str, ...]:
        """The symbolic links (and submodules) at or below `paths`."""
        listed = self._git("ls-tree", "-r", "-z", "--full-tree", commit, "--", *paths)
        entries = (line.partition("\t") for line in listed.split("\0") if line)
        return tuple(path for about, _, path in entries if not about.startswith("100"))

    def object_id(self, expression: str) -> str | None:
        """The id of `commit:path` (or of any revision), None when there is no such thing."""
        done = self._run("rev-parse", "--verify", "--quiet", expression)
        return done.stdout.strip() or None

    def owners(self, commit: str) -> CodeOwners | None:
        """CODEOWNERS of a commit, from the first place GitHub looks."""
        for place in PLACES:
            if self.object_id(f"{commit}:{place}"):
                return CodeOwners(file=place, text=self._git("show", f"{commit}:{place}"))
        return None

    def bytes_at(self, commit: str, path: str) -> bytes | None:
        """A file of a commit."""
        if not self.object_id(f"{commit}:{path}"):
            return None
        return self._git("show", f"{commit}:{path}").encode(errors="surrogateescape")

    @contextmanager
    def checked_out(self, commit: str, workload: str) -> Iterator[Path]:
        """A work tree with what judges and makes up one request, for as long as it is needed.

        Only that: a repository of a thousand requests is not written out for each of them.
        """
        wanted = (*_JUDGED_BY, *paths_of(workload))
        listed = self._git("ls-tree", "-z", "--name-only", "--full-tree", commit, "--", *wanted)
        there = [path for path in listed.split("\0") if path]
        with tempfile.TemporaryDirectory(prefix="traingate-") as folder:
            path = Path(folder) / "tree"
            self._git("worktree", "add", "--quiet", "--no-checkout", "--detach", str(path), commit)
            try:
                History(path)._git("checkout", "--quiet", commit, "--", *there)  # noqa: SLF001 - the same class
                yield path
            finally:
                self._git("worktree", "remove", "--force", str(path))

    def _git(self, *arguments: str) -> str:
        done = self._run(*arguments)
        if done.returncode != 0:
            raise TraingateError(
                f"git {arguments[0]} failed: {done.stderr.strip()}.",
                todo="Let the workflow check out the whole history (`fetch-depth: 0`).",
            )
        return done.stdout

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run git; a path in `arguments` is that path, whatever characters it has.

        Without `--literal-pathspecs` a file called `?.py` would stand for its neighbours, and
        the last merge of one of them would be taken for its own. A name may be any bytes.
        """
        return subprocess.run(
            ["git", "--literal-pathspecs", "-C", str(self.repository), *arguments],
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )


def is_workload(name: str) -> bool:
    """Whether a name is a workload's slug, and so safe in a path and on a command line."""
    return re.fullmatch(r"[a-z0-9][a-z0-9-]{1,62}", name) is not None


def paths_of(workload: str) -> tuple[str, str]:
    """Where a request lives."""
    return f"admissions/{workload}.md", f"jobs/{workload}"


def workload_of(path: str) -> str | None:
    """The workload whose request a path belongs to, or None."""
    folder, _, rest = path.partition("/")
    if folder == "jobs" and "/" in rest:
        return rest.partition("/")[0]
    if folder == "admissions" and rest.endswith(".md") and "/" not in rest and rest != "README.md":
        return rest.removesuffix(".md")
    return None


def workloads_in(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The workloads whose requests are among `paths`, sorted."""
    names = {name for path in paths if (name := workload_of(path)) is not None}
    return tuple(sorted(filter(is_workload, names)))
