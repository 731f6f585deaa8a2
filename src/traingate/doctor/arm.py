"""Azure Resource Manager, read only: what the SDK of Azure ML has no call for."""

from collections.abc import Iterator
from typing import Any

import httpx

from traingate.doctor.tokens import ARM, NotAsked, Tokens
from traingate.errors import TraingateError

HOST = "management.azure.com"
_FORBIDDEN = frozenset({401, 403})
_NOT_FOUND = 404


class ArmProblem(TraingateError):
    """Resource Manager's refusal, with its HTTP status."""

    def __init__(self, problem: str, *, todo: str, status: int) -> None:
        super().__init__(problem, todo=todo)
        self.status = status

    @property
    def is_forbidden(self) -> bool:
        return self.status in _FORBIDDEN

    @property
    def is_absent(self) -> bool:
        return self.status == _NOT_FOUND


class Arm:
    """Reads resources by their ids; the same question is asked once."""

    def __init__(self, client: httpx.Client, tokens: Tokens) -> None:
        """Args: the client, and whose tokens go with each request."""
        self._client = client
        self._tokens = tokens
        self._answers: dict[str, dict[str, Any]] = {}
        self._away: NotAsked | None = None

    def reach(self) -> None:
        """Sign in and see that Resource Manager answers, whatever it says.

        Raises:
            NotAsked: nobody is signed in.
            TraingateError: it does not answer. No later question is sent; each is `NotAsked`.
        """
        headers = self._headers()
        try:
            self._client.get(
                f"https://{HOST}/subscriptions?api-version=2022-12-01", headers=headers
            )
        except httpx.HTTPError as error:
            problem = f"{HOST} does not answer ({type(error).__name__})."
            todo = "Look at the network and the proxy, and run the command again."
            self._away = NotAsked(problem, todo=todo)
            raise TraingateError(problem, todo=todo) from error

    def get(self, path: str, api_version: str, **query: str) -> dict[str, Any]:
        """The resource, or one page of a list. `query` takes `filter` for `$filter`.

        Raises:
            ArmProblem: it is not there, may not be read, or Azure is out of order.
            NotAsked: nobody is signed in, or Resource Manager does not answer.
        """
        parameters = {"api-version": api_version} | {f"${key}": it for key, it in query.items()}
        return self._read(httpx.URL(f"https://{HOST}{path}", params=parameters))

    def pages(self, path: str, api_version: str, **query: str) -> Iterator[dict[str, Any]]:
        """Every entry of a list.

        Raises:
            ArmProblem, NotAsked: as `get`.
        """
        page = self.get(path, api_version, **query)
        yield from page.get("value") or ()
        while link := page.get("nextLink"):
            page = self._read(httpx.URL(link))
            yield from page.get("value") or ()

    def _read(self, url: httpx.URL) -> dict[str, Any]:
        if self._away is not None:
            raise self._away
        if (url.scheme, url.host, url.port) != ("https", HOST, None):
            # The token would go along, and a page's link is only text that came from outside.
            raise ArmProblem(
                f"Resource Manager names {url.host!r} as its next page.",
                todo="Run the command again; a proxy may have changed the answer.",
                status=200,
            )
        if str(url) not in self._answers:
            self._answers[str(url)] = self._ask(url)
        return self._answers[str(url)]

    def _ask(self, url: httpx.URL) -> dict[str, Any]:
        try:
            answer = self._client.get(url, headers=self._headers())
            body = answer.json() if answer.is_success else None
        except (httpx.HTTPError, ValueError) as error:
            raise TraingateError(
                f"{HOST} gave no answer to {url.path} ({type(error).__name__}).",
                todo="Look at the network and run the command again.",
            ) from error
        if not isinstance(body, dict):
            raise ArmProblem(
                f"Resource Manager answered HTTP {answer.status_code} to {url.path}.",
                todo="Compare the coordinates in platform.yml with the portal, and retry.",
                status=answer.status_code,
            )
        return body

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._tokens(ARM)}"}
