"""A what-if reads everything and writes nothing, and its bodies are the ones that are sent."""

import pytest
from azureml_fake import Fake
from azureml_fake.scene import PROVENANCE, Scene
from azureml_fake.state import cluster, usage

from traingate.backends.azureml.backend import UNKNOWN_CODE, AzureMLBackend
from traingate.errors import Refusal


def test_nothing_is_written(backend: AzureMLBackend, fake: Fake, scene: Scene) -> None:
    what_if = backend.what_if(scene.plan(), PROVENANCE)

    assert fake.writes == []
    assert fake.state.jobs == {}
    assert what_if.is_new
    assert what_if.uploads == (
        "jobs/seg/data/a.csv",
        "jobs/seg/data/deep/b.csv",
        f"./src as code asset {UNKNOWN_CODE}",
    )


def test_the_bodies_are_those_of_the_submission(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    kept = backend.what_if(scene.plan(), PROVENANCE).writes
    backend.submit(scene.plan(), PROVENANCE)

    environment, job = kept
    assert environment.body == fake.seen("PUT environments")[0].json
    sent = fake.seen("PUT jobs")[0]
    expected = sent.json
    assert UNKNOWN_CODE in job.body["properties"].pop("codeId")
    assert "/codes/" in expected["properties"].pop("codeId")
    assert job.body == expected
    assert (job.method, job.path.partition("?")[0]) == ("PUT", sent.path)


def test_it_prints_the_requests_and_the_notes(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    fake.state.usages = [usage("Total Cluster Dedicated Regional vCPUs", 0, 1)]
    text = str(backend.what_if(scene.plan(), PROVENANCE))
    assert "upload jobs/seg/data/a.csv\n" in text
    assert f'"traingate.digest": "{scene.plan().digest}"' in text
    assert text.splitlines()[-1].startswith("note: Quota of westeurope may be too small")


def test_a_run_that_exists_would_not_be_sent_again(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    submission = backend.submit(scene.plan(), PROVENANCE)
    what_if = backend.what_if(scene.plan(), PROVENANCE)
    assert str(what_if) == f"{submission.run_name} is already submitted; nothing would be sent."


def test_it_refuses_what_a_submission_would(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    fake.state.computes["gpu-cluster"] = cluster(minNodeCount=2)
    with pytest.raises(Refusal, match="minimum nodes is 2"):
        backend.what_if(scene.plan(), PROVENANCE)
