"""The module in Terraform itself, without its provider: format, inputs and the platform fragment.

tests/module.tftest.hcl beside the module covers the resources; it needs the provider's schema.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml
from tests.infra.module import DIRECTORY, ROOT, read
from tests.infra.terraform import missing, terraform

from traingate.documents.platform import Azure, Target

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


def test_terraform_formats_it_so():
    done = terraform("fmt", "-check", "-recursive", "-diff", folder=ROOT / "infra")
    assert done.returncode == 0, done.stdout


def test_terraform_fmt_sees_another_layout(tmp_path: Path):
    (tmp_path / "main.tf").write_text('locals {\n    a="b"\n}\n')
    assert terraform("fmt", "-check", folder=tmp_path).returncode != 0


def resource_id(provider: str, name: str) -> str:
    group = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-train"
    return f"{group}/providers/{provider}/{name}"


GIVEN: dict[str, Any] = {
    "workspace_name": "mlw-test",
    "resource_group_name": "rg-train",
    "location": "westeurope",
    "application_insights_id": resource_id("Microsoft.Insights/components", "appi"),
    "key_vault_id": resource_id("Microsoft.KeyVault/vaults", "kv-workspace"),
    "storage_account_id": resource_id("Microsoft.Storage/storageAccounts", "sttrain"),
    "container_registry_id": resource_id("Microsoft.ContainerRegistry/registries", "crtrain"),
    "github_repository": "contoso/training",
    "github_owner_id": "5544123",
    "github_repository_id": "821093847",
    "trust_groups": {
        "vision": {"secrets_key_vault_id": resource_id("Microsoft.KeyVault/vaults", "kv-vision")},
        "speech": {},
    },
    "clusters": {
        "gpu-cluster": {
            "size": "Standard_ND96isr_H100_v5",
            "max_nodes": 2,
            "trust_group": "vision",
        },
        "gpu-spot": {
            "size": "Standard_NC24ads_A100_v4",
            "max_nodes": 4,
            "trust_group": "speech",
            "priority": "low_priority",
            "node_to_node": False,
        },
    },
}


def cluster(**changes: object) -> dict[str, Any]:
    return {"clusters": {"gpu-cluster": GIVEN["clusters"]["gpu-cluster"] | changes}}


ENDPOINT = {"subnet_id": "s", "private_dns_zone_ids": []}
REFUSED = {
    "a wildcard repository": ({"github_repository": "contoso/*"}, "without wildcards"),
    "a wildcard owner": ({"github_repository": "*/training"}, "without wildcards"),
    "a wildcard owner id": ({"github_owner_id": "*"}, "must be a number"),
    "a wildcard repository id": ({"github_repository_id": "8*"}, "must be a number"),
    "a subject smuggled in": ({"github_repository": "contoso/x:ref:y"}, "without wildcards"),
    "no cluster": ({"clusters": {}}, "at least one cluster"),
    "half a node": (cluster(max_nodes=1.5), "a whole number"),
    "no node": (cluster(max_nodes=0), "a whole number"),
    "an unknown group": (cluster(trust_group="x"), "trust_group must name one"),
    "an unknown priority": (cluster(priority="spot"), "dedicated or low_priority"),
    "a short size": (cluster(size="ND96isr_H100_v5"), "full name of a VM size"),
    "a subnet's name": (cluster(subnet_id="train"), "full resource ID of a subnet"),
    "a vault's name": (
        {"trust_groups": GIVEN["trust_groups"] | {"vision": {"secrets_key_vault_id": "kv"}}},
        "full resource ID of a key vault",
    ),
    "the workspace's own vault": (
        {"key_vault_id": GIVEN["trust_groups"]["vision"]["secrets_key_vault_id"].upper()},
        "another vault",
    ),
    "a group named like GitHub's": (
        {"trust_groups": GIVEN["trust_groups"] | {"github-reader": {}}},
        "not with github-",
    ),
    "a registry's name": ({"container_registry_id": "crtrain"}, "full resource ID"),
    "a region's long name": ({"location": "West Europe"}, "short form"),
    "closed and unattached": ({"public_network_access_enabled": False}, "nobody reaches"),
    "attached without subnets": ({"private_endpoint": ENDPOINT}, "every cluster a subnet_id"),
}


def plan(folder: Path, given: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    (folder / "given.tfvars.json").write_text(json.dumps(given))
    shutil.copy(DIRECTORY / "variables.tf", folder)
    return terraform(
        "plan", "-no-color", "-input=false", "-var-file=given.tfvars.json", folder=folder
    )


def test_terraform_accepts_good_inputs(tmp_path: Path):
    done = plan(tmp_path, GIVEN)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_terraform_refuses_bad_inputs(changes: dict[str, Any], message: str, tmp_path: Path):
    done = plan(tmp_path, GIVEN | changes)
    assert done.returncode == 1
    assert message in " ".join(done.stderr.split())


# What stands in for the resources, in Terraform's own language, where no provider can be had.
STAND_INS = """
locals {
  azurerm_machine_learning_workspace = { this = {
    id       = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-train"
    name     = var.workspace_name
    location = var.location
  } }
  azurerm_machine_learning_compute_cluster = {
    this = {
      for name, cluster in var.clusters : name => {
        vm_size        = cluster.size
        vm_priority    = local.vm_priorities[cluster.priority]
        scale_settings = [{ SCALE_SETTINGS }]
      }
    }
  }
  azurerm_user_assigned_identity = {
    trust_group = { for name, group in var.trust_groups : name => { client_id = name } }
    reader      = { client_id = "00000000-0000-0000-0000-000000000005" }
    submitter = {
      client_id = "00000000-0000-0000-0000-000000000003"
      tenant_id = "00000000-0000-0000-0000-000000000004"
    }
  }
}
"""


def test_the_fragment_is_the_platform_file(tmp_path: Path):
    """outputs.tf runs in Terraform itself, on stand-ins that take the module's own literals."""
    files = read()
    scaling = files["main.tf"].partition("scale_settings {")[2].partition("}")[0]
    settings = scaling.replace("each.value.max_nodes", "cluster.max_nodes")
    (tmp_path / "stand_ins.tf").write_text(STAND_INS.replace("SCALE_SETTINGS", settings))
    start = files["main.tf"].index("locals {")
    end = files["main.tf"].index('\nresource "', start)
    (tmp_path / "locals.tf").write_text(files["main.tf"][start:end])
    outputs = files["outputs.tf"].replace("azurerm_", "local.azurerm_")
    (tmp_path / "outputs.tf").write_text(outputs)
    assert plan(tmp_path, GIVEN).returncode == 0
    applied = terraform(
        "apply", "-auto-approve", "-no-color", "-var-file=given.tfvars.json", folder=tmp_path
    )
    assert applied.returncode == 0, applied.stderr
    done = terraform("output", "-json", folder=tmp_path)
    outputs_made = {name: item["value"] for name, item in json.loads(done.stdout).items()}
    fragment = (ROOT / "tests" / "infra" / "platform.expected.yml").read_text(encoding="utf-8")
    assert outputs_made["platform_yml"] == fragment
    assert outputs_made["cluster_name"] == "gpu-cluster"
    assert outputs_made["cluster_names"] == list(yaml.safe_load(fragment)["targets"])


def test_the_gate_reads_the_fragment():
    text = (ROOT / "tests" / "infra" / "platform.expected.yml").read_text(encoding="utf-8")
    raw = yaml.safe_load(text)
    schema = json.loads((ROOT / "schemas" / "platform.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(raw, schema)
    assert set(raw["azure"]) == {field.name for field in dataclasses.fields(Azure)}
    for target in raw["targets"].values():
        assert set(target) | {"name"} == {field.name for field in dataclasses.fields(Target)}


@pytest.mark.timeout(600)  # The provider is a download of its own.
def test_the_modules_own_tests_pass(tmp_path: Path):
    folder = tmp_path / "aml"
    shutil.copytree(DIRECTORY, folder, ignore=shutil.ignore_patterns(".terraform*"))
    init = terraform("init", "-backend=false", "-no-color", folder=folder, timeout_seconds=300)
    if "Failed to query available provider packages" in init.stderr:
        missing("the azurerm provider cannot be downloaded here")
    assert init.returncode == 0, init.stderr
    done = terraform("test", "-no-color", folder=folder, timeout_seconds=300)
    assert done.returncode == 0, done.stdout + done.stderr
