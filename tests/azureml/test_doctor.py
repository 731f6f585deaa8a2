"""The doctor's look at Azure, through the real SDK against the fake service."""

import re

import httpx
import pytest
from azureml_fake import Fake
from azureml_fake.scene import Scene
from azureml_fake.state import cluster

from traingate.backends.azureml.backend import AzureMLBackend
from traingate.doctor import azure
from traingate.doctor.diagnosis import State, examined
from traingate.documents.reading import platform_of


def test_a_target_as_promised_is_well_and_a_drifted_one_is_not(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    target = platform_of(scene.root).targets["gpu-cluster"]

    def probe() -> list:
        return list(examined(azure.AREA, "target", lambda: azure.target(backend, target)))

    assert [one.state for one in probe()] == [State.WELL]
    fake.state.computes["gpu-cluster"] = cluster(minNodeCount=1)
    (wrong,) = probe()
    assert wrong.state is State.WRONG
    assert "minimum nodes is 1" in wrong.told
    assert "Apply Terraform" in wrong.mend


class Elsewhere:
    """A workspace in another region than the policy says."""

    def location(self) -> str:
        return "North Europe"

    def refuse_drift(self, target) -> None:
        raise AssertionError(target)


def test_the_workspace_is_where_the_policy_says(scene: Scene) -> None:
    coordinates = platform_of(scene.root).azure
    (wrong,) = azure.workspace(Elsewhere(), coordinates)
    assert wrong.state is State.WRONG
    assert "North Europe" in wrong.told


@pytest.mark.parametrize(
    ("status", "state"), [(401, State.WELL), (200, State.WELL), (404, State.WRONG)]
)
def test_a_registry_answers_as_one(status, state) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(status))
    with httpx.Client(transport=transport) as client:
        (one,) = azure.registries(["r.azurecr.io/a@sha256:0", "r.azurecr.io/b@sha256:1"], client)
    assert one.state is state


def test_a_vault_that_is_not_there_is_wrong() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if re.match("there", request.url.host):
            return httpx.Response(401)
        raise httpx.ConnectError("no such host")

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        found = list(azure.vaults(["keyvault://there/a", "keyvault://gone/b"], client))
    assert {one.subject: one.state for one in found} == {
        "vault gone": State.WRONG,
        "vault there": State.WELL,
    }
