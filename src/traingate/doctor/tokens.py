"""Tokens for the services of Azure that the doctor asks, each fetched once."""

import threading
from collections.abc import Callable

from traingate.errors import TraingateError

#: The narrowest scope that each service takes: a registry's token opens no vault.
ARM = "https://management.azure.com/.default"
REGISTRY = "https://containerregistry.azure.net/.default"
VAULT = "https://vault.azure.net/.default"


class NotAsked(TraingateError):
    """Azure could not be asked at all, so nothing is known to be wrong with it."""


class Tokens:
    """Remembers each scope's token, or why there is none. Probes in several threads share it.

    The Azure CLI is a new process for every token: a second of waiting each.
    """

    def __init__(self, fetch: Callable[[str], str]) -> None:
        """Args: how a scope's token is had; raises `TraingateError` where nobody is signed in."""
        self._fetch = fetch
        self._lock = threading.Lock()
        self._known: dict[str, str | NotAsked] = {}

    def __call__(self, scope: str) -> str:
        """The token.

        Raises:
            NotAsked: nobody is signed in, or the sign-in was refused.
        """
        with self._lock:
            if scope not in self._known:
                self._known[scope] = self._ask(scope)
            known = self._known[scope]
        if isinstance(known, NotAsked):
            raise known
        return known

    def _ask(self, scope: str) -> str | NotAsked:
        try:
            return self._fetch(scope)
        except TraingateError as error:
            return NotAsked(error.problem, todo=error.todo)
