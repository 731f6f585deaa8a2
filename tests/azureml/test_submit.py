"""Submissions against the fake service, with the real SDK."""

import re
from dataclasses import replace

import pytest
from azureml_fake import Fake, Fault
from azureml_fake.scene import IMAGE, PROVENANCE, Scene

from traingate.backends.azureml.backend import AzureMLBackend
from traingate.backends.base import Provenance
from traingate.errors import Refusal, TraingateError


def plain(requests: list[str]) -> list[str]:
    """Requests with the random and the content-made names taken out."""
    text = "\n".join(requests)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", text)
    text = re.sub(r"[0-9a-f]{64}|[0-9a-f]{32}", "HASH", text)
    text = re.sub(r"seg-[0-9a-f]{12}-p7", "RUN", text)
    return text.split("\n")


READS = [
    "GET computes/gpu-cluster",
    "GET jobs",
    "GET locations/westeurope/usages",
    "GET locations/westeurope/vmSizes",
]


def test_without_local_files_a_submission_is_two_writes(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    scene = scene.with_job(code=None, inputs=None, command="python -m train_aml")

    submission = backend.submit(scene.plan(), PROVENANCE)

    requests = plain(fake.requests)
    assert requests[0] == "GET jobs/RUN"
    assert sorted(requests[1:5]) == READS
    assert requests[5:] == [
        "PUT environments/CliV2AnonymousEnvironment/versions/HASH",
        "PUT jobs/RUN",
    ]
    assert submission.is_new
    assert submission.url is not None
    assert submission.notes == ()


def test_with_code_and_an_input_each_file_is_uploaded_once(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    backend.submit(scene.plan(), PROVENANCE)

    requests = plain(fake.requests)
    assert requests[0] == "GET jobs/RUN"
    assert sorted(requests[1:5]) == READS
    assert requests[5:12] == [
        "GET datastores/workspaceblobstore",
        "GET blob/acct1/data1?comp=list",
        "PUT blob/acct1/data1/traingate/HASH/data/a.csv",
        "PUT blob/acct1/data1/traingate/HASH/data/deep/b.csv",
        "GET codes/UUID/versions",
        "POST codes/UUID/versions/1/startPendingUpload",
        "HEAD blob/acct1/UUID/src/lib/model.py",
    ]
    # The SDK uploads code from a pool of threads.
    assert sorted(requests[12:14]) == [
        "PUT blob/acct1/UUID/src/lib/model.py",
        "PUT blob/acct1/UUID/src/train.py",
    ]
    assert requests[14:] == [
        "PUT blob/acct1/UUID/src/lib/model.py?comp=metadata",
        "PUT codes/UUID/versions/1",
        "PUT environments/CliV2AnonymousEnvironment/versions/HASH",
        "PUT jobs/RUN",
    ]


def test_the_same_digest_is_already_submitted_and_costs_one_read(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    first = backend.submit(scene.plan(), PROVENANCE)
    before = len(fake.requests)

    second = backend.submit(scene.plan(), replace(PROVENANCE, attempt=9))

    assert plain(fake.requests[before:]) == ["GET jobs/RUN"]
    assert second == replace(first, is_new=False)
    assert len(fake.state.jobs) == 1


def test_another_digest_under_the_name_is_refused_with_both(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    backend.submit(scene.plan(), PROVENANCE)
    (job,) = fake.state.jobs.values()
    job["properties"]["properties"]["traingate.digest"] = "other"
    writes = len(fake.writes)

    with pytest.raises(
        Refusal, match=rf"digest other; this plan's digest is {scene.plan().digest}"
    ):
        backend.submit(scene.plan(), PROVENANCE)

    assert len(fake.writes) == writes


def test_a_job_that_is_not_ours_is_refused(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    backend.submit(scene.plan(), PROVENANCE)
    (job,) = fake.state.jobs.values()
    del job["properties"]["properties"]["traingate.digest"]

    with pytest.raises(Refusal, match="digest none"):
        backend.submit(scene.plan(), PROVENANCE)


def test_an_answer_lost_after_the_job_was_taken_is_a_submission(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    fake.faults = [Fault(at="PUT jobs", kind="lose", times=9)]

    submission = backend.submit(scene.plan(), PROVENANCE)

    assert submission.is_new
    assert len(fake.state.jobs) == 1
    assert plain(fake.requests)[-1] == "GET jobs/RUN"


def test_a_job_that_another_submission_made_meanwhile_is_ours_too(fake: Fake, scene: Scene) -> None:
    """Both looked and found nothing; the slower one's code has another id: 400, immutable."""
    plan = scene.plan()
    scene.backend(fake).submit(plan, PROVENANCE)
    name = plan.run_name(PROVENANCE.origin)
    fake.faults = [Fault(at=f"GET jobs/{name}", kind="404")]
    fake.state.codes.clear()

    submission = scene.backend(fake).submit(plan, PROVENANCE)

    assert submission.run_name == name
    assert plain(fake.requests)[-2:] == ["PUT jobs/RUN", "GET jobs/RUN"], plain(fake.requests)
    assert len(fake.state.jobs) == 1


def test_content_that_lies_in_the_workspace_is_not_uploaded_again(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    backend.submit(scene.plan(), PROVENANCE)
    before = len(fake.requests)

    backend.submit(scene.plan(), replace(PROVENANCE, origin="p8"))

    assert not [one for one in fake.requests[before:] if "PUT blob" in one]
    assert len(fake.state.jobs) == 2


def test_registered_code_and_data_are_named_not_looked_for_on_disk(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    scene = scene.with_job(
        code="azureml:common-code:3", inputs={"data": {"path": "azureml:cifar:2"}, "lr": 1}
    )
    backend.submit(scene.plan(), PROVENANCE)

    sent = fake.seen("PUT jobs")[0].json["properties"]
    assert sent["codeId"].endswith("/workspaces/ws1/codes/common-code/versions/3")
    assert sent["inputs"]["data"]["uri"].endswith("/workspaces/ws1/data/cifar/versions/2")


def test_a_failing_code_upload_ends_and_can_be_repeated(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    code = re.compile(r"PUT blob/acct1/[0-9a-f-]{36}/src/train.py")
    fake.state.forbidden = {"/src/train.py"}

    with pytest.raises(
        TraingateError, match=r"may not submit the job .HTTP 403.*Storage Blob Data"
    ):
        backend.submit(scene.plan(), PROVENANCE)

    assert any(code.match(one) for one in fake.requests)
    assert fake.state.jobs == {}
    fake.state.forbidden = set()
    assert backend.submit(scene.plan(), PROVENANCE).is_new


def test_an_input_upload_that_stopped_half_way_is_taken_up(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    """The first file is the missing one: azure-ai-ml's own upload could never go on from here."""
    fake.state.forbidden = {"/data/a.csv"}
    with pytest.raises(TraingateError, match="Storage Blob Data Contributor"):
        backend.submit(scene.plan(), PROVENANCE)
    fake.state.forbidden = {"/data/deep/b.csv"}
    with pytest.raises(TraingateError, match="may not upload the job's inputs"):
        backend.submit(scene.plan(), PROVENANCE)
    fake.state.forbidden = set()
    before = len(fake.requests)

    backend.submit(scene.plan(), PROVENANCE)

    uploaded = [one for one in fake.requests[before:] if one.startswith("PUT blob/acct1/data1")]
    assert [one.rpartition("/")[2] for one in uploaded] == ["b.csv"]
    kept = {k.rpartition("/")[2]: v for k, v in fake.state.blobs.items() if k.startswith("data1/")}
    assert kept == {"a.csv": b"1,2\n", "b.csv": b"3,4\n"}


def test_the_body_carries_what_is_searched_for_and_what_rank_zero_needs(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    plan = scene.plan()
    backend.submit(plan, PROVENANCE)

    sent = fake.seen("PUT jobs")[0].json["properties"]
    assert sent["properties"] == {
        "traingate.run": plan.run_name("p7"),
        "traingate.workload": "seg",
        "traingate.repository": "local/repository",
        "traingate.pull_request": "7",
        "traingate.commit": "c" * 40,
        "traingate.attempt": "2",
        "traingate.admission": "seg@2027-03-31",
        "traingate.digest": plan.digest,
        "traingate.cost_ceiling_usd": f"{plan.cost.usd:.2f}" if plan.cost else "",
        "mlflow.source.git.commit": "c" * 40,
    }
    assert set(sent["tags"]) == {
        key
        for key in sent["properties"]
        if key not in {"traingate.admission", "traingate.digest", "mlflow.source.git.commit"}
    }
    assert sent["environmentVariables"] == {
        "TRAINGATE_TRACKING_URI": "https://mlflow.example",
        "TRAINGATE_RUN": plan.run_name("p7"),
        "TRAINGATE_WORKLOAD": "seg",
        "TRAINGATE_MODEL": "segmentation",
        "TRAINGATE_MODEL_EXISTING": "false",
        "TRAINGATE_DIGEST": plan.digest,
        "TRAINGATE_ATTEMPT": "2",
        "TRAINGATE_IMAGE": IMAGE,
        "TRAINGATE_COMMIT": "c" * 40,
        "TRAINGATE_PULL_REQUEST": "7",
        "TRAINGATE_REPOSITORY": "local/repository",
    }


def test_a_run_without_pull_request_and_commit_says_nothing_of_them(
    backend: AzureMLBackend, fake: Fake, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scene.root.parent)
    backend.submit(scene.plan(), Provenance(origin="l1"))

    sent = fake.seen("PUT jobs")[0].json["properties"]
    for name in ("pull_request", "commit"):
        assert f"traingate.{name}" not in sent["properties"]
        assert f"TRAINGATE_{name.upper()}" not in sent["environmentVariables"]


def test_the_progress_bar_stays_on_and_off_the_terminal(
    backend: AzureMLBackend,
    fake: Fake,
    scene: Scene,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from azure.ai.ml._utils import _experimental

    # Each notice comes once a process; earlier tests may have had it.
    monkeypatch.setattr(_experimental, "_warning_cache", set())
    scene = scene.with_job(queue_settings={"job_tier": "standard"})
    assert backend._client.jobs._show_progress is True

    backend.submit(scene.plan(), PROVENANCE)

    assert capfd.readouterr() == ("", "")
