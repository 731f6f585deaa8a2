"""What lies around a workspace: Resource Manager, registries and vaults, behind one transport.

Bodies have the shapes of Azure/azure-rest-api-specs' examples (msi 2023-01-31, authorization
2022-04-01, keyvault 2022-07-01), of Key Vault REST "Get Secret Versions", of Azure/acr
docs/AAD-OAuth.md, and of the OCI distribution specification.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import httpx

from azureml_fake.state import READER, SUBMITTER, SUBSCRIPTION, TENANT

GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg1"
IDENTITIES = "providers/Microsoft.ManagedIdentity/userAssignedIdentities"
COMPUTES = f"{GROUP}/providers/Microsoft.MachineLearningServices/workspaces/ws1/computes"
VAULTS = f"{GROUP}/providers/Microsoft.KeyVault/vaults"
SECRETS_USER = "/providers/Microsoft.Authorization/roleDefinitions/4633458b"
OWNER_ROLE = "/providers/Microsoft.Authorization/roleDefinitions/8e3af657"
GITHUB = "https://token.actions.githubusercontent.com"

Answer = Callable[[httpx.Request], httpx.Response | None]


def credential(name: str, subject: str | None, **other: Any) -> dict[str, Any]:
    """A federated credential as Resource Manager lists it."""
    about = {"issuer": GITHUB, "subject": subject, "audiences": ["api://AzureADTokenExchange"]}
    return {"name": name, "properties": about | other}


def grant(role: str, scope: str, **other: Any) -> dict[str, Any]:
    """A role assignment as Resource Manager lists it."""
    return {"properties": {"roleDefinitionId": role, "scope": scope} | other}


def version(vault: str, name: str, number: int, **attributes: Any) -> dict[str, Any]:
    """A version of a secret as Key Vault lists it: no value, and not by age."""
    about = {"enabled": True, "created": number, "updated": number} | attributes
    return {
        "id": f"https://{vault}.vault.azure.net/secrets/{name}/{number:032x}",
        "attributes": about,
    }


@dataclass
class Neighbours:
    """The state. `answers` are asked first, so that a test can put in a fault."""

    credentials: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    identities: dict[str, str] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    computes: dict[str, dict[str, Any]] = field(default_factory=dict)
    vaults: dict[str, dict[str, Any]] = field(default_factory=dict)
    secrets: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    deleted_vaults: list[str] = field(default_factory=list)
    grants: list[dict[str, Any]] = field(default_factory=list)
    manifests: set[str] = field(default_factory=set)
    public_hosts: set[str] = field(default_factory=set)
    pullers: set[str] = field(default_factory=set)
    answers: list[Answer] = field(default_factory=list)
    forbidden: str | None = None
    signed_in: bool = True
    seen: list[httpx.Request] = field(default_factory=list)

    @classmethod
    def well(cls) -> "Neighbours":
        """Everything as the Terraform module makes it, and one job's image and secret there."""
        form = "repo:contoso/training"
        return cls(
            identities={"ws1-github-submitter": SUBMITTER, "ws1-github-reader": READER},
            credentials={
                "ws1-github-submitter": [
                    credential("github-by-name", f"{form}:environment:azureml")
                ],
                "ws1-github-reader": [
                    credential("github-by-name", f"{form}:environment:azureml-read")
                ],
            },
            computes={"gpu-cluster": identity("p-gpu", "c-gpu")},
            vaults={"kv-vision": {"enableRbacAuthorization": True}},
            secrets={"kv-vision/mlflow": [version("kv-vision", "mlflow", 1)]},
            grants=[grant(SECRETS_USER, f"{VAULTS}/kv-vision")],
            manifests={f"contoso.azurecr.io/train@sha256:{'a' * 64}"},
            pullers={"contoso.azurecr.io"},
        )

    def client(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(lambda it: _sent(self.answer(it))))

    def token(self, scope: str) -> str:
        from traingate.errors import TraingateError

        if not self.signed_in:
            raise TraingateError("You are not signed in to Azure: no.", todo="Run `az login`.")
        return f"entra for {scope}"

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        for one in self.answers:
            if (given := one(request)) is not None:
                return given
        host = request.url.host
        if host == "management.azure.com":
            return self._arm(request)
        if host.endswith(".vault.azure.net"):
            return self._vault(request, host.partition(".")[0])
        return self._registry(request)

    # --- Resource Manager --------------------------------------------------------------------

    def _arm(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        assert (
            request.headers["authorization"]
            == "Bearer entra for https://management.azure.com/.default"
        )
        assert request.method == "GET"
        assert "api-version" in request.url.params
        if self.forbidden and re.search(self.forbidden, path):
            return httpx.Response(403, json={"error": {"code": "AuthorizationFailed"}})
        for pattern, answer in self._routes().items():
            if match := re.fullmatch(pattern, path):
                return answer(request, *match.groups())
        return httpx.Response(404, json={"error": {"code": "ResourceNotFound"}})

    def _routes(self) -> dict[str, Callable[..., httpx.Response]]:
        subscription = f"/subscriptions/{SUBSCRIPTION}"
        roles = "/providers/Microsoft.Authorization"
        return {
            "/subscriptions": lambda _: _listed([]),
            f"{GROUP}/{IDENTITIES}": self._list_identities,
            f"{subscription}/{IDENTITIES}": lambda _: _listed(
                [_identity(name, client_id, "rg2") for name, client_id in self.elsewhere.items()]
            ),
            rf"{subscription}/resourcegroups/\w+/{IDENTITIES}/(.+)/federatedIdentityCredentials": (
                lambda _, name: _listed(self.credentials[name])
            ),
            f"{COMPUTES}/(.+)": lambda _, name: _one(self.computes.get(name)),
            f"{subscription}/resources": self._resources,
            f"{VAULTS}/([^/]+)": lambda _, name: _one(self._resource(name)),
            f"{VAULTS}/([^/]+){roles}/roleAssignments": self._assignments,
            SECRETS_USER: lambda _: _role("Key Vault Secrets User", SECRETS_DATA_ACTIONS),
            OWNER_ROLE: lambda _: _role("Owner", ()),
            f"{subscription}/providers/Microsoft.KeyVault/deletedVaults": lambda _: _listed(
                [{"name": name, "properties": {}} for name in self.deleted_vaults]
            ),
        }

    def _list_identities(self, request: httpx.Request) -> httpx.Response:
        """One a page, as a group with many identities is answered."""
        every = [_identity(name, it, "rg1") for name, it in self.identities.items()]
        start = int(request.url.params.get("$skiptoken", "0"))
        page: dict[str, Any] = {"value": every[start : start + 1]}
        if start + 1 < len(every):
            page["nextLink"] = str(request.url.copy_set_param("$skiptoken", str(start + 1)))
        return httpx.Response(200, json=page)

    def _resources(self, request: httpx.Request) -> httpx.Response:
        match = re.fullmatch(
            r"resourceType eq 'Microsoft\.KeyVault/vaults' and name eq '([\w-]+)'",
            request.url.params["$filter"],
        )
        assert match is not None
        name = match[1]
        return _listed([{"id": f"{VAULTS}/{name}", "name": name}] if name in self.vaults else [])

    def _resource(self, name: str) -> dict[str, Any] | None:
        about = self.vaults.get(name)
        return None if about is None else {"id": f"{VAULTS}/{name}", "properties": about}

    def _assignments(self, request: httpx.Request, _: str) -> httpx.Response:
        assert request.url.params["$filter"] == "assignedTo('p-gpu')"
        return _listed(self.grants)

    # --- Key Vault ---------------------------------------------------------------------------

    def _vault(self, request: httpx.Request, vault: str) -> httpx.Response:
        assert not re.fullmatch(r"/secrets/[^/]+(/[0-9a-f]{32})?", request.url.path), "a value"
        if vault not in self.vaults:
            raise httpx.ConnectError("no such host")
        if "authorization" not in request.headers:
            return httpx.Response(401)
        assert (
            request.headers["authorization"] == "Bearer entra for https://vault.azure.net/.default"
        )
        match = re.fullmatch(r"/secrets/([^/]+)/versions", request.url.path)
        assert match is not None
        every = self.secrets.get(f"{vault}/{match[1]}", [])
        start = int(request.url.params.get("$skiptoken", "0"))
        page: dict[str, Any] = {"value": every[start : start + 1], "nextLink": None}
        if start + 1 < len(every):
            page["nextLink"] = (
                f"https://{vault}.vault.azure.net:443{request.url.path}"
                f"?api-version=7.4&$skiptoken={start + 1}"
            )
        return httpx.Response(200, json=page)

    # --- Registries --------------------------------------------------------------------------

    def _registry(self, request: httpx.Request) -> httpx.Response:
        host, path = request.url.host, request.url.path
        if request.method == "POST" and host.endswith(".azurecr.io"):
            return self._registry_token(request)
        if path == "/token":
            scope = request.url.params["scope"]
            return httpx.Response(200, json={"token": f"anonymous {scope}"})
        match = re.fullmatch(r"/v2/(.+)/manifests/(sha256:.+)", path)
        assert match is not None, path
        assert request.method == "HEAD"
        scope = f"repository:{match[1]}:pull"
        allowed = {f"Bearer pull {scope}"} | (
            {f"Bearer anonymous {scope}"} if host in self.public_hosts else set()
        )
        if request.headers.get("authorization") not in allowed:
            realm = "https://auth.example/token"
            challenge = f'Bearer realm="{realm}",service="{host}",scope="{scope}"'
            return httpx.Response(401, headers={"WWW-Authenticate": challenge})
        if f"{host}/{match[1]}@{match[2]}" not in self.manifests:
            return httpx.Response(404)
        kind = "application/vnd.oci.image.index.v1+json"
        assert kind in request.headers["accept"]
        return httpx.Response(
            200, headers={"Content-Type": kind, "Docker-Content-Digest": match[2]}
        )

    def _registry_token(self, request: httpx.Request) -> httpx.Response:
        form = {key: it[0] for key, it in parse_qs(request.content.decode()).items()}
        assert form["service"] == request.url.host
        if request.url.path == "/oauth2/exchange":
            assert form["grant_type"] == "access_token"
            assert form["tenant"] == TENANT
            assert form["access_token"] == "entra for https://containerregistry.azure.net/.default"
            if request.url.host not in self.pullers:
                return httpx.Response(401)
            return httpx.Response(200, json={"refresh_token": "refresh"})
        assert request.url.path == "/oauth2/token"
        assert (form["grant_type"], form["refresh_token"]) == ("refresh_token", "refresh")
        return httpx.Response(200, json={"access_token": f"pull {form['scope']}"})


SECRETS_DATA_ACTIONS = (
    "Microsoft.KeyVault/vaults/secrets/getSecret/action",
    "Microsoft.KeyVault/vaults/secrets/readMetadata/action",
)


def identity(principal_id: str, client_id: str) -> dict[str, Any]:
    """A cluster with one user-assigned identity."""
    own = {f"{GROUP}/{IDENTITIES}/x": {"principalId": principal_id, "clientId": client_id}}
    return {"identity": {"type": "UserAssigned", "userAssignedIdentities": own}}


def _sent(answer: httpx.Response) -> httpx.Response:
    """The answer as it comes off a socket: not read yet."""
    stream = httpx.ByteStream(answer.content)
    return httpx.Response(answer.status_code, headers=answer.headers, stream=stream)


def _listed(value: list[Any]) -> httpx.Response:
    return httpx.Response(200, json={"value": value})


def _one(value: Any) -> httpx.Response:
    return httpx.Response(404) if value is None else httpx.Response(200, json=value)


def _identity(name: str, client_id: str, group: str) -> dict[str, Any]:
    """Azure writes `resourcegroups` in lower case here (msi examples)."""
    return {
        "id": f"/subscriptions/{SUBSCRIPTION}/resourcegroups/{group}/{IDENTITIES}/{name}",
        "name": name,
        "properties": {"clientId": client_id, "principalId": "p", "tenantId": TENANT},
    }


def _role(name: str, data_actions: tuple[str, ...]) -> httpx.Response:
    permission = {
        "actions": ["*"],
        "notActions": [],
        "dataActions": list(data_actions),
        "notDataActions": [],
    }
    return httpx.Response(200, json={"properties": {"roleName": name, "permissions": [permission]}})
