"""A repository on the disk and the same one on the fake GitHub, played forward step by step."""

import os
import subprocess
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import httpx

from github.fake.backend import MemoryBackend
from github.fake.requests import OWNERS, PLATFORM
from github.fake.server import FakeGitHub
from github.fake.state import Account, Pull, Review
from traingate.github.api import Endpoint, GitHub
from traingate.github.events import DispatchEvent, PushEvent
from traingate.loop.history import History
from traingate.loop.world import World

_GIT = {
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.com",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}

#: Contents by path; None removes the file.
Files = dict[str, Any]


@dataclass
class Stage:
    """Plays pull requests of `ada`, approved by `olga`, against one clone at main's tip."""

    path: Path
    fake: FakeGitHub = field(default_factory=FakeGitHub)
    backend: MemoryBackend = field(default_factory=MemoryBackend)
    today: date = date(2026, 11, 30)
    transport: httpx.BaseTransport | None = None
    has_teams_token: bool = False

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch", "main")
        self.write({"platform.yml": PLATFORM, ".github/CODEOWNERS": OWNERS, "README.md": "x\n"})
        self.commit("start")
        self.fake.repository.path = self.path

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, **_GIT},
        )
        return done.stdout.strip()

    def write(self, files: Files) -> None:
        """Write files; None removes one."""
        for name, text in files.items():
            path = self.path / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def commit(self, message: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    @property
    def tip(self) -> str:
        return self.git("rev-parse", "main")

    def open(self, files: Files, *, author: str = "ada") -> Pull:
        """A pull request with one commit on a branch of its own."""
        number = 7 + len(self.fake.repository.pulls)
        self.git("checkout", "--quiet", "-b", f"pr-{number}", "main")
        self.write(files)
        head = self.commit(f"change {number}")
        self.git("checkout", "--quiet", "main")
        pull = Pull(number, Account(author), head, commit_authors=[author])
        self.fake.repository.pulls[number] = pull
        return pull

    def approve(self, pull: Pull, by: str = "olga", **changes: Any) -> None:
        self.fake.clock.sleep(60)
        review = Review(Account(by), pull.head, self.fake.clock.now())
        for name, value in changes.items():
            setattr(review, name, value)
        pull.reviews.append(review)
        pull.decision = "APPROVED"

    def merge(self, pull: Pull) -> PushEvent:
        """Squash it into main, as the button does."""
        self.fake.clock.sleep(60)
        before = self.tip
        self.git("merge", "--quiet", "--squash", f"pr-{pull.number}")
        after = self.commit(f"change {pull.number} (#{pull.number})")
        self.fake.repository.merge(pull.number, after, self.fake.clock.now())
        return self.push(before, after)

    def merged(self, files: Files) -> tuple[Pull, PushEvent]:
        """Opened, approved and merged."""
        pull = self.open(files)
        self.approve(pull)
        return pull, self.merge(pull)

    def push(self, before: str, after: str, **changes: Any) -> PushEvent:
        given: dict[str, Any] = {
            "branch": "main",
            "default_branch": "main",
            "before": before,
            "after": after,
            "forced": False,
            "deleted": False,
        }
        return PushEvent(**given | changes)

    def dispatch(
        self, workload: str = "seg", person: str = "olga", **changes: Any
    ) -> DispatchEvent:
        given: dict[str, Any] = {
            "workload": workload,
            "ref": "refs/heads/main",
            "default_branch": "main",
            "person": person,
            "is_human": True,
        }
        return DispatchEvent(**given | changes)

    def world(self) -> World:
        """The loop's world at main's tip, as a new process would make it."""
        endpoint = Endpoint(
            api_url=self.fake.base_url,
            graphql_url=f"{self.fake.base_url}/graphql",
            token="ghs_fake0001",
            repository=self.fake.repository.name,
        )
        transport = self.transport or self.fake.transport()
        github = GitHub(endpoint, transport=transport, clock=self.fake.clock)
        return World(
            github=github,
            teams=github if self.has_teams_token else None,
            history=History(self.path),
            branch="main",
            tip=self.tip,
            today=self.today,
            clock=self.fake.clock,
            run_url="https://github.example/run/1",
            open_backend=lambda _platform, _tree: self.backend,
        )

    def bodies(self, number: int) -> list[str]:
        return [comment.body for comment in self.fake.repository.pulls[number].comments]
