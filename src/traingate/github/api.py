"""The client: REST with paging, GraphQL with partial answers, GitHub's own rules for retries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import httpx

from traingate.github import problems, retries
from traingate.github.clock import Clock, SystemClock

#: Waiting longer than this costs more than a later run of the workflow does.
LONGEST_WAIT_SECONDS = 20 * 60.0
PAGE_SIZE = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """Where GitHub is (`GITHUB_API_URL`, `GITHUB_GRAPHQL_URL`), as whom, and which repository."""

    api_url: str
    graphql_url: str
    token: str = field(repr=False)
    repository: str

    @property
    def owner(self) -> str:
        return self.repository.partition("/")[0]

    @property
    def name(self) -> str:
        return self.repository.partition("/")[2]


class GitHub:
    """One repository on GitHub. Paths are relative to it: `issues/7/comments`.

    Every method raises `GitHubProblem` when GitHub refuses or cannot be reached.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        transport: httpx.BaseTransport | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._clock = clock or SystemClock()
        self._waited = 0.0
        self._http = httpx.Client(
            transport=transport,
            timeout=30.0,
            headers={
                "accept": "application/vnd.github+json",
                "authorization": f"Bearer {endpoint.token}",
                "user-agent": "traingate",
                "x-github-api-version": "2022-11-28",
            },
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **parameters: str | int) -> Any:
        """The JSON at `path`; `NotThere` for 404."""
        return self._send("GET", self._url(path), params=parameters).json()

    def pages(self, path: str, *, key: str | None = None, **parameters: str | int) -> Iterator[Any]:
        """Every item of a list, page after page by the Link header.

        Args:
            path: relative to the repository.
            key: where the list stands when a page is an object, such as `environments`.
            parameters: the first page's query.
        """
        response = self._send("GET", self._url(path), params={"per_page": PAGE_SIZE, **parameters})
        while True:
            page = response.json()
            yield from page[key] if key else page
            following = response.links.get("next", {}).get("url")
            if following is None:
                return
            if not following.startswith(f"{self.endpoint.api_url.rstrip('/')}/"):
                # The token goes wherever we follow.
                raise problems.unreachable("GET", path, "its next page lies on another host")
            response = self._send("GET", following)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Create; never repeated once it may have arrived."""
        return self._send("POST", self._url(path), body=body).json()

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._send("PATCH", self._url(path), body=body).json()

    def delete(self, path: str) -> None:
        self._send("DELETE", self._url(path))

    def team_has(self, organisation: str, team: str, person: str) -> bool:
        """Whether `person` is an active member; needs an organisation's `Members: read`.

        Raises:
            NotThere: not a member, or a team this token may not see; GitHub tells no difference.
        """
        path = f"/orgs/{organisation}/teams/{team}/memberships/{person}"
        answer = self._send("GET", f"{self.endpoint.api_url.rstrip('/')}{path}").json()
        return bool(answer["state"] == "active")

    def graphql(
        self, query: str, variables: Mapping[str, Any], *, may_lack: frozenset[str] = frozenset()
    ) -> Any:
        """The data of a query about this repository (`$owner` and `$name` are given).

        Args:
            query: the document; only queries, so it may be repeated.
            variables: the query's other variables.
            may_lack: fields that may be missing with an error and are then None.
        """
        known = {"owner": self.endpoint.owner, "name": self.endpoint.name}
        body = {"query": query, "variables": known | dict(variables)}
        for attempt in range(retries.TRIES):
            answer = self._send(
                "POST", self.endpoint.graphql_url, body=body, repeatable=True
            ).json()
            errors = answer.get("errors") or []
            if any(error.get("type") == "RATE_LIMITED" for error in errors):
                self._pause(60.0 * 2**attempt)
                continue
            lacking = [error for error in errors if not may_lack & set(error.get("path") or ())]
            if lacking or answer.get("data") is None:
                raise problems.graphql_refused([str(error.get("message")) for error in lacking])
            return answer["data"]
        raise problems.exhausted(60.0 * 2**retries.TRIES)

    def _url(self, path: str) -> str:
        base = self.endpoint.api_url.rstrip("/")
        return f"{base}/repos/{self.endpoint.repository}/{path}".rstrip("/")

    def _send(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        repeatable: bool = False,
    ) -> httpx.Response:
        request = self._http.build_request(method, url, params=params or None, json=body)
        repeatable = repeatable or method in retries.IDEMPOTENT
        for attempt in range(retries.TRIES):
            answer = self._once(request)
            if isinstance(answer, httpx.TransportError):
                seconds = retries.dropped_seconds(answer, attempt, repeatable=repeatable)
            elif answer.is_success:
                return answer
            else:
                seconds = retries.wait_seconds(
                    answer, attempt, now=self._clock.now(), repeatable=repeatable
                )
            if seconds is None or attempt == retries.TRIES - 1:
                raise _failure(request, answer)
            self._pause(seconds)
        raise AssertionError

    def _once(self, request: httpx.Request) -> httpx.Response | httpx.TransportError:
        try:
            return self._http.send(request)
        except httpx.TransportError as error:
            return error

    def _pause(self, seconds: float) -> None:
        if self._waited + seconds > LONGEST_WAIT_SECONDS:
            raise problems.exhausted(seconds)
        self._waited += seconds
        self._clock.sleep(seconds)


def _failure(
    request: httpx.Request, answer: httpx.Response | httpx.TransportError
) -> problems.GitHubProblem:
    method, path = request.method, request.url.path
    if isinstance(answer, httpx.TransportError):
        return problems.unreachable(method, path, type(answer).__name__)
    return problems.refused(method, path, answer.status_code, _message(answer))


def _message(response: httpx.Response) -> str:
    try:
        answer = response.json()
    except ValueError:
        return response.reason_phrase
    return str(answer.get("message", "")) if isinstance(answer, dict) else ""
