"""What is refused before money is spent, and what is only said."""

import re
from dataclasses import replace

import pytest
from azureml_fake import Fake, Fault
from azureml_fake.scene import PROVENANCE, Scene
from azureml_fake.state import cluster, usage

from traingate.backends.azureml.backend import AzureMLBackend
from traingate.errors import Refusal, TraingateError

FAMILY = "Standard NCADSA100v4 Family Cluster Dedicated vCPUs"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"vmSize": "STANDARD_NC24ADS_A100_V4"},
            "size is standard_nc24ads_a100_v4, platform.yml says standard_nc48ads_a100",
        ),
        ({"minNodeCount": 1}, "minimum nodes is 1, platform.yml says 0"),
        ({"maxNodeCount": 4}, "maximum nodes is 4, platform.yml says 2"),
        ({"nodeIdleTimeBeforeScaleDown": "PT1800S"}, "idle seconds is 1800, platform.yml says 300"),
        ({"vmPriority": "LowPriority"}, "priority is lowpriority, platform.yml says dedicated"),
    ],
)
def test_a_compute_that_drifted_is_refused_with_both_values(
    backend: AzureMLBackend, fake: Fake, scene: Scene, changes: dict[str, object], said: str
) -> None:
    fake.state.computes["gpu-cluster"] = cluster(**changes)

    with pytest.raises(Refusal, match=re.escape(said)):
        backend.submit(scene.plan(), PROVENANCE)

    assert fake.writes == []


def test_a_compute_that_is_not_there_is_refused(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    fake.state.computes.clear()
    with pytest.raises(Refusal, match="has no compute 'gpu-cluster'"):
        backend.submit(scene.plan(), PROVENANCE)


def test_a_spot_cluster_is_held_against_the_low_priority_quota(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    scene = scene.with_job(compute="azureml:spot-cluster")
    fake.state.usages = [usage("Total Cluster LowPriority Regional vCPUs", 10, 96)]

    (note,) = backend.submit(scene.plan(), PROVENANCE).notes

    assert "needs 96 vCPUs of 'Total Cluster LowPriority Regional vCPUs', 10 of 96" in note


def test_serverless_has_no_cluster_to_compare(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    resources = {"instance_count": 2, "instance_type": "Standard_NC48ads_A100_v4"}
    scene = scene.with_job(
        compute="serverless", resources=resources, queue_settings={"job_tier": "spot"}
    )

    backend.submit(scene.plan(), PROVENANCE)

    sent = fake.seen("PUT jobs")[0].json["properties"]
    assert sent["queueSettings"] == {"jobTier": "Spot"}
    assert not fake.seen("GET computes")


def test_quota_that_is_too_small_is_a_note_and_no_refusal(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    fake.state.usages = [usage(FAMILY, 48, 96)]

    submission = backend.submit(scene.plan(), PROVENANCE)

    (note,) = submission.notes
    assert f"needs 96 vCPUs of '{FAMILY}', 48 of 96 are taken" in note
    assert submission.is_new


def test_quota_that_may_not_be_read_is_said_to_be_unchecked(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    fake.state.forbidden = {"/usages"}
    (note,) = backend.submit(scene.plan(), PROVENANCE).notes
    assert note == "Quota of westeurope: not checked, this identity may not read it."


def test_a_quota_service_that_fails_is_no_reason_to_stop(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    fake.faults = [Fault(at=".*/vmSizes", kind="400")]
    (note,) = backend.submit(scene.plan(), PROVENANCE).notes
    assert note == "Quota of westeurope: not checked, Azure answered HTTP 400."


def test_runs_and_dollars_are_counted_over_all_pages_and_archived_jobs(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    for number in (1, 2, 3):
        backend.submit(scene.plan(), replace(PROVENANCE, origin=f"p{number}"))
    for job in list(fake.state.jobs.values())[:2]:
        job["properties"]["isArchived"] = True
    other = {"traingate.admission": "other@2027-01-01"}
    fake.state.jobs["x"] = {
        "name": "x",
        "id": "x",
        "properties": {"jobType": "Command", "properties": other},
    }

    used = backend.spent("seg@2027-03-31")
    assert (used.runs, used.unpriced) == (3, 0)
    assert used.usd == pytest.approx(3 * 18.37)

    with pytest.raises(Refusal, match="allows 3 runs and 3 exist"):
        backend.submit(scene.plan(), PROVENANCE)


def test_dollars_that_are_used_up_are_refused(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    scene = scene.with_job(limits={"timeout": 7200})
    backend.submit(scene.plan(), replace(PROVENANCE, origin="p1"))

    with pytest.raises(
        Refusal, match=r"allows 60.00 USD in total; earlier runs can have cost 33.06"
    ):
        backend.submit(scene.plan(), PROVENANCE)

    assert len(fake.state.jobs) == 1


def test_a_placeholder_image_is_refused_before_any_request(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    scene = scene.with_job(environment={"image": "registry.example/train@sha256:" + "0" * 64})
    with pytest.raises(Refusal, match="all zeros"):
        backend.submit(scene.plan(), PROVENANCE)
    assert fake.requests == []


def test_more_tags_than_the_service_keeps_are_refused(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    scene = scene.with_job(tags={f"t{number}": "x" for number in range(45)})
    with pytest.raises(Refusal, match=r"52 tags.*keeps 50. Remove 2"):
        backend.submit(scene.plan(), PROVENANCE)
    assert fake.writes == []


def test_a_tag_longer_than_the_service_keeps_is_refused(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    scene = scene.with_job(tags={"note": "x" * 1001})
    with pytest.raises(Refusal, match="tags entry 'note' is longer"):
        backend.submit(scene.plan(), PROVENANCE)


def test_a_key_that_the_sdk_would_drop_is_refused(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    resources = {"instance_count": 2, "docker_args": ["--ipc=host"], "locations": ["westeurope"]}
    scene = scene.with_job(resources=resources)
    with pytest.raises(Refusal, match=r"would drop resources\.locations"):
        backend.submit(scene.plan(), PROVENANCE)
    assert fake.writes == []


def test_a_workspace_that_is_not_there_does_not_read_as_no_job(
    backend: AzureMLBackend, fake: Fake, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    from azureml_fake import arm, server
    from azureml_fake.state import refused

    text = "The Resource '.../workspaces/ws1' under resource group 'rg1' was not found."
    gone = ("GET", r"/subscriptions/.*", lambda *_: refused(404, "ResourceNotFound", text))
    monkeypatch.setattr(server, "_ROUTES", (gone, *arm.ROUTES))

    with pytest.raises(TraingateError, match=r"workspace of platform.yml does not exist"):
        backend.submit(scene.plan(), PROVENANCE)


def test_a_role_that_is_missing_is_named(backend: AzureMLBackend, fake: Fake, scene: Scene) -> None:
    fake.state.forbidden = {"/environments/"}
    with pytest.raises(TraingateError, match="AzureML Data Scientist on the workspace"):
        backend.submit(scene.plan(), PROVENANCE)
