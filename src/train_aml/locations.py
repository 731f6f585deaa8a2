"""Where the stores are: a location from the contract becomes an address, on rank zero only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self
from urllib.parse import unquote, urlsplit, urlunsplit

from train_aml import secrets
from train_aml.problems import StoreProblem

#: Before the path of a SQLite file, relative to the working directory.
SQLITE_PREFIX = "sqlite:///"


def resolve(location: str) -> str:
    """The address behind `location`, which is the location itself unless it is in a vault.

    Raises:
        StoreProblem: the location is `keyvault://...` and cannot be resolved.
    """
    return secrets.read(location) if location.startswith(secrets.SCHEME) else location


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """A tracking server: its address without credentials, and those that stood in it."""

    address: str
    username: str = ""
    password: str = field(default="", repr=False)

    @property
    def is_remote(self) -> bool:
        """Whether it is asked over HTTP; else it is a database that MLflow opens itself."""
        return _is_http(self.address)

    @classmethod
    def at(cls, uri: str) -> Self:
        """Take `http(s)://user:password@host` apart; MLflow would print it whole in its errors."""
        parts = urlsplit(uri)
        if _is_http(uri) and "@" in uri and "@" not in parts.netloc:
            secrets.hide(uri)
            raise StoreProblem(
                "the password in TRAINGATE_TRACKING_URI holds a `/`, `?` or `#` as it is, so the "
                "address ends there. Percent-encode the user and the password."
            )
        if not _is_http(uri) or "@" not in parts.netloc:
            return cls(address=uri)
        secrets.hide(uri)
        _, _, host = parts.netloc.rpartition("@")
        return cls(
            address=urlunsplit(parts._replace(netloc=host)),
            username=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
        )


def _is_http(uri: str) -> bool:
    return uri.lower().startswith(("http://", "https://"))
