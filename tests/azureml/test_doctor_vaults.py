"""The doctor's look at vaults, secrets, and whether jobs may read them."""

from types import SimpleNamespace

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
    version,
)
from azureml_fake.scene import PLATFORM

from traingate.doctor.arm import Arm
from traingate.doctor.diagnosis import Diagnosis, State, examined
from traingate.doctor.grants import Grants
from traingate.doctor.looking import AREA
from traingate.doctor.secrets import reads
from traingate.doctor.tokens import Tokens
from traingate.doctor.vaults import Vaults
from traingate.documents.platform import Azure, Target

AZURE = Azure(**PLATFORM["azure"])
SECRET = "keyvault://kv-vision/mlflow"
ASSIGN = (
    "az role assignment create --role 'Key Vault Secrets User' --assignee-object-id p-gpu "
    f"--assignee-principal-type ServicePrincipal --scope {VAULTS}/kv-vision"
)


def platform(*patterns: str, tracking_uri: str = "sqlite:///x") -> SimpleNamespace:
    target = Target(name="gpu-cluster", size="s", max_nodes=1, secrets=patterns)
    return SimpleNamespace(
        targets={"gpu-cluster": target}, tracking_uri=tracking_uri, results_url="sqlite:///y"
    )


def job(*locations: str, compute: str | None = "gpu-cluster", **identity: str) -> SimpleNamespace:
    return SimpleNamespace(
        compute=compute,
        environment_variables={f"V{number}": it for number, it in enumerate(locations)},
        document=SimpleNamespace(value={"identity": {"type": "managed"} | identity}),
    )


def look(world: Neighbours, *jobs: SimpleNamespace, policy=None) -> dict[str, Diagnosis]:
    named = {f"w{number}": it for number, it in enumerate(jobs)}
    with world.client() as client:
        tokens = Tokens(world.token)
        arm = Arm(client, tokens)
        vaults = Vaults(
            client=client, tokens=tokens, arm=arm, grants=Grants(arm=arm, azure=AZURE), azure=AZURE
        )
        probes = list(vaults.probes(reads(policy or platform(), named)))
        found = [one for line, probe in probes for one in examined(AREA, line, probe)]
    assert len({one.subject for one in found}) == len(found)
    return {one.subject: one for one in found}


def secret(world: Neighbours, location: str = SECRET) -> Diagnosis:
    return look(world, job(location))[f"secret {location}"]


def for_target(world: Neighbours, location: str = SECRET, **identity: str) -> Diagnosis:
    return look(world, job(location, **identity))[f"secret {location} for gpu-cluster"]


def test_a_secret_that_is_there_and_readable_by_its_job_is_well() -> None:
    found = look(Neighbours.well(), job(SECRET, "https://mlflow.example", "keyvault://nonsense"))
    assert {subject: one.state for subject, one in found.items()} == {
        "vault kv-vision": State.WELL,
        f"secret {SECRET}": State.WELL,
        f"secret {SECRET} for gpu-cluster": State.WELL,
    }


def test_no_value_is_ever_asked_for() -> None:
    world = Neighbours.well()
    look(world, job(SECRET, f"{SECRET}/{1:032x}"), policy=platform("keyvault://kv-vision/*"))
    asked = [request.url.path for request in world.seen if "vault.azure.net" in request.url.host]
    assert set(asked) == {"/secrets", "/secrets/mlflow/versions"}


@pytest.mark.parametrize("status", [200, 404])
def test_a_secret_that_is_missing_is_wrong(status) -> None:
    world = Neighbours.well()
    world.secrets.clear()
    if status == 404:
        missing = httpx.Response(404, json={"error": {"code": "SecretNotFound"}})
        world.answers.append(lambda it: missing if it.url.path.endswith("/versions") else None)
    found = secret(world)
    assert found.state is State.WRONG
    assert found.mend == (
        'az keyvault secret set --vault-name kv-vision --name mlflow --value "$VALUE"'
    )


def test_the_newest_version_decides_wherever_in_the_list_it_stands() -> None:
    world = Neighbours.well()
    newest = version("kv-vision", "mlflow", 2, created=9)
    oldest = version("kv-vision", "mlflow", 3, created=1, enabled=False)
    world.secrets["kv-vision/mlflow"] = [newest, oldest]
    assert secret(world).state is State.WELL
    newest["attributes"]["enabled"], oldest["attributes"]["enabled"] = False, True
    found = secret(world)
    assert found.state is State.WRONG
    assert found.mend == (
        "az keyvault secret set-attributes --vault-name kv-vision --name mlflow "
        f"--version {2:032x} --enabled true"
    )


def test_a_pinned_version_must_be_one_of_them() -> None:
    assert secret(Neighbours.well(), f"{SECRET}/{1:032x}").state is State.WELL
    found = secret(Neighbours.well(), f"{SECRET}/{7:032x}")
    assert found.state is State.WRONG
    assert "not this one" in found.told


@pytest.mark.parametrize(
    ("status", "inner", "state", "told"),
    [
        (403, "ForbiddenByRbac", State.SKIPPED, "Key Vault Reader"),
        (403, "AccessDenied", State.SKIPPED, "Key Vault Reader"),
        (403, "ForbiddenByFirewall", State.SKIPPED, "network rules"),
        (403, "ForbiddenByConnection", State.SKIPPED, "network rules"),
        (401, "", State.WRONG, "belongs to another"),
        (500, "", State.WRONG, "HTTP 500"),
    ],
)
def test_a_refusal_is_told_and_the_jobs_right_is_still_looked_up(
    status, inner, state, told
) -> None:
    world = Neighbours.well()
    body = {"error": {"code": "Forbidden", "innererror": {"code": inner}}}
    refusal = httpx.Response(status, json=body)
    world.answers.append(lambda it: refusal if it.url.path.endswith("/versions") else None)
    found = look(world, job(SECRET))
    assert found[f"secret {SECRET}"].state is state
    assert told in found[f"secret {SECRET}"].told
    assert found[f"secret {SECRET}"].mend
    assert found[f"secret {SECRET} for gpu-cluster"].state is State.WELL


def test_a_vault_that_is_not_there_is_one_line() -> None:
    world = Neighbours.well()
    world.vaults.clear()
    (found,) = look(world, job(SECRET)).values()
    assert (found.subject, found.state) == ("vault kv-vision", State.WRONG)
    assert found.mend == "az keyvault show --name kv-vision"


def test_a_deleted_vault_says_how_it_comes_back() -> None:
    world = Neighbours.well()
    world.vaults.clear()
    world.deleted_vaults.append("kv-vision")
    (found,) = look(world, job(SECRET)).values()
    assert found.state is State.WRONG
    assert found.mend == "az keyvault recover --name kv-vision"


def test_without_a_sign_in_a_vault_exists_and_the_rest_is_skipped() -> None:
    world = Neighbours.well()
    world.signed_in = False
    found = look(world, job(SECRET))
    assert found["vault kv-vision"].state is State.WELL
    assert found[f"secret {SECRET}"].state is State.SKIPPED
    assert found[f"secret {SECRET} for gpu-cluster"].state is State.SKIPPED
    assert all("authorization" not in request.headers for request in world.seen)


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


def test_a_right_under_a_condition_says_so() -> None:
    world = Neighbours.well()
    world.grants = [grant(SECRETS_USER, GROUP, condition="@Resource[x] == 1")]
    assert "under a condition" in for_target(world).told


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


def test_an_identity_of_the_target_itself_counts() -> None:
    world = Neighbours.well()
    own = {"type": "SystemAssigned", "principalId": "p-gpu"}
    world.computes["gpu-cluster"] = {"identity": own}
    assert for_target(world).state is State.WELL


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


def test_a_pattern_of_the_policy_asks_for_the_vault_unless_a_job_names_the_secret() -> None:
    policy = platform("keyvault://kv-vision/*", "keyvault://kv-vision/other")
    world = Neighbours.well()
    alone = look(world, policy=policy)
    assert alone["secret keyvault://kv-vision/* for gpu-cluster"].state is State.WELL
    assert alone["secret keyvault://kv-vision/other"].state is State.WRONG
    with_job = look(world, job(SECRET), policy=policy)
    assert "secret keyvault://kv-vision/* for gpu-cluster" not in with_job


def test_a_store_of_people_is_looked_up_without_a_target() -> None:
    found = look(Neighbours.well(), policy=platform(tracking_uri=SECRET))
    assert set(found) == {"vault kv-vision", f"secret {SECRET}"}


def test_a_job_on_a_target_that_the_policy_lacks_has_no_identity_to_ask_about() -> None:
    found = look(Neighbours.well(), job(SECRET, compute="../../elsewhere"))
    assert set(found) == {"vault kv-vision", f"secret {SECRET}"}


def test_the_next_page_of_another_host_gets_no_token() -> None:
    world = Neighbours.well()
    page = {"value": [version("kv-vision", "mlflow", 1)], "nextLink": "https://evil.example/"}
    answer = httpx.Response(200, json=page)
    world.answers.append(lambda it: answer if it.url.path.endswith("/versions") else None)
    assert secret(world).state is State.WELL
    assert "evil.example" not in {request.url.host for request in world.seen}
