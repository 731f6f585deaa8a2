"""The doctor's look at vaults and at the secrets that jobs read."""

import httpx
import pytest
from azureml_fake.neighbours import Neighbours, version
from azureml_fake.vault_look import SECRET, job, look, platform, secret

from traingate.doctor.diagnosis import State


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
    before, after = (version("kv-vision", "mlflow", it, created=it) for it in (1, 3))
    world.secrets["kv-vision/mlflow"] = [before, newest, after]
    before["attributes"]["enabled"] = after["attributes"]["enabled"] = False
    assert secret(world).state is State.WELL
    newest["attributes"]["enabled"], after["attributes"]["enabled"] = False, True
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


@pytest.mark.parametrize(
    "location",
    [
        "keyvault://evil.example#/x",
        "keyvault://evil.example/x",
        "keyvault://evil.example:1/*",
        "keyvault://a@evil/x",
        "keyvault://ab/x",
        "keyvault:///x",
    ],
)
def test_what_is_no_location_makes_no_host_name(location) -> None:
    world = Neighbours.well()
    assert look(world, job(location), policy=platform(location)) == {}
    assert not world.seen


def test_the_next_page_of_another_host_gets_no_token() -> None:
    world = Neighbours.well()
    page = {"value": [version("kv-vision", "mlflow", 1)], "nextLink": "https://evil.example/"}
    answer = httpx.Response(200, json=page)
    world.answers.append(lambda it: answer if it.url.path.endswith("/versions") else None)
    assert secret(world).state is State.WELL
    assert "evil.example" not in {request.url.host for request in world.seen}
