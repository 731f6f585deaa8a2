"""Secrets in Azure Key Vault, read by the job's managed identity in the process that needs them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote, urlsplit

from train_aml.problems import StoreProblem

if TYPE_CHECKING:
    from azure.core.exceptions import HttpResponseError

SCHEME = "keyvault://"
#: The only hosts that ever see a token, by Azure ML's name of its cloud
#: (AZUREML_CURRENT_CLOUD). A closed list: no variable and no typing error can name another.
DNS_SUFFIXES = {
    "AzureCloud": "vault.azure.net",
    "AzureChinaCloud": "vault.azure.cn",
    "AzureUSGovernment": "vault.usgovcloudapi.net",
}
CONNECT_TIMEOUT_SECONDS = 10
READ_TIMEOUT_SECONDS = 20
RETRIES = 2
MASK = "[secret]"
#: Shorter texts than this are words of their own, and masking them would garble every message.
MIN_MASKED_CHARACTERS = 6

# Key Vault's own rules for names (azure-docs, "Key Vault object identifiers").
_VAULT = r"[A-Za-z](?:[A-Za-z0-9]|-(?!-)){1,22}[A-Za-z0-9]"
_LOCATION = re.compile(
    rf"keyvault://(?P<vault>{_VAULT})/(?P<name>[A-Za-z0-9-]{{1,127}})(?:/(?P<version>[0-9a-f]{{32}}))?"
)
_known: set[str] = set()


@dataclass(frozen=True, kw_only=True, slots=True)
class Location:
    """`keyvault://<vault>/<name>[/<version>]`; `version` is "" for the newest one."""

    vault: str
    name: str
    version: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a location.

        Raises:
            StoreProblem: `text` is not of that form.
        """
        match = _LOCATION.fullmatch(text.strip())
        if match is None:
            raise StoreProblem(
                f"{text!r} is no Key Vault location; write keyvault://VAULT/SECRET, or "
                "keyvault://VAULT/SECRET/VERSION with the version's 32 hexadecimal digits."
            )
        return cls(vault=match["vault"], name=match["name"], version=match["version"] or "")

    def __str__(self) -> str:
        return "/".join(filter(None, (f"{SCHEME}{self.vault}", self.name, self.version)))


def read(text: str) -> str:
    """The value of the secret at a `keyvault://` location.

    The value is masked from then on wherever `redact` is used.

    Raises:
        StoreProblem: no identity, no right, no such vault or secret; the message says which, and
            what to grant.
    """
    location = Location.parse(text)
    url = f"https://{location.vault}.{_dns_suffix(os.environ.get('AZUREML_CURRENT_CLOUD', ''))}"
    client_id = os.environ.get("DEFAULT_IDENTITY_CLIENT_ID", "")
    value = _fetch(location, url, client_id).strip()
    if not value:
        raise StoreProblem(f"{location} is empty. Set the secret's value to the location wanted.")
    hide(value)
    return value


def hide(value: str) -> None:
    """Mask `value` and, where it is a URL, the password in it, wherever `redact` is used."""
    password = urlsplit(value).password if "://" in value else None
    parts = {value, password or "", unquote(password or "")}
    _known.update(part for part in parts if len(part) >= MIN_MASKED_CHARACTERS)


def redact(text: str) -> str:
    """`text` with every secret that this process has read replaced by a mask."""
    for secret in sorted(_known, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _dns_suffix(cloud: str) -> str:
    try:
        return DNS_SUFFIXES[cloud or "AzureCloud"]
    except KeyError:
        raise StoreProblem(
            f"AZUREML_CURRENT_CLOUD={cloud!r} is none of {', '.join(DNS_SUFFIXES)}, so the Key "
            "Vault's address is not known. Unset it for Azure's public cloud."
        ) from None


def _fetch(location: Location, url: str, client_id: str) -> str:
    try:
        from azure.core import exceptions  # noqa: PLC0415 - only where a vault is used
        from azure.identity import ManagedIdentityCredential  # noqa: PLC0415 - as above
        from azure.keyvault.secrets import SecretClient  # noqa: PLC0415 - as above
    except ImportError as error:
        raise StoreProblem(
            f"{location} needs the packages azure-identity and azure-keyvault-secrets, which this "
            f"image lacks ({error}). Add them to the image."
        ) from error
    identity = f"managed identity {client_id}" if client_id else "system-assigned managed identity"
    credential = ManagedIdentityCredential(client_id=client_id or None)
    timeouts: dict[str, Any] = {
        "connection_timeout": CONNECT_TIMEOUT_SECONDS,
        "read_timeout": READ_TIMEOUT_SECONDS,
        "retry_total": RETRIES,
    }
    try:
        with credential, SecretClient(url, credential, **timeouts) as client:
            return client.get_secret(location.name, location.version or None).value or ""
    except exceptions.ClientAuthenticationError as error:
        raise StoreProblem(
            f"{location} cannot be read: no token for the {identity} ({_first_line(error)}). Write "
            "`identity: {type: managed}` into the job, and give the cluster an identity of the "
            "vault's tenant with the role Key Vault Secrets User on the vault."
        ) from error
    except exceptions.HttpResponseError as error:
        raise StoreProblem(_refusal(location, error, identity)) from error
    except exceptions.AzureError as error:
        raise StoreProblem(
            f"{location} cannot be read: {url} does not answer ({_first_line(error)}). Check the "
            f"vault's name {location.vault!r}, and that the cluster's network reaches it (private "
            "endpoint and DNS zone)."
        ) from error


def _refusal(location: Location, error: HttpResponseError, identity: str) -> str:
    inner = getattr(error.error, "innererror", None) or {}
    reason = inner.get("code", "") if isinstance(inner, dict) else getattr(inner, "code", "")
    said = f"{location} cannot be read: {error.status_code} {reason or error.reason or ''}".strip()
    match (error.status_code, reason):
        case (403, "ForbiddenByFirewall" | "ForbiddenByConnection"):
            return (
                f"{said}: the vault's firewall refuses this cluster. Allow its subnet, or give "
                "the vault a private endpoint in the cluster's network."
            )
        case (403, "SecretDisabled"):
            return f"{said}: the secret is disabled. Enable it, or name an enabled version."
        case (403, _):
            return (
                f"{said}: the {identity} has no right to it. Grant it the role Key Vault Secrets "
                f"User on the vault {location.vault!r}; a new grant takes a few minutes."
            )
        case (404, _):
            return (
                f"{said}: the vault {location.vault!r} has no such secret. Create it with `az "
                f"keyvault secret set --vault-name {location.vault} --name {location.name}`, or "
                "mend the name in the job."
            )
        case _:
            return f"{said} ({_first_line(error)}). Try again later, or ask the vault's owner."


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
