"""The doctor's look at whether jobs may read their secrets."""

import httpx
import pytest
from azureml_fake.neighbours import (
    COMPUTES,
    GROUP,
    IDENTITIES,
    OWNER_ROLE,
    SECRETS_USER,
    VAULTS,
    Neighbours,
    grant,
)
from azureml_fake.vault_look import ASSIGN, for_target

from traingate.doctor.diagnosis import State


@pytest.mark.parametrize(
    "scope",
    [
        f"{VAULTS}/kv-vision",
        f"{VAULTS}/KV-Vision".replace("resourceGroups", "resourcegroups"),
        f"{VAULTS}/kv-vision/secrets/mlflow",
        GROUP,
        GROUP.rpartition("/resourceGroups")[0],
        "/providers/Microsoft.Management/managementGroups/contoso",
        "/",
    ],
)
def test_a_right_at_or_above_the_secret_counts(scope) -> None:
    world = Neighbours.well()
    world.grants = [grant(SECRETS_USER, scope)]
    found = for_target(world)
    assert found.state is State.WELL
    assert "Key Vault Secrets User" in found.told


@pytest.mark.parametrize(
    "grants",
    [
        [],
        [grant(OWNER_ROLE, GROUP)],
        [grant(SECRETS_USER, f"{VAULTS}/kv-vision/secrets/mlflow-other")],
        [grant(SECRETS_USER, f"{VAULTS}/kv-vis")],
    ],
)
def test_a_job_without_a_right_to_its_secret_is_wrong(grants) -> None:
    world = Neighbours.well()
    world.grants = grants
    found = for_target(world)
    assert (found.state, found.mend) == (State.WRONG, ASSIGN)


def test_a_custom_role_counts_by_what_it_allows() -> None:
    def role(**permission: list[str]) -> State:
        world = Neighbours.well()
        about = {"roleName": "Ours", "permissions": [permission]}
        answer = httpx.Response(200, json={"properties": about})
        world.answers.append(lambda it: answer if it.url.path == SECRETS_USER else None)
        return for_target(world).state

    reads_secrets = "microsoft.keyvault/vaults/secrets/getsecret/action"
    assert role(dataActions=["Microsoft.KeyVault/vaults/secrets/*"]) is State.WELL
    assert role(dataActions=["*"], notDataActions=[reads_secrets]) is State.WRONG
    assert role(actions=["*"]) is State.WRONG


def test_a_right_under_a_condition_is_not_taken_for_one() -> None:
    world = Neighbours.well()
    world.grants = [grant(SECRETS_USER, GROUP, condition="@Resource[x] == 1")]
    found = for_target(world)
    assert found.state is State.SKIPPED
    assert "under a condition" in found.told
    world.grants.append(grant(SECRETS_USER, GROUP))
    assert for_target(world).state is State.WELL


@pytest.mark.parametrize(
    ("policies", "state"),
    [
        ([{"objectId": "p-gpu", "permissions": {"secrets": ["Get"]}}], State.WELL),
        ([{"objectId": "p-gpu", "permissions": {"secrets": ["all"]}}], State.WELL),
        ([{"objectId": "p-gpu", "permissions": {"secrets": ["list"]}}], State.WRONG),
        ([{"objectId": "other", "permissions": {"secrets": ["get"]}}], State.WRONG),
        ([{"objectId": "p-gpu", "permissions": {"keys": ["get"]}}], State.WRONG),
        ([], State.WRONG),
    ],
)
def test_a_vault_with_access_policies_goes_by_them(policies, state) -> None:
    world = Neighbours.well()
    world.vaults["kv-vision"] = {"enableRbacAuthorization": False, "accessPolicies": policies}
    found = for_target(world)
    assert found.state is state
    if state is State.WRONG:
        assert found.mend == (
            "az keyvault set-policy --name kv-vision --object-id p-gpu --secret-permissions get"
        )


def test_a_target_without_an_identity_is_wrong() -> None:
    world = Neighbours.well()
    world.computes["gpu-cluster"] = {"identity": None}
    found = for_target(world)
    assert (found.state, found.mend) == (State.WRONG, "terraform -chdir=infra apply")


def test_the_identity_that_a_job_chooses_is_the_one_that_counts() -> None:
    world = Neighbours.well()
    several = {
        f"{GROUP}/{IDENTITIES}/a": {"principalId": "p-other", "clientId": "c-other"},
        f"{GROUP}/{IDENTITIES}/b": {"principalId": "p-gpu", "clientId": "c-gpu"},
    }
    world.computes["gpu-cluster"] = {"identity": {"userAssignedIdentities": several}}
    assert for_target(world, client_id="C-GPU").state is State.WELL
    assert for_target(world, client_id="c-nobody").state is State.WRONG
    assert for_target(world, object_id="P-GPU").state is State.WELL
    assert for_target(world, object_id="p-nobody").state is State.WRONG


def test_an_identity_of_the_target_itself_counts() -> None:
    world = Neighbours.well()
    own = {"type": "SystemAssigned", "principalId": "p-gpu"}
    world.computes["gpu-cluster"] = {"identity": own}
    assert for_target(world).state is State.WELL
    assert for_target(world, client_id="c-gpu").state is State.WRONG


def test_a_target_that_is_not_there_is_told_by_its_own_line() -> None:
    world = Neighbours.well()
    world.computes.clear()
    assert for_target(world).state is State.SKIPPED


def test_a_vault_of_another_subscription_is_skipped_with_the_command() -> None:
    world = Neighbours.well()
    nothing = httpx.Response(200, json={"value": []})
    world.answers.append(lambda it: nothing if it.url.path.endswith("/resources") else None)
    found = for_target(world)
    assert found.state is State.SKIPPED
    assert found.mend == "az keyvault show --name kv-vision --query id"


@pytest.mark.parametrize("forbidden", [COMPUTES, VAULTS, "roleAssignments$", "roleDefinitions"])
def test_where_one_may_not_look_at_rights_it_is_skipped(forbidden) -> None:
    world = Neighbours.well()
    world.forbidden = forbidden
    found = for_target(world)
    assert found.state is State.SKIPPED
    assert (found.mend or "").startswith("az role assignment list --all --assignee OBJECT_ID")
