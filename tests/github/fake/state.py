"""What the fake remembers: one repository, its pull requests and their threads."""

import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

PROTECTED = {
    "required_approving_review_count": 1,
    "require_code_owner_review": True,
    "dismiss_stale_reviews_on_push": True,
    "require_last_push_approval": True,
    "required_review_thread_resolution": False,
}
BOT = "github-actions[bot]"


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Account:
    login: str
    kind: str = "User"


@dataclass
class Comment:
    id: int
    author: str
    body: str
    created_at: float
    editor: str | None = None


@dataclass
class Review:
    author: Account
    commit: str | None
    submitted_at: float
    state: str = "APPROVED"
    can_push: bool = True


@dataclass
class Pull:
    """`head` is the pull request's last commit; `merge_commit` is set by the merge."""

    number: int
    author: Account
    head: str
    base_branch: str = "main"
    decision: str | None = "REVIEW_REQUIRED"
    merged_at: float | None = None
    merged_by: Account | None = None
    merge_commit: str | None = None
    reviews: list[Review] = field(default_factory=list)
    commit_authors: list[str] = field(default_factory=list)
    force_pushers: list[str] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)


@dataclass
class Repository:
    """The repository `name`; `path` is a git repository that holds its commits.

    `objects` answers for commits git does not have: a pull request's head after a squash, say.
    """

    name: str = "acme/train"
    path: Path | None = None
    is_private: bool = False
    pulls: dict[int, Pull] = field(default_factory=dict)
    commit_pulls: dict[str, list[int]] = field(default_factory=dict)
    rules: list[dict[str, object]] = field(default_factory=lambda: [dict(PROTECTED)])
    more_rules: list[str] = field(default_factory=list)
    codeowners_errors: list[dict[str, object]] = field(default_factory=list)
    teams: dict[str, set[str]] | None = None
    environments: dict[str, dict[str, object]] = field(default_factory=dict)
    branch_policies: dict[str, list[str]] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    workflow_permissions: str = "read"
    objects: dict[str, str] = field(default_factory=dict)
    next_comment_id: int = 3_000_000_001

    def pull(self, number: int) -> Pull:
        return self.pulls[number]

    def comment(self, number: int, author: str, body: str, at: float) -> Comment:
        made = Comment(self.next_comment_id, author, body, at)
        self.next_comment_id += 1
        self.pulls[number].comments.append(made)
        return made

    def find_comment(self, comment_id: int) -> tuple[Pull, Comment] | None:
        for pull in self.pulls.values():
            for comment in pull.comments:
                if comment.id == comment_id:
                    return pull, comment
        return None

    def merge(self, number: int, commit: str, at: float, by: str = "ada") -> None:
        """The pull request as it is after its merge to `commit`."""
        pull = self.pulls[number]
        pull.merged_at, pull.merge_commit, pull.merged_by = at, commit, Account(by)
        self.commit_pulls.setdefault(commit, []).append(number)

    def object_id(self, expression: str) -> str | None:
        """What `git rev-parse` says, or None when there is no such object."""
        if expression in self.objects:
            return self.objects[expression]
        if self.path is None:
            return None
        done = subprocess.run(
            ["git", "-C", str(self.path), "rev-parse", "--verify", "--quiet", expression],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() or None
