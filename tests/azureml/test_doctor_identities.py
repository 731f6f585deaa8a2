"""The doctor's look at whom GitHub's identities trust."""

import shlex

import httpx
import pytest
from azureml_fake.neighbours import Neighbours, credential
from azureml_fake.scene import PLATFORM
from azureml_fake.state import SUBMITTER

from traingate.doctor.arm import Arm
from traingate.doctor.diagnosis import Diagnosis, State, examined
from traingate.doctor.github import Subjects
from traingate.doctor.identities import federation
from traingate.doctor.looking import AREA
from traingate.doctor.tokens import Tokens
from traingate.documents.platform import Azure

BY_NAME = "repo:contoso/training"
BY_ID = "repo:contoso@5/training@9"
NAMES = Subjects(signed=BY_NAME, other=BY_ID)
IDENTITY = "ws1-github-submitter"
AZURE = Azure(**PLATFORM["azure"])


def look(
    world: Neighbours, subjects: Subjects | str = NAMES, azure: Azure = AZURE
) -> list[Diagnosis]:
    with world.client() as client:
        arm = Arm(client, Tokens(world.token))
        return list(
            examined(AREA, "submitter", lambda: federation(arm, azure, "submitter", subjects))
        )


def trusting(*credentials: dict) -> Neighbours:
    world = Neighbours.well()
    world.credentials[IDENTITY] = list(credentials)
    return world


def test_the_subject_that_github_signs_is_trusted() -> None:
    (found,) = look(Neighbours.well())
    assert found.state is State.WELL
    assert f"{IDENTITY} trusts {BY_NAME}:environment:azureml" in found.told


def test_the_other_form_of_the_subject_may_be_trusted_too() -> None:
    both = [
        credential("github-by-name", f"{BY_NAME}:environment:azureml"),
        credential("github-by-id", f"{BY_ID}:environment:azureml"),
    ]
    assert [one.state for one in look(trusting(*both))] == [State.WELL]


def issued_by(issuer: str) -> Neighbours:
    world = trusting(credential("ours", f"{BY_NAME}:environment:azureml"))
    world.credentials[IDENTITY][0]["properties"]["issuer"] = issuer
    return world


def test_an_enterprise_with_an_issuer_of_its_own_is_trusted() -> None:
    (found,) = look(issued_by("https://token.actions.githubusercontent.com/contoso"))
    assert found.state is State.WELL


def test_a_server_of_ones_own_is_not_deleted_on_a_guess() -> None:
    _, found = look(issued_by("https://github.contoso.com/_services/token"))
    assert found.state is State.SKIPPED
    assert "delete" not in (found.mend or "")


def test_the_form_that_github_does_not_sign_is_not_enough() -> None:
    (found,) = look(Neighbours.well(), Subjects(signed=BY_ID, other=BY_NAME))
    assert found.state is State.WRONG
    assert f"does not trust {BY_ID}:environment:azureml" in found.told
    assert shlex.split(found.mend or "") == [
        *("az", "identity", "federated-credential", "create", "--name", "github-by-id"),
        *("--identity-name", IDENTITY, "--resource-group", "rg1"),
        *("--issuer", "https://token.actions.githubusercontent.com"),
        *("--subject", f"{BY_ID}:environment:azureml"),
        *("--audiences", "api://AzureADTokenExchange"),
    ]


def test_another_audience_is_told_and_updated() -> None:
    own = credential(
        "c", f"{BY_NAME}:environment:azureml", audiences=["https://github.com/contoso"]
    )
    (found,) = look(trusting(own))
    assert found.state is State.WRONG
    assert "https://github.com/contoso" in found.told
    assert (found.mend or "").startswith("az identity federated-credential update --name c ")


def test_the_case_of_letters_counts() -> None:
    (found,) = look(trusting(credential("c", "repo:Contoso/training:environment:azureml")))
    assert found.state is State.WRONG
    assert "differs in upper and lower case" in found.told


@pytest.mark.parametrize(
    ("other", "who"),
    [
        (credential("x", f"{BY_NAME}:pull_request"), "every pull request"),
        (credential("x", f"{BY_ID}:ref:refs/heads/main"), "every workflow on refs/heads/main"),
        (credential("x", f"{BY_NAME}:environment:staging"), "the environment staging"),
        (credential("x", f"{BY_NAME}:environment:azureml-read"), "the environment azureml-read"),
        (credential("x", f"{BY_NAME}:workflow:build"), "other workflows"),
        (credential("x", "repo:contoso/training-old:environment:azureml"), "another repository"),
        (credential("x", "repo:mallory/training:environment:azureml"), "another repository"),
        (credential("x", None), "whoever matches an expression"),
        (
            credential("x", f"{BY_NAME}:environment:azureml", issuer="https://ci.example"),
            "tokens of https://ci.example",
        ),
    ],
)
def test_whoever_else_may_sign_in_is_named_with_the_command_that_ends_it(other, who) -> None:
    own = credential("github-by-name", f"{BY_NAME}:environment:azureml")
    well, wrong = look(trusting(own, other))
    assert well.state is State.WELL
    assert wrong.state is State.WRONG
    assert who in wrong.told
    assert wrong.mend == (
        f"az identity federated-credential delete --name x --identity-name {IDENTITY} "
        "--resource-group rg1 --yes"
    )


def test_an_issuer_of_another_name_is_no_github() -> None:
    own = credential("c", f"{BY_NAME}:environment:azureml", issuer="https://ci.example")
    missing, extra = look(trusting(own))
    assert (missing.state, extra.state) == (State.WRONG, State.WRONG)
    assert "does not trust" in missing.told


def test_an_identity_of_another_group_is_found() -> None:
    world = Neighbours.well()
    del world.identities[IDENTITY]
    world.elsewhere[IDENTITY] = SUBMITTER.upper()
    world.credentials[IDENTITY] = []
    (found,) = look(world)
    assert "--resource-group rg2" in (found.mend or "")


@pytest.mark.parametrize("forbidden", [None, r"^/subscriptions/[^/]+/providers/Microsoft\.Managed"])
def test_an_identity_that_is_nowhere_is_wrong(forbidden) -> None:
    world = Neighbours.well()
    del world.identities[IDENTITY]
    world.forbidden = forbidden
    (found,) = look(world)
    assert found.state is State.WRONG
    assert SUBMITTER in found.told
    assert found.mend == "terraform -chdir=infra output -raw platform_yml"


def test_a_client_id_that_platform_yml_lacks_is_wrong() -> None:
    about = {key: it for key, it in PLATFORM["azure"].items() if key != "submitter_client_id"}
    (found,) = look(Neighbours.well(), azure=Azure(**about))
    assert found.state is State.WRONG
    assert "submitter_client_id" in found.told


@pytest.mark.parametrize("forbidden", ["userAssignedIdentities$", "federatedIdentityCredentials$"])
def test_where_one_may_not_look_it_is_skipped_with_the_command(forbidden) -> None:
    world = Neighbours.well()
    world.forbidden = forbidden
    (found,) = look(world)
    assert found.state is State.SKIPPED
    assert "HTTP 403" in found.told
    assert found.mend == (
        "az identity federated-credential list --resource-group rg1 --identity-name "
        f'"$(az identity list --query "[?clientId==\'{SUBMITTER}\'].name" --output tsv)"'
    )


def test_without_a_sign_in_it_is_skipped() -> None:
    world = Neighbours.well()
    world.signed_in = False
    (found,) = look(world)
    assert (found.state, found.mend) == (State.SKIPPED, "Run `az login`.")
    assert not world.seen


def test_without_github_it_is_skipped_and_nothing_is_asked() -> None:
    world = Neighbours.well()
    (found,) = look(world, "GitHub was not asked: no token.")
    assert found.state is State.SKIPPED
    assert found.told.startswith("GitHub was not asked: no token.")
    assert not world.seen


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_resource_manager_out_of_order_is_one_wrong_line(status) -> None:
    world = Neighbours.well()
    world.answers.append(lambda _: httpx.Response(status))
    (found,) = look(world)
    assert found.state is State.WRONG
    assert f"HTTP {status}" in found.told


@pytest.mark.parametrize(
    "link",
    [
        "https://evil.example/next",
        "http://management.azure.com/next",
        "https://management.azure.com:8443/n",
    ],
)
def test_the_token_goes_to_no_other_host(link) -> None:
    world = Neighbours.well()
    world.answers.append(lambda _: httpx.Response(200, json={"value": [], "nextLink": link}))
    (found,) = look(world)
    assert found.state is State.WRONG
    assert {(request.url.scheme, request.url.netloc) for request in world.seen} == {
        ("https", b"management.azure.com")
    }
