"""The client against the fake: paging, waiting, partial answers, and what is never sent twice."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from graphql import parse, validate

from github.fake.contract import Violation, answer, operation
from github.fake.graph import schema
from github.fake.prune import documents
from github.fake.server import FakeGitHub, serving
from github.fake.state import Account, Pull
from traingate.github import problems
from traingate.github.api import Endpoint, GitHub


@pytest.fixture
def fake() -> FakeGitHub:
    made = FakeGitHub()
    made.repository.pulls[7] = Pull(7, Account("ada"), "a" * 40)
    return made


def client(fake: FakeGitHub, transport: httpx.BaseTransport | None = None) -> GitHub:
    endpoint = Endpoint(
        api_url=fake.base_url,
        graphql_url=f"{fake.base_url}/graphql",
        token="ghs_fake0001",
        repository="acme/train",
    )
    return GitHub(endpoint, transport=transport or fake.transport(), clock=fake.clock)


def refusing(times: int, *replies: Any) -> Callable[[str, str], Any]:
    """Answer the first `times` requests with the replies in turn."""
    queue = list(replies) * times

    def interfere(_method: str, _path: str) -> Any:
        return queue.pop(0) if queue else None

    return interfere


def test_pages_follow_the_link_header(fake: FakeGitHub) -> None:
    fake.page_size = 30
    fake.repository.labels = [f"label-{number}" for number in range(130)]
    found = [one["name"] for one in client(fake).pages("labels")]
    assert found == fake.repository.labels
    assert len(fake.log) == 5


def test_a_next_page_elsewhere_is_not_followed_with_our_token() -> None:
    def reply(_request: httpx.Request) -> httpx.Response:
        link = '<https://evil.example/next>; rel="next"'
        return httpx.Response(200, json=[1], headers={"link": link})

    pages = client(FakeGitHub(), httpx.MockTransport(reply)).pages("labels")
    assert next(pages) == 1
    with pytest.raises(problems.GitHubProblem, match="another host"):
        next(pages)


def test_the_token_is_not_shown(fake: FakeGitHub) -> None:
    assert "ghs_fake0001" not in repr(client(fake).endpoint)


@pytest.mark.parametrize(
    ("reply", "waited"),
    [
        ((429, {"retry-after": "7"}, {"message": "slow down"}), 7),
        ((403, {"retry-after": "7"}, {"message": "secondary rate limit"}), 7),
        ((429, {}, {"message": "slow down"}), 60),
        ((403, {}, {"message": "You have exceeded a secondary rate limit"}), 60),
        ((500, {}, {"message": "oops"}), 1),
        ((502, {}, {"message": "oops"}), 1),
    ],
)
def test_waits_as_documented(fake: FakeGitHub, reply: Any, waited: float) -> None:
    fake.interference = refusing(1, reply)
    start = fake.clock.now()
    assert client(fake).get("")["full_name"] == "acme/train"
    assert fake.clock.now() - start == waited


def test_waits_for_the_reset_when_no_request_is_left(fake: FakeGitHub) -> None:
    reset = str(int(fake.clock.now()) + 300)
    spent = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    fake.interference = refusing(1, (403, spent, {"message": "API rate limit exceeded"}))
    start = fake.clock.now()
    client(fake).get("")
    assert fake.clock.now() - start == 301


def test_the_wait_grows_and_ends(fake: FakeGitHub) -> None:
    fake.interference = refusing(9, (500, {}, {"message": "oops"}))
    with pytest.raises(problems.GitHubProblem, match=r"500 to GET .*oops"):
        client(fake).get("")
    assert len(fake.log) == 5
    assert fake.clock.now() == 1_796_040_000 + 1 + 2 + 4 + 8


def test_a_wait_longer_than_the_job_is_an_error_that_says_so(fake: FakeGitHub) -> None:
    fake.interference = refusing(1, (429, {"retry-after": "3600"}, {}))
    with pytest.raises(problems.GitHubProblem, match="pause of 3600 seconds"):
        client(fake).get("")


def test_a_missing_permission_is_not_waited_for(fake: FakeGitHub) -> None:
    reply = (403, {}, {"message": "Resource not accessible by integration"})
    fake.interference = refusing(9, reply)
    with pytest.raises(problems.GitHubProblem, match="Give the job the permission") as caught:
        client(fake).get("")
    assert caught.value.status == 403
    assert len(fake.log) == 1


def test_a_creation_is_never_sent_twice(fake: FakeGitHub) -> None:
    fake.interference = refusing(9, (502, {}, {"message": "oops"}))
    with pytest.raises(problems.GitHubProblem):
        client(fake).post("issues/7/comments", {"body": "x"})
    assert len(fake.log) == 1


def test_a_creation_that_was_refused_for_its_rate_is_sent_again(fake: FakeGitHub) -> None:
    fake.interference = refusing(1, (429, {"retry-after": "1"}, {}))
    client(fake).post("issues/7/comments", {"body": "x"})
    assert [comment.body for comment in fake.repository.pulls[7].comments] == ["x"]


@pytest.mark.parametrize(
    ("error", "method", "sent"),
    [
        (httpx.ConnectError, "post", 5),
        (httpx.ReadTimeout, "post", 1),
        (httpx.RemoteProtocolError, "post", 1),
        (httpx.ReadTimeout, "patch", 5),
        (httpx.ConnectError, "patch", 5),
    ],
)
def test_a_lost_connection(
    fake: FakeGitHub, error: type[httpx.TransportError], method: str, sent: int
) -> None:
    tries = []

    def fail(request: httpx.Request) -> httpx.Response:
        tries.append(request)
        raise error("lost")

    github = client(fake, httpx.MockTransport(fail))
    with pytest.raises(problems.GitHubProblem, match="did not answer"):
        getattr(github, method)("issues/7/comments", {"body": "x"})
    assert len(tries) == sent


def test_what_is_not_there(fake: FakeGitHub) -> None:
    with pytest.raises(problems.NotThere, match="Check that it exists"):
        client(fake).get("environments/azureml")


def test_a_partial_answer_is_taken_only_where_that_was_said(fake: FakeGitHub) -> None:
    reply = {
        "data": {"repository": {"pullRequest": None}},
        "errors": [{"message": "no team", "path": ["repository", "pullRequest"]}],
    }
    fake.interference = refusing(2, (200, {}, reply))
    with pytest.raises(problems.GitHubProblem, match="no team"):
        client(fake).graphql("query X { viewer { login } }", {})
    github = client(fake)
    data = github.graphql("query X { x }", {}, may_lack=frozenset({"pullRequest"}))
    assert data == {"repository": {"pullRequest": None}}


def test_graphql_waits_when_it_is_rate_limited(fake: FakeGitHub) -> None:
    limited = {"errors": [{"type": "RATE_LIMITED", "message": "x"}], "data": None}
    fake.interference = refusing(1, (200, {}, limited), (200, {}, {"data": {"x": 1}}))
    assert client(fake).graphql("query X { x }", {}) == {"x": 1}
    assert fake.clock.now() == 1_796_040_000 + 60


def test_team_membership(fake: FakeGitHub) -> None:
    fake.repository.teams = {"acme/gpu": {"gil"}}
    assert client(fake).team_has("acme", "gpu", "Gil")
    with pytest.raises(problems.NotThere):
        client(fake).team_has("acme", "gpu", "zoe")


def test_over_a_socket(fake: FakeGitHub) -> None:
    with serving(fake), client(fake, httpx.HTTPTransport()) as github:
        github.post("issues/7/comments", {"body": "x"})
        github.delete(f"issues/comments/{fake.repository.pulls[7].comments[0].id}")
    assert fake.repository.pulls[7].comments == []
    assert fake.violations == []


def test_the_limits_of_the_fake_are_github_s(fake: FakeGitHub) -> None:
    github = client(fake)
    for _ in range(81):
        github.post("issues/7/comments", {"body": "x"})
    assert fake.clock.now() - 1_796_040_000 == 61
    for _ in range(918):
        github.get("")
    with pytest.raises(problems.GitHubProblem, match=r"pause of \d{4} seconds"):
        github.get("")
    assert fake.limits.headers()["x-ratelimit-remaining"] == "0"


class TestTheContractItself:
    """The fake cannot leave GitHub's description either."""

    def test_an_undocumented_call(self) -> None:
        with pytest.raises(Violation, match="documents no PUT"):
            operation("PUT", "/repos/a/b/issues/1/comments")

    def test_a_body_without_what_is_required(self, fake: FakeGitHub) -> None:
        with pytest.raises(problems.GitHubProblem, match="'body' is a required property"):
            client(fake).post("issues/7/comments", {"bod": "x"})
        assert fake.violations

    def test_a_parameter_github_does_not_know(self, fake: FakeGitHub) -> None:
        with pytest.raises(problems.GitHubProblem, match="has no parameter"):
            client(fake).get("labels", colour="red")

    def test_an_answer_with_a_field_github_does_not_send(self) -> None:
        template = "/repos/{owner}/{repo}/issues/{issue_number}/comments"
        with pytest.raises(Violation, match="sends no"):
            answer("POST", template, 201, {"text": "x"})

    def test_an_answer_of_another_type(self) -> None:
        template = "/repos/{owner}/{repo}/issues/{issue_number}/comments"
        with pytest.raises(Violation, match="is not of type"):
            answer("POST", template, 201, {"id": "x"})

    def test_every_graphql_document_is_one_github_understands(self) -> None:
        found = documents()
        assert len(found) >= 4
        for document in found:
            assert validate(schema(), parse(document)) == []

    def test_a_graphql_field_github_does_not_know(self, fake: FakeGitHub) -> None:
        query = """query X($owner: String!, $name: String!) {
            repository(owner: $owner, name: $name) { color } }"""
        with pytest.raises(problems.GitHubProblem, match="Cannot query field 'color'"):
            client(fake).graphql(query, {})
