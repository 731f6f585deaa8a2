"""The Terraform module holds its promises, and each check fails on the fault it is there for."""

from __future__ import annotations

import hcl2
import pytest
from tests.infra.module import ROOT, parse, problems, read

from traingate.documents.terraform import blocks, module_calls


def test_the_module_is_right():
    assert problems(read()) == []


CLUSTER = "azurerm_machine_learning_compute_cluster.this"
CONNECTION = "azurerm_private_endpoint.workspace.private_service_connection"
SUBMITTER = "azurerm_federated_identity_credential.submitter"

# The text to change, what to change it to (None: leave out the validation around it) and what is
# then wrong.
PLANTED: dict[str, tuple[str, str | None, list[str]]] = {
    "one node always on": (
        "min_node_count                       = 0",
        "min_node_count                       = 1",
        [f"{CLUSTER}: min_node_count must be the literal 0"],
    ),
    "a variable minimum": (
        "min_node_count                       = 0",
        "min_node_count                       = each.value.max_nodes",
        [f"{CLUSTER}: min_node_count must be the literal 0"],
    ),
    "another idle time": (
        '"PT5M"',
        '"5 minutes"',
        [f'{CLUSTER}: the idle time must be the literal "PT5M"'],
    ),
    "a wrong argument": (
        "vm_priority    ",
        "vm_prio        ",
        [
            f"{CLUSTER}: unknown argument 'vm_prio'",
            f"{CLUSTER}: missing argument 'vm_priority'",
        ],
    ),
    "a wrong argument in a block": (
        "is_manual_connection           = false",
        "manual                         = false",
        [
            f"{CONNECTION}: unknown argument 'manual'",
            f"{CONNECTION}: missing argument 'is_manual_connection'",
        ],
    ),
    "a resource that is given, not made": (
        'resource "azurerm_private_endpoint" "workspace"',
        'resource "azurerm_storage_account" "workspace"',
        ["azurerm_storage_account.workspace: not in the table: run scripts/azurerm_arguments.py"],
    ),
    "a wildcard subject": (
        'by-name = "repo:${var.github_repository}"',
        'by-name = "repo:${local.owner}/*"',
        ["local.subjects: by-name holds a wildcard"],
    ),
    "a wildcard environment": (
        ':environment:azureml"',
        ':environment:*"',
        [f"{SUBMITTER}: must trust one literal environment"],
    ),
    "pull requests may sign in": (
        '"${each.value}:environment:azureml"',
        '"${each.value}:pull_request"',
        [f"{SUBMITTER}: must trust one literal environment"],
    ),
    "a subject that is not validated": (
        'can(regex("^[1-9][0-9]*$", var.github_owner_id))',
        None,
        ["local.subjects: by-id takes var.github_owner_id, which is not validated"],
    ),
    "a misspelt role": (
        '"AcrPull"',
        '"ACRPull"',
        ["azurerm_role_assignment.trust_group_image: this module may not give role 'ACRPull'"],
    ),
    "too large a role": (
        '"AzureML Data Scientist"',
        '"Contributor"',
        ["azurerm_role_assignment.submitter_jobs: this module may not give role 'Contributor'"],
    ),
    "ssh": (
        "ssh_public_access_enabled     = false",
        "ssh_public_access_enabled     = true",
        [f"{CLUSTER}: ssh_public_access_enabled must be the literal false"],
    ),
    "an unused variable": (
        "public_network_access_enabled = var.public_network_access_enabled",
        "public_network_access_enabled = true",
        ["var.public_network_access_enabled: declared and not used"],
    ),
    "an undeclared variable": (
        "= var.key_vault_id",
        "= coalesce(var.key_vault_id, var.vault_id)",
        ["var.vault_id: used and not declared"],
    ),
    "a misspelt local": (
        "local.secret_vaults",
        "local.secret_vault",
        [
            "local.secret_vaults: declared and not used",
            "local.secret_vault: used and not declared",
        ],
    ),
    "an output without a description": (
        'description = "Name of the workspace."',
        'description = ""',
        ["output.workspace_name: needs a description, a sentence"],
    ),
}


def plant(files: dict[str, str], old: str, new: str | None) -> dict[str, str]:
    """The files with one fault; None takes away the validation around the text."""
    (name,) = [name for name, text in files.items() if old in text]
    text = files[name]
    assert text.count(old) == 1, f"{old!r} must name one place"
    if new is None:
        start = text.rindex("  validation {", 0, text.index(old))
        return files | {name: text[:start] + text[text.index("\n  }\n", start) + 5 :]}
    return files | {name: text.replace(old, new)}


@pytest.mark.parametrize(("old", "new", "expected"), PLANTED.values(), ids=PLANTED)
def test_a_planted_fault_is_found(old: str, new: str | None, expected: list[str]):
    assert problems(plant(read(), old, new)) == expected


def test_both_environments_are_federated_in_both_forms():
    module = parse(read())
    assert set(module.locals["subjects"]) == {"by-name", "by-id"}
    assert {
        credential.name: credential.body["subject"].rpartition(":")[2]
        for credential in module.of_type("azurerm_federated_identity_credential")
    } == {"submitter": "azureml", "reader": "azureml-read"}


def test_the_outputs_are_those_that_setup_needs():
    assert set(parse(read()).outputs) >= {
        "workspace_name",
        "cluster_name",
        "cluster_names",
        "submitter_client_id",
        "reader_client_id",
        "platform_yml",
    }


def root_files() -> dict[str, str]:
    return read(ROOT / "infra")


def call_arguments(text: str) -> list[set[str]]:
    """For each module call in the text, the arguments it gives."""
    options = hcl2.SerializationOptions(with_comments=False)
    parsed = hcl2.loads(text, serialization_options=options)
    return [
        {name for name in body if not name.startswith("__")}
        for block in parsed.get("module", [])
        for body in block.values()
    ]


def test_a_call_in_the_root_gives_what_the_module_asks_for():
    """No call, nothing to check; whether a call may be there is the gate's rule."""
    for name, text in root_files().items():
        for arguments in call_arguments(text):
            assert required() <= arguments <= accepted(), name


def test_the_documented_call_gives_what_the_module_asks_for():
    text = (ROOT / "docs" / "setup-azure.md").read_text(encoding="utf-8")
    snippet = text.partition("```hcl\n")[2].partition("```")[0]
    assert [call.source for call in module_calls(snippet)] == ["./modules/aml"]
    (arguments,) = call_arguments(snippet)
    assert required() <= arguments <= accepted()


def required() -> set[str]:
    variables = parse(read()).variables
    return {name for name, body in variables.items() if "default" not in body}


def accepted() -> set[str]:
    return {*parse(read()).variables, "source"}


def test_nothing_is_deployed_beside_the_module():
    kinds = {block.kind for text in root_files().values() for block in blocks(text)}
    assert kinds <= {"terraform", "provider", "module", "data", "output", "locals", "variable"}
