"""The doctor's look at Azure, through the real SDK against the fake service."""

import base64
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from azureml_fake import Fake
from azureml_fake.neighbours import Neighbours
from azureml_fake.scene import Scene
from azureml_fake.state import cluster

from traingate.backends.azureml.backend import AzureMLBackend
from traingate.commands import doctor, world
from traingate.doctor import azure, web
from traingate.doctor.diagnosis import Diagnosis, State, examined
from traingate.doctor.github import Subjects
from traingate.doctor.side_by_side import side_by_side
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


class Live:
    """A workspace that is as promised, and the sign-in of `world`."""

    def __init__(self, world: Neighbours) -> None:
        self.token = world.token

    def location(self) -> str:
        return "westeurope"

    def refuse_drift(self, target) -> None:
        pass


IMAGE = f"contoso.azurecr.io/train@sha256:{'a' * 64}"
SUBJECTS = Subjects(signed="repo:contoso/training", other="repo:contoso@5/training@9")


@pytest.fixture
def with_secret(scene: Scene) -> Scene:
    """The request with an image in a registry of Azure, and a secret in a vault."""
    return scene.with_job(
        environment={"image": IMAGE},
        identity={"type": "managed"},
        environment_variables={"TRAINGATE_TRACKING_URI": "keyvault://kv-vision/mlflow"},
    )


def everything(scene: Scene, world: Neighbours, live: Any = None) -> dict[str, Diagnosis]:
    platform = platform_of(scene.root)
    jobs = {"seg": scene.plan().job}
    with world.client() as client:
        found = azure.everything(live or Live(world), platform, jobs, SUBJECTS, client)
        return {one.subject: one for one in found}


ASKED_OF_AZURE = {
    "workspace",
    "target gpu-cluster",
    "target spot-cluster",
    "submitter identity",
    "reader identity",
    "secret keyvault://kv-vision/mlflow",
    "secret keyvault://kv-vision/mlflow for gpu-cluster",
}
ASKED_OF_ALL = {f"image {IMAGE}", "vault kv-vision"}


def test_a_platform_as_the_module_makes_it_is_well(with_secret: Scene) -> None:
    found = everything(with_secret, Neighbours.well())
    assert set(found) == ASKED_OF_AZURE | ASKED_OF_ALL
    assert {one.state for one in found.values()} == {State.WELL}


def test_without_a_sign_in_each_look_is_skipped_with_its_reason(with_secret: Scene) -> None:
    world = Neighbours.well()
    world.signed_in = False
    found = everything(with_secret, world)
    skipped = {subject for subject, one in found.items() if one.state is State.SKIPPED}
    assert skipped == ASKED_OF_AZURE | {"management.azure.com", f"image {IMAGE}"}
    assert all(found[subject].told for subject in skipped)
    assert found["management.azure.com"].mend == "Run `az login`."
    assert found["vault kv-vision"].state is State.WELL
    hosts = {request.url.host for request in world.seen}
    assert "management.azure.com" not in hosts


def test_where_resource_manager_is_away_one_line_says_so_and_nobody_waits_twice(
    with_secret: Scene,
) -> None:
    def away(_: httpx.Request) -> None:
        raise httpx.ConnectTimeout("no")

    world = Neighbours.well()
    world.answers.append(away)
    found = everything(with_secret, world)
    wrong = {subject for subject, one in found.items() if one.state is State.WRONG}
    assert wrong == {"management.azure.com", "vault kv-vision", f"image {IMAGE}"}
    asked = [request for request in world.seen if request.url.host == "management.azure.com"]
    assert len(asked) == 1


def test_a_token_is_fetched_once_for_each_service(with_secret: Scene) -> None:
    world, scopes = Neighbours.well(), []
    live = Live(world)
    live.token = lambda scope: scopes.append(scope) or world.token(scope)
    everything(with_secret, world, live)
    assert sorted(scopes) == sorted(
        f"https://{service}/.default"
        for service in ("containerregistry.azure.net", "management.azure.com", "vault.azure.net")
    )


def test_the_backend_gives_the_token_of_its_identity(backend: AzureMLBackend) -> None:
    claims = backend.token("https://vault.azure.net/.default").split(".")[1]
    assert json.loads(base64.urlsafe_b64decode(claims + "=="))["aud"] == "https://vault.azure.net"


def test_a_probe_that_does_not_end_is_a_line_and_holds_nobody() -> None:
    never, told = threading.Event(), azure.AREA.well("b", "fine")
    probes = {"a": lambda: iter([told] if never.wait() else []), "b": lambda: iter([told])}
    try:
        late, well = side_by_side(azure.AREA, probes, limit_seconds=0.2)
        assert all(it.daemon for it in threading.enumerate() if it.name.startswith("look "))
    finally:
        never.set()
    assert (late.subject, late.state) == ("a", State.WRONG)
    assert well == told


def test_no_host_is_waited_for_long_or_sends_a_request_elsewhere() -> None:
    with web.client() as client:
        assert not client.follow_redirects
        limits = client.timeout.as_dict().values()
        assert all(limit is not None and limit <= 10 for limit in limits)


@pytest.mark.parametrize("error", [KeyError("issuer"), UnicodeError("idna"), TypeError("None")])
def test_an_answer_of_another_shape_hides_no_other_line(error: Exception) -> None:
    def broken() -> Iterator[Diagnosis]:
        raise error

    told = azure.AREA.well("b", "It is there.")
    bad, well = side_by_side(azure.AREA, {"a": broken, "b": lambda: iter((told,))})
    assert (bad.subject, bad.state) == ("a", State.WRONG)
    assert well == told


def test_a_mistake_of_ours_in_a_probe_is_not_swallowed() -> None:
    def broken() -> Iterator[Diagnosis]:
        raise AssertionError("ours")

    with pytest.raises(AssertionError, match="ours"):
        list(side_by_side(azure.AREA, {"a": broken}))


def test_the_command_tells_all_of_it(
    with_secret: Scene, traingate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Neighbours.well()
    there.credentials["ws1-github-submitter"] = []
    monkeypatch.chdir(with_secret.root)
    monkeypatch.setattr(world, "azureml_backend", lambda *_: Live(there))
    monkeypatch.setattr(web, "client", there.client)
    monkeypatch.setattr(doctor, "_github", lambda *_: iter(()))
    monkeypatch.setattr(doctor, "_subjects", lambda *_: SUBJECTS)

    result = traingate("doctor", "--json")

    told = {one["subject"]: one for one in json.loads(result.output)["diagnoses"]}
    assert told["submitter identity"]["state"] == "wrong"
    assert told["submitter identity"]["mend"].startswith("az identity federated-credential create")
    assert told["reader identity"]["state"] == "well"
    assert set(told) >= ASKED_OF_AZURE | ASKED_OF_ALL
