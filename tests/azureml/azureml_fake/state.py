"""What the fake service remembers, and the requests and answers it is made of."""

import base64
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SUBSCRIPTION = "00000000-0000-0000-0000-0000000000a1"
TENANT = "00000000-0000-0000-0000-0000000000b2"
SUBMITTER = "00000000-0000-0000-0000-0000000000c3"
READER = "00000000-0000-0000-0000-0000000000d4"
PROVIDER = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.MachineLearningServices"
SUBJECT = "repo:contoso@5544123/training@821093847:environment:azureml"

SIZES = [
    {
        "name": "Standard_NC48ads_A100_v4",
        "family": "standardNCADSA100v4Family",
        "vCPUs": 48,
        "gpus": 2,
    },
    {"name": "Standard_DS3_v2", "family": "standardDSv2Family", "vCPUs": 4, "gpus": 0},
]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None

    @property
    def short(self) -> str:
        """`PUT jobs/NAME`: the method, and the path without what is the same in all."""
        _, workspace, tail = self.path.partition("/workspaces/ws1")
        if workspace and "/history/" not in self.path:
            return f"{self.method} {tail.lstrip('/') or 'workspace'}"
        comp = f"?comp={self.query['comp']}" if "comp" in self.query else ""
        path = self.path.removeprefix(PROVIDER).removeprefix(f"/{TENANT}")
        return f"{self.method} {path.lstrip('/')}{comp}"


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int = 200
    body: Any = None
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def payload(self) -> bytes:
        if self.raw is not None:
            return self.raw
        return b"" if self.body is None else json.dumps(self.body).encode()


Route = tuple[str, str, Callable[["State", Any, Seen], Answer]]


def refused(status: int, code: str, message: str, inner: str | None = None) -> Answer:
    error: dict[str, Any] = {"code": code, "message": message}
    if inner:
        error["additionalInfo"] = [{"type": "InnerError", "info": {"value": {"code": inner}}}]
    return Answer(status=status, body={"error": error})


def usage(name: str, used: int, limit: int, scope: str = "") -> dict[str, Any]:
    return {
        "id": f"/subscriptions/{SUBSCRIPTION}{scope}/usages/{name.replace(' ', '_')}",
        "type": "Microsoft.MachineLearningServices/vmFamily/usages",
        "unit": "Count",
        "currentValue": used,
        "limit": limit,
        "name": {"value": name, "localizedValue": name},
    }


def cluster(**changes: Any) -> dict[str, Any]:
    """An AmlCompute as Terraform makes it; `changes` are the drift."""
    about = {
        "vmSize": "STANDARD_NC48ADS_A100_V4",
        "vmPriority": "Dedicated",
        "minNodeCount": 0,
        "maxNodeCount": 2,
        "nodeIdleTimeBeforeScaleDown": "PT300S",
        "computeType": "AmlCompute",
    } | changes
    scale = {k: about[k] for k in ("minNodeCount", "maxNodeCount", "nodeIdleTimeBeforeScaleDown")}
    inner = {"osType": "Linux", "vmSize": about["vmSize"], "vmPriority": about["vmPriority"]}
    return {
        "computeType": about["computeType"],
        "computeLocation": "westeurope",
        "provisioningState": "Succeeded",
        "properties": inner | {"scaleSettings": scale},
    }


def jwt(claims: dict[str, Any]) -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'none'})}.{part(claims)}.c2lnbmF0dXJl"


@dataclass
class State:
    """Everything the service holds; `public` is its own address."""

    public: str = ""
    #: Where code is uploaded to, and the signature for it; a container of its own when None.
    code_container: tuple[str, str] | None = None
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    codes: dict[str, dict[str, Any]] = field(default_factory=dict)
    environments: dict[str, dict[str, Any]] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)
    computes: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {
            "gpu-cluster": cluster(),
            "spot-cluster": cluster(vmPriority="LowPriority"),
        }
    )
    usages: list[dict[str, Any]] = field(
        default_factory=lambda: [
            usage("Total Cluster Dedicated Regional vCPUs", 0, 500),
            usage("Standard NCADSA100v4 Family Cluster Dedicated vCPUs", 0, 96),
            usage(
                "Standard NCADSA100v4 Family Cluster Dedicated vCPUs",
                0,
                1,
                "/resourceGroups/r/x/workspaces/o",
            ),
            usage("Total Cluster LowPriority Regional vCPUs", 0, 96),
            usage("Standard NCADSA100v4 Family Cluster LowPriority vCPUs", 0, -1),
        ]
    )
    #: Job name to the states its next reads show, one a read; the last one stays.
    states: dict[str, list[str]] = field(default_factory=dict)
    errors: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Parts of a path that answer 403.
    forbidden: set[str] = field(default_factory=set)
    federated_subject: str = SUBJECT
    token_subject: str = SUBJECT
    token_age_seconds: float = 0
    seen: list[Seen] = field(default_factory=list)

    def github_token(self) -> str:
        issued = time.time() - self.token_age_seconds
        return jwt(
            {
                "sub": self.token_subject,
                "aud": "api://AzureADTokenExchange",
                "repository": "contoso/training",
                "repository_owner_id": "5544123",
                "repository_id": "821093847",
                "iat": issued,
                "exp": issued + 300,
            }
        )
