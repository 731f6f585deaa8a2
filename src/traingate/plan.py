"""The plan: everything that follows from a request, and the exact thing that would run.

Pure: the same request gives the same plan, and the same digest is the same work.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from traingate.cost import STARTUP_MINUTES, CostCeiling, cost_ceiling
from traingate.documents.admission import Admission, Envelope, Model
from traingate.documents.job import Job
from traingate.documents.platform import Target
from traingate.documents.request import Blob, Request
from traingate.topology import Rank, Topology, ranks, topology

__all__ = ["STARTUP_MINUTES", "CostCeiling", "Plan", "Rank", "Topology", "admission_name", "plan"]


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

    @property
    def ranks(self) -> tuple[Rank, ...]:
        """The processes with the variables Azure ML gives each, at most 1,024 of them."""
        return ranks(self.topology)

    def run_name(self, origin: str) -> str:
        """`<workload>-<first 12 of digest>-<origin>`: origin `p<n>`, `r<run id>` or `l<n>`."""
        return f"{self.workload}-{self.digest[:12]}-{origin}"


def plan(request: Request) -> Plan:
    """Derive the plan of a request whose job and admission were both understood."""
    assert request.job is not None
    assert request.admission is not None
    job, platform = request.job, request.context.platform
    target = request.target
    files = _files(request, job)
    payload = job.document.value
    placed = topology(job, target)
    return Plan(
        workload=request.workload,
        repository=request.context.repository,
        job=job,
        payload=payload,
        topology=placed,
        target=target,
        cost=cost_ceiling(job, placed, target, platform),
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


def _files(request: Request, job: Job) -> dict[str, Blob]:
    """What the run reads of the repository: code, local inputs, environment files.

    The job file itself is left out: its content is in the payload, and a comment in it is no
    other work.
    """
    paths = [job.code, job.environment.conda_file, job.environment.build_path]
    paths += [given.path for given in job.inputs.values() if given.is_local]
    files: dict[str, Blob] = {}
    for path in paths:
        if path is not None and ":" not in path and (place := request.path(path)) is not None:
            files |= request.context.tree.under(place)
    files.pop(request.job_file, None)
    return dict(sorted(files.items()))


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
