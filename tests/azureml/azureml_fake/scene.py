"""A repository with one request, its plan, and a backend that talks to the fake service."""

import subprocess
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from azure.core.credentials import AccessToken

from azureml_fake.server import Fake
from azureml_fake.state import READER, SUBMITTER, SUBSCRIPTION, TENANT, jwt
from traingate.backends.azureml.workspace import Workspace
from traingate.backends.base import Provenance
from traingate.documents.platform import Azure
from traingate.documents.reading import Reading, read_requests
from traingate.plan import Plan, plan

if TYPE_CHECKING:
    from traingate.backends.azureml.backend import AzureMLBackend

IMAGE = "registry.example/train@sha256:" + "ab" * 32
PROVENANCE = Provenance(origin="p7", attempt=2, commit="c" * 40, pull_request=7)

JOB: dict[str, Any] = {
    "command": "python train.py --data ${{inputs.data}} --lr ${{inputs.lr}}",
    "code": "./src",
    "environment": {"image": IMAGE},
    "compute": "azureml:gpu-cluster",
    "distribution": {"type": "pytorch", "process_count_per_instance": 2},
    "resources": {"instance_count": 2, "shm_size": "16g"},
    "limits": {"timeout": 3600},
    "inputs": {"data": {"type": "uri_folder", "path": "./data"}, "lr": 0.1},
    "environment_variables": {"TRAINGATE_TRACKING_URI": "https://mlflow.example"},
}

PLATFORM: dict[str, Any] = {
    "backend": "azureml",
    "azure": {
        "subscription_id": SUBSCRIPTION,
        "resource_group": "rg1",
        "workspace": "ws1",
        "location": "westeurope",
        "tenant_id": TENANT,
        "submitter_client_id": SUBMITTER,
        "reader_client_id": READER,
    },
    "targets": {
        "gpu-cluster": {"size": "Standard_NC48ads_A100_v4", "max_nodes": 2},
        "spot-cluster": {
            "size": "Standard_NC48ads_A100_v4",
            "max_nodes": 2,
            "priority": "low_priority",
        },
    },
}

ADMISSION = """\
---
workload: seg
owner: "@contoso/vision"
model: {name: segmentation}
need: memory
envelope: {targets: [gpu-cluster, spot-cluster], nodes: 2, gpus: 4, hours: 2, runs: 3, cost_usd: 60}
expires: 2027-03-31
---
"""

FILES = {
    "jobs/seg/src/train.py": "print('train')\n",
    "jobs/seg/src/lib/model.py": "WIDTH = 3\n",
    "jobs/seg/data/a.csv": "1,2\n",
    "jobs/seg/data/deep/b.csv": "3,4\n",
}


class StaticCredential:
    """A signed-in identity that needs no sign-in."""

    def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        return AccessToken(
            jwt({"tid": TENANT, "aud": scopes[0].removesuffix("/.default")}), 4102444800
        )


@dataclass(frozen=True)
class Scene:
    root: Path
    job: dict[str, Any] = field(default_factory=lambda: JOB)

    @classmethod
    def make(cls, root: Path, job: dict[str, Any] | None = None) -> "Scene":
        scene = cls(root, JOB if job is None else job)
        for path, text in FILES.items():
            scene.write(path, text)
        scene.write("admissions/seg.md", ADMISSION)
        scene.write("platform.yml", yaml.safe_dump(PLATFORM))
        scene.write("jobs/seg/job.yml", yaml.safe_dump(scene.job, sort_keys=False))
        scene.git("init", "-q")
        scene.git("add", "-A")
        return scene

    def with_job(self, **changes: Any) -> "Scene":
        """The same repository with keys of the job replaced, or removed where None."""
        merged = {key: value for key, value in (self.job | changes).items() if value is not None}
        self.write("jobs/seg/job.yml", yaml.safe_dump(merged, sort_keys=False))
        return replace(self, job=merged)

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", "-C", str(self.root), *arguments], check=True)

    def is_understood(self) -> bool:
        return not self._reading().findings

    def _reading(self) -> Reading:
        return read_requests(self.root, ("seg",), date(2026, 11, 30))

    def plan(self) -> Plan:
        reading = self._reading()
        assert not reading.findings, [str(finding) for finding in reading.findings]
        return plan(reading.requests[0])

    def backend(self, fake: Fake, credential: Any = None, **settings: Any) -> "AzureMLBackend":
        from traingate.backends.azureml.backend import AzureMLBackend

        workspace = Workspace(
            azure=Azure(**PLATFORM["azure"]),
            credential=credential or StaticCredential(),
            backoff_seconds=0.001,
            **{"blob_url": f"{fake.url}/blob/{{account}}"} | settings,
        )
        return AzureMLBackend(workspace, self.root)
