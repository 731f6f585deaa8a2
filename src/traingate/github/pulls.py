"""What GitHub says about a merged pull request and about the branch's rules."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from traingate.github.api import GitHub

_PULL = """
query Pull($owner: String!, $name: String!, $number: Int!, $reviews: String, $commits: String,
           $pushes: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      number
      baseRefName
      headRefOid
      mergedAt
      reviewDecision
      author { __typename login }
      mergedBy { __typename login }
      mergeCommit { oid }
      reviews(first: 100, after: $reviews, states: [APPROVED, CHANGES_REQUESTED, DISMISSED]) {
        nodes { state submittedAt authorCanPushToRepository author { __typename login }
                commit { oid } }
        pageInfo { hasNextPage endCursor }
      }
      commits(first: 100, after: $commits) {
        nodes { commit { authors(first: 20) { nodes { user { login } } }
                         committer { user { login } } } }
        pageInfo { hasNextPage endCursor }
      }
      timelineItems(first: 100, after: $pushes, itemTypes: [HEAD_REF_FORCE_PUSHED_EVENT]) {
        nodes { ... on HeadRefForcePushedEvent { actor { login } } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""
_CURSORS = {"reviews": "reviews", "commits": "commits", "timelineItems": "pushes"}
_OBJECTS = """
query Objects($owner: String!, $name: String!, $admission: String!, $job: String!) {
  repository(owner: $owner, name: $name) {
    admission: object(expression: $admission) { oid }
    job: object(expression: $job) { oid }
  }
}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """Somebody on GitHub. A login is compared without regard to case, as GitHub does."""

    login: str
    is_human: bool

    def is_named(self, login: str) -> bool:
        return self.login.lower() == login.lower()


@dataclass(frozen=True, kw_only=True, slots=True)
class Review:
    """One review: APPROVED, CHANGES_REQUESTED or DISMISSED, of the commit it was given for."""

    author: Person
    can_push: bool
    state: str
    submitted_at: datetime
    commit: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Pull:
    """A pull request after its merge.

    `decision` is GitHub's own: APPROVED, CHANGES_REQUESTED, REVIEW_REQUIRED, or None when the
    branch demanded no review. `pushers` are the lower-case logins of everybody who wrote,
    committed or force-pushed a commit of it.
    """

    number: int
    author: Person | None
    base_branch: str
    head: str
    merge_commit: str | None
    merged_at: datetime | None
    merged_by: Person | None
    decision: str | None
    reviews: tuple[Review, ...]
    pushers: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class BranchRules:
    """What the branch's active rules demand of a pull request, all rulesets together."""

    approvals: int = 0
    code_owner_review: bool = False
    dismiss_stale: bool = False
    last_push_approval: bool = False


def read_pull(github: GitHub, number: int) -> Pull:
    """The pull request with all its reviews, commits and force pushes."""
    cursors: dict[str, str | None] = dict.fromkeys(_CURSORS.values())
    nodes: dict[str, list[Any]] = {field: [] for field in _CURSORS}
    open_fields = set(_CURSORS)
    while True:
        data = github.graphql(_PULL, {"number": number, **cursors})
        raw = data["repository"]["pullRequest"]
        for field in tuple(open_fields):
            nodes[field] += raw[field]["nodes"]
            cursors[_CURSORS[field]] = raw[field]["pageInfo"]["endCursor"]
            if not raw[field]["pageInfo"]["hasNextPage"]:
                open_fields.remove(field)
        if not open_fields:
            return _pull(raw, nodes)


def pulls_of(github: GitHub, commit: str) -> Iterator[Mapping[str, Any]]:
    """Every merged pull request GitHub links with a commit of the default branch."""
    for pull in github.pages(f"commits/{commit}/pulls"):
        if pull["merged_at"] is not None:
            yield pull


def read_branch_rules(github: GitHub, branch: str) -> BranchRules:
    """The rules in force for `branch`; readable with any token (Metadata: read)."""
    demands = [
        rule["parameters"]
        for rule in github.pages(f"rules/branches/{branch}")
        if rule["type"] == "pull_request"
    ]
    return BranchRules(
        approvals=max((d["required_approving_review_count"] for d in demands), default=0),
        code_owner_review=any(d["require_code_owner_review"] for d in demands),
        dismiss_stale=any(d["dismiss_stale_reviews_on_push"] for d in demands),
        last_push_approval=any(d["require_last_push_approval"] for d in demands),
    )


def request_objects(github: GitHub, commit: str, workload: str) -> tuple[str | None, str | None]:
    """Git's object ids of the admission and of the job folder at a commit GitHub has.

    Equal tree ids mean equal names, modes and bytes all the way down, so two ids answer for
    every file of a request.
    """
    expressions = {
        "admission": f"{commit}:admissions/{workload}.md",
        "job": f"{commit}:jobs/{workload}",
    }
    data = github.graphql(_OBJECTS, expressions)["repository"]
    return _oid(data["admission"]), _oid(data["job"])


def _pull(raw: Mapping[str, Any], nodes: Mapping[str, list[Any]]) -> Pull:
    return Pull(
        number=raw["number"],
        author=_person(raw["author"]),
        base_branch=raw["baseRefName"],
        head=raw["headRefOid"],
        merge_commit=_oid(raw["mergeCommit"]),
        merged_at=_moment(raw["mergedAt"]),
        merged_by=_person(raw["mergedBy"]),
        decision=raw["reviewDecision"],
        reviews=tuple(_reviews(nodes["reviews"])),
        pushers=frozenset(_pushers(nodes["commits"], nodes["timelineItems"])),
    )


def _reviews(nodes: list[Any]) -> Iterator[Review]:
    for node in nodes:
        author, submitted_at = _person(node["author"]), _moment(node["submittedAt"])
        if author is None or submitted_at is None:
            continue  # The account was deleted or the review is not handed in: no approval.
        yield Review(
            author=author,
            can_push=node["authorCanPushToRepository"],
            state=node["state"],
            submitted_at=submitted_at,
            commit=_oid(node["commit"]),
        )


def _pushers(commits: list[Any], pushes: list[Any]) -> Iterator[str]:
    for node in commits:
        actors = [*node["commit"]["authors"]["nodes"], node["commit"]["committer"]]
        for actor in actors:
            if actor and actor["user"]:
                yield actor["user"]["login"].lower()
    for node in pushes:
        if node["actor"]:
            yield node["actor"]["login"].lower()


def _person(raw: Mapping[str, Any] | None) -> Person | None:
    return Person(login=raw["login"], is_human=raw["__typename"] == "User") if raw else None


def _oid(raw: Mapping[str, Any] | None) -> str | None:
    return str(raw["oid"]) if raw else None


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
