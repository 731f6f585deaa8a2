"""Whether a registry holds a manifest, asked by the OCI distribution API.

Sources: opencontainers/distribution-spec, "Pulling manifests"; distribution/distribution, "Token
authentication"; Azure/acr docs/AAD-OAuth.md.
"""

import re
from dataclasses import dataclass
from urllib.request import parse_http_list, parse_keqv_list

import httpx

from traingate.doctor.tokens import REGISTRY, NotAsked, Tokens
from traingate.doctor.web import short_json

#: A registry of Azure, and nothing that only looks like one: these get a token of Entra's.
_AZURE = re.compile(r"[a-z0-9-]+\.azurecr\.io")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"(?P<name>{_LABEL}(?:\.{_LABEL})*)(?::(?P<port>[0-9]{{1,5}}))?")
_PATH = re.compile(
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

_MANIFESTS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_UNAUTHORIZED = 401
_LONGEST_NAME, _LAST_PORT = 253, 65535


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """What a pinned reference names. `repository` is the path inside the registry."""

    host: str
    repository: str
    digest: str

    @property
    def is_azure(self) -> bool:
        return _AZURE.fullmatch(self.host) is not None

    @property
    def url(self) -> str:
        return f"https://{self.host}/v2/{self.repository}/manifests/{self.digest}"


def manifest(reference: str) -> Manifest | None:
    """The manifest that `HOST/PATH[:TAG]@sha256:DIGEST` names; None for anything else.

    Without a host it is Docker Hub's, by Docker's rule.
    """
    name, _, digest = reference.partition("@")
    name = re.sub(r":[^:/]*$", "", name) if "/" in name else name.partition(":")[0]
    first, slash, rest = name.partition("/")
    has_host = bool(slash) and (first == "localhost" or "." in first or ":" in first)
    host, path = (first, rest) if has_host else ("docker.io", name)
    if host == "docker.io":
        host = "registry-1.docker.io"
        path = path if "/" in path else f"library/{path}"
    if not (_is_host(host) and _PATH.fullmatch(path) and _DIGEST.fullmatch(digest)):
        return None
    return Manifest(host=host, repository=path, digest=digest)


def _is_host(text: str) -> bool:
    """Whether a socket takes it: what it does not take ends in no error that httpx knows."""
    found = _HOST.fullmatch(text)
    if found is None:
        return False
    return len(found["name"]) <= _LONGEST_NAME and 0 < int(found["port"] or 443) <= _LAST_PORT


class Registries:
    """Asks registries for manifests, with a token where one may be had."""

    def __init__(self, client: httpx.Client, tokens: Tokens, tenant_id: str) -> None:
        """Args: the client, and whose tokens a registry of Azure is shown."""
        self._client = client
        self._tokens = tokens
        self._tenant_id = tenant_id

    def ask(self, wanted: Manifest) -> httpx.Response:
        """The registry's answer to HEAD.

        A token is only asked for after a 401. The one of Entra goes to a registry of Azure alone,
        and never where the registry's challenge points.

        Raises:
            httpx.HTTPError: the registry does not answer.
        """
        answer = self._head(wanted, None)
        if answer.status_code != _UNAUTHORIZED:
            return answer
        challenge = answer.headers.get("www-authenticate", "")
        token = self._azure_token(wanted) or self._anonymous_token(wanted, challenge)
        return self._head(wanted, token) if token else answer

    def _head(self, wanted: Manifest, token: str | None) -> httpx.Response:
        headers = {"Accept": ", ".join(_MANIFESTS)}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return self._client.head(wanted.url, headers=headers)

    def _azure_token(self, wanted: Manifest) -> str | None:
        """A token to pull, for this person's of Entra; None where the registry gives none."""
        if not wanted.is_azure:
            return None
        try:
            entra = self._tokens(REGISTRY)
        except NotAsked:
            return None
        service = {"service": wanted.host}
        refresh = self._posted(
            f"https://{wanted.host}/oauth2/exchange",
            "refresh_token",
            service
            | {"grant_type": "access_token", "tenant": self._tenant_id, "access_token": entra},
        )
        if refresh is None:
            return None
        return self._posted(
            f"https://{wanted.host}/oauth2/token",
            "access_token",
            service
            | {"grant_type": "refresh_token", "scope": _scope(wanted), "refresh_token": refresh},
        )

    def _posted(self, url: str, key: str, form: dict[str, str]) -> str | None:
        given = short_json(self._client, self._client.build_request("POST", url, data=form))
        token = given.get(key)
        return token if isinstance(token, str) else None

    def _anonymous_token(self, wanted: Manifest, challenge: str) -> str | None:
        """A token for everybody, from where the registry's challenge says.

        That is another host for Docker Hub and others, so the realm is followed, over TLS, with
        nothing of ours: what answers there learns no more than that somebody asked.
        """
        realm, service = _challenge(challenge)
        if realm is None:
            return None
        query = {"scope": _scope(wanted)} | ({"service": service} if service else {})
        try:
            request = self._client.build_request("GET", realm.copy_merge_params(query))
            given = short_json(self._client, request)
        except httpx.HTTPError:
            return None  # Whatever stands there gives no token, and that is all the doctor says.
        token = given.get("token") or given.get("access_token")
        return token if isinstance(token, str) else None


def is_manifest(answer: httpx.Response, wanted: Manifest) -> bool:
    """Whether a success is about `wanted`: a web site says 200 to any path."""
    digest = answer.headers.get("docker-content-digest")
    if digest is not None:
        return bool(digest == wanted.digest)
    return answer.headers.get("content-type", "").partition(";")[0] in _MANIFESTS


def _scope(wanted: Manifest) -> str:
    return f"repository:{wanted.repository}:pull"


def _challenge(text: str) -> tuple[httpx.URL | None, str | None]:
    """Realm and service of `Bearer realm="...",service="..."`; no realm unless it is https."""
    scheme, _, rest = text.partition(" ")
    if scheme.lower() != "bearer":
        return None, None
    try:
        given = parse_keqv_list(parse_http_list(rest))
        realm = httpx.URL(given.get("realm", ""))
    except (ValueError, IndexError, httpx.InvalidURL):
        return None, None
    if realm.scheme != "https" or realm.userinfo or not _is_host(realm.netloc.decode()):
        return None, None
    return realm, given.get("service")
