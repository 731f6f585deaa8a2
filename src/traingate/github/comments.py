"""Our comments in a pull request's thread: one a marker, whatever others do to them.

Creating is the only step that cannot be repeated, so after it the thread is read again and all
but the oldest comment of that marker are deleted: two writers at once end with one comment.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from traingate.github.api import GitHub
from traingate.github.markers import Marker, marker_of
from traingate.github.problems import NotThere

_THREAD = """
query Thread($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      comments(first: 100, after: $after) {
        nodes { fullDatabaseId body viewerDidAuthor url author { login } editor { login } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comment:
    """One comment of ours. Ids grow with time, so the smallest is the oldest."""

    id: int
    marker: Marker
    body: str
    url: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Thread:
    """Our comments on one pull request, oldest first."""

    number: int
    comments: tuple[Comment, ...]

    def of(self, marker: Marker) -> tuple[Comment, ...]:
        """Those with that marker; more than one only after an accident."""
        return tuple(comment for comment in self.comments if comment.marker.matches(marker))

    def kind(self, kind: str) -> tuple[Comment, ...]:
        """The oldest comment of every marker of that kind."""
        first: dict[str, Comment] = {}
        for comment in self.comments:
            if comment.marker.kind == kind:
                first.setdefault(comment.marker.key, comment)
        return tuple(first.values())


def read_thread(github: GitHub, number: int) -> Thread:
    """Our comments wherever they stand in the thread.

    `viewerDidAuthor` is GitHub's own answer to "did this token's identity write it", so neither
    the identity's name nor a stranger's copy of a marker matters.
    """
    comments = sorted(_comments(github, number), key=lambda comment: comment.id)
    return Thread(number=number, comments=tuple(comments))


def comment_of(node: dict[str, object]) -> Comment | None:
    """A GraphQL `IssueComment` as a comment of ours, or None when it is not.

    Whoever may write to the repository can edit our comments, and with them what they remember.
    One that somebody else edited last is nobody's word any more.
    """
    is_ours = node["viewerDidAuthor"] and node["editor"] in (None, node["author"])
    marker = marker_of(str(node["body"])) if is_ours else None
    if marker is None:
        return None
    return Comment(
        id=int(str(node["fullDatabaseId"])),
        marker=marker,
        body=str(node["body"]),
        url=str(node["url"]),
    )


def put(github: GitHub, thread: Thread, marker: Marker, body: str) -> Thread:
    """Make the thread hold exactly one comment with `marker`, saying `body`.

    Args:
        github: the client.
        thread: the thread as last read; a stale one is repaired.
        marker: what the comment is found by.
        body: its text, beginning with the marker.

    Returns:
        The thread after the change; read anew only when a comment had to be created.
    """
    found = thread.of(marker)
    for comment in found:
        if comment.body == body or _edited(github, comment, body):
            _delete(github, [other for other in found if other.id != comment.id])
            return _replaced(thread, found, comment, body)
    github.post(f"issues/{thread.number}/comments", {"body": body})
    return tidy(github, read_thread(github, thread.number), marker)


def tidy(github: GitHub, thread: Thread, marker: Marker) -> Thread:
    """The thread with only the oldest comment of `marker` left."""
    spare = thread.of(marker)[1:]
    _delete(github, spare)
    gone = {comment.id for comment in spare}
    kept = tuple(comment for comment in thread.comments if comment.id not in gone)
    return Thread(number=thread.number, comments=kept)


def _comments(github: GitHub, number: int) -> Iterator[Comment]:
    after = None
    while True:
        data = github.graphql(_THREAD, {"number": number, "after": after})
        page = data["repository"]["pullRequest"]["comments"]
        yield from filter(None, map(comment_of, page["nodes"]))
        if not page["pageInfo"]["hasNextPage"]:
            return
        after = page["pageInfo"]["endCursor"]


def _edited(github: GitHub, comment: Comment, body: str) -> bool:
    """Whether the edit took; False when somebody deleted the comment meanwhile."""
    try:
        github.patch(f"issues/comments/{comment.id}", {"body": body})
    except NotThere:
        return False
    return True


def _delete(github: GitHub, comments: list[Comment] | tuple[Comment, ...]) -> None:
    for comment in comments:
        try:
            github.delete(f"issues/comments/{comment.id}")
        except NotThere:
            continue  # The other writer was faster, which is what was wanted.


def _replaced(thread: Thread, found: tuple[Comment, ...], kept: Comment, body: str) -> Thread:
    gone = {comment.id for comment in found} - {kept.id}
    now = Comment(id=kept.id, marker=marker_of(body) or kept.marker, body=body, url=kept.url)
    return Thread(
        number=thread.number,
        comments=tuple(
            now if comment.id == kept.id else comment
            for comment in thread.comments
            if comment.id not in gone
        ),
    )
