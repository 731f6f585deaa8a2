"""Which pull requests a reporter has to look at, with their threads, in one request a page.

Requests grow with what is open: a finished pull request carries another label and is not seen.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from traingate.github.api import GitHub
from traingate.github.comments import Thread, comment_of, read_thread
from traingate.github.labels import ALL, RUNNING

_OPEN = """
query Open($owner: String!, $name: String!, $labels: [String!], $after: String, $search: String!,
           $unlabelled: Int!) {
  repository(owner: $owner, name: $name) {
    isPrivate
    pullRequests(first: 25, after: $after, labels: $labels) {
      nodes {
        number
        mergedAt
        mergeCommit { oid }
        comments(first: 100) {
          nodes { fullDatabaseId body viewerDidAuthor url author { login } editor { login } }
          pageInfo { hasNextPage }
        }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
  search(query: $search, type: ISSUE, first: $unlabelled) {
    nodes {
      ... on PullRequest {
        number
        mergedAt
        mergeCommit { oid }
        comments(first: 100) {
          nodes { fullDatabaseId body viewerDidAuthor url author { login } editor { login } }
          pageInfo { hasNextPage }
        }
      }
    }
  }
}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Followed:
    """A merged pull request with our comments on it."""

    number: int
    merge_commit: str | None
    merged_at: datetime | None
    thread: Thread


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenRuns:
    """`running` carry the label; `unlabelled` were merged lately and carry none of ours."""

    is_private: bool
    running: tuple[Followed, ...]
    unlabelled: tuple[Followed, ...]


def read_open_runs(github: GitHub, merged_since: datetime) -> OpenRuns:
    """What is open now, and the merges since `merged_since` that nothing was said about."""
    variables: dict[str, Any] = {
        "labels": [RUNNING],
        "after": None,
        "search": _unlabelled(github.endpoint.repository, merged_since),
        "unlabelled": 50,
    }
    running: list[Followed] = []
    unlabelled: list[Followed] = []
    while True:
        data = github.graphql(_OPEN, variables)
        page = data["repository"]["pullRequests"]
        running += _followed(github, page["nodes"])
        if variables["after"] is None:
            unlabelled += _followed(github, [node for node in data["search"]["nodes"] if node])
        if not page["pageInfo"]["hasNextPage"]:
            return OpenRuns(
                is_private=data["repository"]["isPrivate"],
                running=tuple(running),
                unlabelled=tuple(unlabelled),
            )
        variables |= {"after": page["pageInfo"]["endCursor"], "unlabelled": 1}


def _unlabelled(repository: str, since: datetime) -> str:
    without = " ".join(f'-label:"{label}"' for label in ALL)
    return f"repo:{repository} is:pr is:merged merged:>={since:%Y-%m-%dT%H:%M:%SZ} {without}"


def _followed(github: GitHub, nodes: list[Mapping[str, Any]]) -> Iterator[Followed]:
    for node in nodes:
        yield Followed(
            number=node["number"],
            merge_commit=node["mergeCommit"]["oid"] if node["mergeCommit"] else None,
            merged_at=datetime.fromisoformat(node["mergedAt"]) if node["mergedAt"] else None,
            thread=_thread(github, node),
        )


def _thread(github: GitHub, node: Mapping[str, Any]) -> Thread:
    if node["comments"]["pageInfo"]["hasNextPage"]:
        return read_thread(github, node["number"])
    ours = filter(None, map(comment_of, node["comments"]["nodes"]))
    comments = tuple(sorted(ours, key=lambda comment: comment.id))
    return Thread(number=node["number"], comments=comments)
