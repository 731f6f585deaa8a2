"""The network and the service fail at every step, in every way they can."""

import contextlib
import os

import pytest
from azureml_fake import Fake, Fault
from azureml_fake.scene import PLATFORM, PROVENANCE, Scene

from traingate.backends.azureml.credential import credential
from traingate.documents.platform import Azure
from traingate.errors import TraingateError

STEPS = (
    "GET github",
    "POST oauth2",
    "GET jobs/",
    "GET jobs$",
    "GET computes",
    "GET locations/westeurope/usages",
    "GET datastores",
    r"GET blob/acct1/data1\?comp=list",
    "PUT blob/acct1/data1",
    "GET codes",
    "POST codes",
    "HEAD blob/",
    r"PUT blob/acct1/[0-9a-f-]{36}/src/train",
    r"PUT blob/acct1/[0-9a-f-]{36}/.*comp=metadata",
    "PUT codes",
    "PUT environments",
    "PUT jobs",
)


def submit(fake: Fake, scene: Scene) -> None:
    identity = credential(Azure(**PLATFORM["azure"]), "submitter", os.environ)
    scene.backend(fake, identity).submit(scene.plan(), PROVENANCE)


@pytest.mark.parametrize("kind", [pytest.param("429", marks=pytest.mark.exhaustive), "503"])
@pytest.mark.parametrize("step", STEPS)
def test_an_answer_that_says_later_is_waited_for(
    fake: Fake, scene: Scene, step: str, kind: str
) -> None:
    fake.faults = [Fault(at=step, kind=kind)]

    if "blob/" in step and kind == "429":
        # Storage says 503 when it is busy, and its client repeats nothing else.
        with pytest.raises(TraingateError, match="repeating it is safe"):
            submit(fake, scene)
    submit(fake, scene)

    assert fake.faults[0].times == 0, f"no request {step}"
    assert len(fake.state.jobs) == 1


@pytest.mark.parametrize("kind", [pytest.param("drop", marks=pytest.mark.exhaustive), "lose"])
@pytest.mark.parametrize("step", STEPS)
def test_a_connection_that_breaks_is_survived_or_explained_and_repeatable(
    fake: Fake, scene: Scene, step: str, kind: str
) -> None:
    fake.faults = [Fault(at=step, kind=kind)]

    # azure-core does not repeat a POST; the person is told that the command may be.
    refused = pytest.raises(TraingateError, match="repeating it is safe")
    with refused if step == "POST codes" else contextlib.nullcontext():
        submit(fake, scene)
    submit(fake, scene)

    assert fake.faults[0].times == 0, f"no request {step}"
    assert len(fake.state.jobs) == 1


def test_a_service_that_stays_away_is_said_in_one_sentence(fake: Fake, scene: Scene) -> None:
    fake.faults = [Fault(at="GET jobs/", kind="503", times=99)]
    with pytest.raises(TraingateError, match=r"read the job and kept answering HTTP 503.* safe"):
        submit(fake, scene)
