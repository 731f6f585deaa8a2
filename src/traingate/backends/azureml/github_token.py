"""GitHub's identity token of the running workflow job, fetched anew each time it is asked for.

A token lives about five minutes (AADSTS700024 afterwards), so none is ever kept.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from traingate.errors import TraingateError

AUDIENCE = "api://AzureADTokenExchange"

_ATTEMPTS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Claims:
    """What a token says about its bearer; never the token itself."""

    subject: str
    repository: str
    owner_id: str
    repository_id: str

    @property
    def name_form(self) -> str:
        """The subject as GitHub wrote it for every repository before 2026-07-15."""
        return f"repo:{self.repository}:{self._context}"

    @property
    def id_form(self) -> str:
        """The subject with the numeric ids that newer and renamed repositories get."""
        owner, _, name = self.repository.partition("/")
        return f"repo:{owner}@{self.owner_id}/{name}@{self.repository_id}:{self._context}"

    @property
    def environment(self) -> str | None:
        """The environment the workflow job names, if any."""
        kind, _, value = self._context.partition(":")
        return value if kind == "environment" else None

    @property
    def _context(self) -> str:
        return self.subject.split(":", 2)[-1]


class GitHubToken:
    """Fetches the job's token; remembers only the last one's claims, to explain a refusal."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Read where to ask.

        Raises:
            TraingateError: the job may not ask for a token.
        """
        url = environ.get("ACTIONS_ID_TOKEN_REQUEST_URL")
        request_token = environ.get("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
        if not url or not request_token:
            raise TraingateError(
                "This workflow job may not ask GitHub for an identity token.",
                todo="Give the job `permissions: id-token: write` (a pull request from a fork "
                "never gets it).",
            )
        self._url = url
        self._request_token = request_token
        self.claims: Claims | None = None

    def __call__(self) -> str:
        """A fresh token.

        Raises:
            TraingateError: GitHub gave none.
        """
        response = self._ask()
        token = response.json().get("value") if response.is_success else None
        if not isinstance(token, str):
            raise TraingateError(
                f"GitHub gave no identity token (HTTP {response.status_code}).",
                todo="See that the job has `permissions: id-token: write`, then re-run it.",
            )
        self.claims = claims_of(token)
        return token

    def _ask(self) -> httpx.Response:
        """Ask, and ask again where the answer is lost or says `later`."""
        problem = ""
        with httpx.Client(timeout=30) as client:
            for _ in range(_ATTEMPTS):
                try:
                    response = client.get(
                        httpx.URL(self._url).copy_add_param("audience", AUDIENCE),
                        headers={"Authorization": f"bearer {self._request_token}"},
                    )
                except httpx.TransportError as error:
                    problem = type(error).__name__
                    continue
                if response.status_code not in {429, 500, 502, 503, 504}:
                    return response
                problem = f"HTTP {response.status_code}"
        raise TraingateError(
            f"GitHub's token service did not answer ({problem}, {_ATTEMPTS} attempts).",
            todo="Re-run the workflow job; submitting again is safe.",
        )


def claims_of(token: str) -> Claims | None:
    """The claims of a JSON web token, unverified: they are only shown, never trusted."""
    try:
        body = token.split(".")[1]
        raw: Any = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (IndexError, binascii.Error, ValueError):
        return None
    return Claims(
        subject=str(raw.get("sub", "")),
        repository=str(raw.get("repository", "")),
        owner_id=str(raw.get("repository_owner_id", "")),
        repository_id=str(raw.get("repository_id", "")),
    )
