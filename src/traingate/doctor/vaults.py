"""The vaults that jobs read from: they exist, hold the secrets, and let the jobs read them.

No secret's value is asked for: the list of a secret's versions has none (Key Vault REST, "Get
Secret Versions").
"""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx

from traingate.doctor.arm import Arm
from traingate.doctor.diagnosis import Diagnosis, Probe
from traingate.doctor.grants import Grants
from traingate.doctor.looking import AREA, looked_up
from traingate.doctor.secrets import Read, Secret
from traingate.doctor.tokens import VAULT, Tokens
from traingate.documents.platform import Azure
from traingate.errors import TraingateError

_API = "7.4"
_DELETED_API = "2022-07-01"
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 401, 403, 404
_NETWORK_RULES = frozenset({"ForbiddenByFirewall", "ForbiddenByConnection"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Vaults:
    """Who asks about vaults, and how."""

    client: httpx.Client
    tokens: Tokens
    arm: Arm
    grants: Grants
    azure: Azure

    def probes(self, reads: Iterable[Read]) -> Iterator[tuple[str, Probe]]:
        """A probe for each vault, by its line's name."""
        by_vault: dict[str, list[Read]] = {}
        for read in reads:
            by_vault.setdefault(read.secret.vault, []).append(read)
        for vault, its in sorted(by_vault.items()):
            yield f"vault {vault}", partial(self._vault, vault, its)

    def _vault(self, vault: str, reads: list[Read]) -> Iterator[Diagnosis]:
        try:
            self.client.get(f"{_url(vault)}/secrets", params={"api-version": _API})
        except httpx.HTTPError as error:
            yield self._missing(vault, type(error).__name__)
            return
        yield AREA.well(f"vault {vault}", "It exists.")
        for secret in sorted({read.secret for read in reads if read.secret.name}):
            show = _az(secret, "list-versions")
            probe = partial(self._secret, secret)
            yield from looked_up(f"secret {secret.location}", probe, by_hand=show)
        readers = {(read.secret, read.reader) for read in reads if read.reader is not None}
        for secret, reader in sorted(readers):
            yield from self.grants.may_read(secret, reader)

    def _missing(self, vault: str, why: str) -> Diagnosis:
        """A vault whose name leads nowhere: deleted but kept, or never there."""
        line = f"vault {vault}"
        if self._is_deleted(vault):
            told = "It was deleted, and is kept for a while."
            return AREA.wrong(line, told, f"az keyvault recover --name {vault}")
        told = f"{_url(vault)} does not answer ({why}): there is no such vault, or no way to it."
        return AREA.wrong(line, told, f"az keyvault show --name {vault}")

    def _is_deleted(self, vault: str) -> bool:
        place = f"/subscriptions/{self.azure.subscription_id}/providers/Microsoft.KeyVault"
        try:
            deleted = self.arm.pages(f"{place}/deletedVaults", _DELETED_API)
            return any(one["name"].lower() == vault for one in deleted)
        except TraingateError:
            # Not knowing why it is away changes nothing about the line that says it is.
            return False

    def _secret(self, secret: Secret) -> Iterator[Diagnosis]:
        headers = {"Authorization": f"Bearer {self.tokens(VAULT)}"}
        versions: list[dict[str, Any]] = []
        url: httpx.URL | None = httpx.URL(
            f"{_url(secret.vault)}/secrets/{secret.name}/versions", params={"api-version": _API}
        )
        while url is not None:
            answer = self._answer(url, headers)
            if not answer.is_success:
                yield _refused(secret, answer)
                return
            page = answer.json()
            versions.extend(page.get("value") or ())
            url = _next(secret, page)
        yield _judged(secret, versions)

    def _answer(self, url: httpx.URL, headers: dict[str, str]) -> httpx.Response:
        try:
            return self.client.get(url, headers=headers)
        except httpx.HTTPError as error:
            raise TraingateError(
                f"{url.host} stopped answering ({type(error).__name__}).",
                todo="Look at the network and run the command again.",
            ) from error


def _judged(secret: Secret, versions: list[dict[str, Any]]) -> Diagnosis:
    """What the list of versions says; it is sorted by their ids, which say nothing."""
    line = f"secret {secret.location}"
    fitting = [one for one in versions if secret.version in {"", _version(one)}]
    if not versions:
        told = (
            "There is none, or it was deleted (then `az keyvault secret recover` brings it back)."
        )
        return AREA.wrong(line, told, f'{_az(secret, "set")} --value "$VALUE"')
    if not fitting:
        told = f"It has {len(versions)} versions, and not this one."
        return AREA.wrong(line, told, _az(secret, "list-versions"))
    used = max(fitting, key=lambda one: int(one["attributes"].get("created", 0)))
    if not used["attributes"].get("enabled", True):
        told = f"Version {_version(used)}, which jobs read, is disabled."
        enable = f"{_az(secret, 'set-attributes')} --version {_version(used)} --enabled true"
        return AREA.wrong(line, told, enable)
    return AREA.well(line, "It is there; its value was not asked for.")


def _refused(secret: Secret, answer: httpx.Response) -> Diagnosis:
    line, show = f"secret {secret.location}", _az(secret, "list-versions")
    status = answer.status_code
    if status == _NOT_FOUND:
        return _judged(secret, [])
    if status == _UNAUTHORIZED:
        told = "The vault takes no token of this tenant: it belongs to another."
        return AREA.wrong(line, told, f"az keyvault show --name {secret.vault}")
    if status == _FORBIDDEN and _reason(answer) in _NETWORK_RULES:
        told = "The vault's network rules do not let this machine in."
        return AREA.skipped(line, told, show)
    if status == _FORBIDDEN:
        told = "You may not list its versions; Key Vault Reader on the vault may."
        return AREA.skipped(line, told, show)
    return AREA.wrong(line, f"The vault answered HTTP {status}.", show)


def _reason(answer: httpx.Response) -> str:
    """The inner code of Key Vault's error, such as ForbiddenByRbac."""
    try:
        return str(answer.json()["error"]["innererror"]["code"])
    except (ValueError, KeyError, TypeError):
        return ""


def _next(secret: Secret, page: dict[str, Any]) -> httpx.URL | None:
    """The next page, None after the last; never one of another host, which would get the token."""
    link = httpx.URL(page.get("nextLink") or "")
    ours = httpx.URL(_url(secret.vault))
    return link if (link.scheme, link.host, link.port) == (ours.scheme, ours.host, None) else None


def _version(entry: dict[str, Any]) -> str:
    return str(entry["id"]).rpartition("/")[2]


def _url(vault: str) -> str:
    return f"https://{vault}.vault.azure.net"


def _az(secret: Secret, verb: str) -> str:
    where = ("--vault-name", secret.vault, "--name", secret.name)
    return shlex.join(("az", "keyvault", "secret", verb, *where))
