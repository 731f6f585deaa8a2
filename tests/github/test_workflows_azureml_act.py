"""The loop once through Azure ML: both identities, the job, its outcome, the label."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from github.fake.acting import Runner, runner
from github.fake.backend import outcome
from github.fake.requests import request
from github.fake.server import FakeGitHub
from traingate.github.labels import DONE, RUNNING

sys.path.insert(0, str(Path(__file__).parents[1] / "azureml"))

SUBMITTER, READER = (f"00000000-0000-0000-0000-00000000000{number}" for number in (3, 4))
AZURE = {
    "subscription_id": "00000000-0000-0000-0000-000000000001",
    "resource_group": "rg1",
    "workspace": "ws1",
    "location": "westeurope",
    "tenant_id": "00000000-0000-0000-0000-000000000002",
    "submitter_client_id": SUBMITTER,
    "reader_client_id": READER,
}
PLATFORM: dict[str, Any] = {
    "backend": "azureml",
    "azure": AZURE,
    "single_node": {"gpu_memory_gib": 80},
    "targets": {
        "gpu-cluster": {
            "size": "Standard_NC48ads_A100_v4",
            "max_nodes": 2,
            "secrets": ["keyvault://acme-kv/*"],
        }
    },
}


@pytest.fixture
def azure(tmp_path: Path) -> Iterator[Any]:
    from azureml_fake import running

    folder = tmp_path / "tls"
    folder.mkdir()
    with running(folder) as fake:
        fake.reset()
        yield fake


@pytest.fixture
def ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    fake = FakeGitHub()
    with runner(tmp_path, fake) as made:
        yield made
    assert fake.violations == []


def environment(azure: Any) -> dict[str, str]:
    return azure.environ() | {"STUB_BLOB_URL": f"{azure.url}/blob/{{account}}"}


def test_submitted_by_one_identity_and_reported_by_the_other(ci: Runner, azure: Any) -> None:
    ci.stage.merged({"platform.yml": yaml.safe_dump(PLATFORM)})
    files = request()
    job = files["jobs/seg/job.yml"].replace("per_instance: 8", "per_instance: 2")
    job = job.replace("instance_count: 2", "instance_count: 1")
    pull, push = ci.stage.merged(files | {"jobs/seg/job.yml": job})

    submit = ci.push(push.before, push.after, **environment(azure))

    assert submit.steps().get(("submit", "Admit")) == "success", submit.log() + submit.stderr
    assert ("train", "Train") not in submit.steps(), "Azure ML trains, no runner does"
    assert pull.labels == [RUNNING]
    (run,) = azure.state.jobs
    assert run.endswith(f"-p{pull.number}")
    assert "is `Submitted`" in ci.stage.bodies(pull.number)[0]
    assert _clients(azure) == {SUBMITTER}

    azure.state.seen.clear()
    azure.state.states[run] = ["Completed"]
    place = f"azureml/ExperimentRun/dcid.{run}/outputs/traingate/outcome.json"
    azure.state.blobs[place] = outcome(run).encode()
    report = ci.report(**environment(azure))

    assert report.steps().get(("report", "Report")) == "success", report.log() + report.stderr
    told, card = ci.stage.bodies(pull.number)
    assert "is `Completed`" in told
    assert "`models:/seg/3`" in card
    assert pull.labels == [DONE]
    assert _clients(azure) == {READER}
    assert len(azure.state.jobs) == 1


def _clients(azure: Any) -> set[str]:
    """Who signed in since the log was cleared."""
    bodies = [one.body.decode() for one in azure.state.seen if "/oauth2/" in one.path]
    return {
        part.removeprefix("client_id=")
        for body in bodies
        for part in body.split("&")
        if part.startswith("client_id=")
    }
