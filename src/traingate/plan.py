"""The plan: everything that follows from a request, and the exact thing that would run.

Pure: the same request gives the same plan, and the same digest is the same work.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from traingate.catalog import Size, size_named
from traingate.documents.admission import Admission, Envelope, Model
from traingate.documents.job import Job
from traingate.documents.platform import Platform, Target
from traingate.documents.request import Blob, Request

#: Minutes a node is billed around the job itself: image pull and start before it. Documented
#: on the card as an assumption; the idle minutes after it come from the target.
STARTUP_MINUTES = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Topology:
    """Who runs where: `world_size` = nodes x processes a node.

    `gpus_per_node` is None for a size the catalogue does not know.
    """

    nodes: int
    processes_per_node: int
    distribution: str | None
    size: str | None
    gpus_per_node: int | None

    @property
    def world_size(self) -> int:
        return self.nodes * self.processes_per_node

    @property
    def backend_tag(self) -> str:
        """`training.backend` of the model this makes: a lone process is a single-node run."""
        return "single-node" if self.world_size == 1 else "aml-distributed"


@dataclass(frozen=True, kw_only=True, slots=True)
class CostCeiling:
    """The most one run can cost: nodes x (start-up + timeout + idle) x price, in US dollars."""

    usd: float
    usd_per_hour_and_node: float
    billed_hours: float
    price_source: str
    price_date: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What would run. `payload` is the job as it would be sent, without provenance.

    `files` are the request's code and local input files with git's blob ids; `digest` is the
    SHA-256 over repository, payload, resolved target and files. `admission` names what runs and
    dollars are counted under, against `envelope`.
    """

    workload: str
    repository: str
    job: Job
    payload: Mapping[str, Any]
    topology: Topology
    target: Target | None
    cost: CostCeiling | None
    model: Model
    admission: str
    envelope: Envelope
    files: Mapping[str, Blob]
    digest: str

    def run_name(self, origin: str) -> str:
        """`<workload>-<first 12 of digest>-<origin>`: origin `p<n>`, `r<run id>` or `l<n>`."""
        return f"{self.workload}-{self.digest[:12]}-{origin}"


def plan(request: Request) -> Plan:
    """Derive the plan of a request whose job and admission were both understood."""
    assert request.job is not None
    assert request.admission is not None
    job, platform = request.job, request.context.platform
    target = platform.targets.get(job.compute or "")
    files = request.context.tree.under(str(request.job_folder))
    payload = job.document.value
    topology = _topology(job, target)
    return Plan(
        workload=request.workload,
        repository=request.context.repository,
        job=job,
        payload=payload,
        topology=topology,
        target=target,
        cost=_cost(job, topology, target, platform),
        model=request.admission.model,
        admission=admission_name(request.admission),
        envelope=request.admission.envelope,
        files=files,
        digest=_digest(request.context.repository, payload, target, files),
    )


def admission_name(admission: Admission) -> str:
    """`<workload>` and, where it ends, `@<last valid day>`.

    Raising the envelope inside an admission keeps its count; renewing it starts another.
    """
    last_day = f"@{admission.expires.isoformat()}" if admission.expires else ""
    return f"{admission.workload}{last_day}"


def _topology(job: Job, target: Target | None) -> Topology:
    name = job.instance_type or (target.size if target else None)
    size: Size | None = size_named(name) if name else None
    return Topology(
        nodes=job.instance_count,
        processes_per_node=_processes_per_node(job),
        distribution=job.distribution.type if job.distribution else None,
        size=size.name if size else name,
        gpus_per_node=int(size.gpus) if size else None,
    )


def _processes_per_node(job: Job) -> int:
    """As Azure ML starts them: one process a node unless the distribution says otherwise."""
    if job.distribution is None or job.distribution.type in {"tensorflow", "ray"}:
        return 1
    return job.distribution.process_count_per_instance or 1


def _cost(
    job: Job, topology: Topology, target: Target | None, platform: Platform
) -> CostCeiling | None:
    if topology.size is None or not job.timeout_seconds:
        return None
    size = size_named(topology.size)
    override = platform.prices_usd_per_hour.get(topology.size)
    price = override if override is not None else (size.usd_per_hour if size else None)
    if price is None:
        return None
    idle_seconds = target.idle_seconds if target else 0
    hours = (job.timeout_seconds + STARTUP_MINUTES * 60 + idle_seconds) / 3600
    return CostCeiling(
        usd=round(topology.nodes * hours * price, 2),
        usd_per_hour_and_node=price,
        billed_hours=hours,
        price_source="platform.yml" if override is not None else "pay-as-you-go, eastus",
        price_date=None if override is not None or size is None else size.price_date,
    )


def _digest(
    repository: str, payload: Mapping[str, Any], target: Target | None, files: Mapping[str, Blob]
) -> str:
    what = {
        "repository": repository,
        "job": payload,
        "target": asdict(target) if target else None,
        "files": {path: [blob.mode, blob.object_id] for path, blob in files.items()},
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()
