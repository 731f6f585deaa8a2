"""platform.yml: what the platform offers and the policy requests are held against."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from traingate.documents.located import Document


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A compute a job may name. `idle_seconds` is how long it waits before scaling down."""

    name: str
    size: str
    min_nodes: int = 0
    max_nodes: int
    idle_seconds: int = 300
    priority: str = "dedicated"
    node_to_node: bool = True
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Azure:
    """Coordinates of the workspace and the identities GitHub signs in as."""

    subscription_id: str
    resource_group: str
    workspace: str
    location: str
    tenant_id: str
    submitter_client_id: str | None = None
    reader_client_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    """The policy. `tracking_uri` and `results_url` are the local backend's stores.

    `allowed_keys` are the job keys that are refused unless listed (docker_args,
    resource_properties, services, build, conda_file, user_identity). `approvers` lists a team's
    members where GitHub cannot be asked. `prices_usd_per_hour` override the catalogue, by size.
    `severities` change a rule's weight, by rule id or name.
    """

    document: Document
    backend: str = "local"
    tracking_uri: str
    results_url: str
    azure: Azure | None = None
    single_node_gpu_memory_gib: float | None = None
    longest_admission_days: int = 180
    targets: Mapping[str, Target]
    allowed_keys: frozenset[str]
    approvers: Mapping[str, tuple[str, ...]]
    prices_usd_per_hour: Mapping[str, float]
    severities: Mapping[str, str]


def platform(document: Document) -> Platform:
    """The typed platform of a document that `schemas/platform.schema.json` accepts."""
    raw: dict[str, Any] = document.value
    local = raw.get("local") or {}
    azure = raw.get("azure")
    return Platform(
        document=document,
        backend=raw.get("backend", "local"),
        tracking_uri=local.get("tracking_uri", "sqlite:///.traingate/mlflow.db"),
        results_url=local.get("results_url", "sqlite:///.traingate/results.db"),
        azure=Azure(**azure) if azure else None,
        single_node_gpu_memory_gib=(raw.get("single_node") or {}).get("gpu_memory_gib"),
        longest_admission_days=raw.get("longest_admission_days", 180),
        targets={name: _target(name, value) for name, value in (raw.get("targets") or {}).items()},
        allowed_keys=frozenset(raw.get("allowed_keys") or ()),
        approvers={team: tuple(people) for team, people in (raw.get("approvers") or {}).items()},
        prices_usd_per_hour=raw.get("prices_usd_per_hour") or {},
        severities=raw.get("severities") or {},
    )


def _target(name: str, raw: dict[str, Any]) -> Target:
    return Target(name=name, **raw | {"secrets": tuple(raw.get("secrets") or ())})
