"""GraphQL: GitHub's own schema, cut to what is used, executed over the state."""

import re
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from graphql import GraphQLSchema, build_schema, graphql_sync

from github.fake.state import BOT, Account, Comment, Pull, Repository, Review, moment

_SHAPES = Path(__file__).with_name("graphql-shapes.graphql")


@cache
def schema() -> GraphQLSchema:
    return build_schema(_SHAPES.read_text())


def execute(repository: Repository, body: dict[str, Any], most: int) -> dict[str, Any]:
    """The answer to a GraphQL request; `most` is the largest page this fake gives."""
    result = graphql_sync(
        schema(),
        body["query"],
        root_value=_Root(repository, most),
        variable_values=body.get("variables"),
    )
    answer: dict[str, Any] = {"data": result.data}
    if result.errors:
        answer["errors"] = [
            {"message": error.message, "path": error.path, "type": "NOT_FOUND"}
            for error in result.errors
        ]
    return answer


def page(items: Sequence[Any], first: int, after: str | None, most: int) -> dict[str, Any]:
    """One page of a connection; the cursor is the index of its last item."""
    if not 1 <= first <= 100:
        raise ValueError("Requesting records outside 1 to 100 is not allowed")
    start = int(after) + 1 if after else 0
    end = start + min(first, most)
    nodes = list(items[start:end])
    return {
        "nodes": nodes,
        "pageInfo": {
            "hasNextPage": end < len(items),
            "endCursor": str(start + len(nodes) - 1) if nodes else None,
        },
    }


class _Root:
    def __init__(self, repository: Repository, most: int) -> None:
        self._repository, self._most = repository, most

    def repository(self, _info: Any, owner: str, name: str) -> "_Repository":
        if f"{owner}/{name}" != self._repository.name:
            raise ValueError(f"Could not resolve to a Repository with the name '{owner}/{name}'.")
        return _Repository(self._repository, self._most)

    def search(self, _info: Any, query: str, first: int, **_: Any) -> dict[str, Any]:
        wanted = re.search(r"merged:>=(\S+)", query)
        assert wanted, query
        assert "is:pr is:merged" in query
        since = datetime.fromisoformat(wanted[1]).timestamp()
        without = set(re.findall(r'-label:"([^"]+)"', query))
        found = [
            PullNode(pull, self._most)
            for pull in self._repository.pulls.values()
            if pull.merged_at and pull.merged_at >= since and not without & set(pull.labels)
        ]
        return {"nodes": found[:first]}


class _Repository:
    def __init__(self, repository: Repository, most: int) -> None:
        self._repository, self._most = repository, most
        self.isPrivate = repository.is_private

    def pullRequest(self, _info: Any, number: int) -> "PullNode":  # noqa: N802 - GitHub's name
        if number not in self._repository.pulls:
            raise ValueError(f"Could not resolve to a PullRequest with the number of {number}.")
        return PullNode(self._repository.pulls[number], self._most)

    def pullRequests(  # noqa: N802 - GitHub's name
        self, _info: Any, first: int, labels: list[str], after: str | None = None
    ) -> dict[str, Any]:
        found = [
            PullNode(pull, self._most)
            for pull in self._repository.pulls.values()
            if set(labels) & set(pull.labels)
        ]
        return page(found, first, after, self._most)

    def object(self, _info: Any, expression: str) -> dict[str, str] | None:
        found = self._repository.object_id(expression)
        kind = "Blob" if expression.endswith(".md") else "Tree"
        return {"__typename": kind, "oid": found} if found else None


class PullNode:
    def __init__(self, pull: Pull, most: int) -> None:
        self._pull, self._most = pull, most
        self.__typename = "PullRequest"
        self.number = pull.number
        self.baseRefName = pull.base_branch
        self.headRefOid = pull.head
        self.mergedAt = moment(pull.merged_at) if pull.merged_at else None
        self.reviewDecision = pull.decision
        self.author = _actor(pull.author)
        self.mergedBy = _actor(pull.merged_by) if pull.merged_by else None
        self.mergeCommit = {"oid": pull.merge_commit} if pull.merge_commit else None

    def comments(self, _info: Any, first: int, after: str | None = None) -> dict[str, Any]:
        nodes = [_comment(comment) for comment in self._pull.comments]
        return page(nodes, first, after, self._most)

    def reviews(
        self, _info: Any, first: int, states: list[str], after: str | None = None
    ) -> dict[str, Any]:
        nodes = [_review(review) for review in self._pull.reviews if review.state in states]
        return page(nodes, first, after, self._most)

    def commits(self, _info: Any, first: int, after: str | None = None) -> dict[str, Any]:
        nodes = [_commit(login) for login in self._pull.commit_authors]
        return page(nodes, first, after, self._most)

    def timelineItems(  # noqa: N802 - GitHub's name
        self,
        _info: Any,
        first: int,
        itemTypes: list[str],  # noqa: N803 - GitHub's name
        after: str | None = None,
    ) -> dict[str, Any]:
        assert itemTypes == ["HEAD_REF_FORCE_PUSHED_EVENT"]
        nodes = [
            {"__typename": "HeadRefForcePushedEvent", "actor": {"__typename": "User", "login": one}}
            for one in self._pull.force_pushers
        ]
        return page(nodes, first, after, self._most)


def _comment(comment: Comment) -> dict[str, Any]:
    return {
        "fullDatabaseId": str(comment.id),
        "body": comment.body,
        "viewerDidAuthor": comment.author == BOT,
        "author": _actor(_account(comment.author)),
        "editor": _actor(_account(comment.editor)) if comment.editor else None,
        "url": f"https://github.example/comment/{comment.id}",
    }


def _account(login: str) -> Account:
    """GraphQL names a bot without the ending it has elsewhere."""
    is_bot = login.endswith("[bot]")
    return Account(login.removesuffix("[bot]"), "Bot" if is_bot else "User")


def _review(review: Review) -> dict[str, Any]:
    return {
        "state": review.state,
        "submittedAt": moment(review.submitted_at),
        "authorCanPushToRepository": review.can_push,
        "author": _actor(review.author),
        "commit": {"oid": review.commit} if review.commit else None,
    }


def _commit(login: str) -> dict[str, Any]:
    user = {"user": {"login": login}}
    return {"commit": {"authors": {"nodes": [user]}, "committer": {"user": None}}}


def _actor(account: Account) -> dict[str, str]:
    return {"__typename": account.kind, "login": account.login}
