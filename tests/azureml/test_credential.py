"""Signing in: GitHub's token, Entra's answer, and what a refusal says."""

import os

import pytest
from azure.identity import AzureCliCredential
from azureml_fake import Fake, Fault
from azureml_fake.scene import PLATFORM, PROVENANCE, Scene
from azureml_fake.state import READER, SUBJECT, SUBMITTER

from traingate.backends.azureml import credential as module
from traingate.backends.azureml.backend import connect
from traingate.backends.azureml.credential import PersonalCredential, WorkflowCredential, credential
from traingate.backends.azureml.github_token import claims_of
from traingate.documents.platform import Azure
from traingate.documents.reading import read_platform
from traingate.errors import TraingateError

AZURE = Azure(**PLATFORM["azure"])
SCOPE = "https://management.azure.com/.default"


def refusal(fake: Fake) -> str:
    with pytest.raises(TraingateError) as caught:
        credential(AZURE, "submitter", os.environ).get_token(SCOPE)
    text = str(caught.value)
    assert fake.state.github_token().split(".")[1][:40] not in text
    assert "planted-request-token" not in text
    return text


def test_every_sign_in_carries_a_token_fetched_for_it(fake: Fake) -> None:
    identity = credential(AZURE, "submitter", os.environ)

    identity.get_token(SCOPE)
    identity.get_token("https://storage.azure.com/.default")

    assert fake.requests == ["GET github/token", "POST oauth2/v2.0/token"] * 2


def test_a_token_in_hand_is_used_again(fake: Fake) -> None:
    identity = credential(AZURE, "submitter", os.environ)
    assert identity.get_token(SCOPE).token == identity.get_token(SCOPE).token
    assert len(fake.requests) == 2


@pytest.mark.parametrize(("role", "client"), [("submitter", SUBMITTER), ("reader", READER)])
def test_each_role_is_an_identity_of_its_own(fake: Fake, role: str, client: str) -> None:
    credential(AZURE, role, os.environ).get_token(SCOPE)  # type: ignore[arg-type]
    assert f"client_id={client}".encode() in fake.seen("POST oauth2")[0].body


def test_a_subject_in_the_id_form_is_shown_with_the_one_to_put(fake: Fake) -> None:
    fake.state.federated_subject = "repo:contoso/training:environment:azureml"
    text = refusal(fake)
    assert f"subject is {SUBJECT!r}, in GitHub's numeric-id form" in text
    assert "the other form would be 'repo:contoso/training:environment:azureml'" in text
    assert f"a federated credential with subject {SUBJECT!r}" in text


def test_a_subject_in_the_name_form_is_shown_with_the_one_to_put(fake: Fake) -> None:
    fake.state.token_subject = "repo:contoso/training:environment:azureml"
    text = refusal(fake)
    assert "'repo:contoso/training:environment:azureml', in GitHub's name form" in text
    assert f"the other form would be {SUBJECT!r}" in text


def test_a_job_without_environment_is_told_so(fake: Fake) -> None:
    fake.state.token_subject = "repo:contoso/training:ref:refs/heads/main"
    assert "give the workflow job `environment: azureml`" in refusal(fake)


def test_a_subject_that_differs_in_case_is_told_so(fake: Fake) -> None:
    fake.state.federated_subject = SUBJECT.upper()
    text = refusal(fake)
    assert "upper and lower case only (AADSTS7002138)" in text
    assert f"the token says {SUBJECT!r}" in text


def test_an_expired_assertion_is_told_with_what_to_do(fake: Fake) -> None:
    fake.state.token_age_seconds = 3600
    text = refusal(fake)
    assert "AADSTS700024" in text
    assert "Re-run the job" in text


def test_a_refused_sign_in_stops_a_submission_with_the_explanation(
    fake: Fake, scene: Scene
) -> None:
    fake.state.federated_subject = "repo:contoso/training:environment:azureml"
    identity = credential(AZURE, "submitter", os.environ)
    with pytest.raises(TraingateError, match=f"No federated credential of {SUBMITTER}"):
        scene.backend(fake, identity).submit(scene.plan(), PROVENANCE)


def test_a_job_without_id_token_permission_is_told_so(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACTIONS_ID_TOKEN_REQUEST_URL")
    with pytest.raises(TraingateError, match="permissions: id-token: write"):
        credential(AZURE, "submitter", os.environ)


def test_a_github_that_says_no_is_told_so(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "stale")
    with pytest.raises(TraingateError, match=r"no identity token .HTTP 401"):
        credential(AZURE, "submitter", os.environ).get_token(SCOPE)


def test_a_github_that_stays_away_is_told_so(fake: Fake) -> None:
    fake.faults = [Fault(at="GET github", kind="drop", times=99)]
    with pytest.raises(TraingateError, match=r"did not answer .*4 attempts"):
        credential(AZURE, "submitter", os.environ).get_token(SCOPE)


def test_a_policy_without_the_identity_is_told_which_key(fake: Fake) -> None:
    azure = Azure(**PLATFORM["azure"] | {"reader_client_id": None})
    with pytest.raises(TraingateError, match="azure: reader_client_id"):
        credential(azure, "reader", os.environ)


def test_on_a_laptop_it_is_the_azure_cli(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.shutil, "which", lambda _: "/usr/bin/az")
    identity = credential(AZURE, "submitter", {})
    assert isinstance(identity, PersonalCredential)
    assert isinstance(identity._inner, AzureCliCredential)


def test_a_laptop_without_sign_in_is_told_to_sign_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.shutil, "which", lambda _: "/usr/bin/az")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(TraingateError, match=r"not signed in to Azure.*az login"):
        credential(AZURE, "submitter", {}).get_token(SCOPE)


def test_connecting_takes_everything_from_platform_yml(fake: Fake, scene: Scene) -> None:
    policy, findings = read_platform((scene.root / "platform.yml").read_bytes())
    assert policy is not None, findings
    backend = connect(policy, scene.root, os.environ, role="reader")
    identity = backend._workspace.credential
    assert isinstance(identity, WorkflowCredential)
    assert identity._client_id == READER


def test_connecting_without_a_workspace_says_what_to_write(scene: Scene) -> None:
    policy, _ = read_platform(b"backend: azureml\n")
    assert policy is not None
    with pytest.raises(TraingateError, match="under `azure:`"):
        connect(policy, scene.root, {})


@pytest.mark.parametrize("token", ["", "one", "a.!!!.c", "a.e30.c"])
def test_a_token_that_is_none_has_no_claims(token: str) -> None:
    claims = claims_of(token)
    assert claims is None or claims.subject == ""
