"""The doctor's look at the images that jobs name, and what it tells their registries."""

from types import SimpleNamespace

import httpx
import pytest
from azureml_fake.neighbours import Neighbours
from azureml_fake.state import TENANT

from traingate.doctor import images, web
from traingate.doctor.diagnosis import Diagnosis, State
from traingate.doctor.registry import Registries, manifest
from traingate.doctor.tokens import Tokens

DIGEST = "sha256:" + "a" * 64
OURS = f"contoso.azurecr.io/train@{DIGEST}"
PUBLIC = f"registry.example/train@{DIGEST}"


def look(world: Neighbours, *references: str) -> list[Diagnosis]:
    jobs = {
        f"w{number}": SimpleNamespace(environment=SimpleNamespace(image=reference))
        for number, reference in enumerate(references)
    }
    with world.client() as client:
        registries = Registries(client, Tokens(world.token), TENANT)
        return [one for _, probe in images.probes(jobs, registries) for one in probe()]


def hosts_told_entra(world: Neighbours) -> set[str]:
    return {
        request.url.host
        for request in world.seen
        if b"entra" in request.content or "entra" in request.headers.get("authorization", "")
    }


def test_a_digest_in_a_registry_of_azure_is_found_with_a_token_for_it_alone() -> None:
    world = Neighbours.well()
    (found,) = look(world, OURS)
    assert (found.subject, found.state) == (f"image {OURS}", State.WELL)
    assert hosts_told_entra(world) == {"contoso.azurecr.io"}
    assert {request.method for request in world.seen} == {"HEAD", "POST"}


def test_two_jobs_of_one_image_are_one_line() -> None:
    assert len(look(Neighbours.well(), OURS, OURS)) == 1


def test_a_digest_that_is_gone_says_which_jobs_to_pin_again() -> None:
    world = Neighbours.well()
    world.manifests.clear()
    (found,) = look(world, OURS, OURS)
    assert found.state is State.WRONG
    assert "no such digest" in found.told
    assert found.mend == (
        "gh workflow run image.yml, and then "
        "traingate image set contoso.azurecr.io/train@sha256:DIGEST w0 w1"
    )


def test_a_registry_that_one_may_not_pull_from_is_skipped_with_the_command() -> None:
    world = Neighbours.well()
    world.pullers.clear()
    (found,) = look(world, OURS)
    assert found.state is State.SKIPPED
    assert "AcrPull" in found.told
    assert found.mend == f"az acr manifest show {OURS}"


def test_without_a_sign_in_a_registry_of_azure_is_asked_as_everybody() -> None:
    world = Neighbours.well()
    world.signed_in = False
    (found,) = look(world, OURS)
    assert found.state is State.SKIPPED
    world.public_hosts.add("contoso.azurecr.io")
    (found,) = look(world, OURS)
    assert found.state is State.WELL


def test_a_public_registry_is_asked_with_a_token_for_everybody() -> None:
    world = Neighbours.well()
    world.public_hosts.add("registry.example")
    world.manifests.add(PUBLIC)
    (found,) = look(world, PUBLIC)
    assert found.state is State.WELL
    assert hosts_told_entra(world) == set()
    (asked,) = [request for request in world.seen if request.url.path == "/token"]
    assert dict(asked.url.params) == {
        "scope": "repository:train:pull",
        "service": "registry.example",
    }


def test_a_private_registry_that_is_not_azures_is_skipped() -> None:
    (found,) = look(Neighbours.well(), PUBLIC)
    assert found.state is State.SKIPPED
    assert found.mend == f"docker buildx imagetools inspect {PUBLIC}"


@pytest.mark.parametrize(
    "host",
    [
        "contoso.azurecr.io.evil.example",
        "contoso.azurecr.io:8443",
        "evil-azurecr.io",
        "contoso.azurecr.cn",
        "azurecr.io",
    ],
)
def test_what_only_looks_like_a_registry_of_azure_gets_no_token_of_ours(host) -> None:
    world = Neighbours.well()
    look(world, f"{host}/train@{DIGEST}")
    assert world.seen
    assert hosts_told_entra(world) == set()


def test_a_challenge_that_points_elsewhere_gets_nothing_of_ours() -> None:
    world = Neighbours.well()
    world.pullers.clear()
    look(world, OURS)
    elsewhere = [request for request in world.seen if request.url.host == "auth.example"]
    assert elsewhere
    assert all("authorization" not in request.headers for request in elsewhere)
    assert hosts_told_entra(world) == {"contoso.azurecr.io"}


@pytest.mark.parametrize(
    "challenge",
    [
        'Bearer realm="http://169.254.169.254/metadata"',
        'Bearer realm="https://user:pw@auth.example/token"',
        'Bearer realm="file:///etc/passwd"',
        "Bearer realm=",
        "Bearer realm",
        'Bearer realm="https://[/"',
        'Bearer realm="https://a..b/token"',
        'Bearer realm="https://auth.example:99999/token"',
        'Basic realm="x"',
        "",
    ],
)
def test_a_challenge_that_no_client_should_follow_is_not(challenge) -> None:
    world = Neighbours.well()
    refusal = httpx.Response(401, headers={"WWW-Authenticate": challenge})
    world.answers.append(lambda request: refusal if request.method == "HEAD" else None)
    (found,) = look(world, PUBLIC)
    assert found.state is State.SKIPPED
    assert [request.method for request in world.seen] == ["HEAD"]


TOKEN = b'{"token": "anonymous repository:train:pull"}'


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (TOKEN, State.WELL),
        (TOKEN + b" " * 100_000, State.SKIPPED),
        (b"[" * 60_000, State.SKIPPED),
        (b"[]", State.SKIPPED),
        (b'{"token": 1}', State.SKIPPED),
        (b"\xff", State.SKIPPED),
        (b"", State.SKIPPED),
    ],
)
def test_only_a_short_answer_with_a_token_gives_one(body, state) -> None:
    world = Neighbours.well()
    world.public_hosts.add("registry.example")
    world.manifests.add(PUBLIC)
    given = httpx.Response(200, content=body)
    world.answers.append(lambda request: given if request.url.path == "/token" else None)
    (found,) = look(world, PUBLIC)
    assert found.state is state


def test_a_token_service_that_is_away_gives_no_token() -> None:
    def away(request: httpx.Request) -> None:
        if request.url.path == "/token":
            raise httpx.ConnectError("no")

    world = Neighbours.well()
    world.answers.append(away)
    (found,) = look(world, PUBLIC)
    assert found.state is State.SKIPPED


def test_a_token_service_that_trickles_is_left(monkeypatch) -> None:
    world = Neighbours.well()
    world.public_hosts.add("registry.example")
    world.manifests.add(PUBLIC)
    monkeypatch.setattr(web, "_READ_SECONDS", -1.0)
    (found,) = look(world, PUBLIC)
    assert found.state is State.SKIPPED


@pytest.mark.parametrize(
    ("answer", "state", "told"),
    [
        (httpx.Response(503), State.WRONG, "HTTP 503"),
        (httpx.Response(200, headers={"Content-Type": "text/html"}), State.WRONG, "as a registry"),
        (
            httpx.Response(200, headers={"Docker-Content-Digest": "sha256:" + "b" * 64}),
            State.WRONG,
            "as a registry",
        ),
        (httpx.Response(307, headers={"Location": "https://a/b"}), State.SKIPPED, "HTTP 307"),
    ],
)
def test_other_answers_are_told_as_they_are(answer, state, told) -> None:
    world = Neighbours.well()
    world.answers.append(lambda _: answer)
    (found,) = look(world, OURS)
    assert found.state is state
    assert told in found.told
    assert found.mend
    assert len(world.seen) == 1


def test_a_registry_that_is_away_is_wrong() -> None:
    def away(_: httpx.Request) -> None:
        raise httpx.ConnectTimeout("no")

    world = Neighbours.well()
    world.answers.append(away)
    (found,) = look(world, OURS)
    assert found.state is State.WRONG
    assert "contoso.azurecr.io does not answer (ConnectTimeout)" in found.told
    assert found.mend == "az acr check-health --name contoso --yes"


@pytest.mark.parametrize(
    "reference",
    [
        f"contoso.azurecr.io/train@sha256:{'0' * 64}",
        "contoso.azurecr.io/train:latest",
        f"a..b/train@{DIGEST}",
        f"{'a' * 64}.example/train@{DIGEST}",
        f"a.example:99999/train@{DIGEST}",
        f"user:pw@contoso.azurecr.io/train@{DIGEST}",
        f"evil.example#.azurecr.io/train@{DIGEST}",
        f"a.example/../../secret@{DIGEST}",
        f"a.example/train?x=y@{DIGEST}",
        "\x1b[2J",
    ],
)
def test_what_pins_no_image_is_skipped_and_nobody_is_asked(reference) -> None:
    world = Neighbours.well()
    (found,) = look(world, reference)
    assert (found.state, found.mend) == (State.SKIPPED, "traingate check w0")
    assert not world.seen


@pytest.mark.parametrize(
    ("reference", "host", "repository"),
    [
        ("mcr.microsoft.com/azureml/base:1", "mcr.microsoft.com", "azureml/base"),
        ("localhost:5000/a", "localhost:5000", "a"),
        ("python", "registry-1.docker.io", "library/python"),
        ("python:3.11", "registry-1.docker.io", "library/python"),
        ("pytorch/pytorch:2.1", "registry-1.docker.io", "pytorch/pytorch"),
        ("docker.io/python", "registry-1.docker.io", "library/python"),
    ],
)
def test_a_reference_is_read_as_docker_reads_it(reference, host, repository) -> None:
    found = manifest(f"{reference}@{DIGEST}")
    assert found is not None
    assert (found.host, found.repository, found.digest) == (host, repository, DIGEST)
