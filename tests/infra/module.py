"""What Terraform cannot check offline, or at all, about the module: one function a rule.

Each takes the parsed module and yields one line for each thing that is wrong.
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hcl2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
DIRECTORY = ROOT / "infra" / "modules" / "aml"

# Terraform's own arguments, which belong to no provider.
META = {"connection", "count", "depends_on", "for_each", "lifecycle", "provider", "timeouts"}

# The smallest built-in roles with which a job is sent, run and observed.
ROLES = {
    "AcrPull",
    "AzureML Data Scientist",
    "Key Vault Secrets User",
    "Reader",
    "Storage Blob Data Contributor",
    "Storage Blob Data Reader",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    type: str
    name: str
    body: dict[str, Any]

    @property
    def address(self) -> str:
        return f"{self.type}.{self.name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Module:
    resources: tuple[Resource, ...]
    variables: dict[str, dict[str, Any]]
    outputs: dict[str, dict[str, Any]]
    locals: dict[str, Any]

    def of_type(self, kind: str) -> Iterator[Resource]:
        return (resource for resource in self.resources if resource.type == kind)


def read(directory: Path = DIRECTORY) -> dict[str, str]:
    """The module's files by name."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(directory.glob("*.tf"))}


def parse(files: dict[str, str]) -> Module:
    options = hcl2.SerializationOptions(strip_string_quotes=True, with_comments=False)
    documents = [
        hcl2.load(io.StringIO(text), serialization_options=options) for text in files.values()
    ]

    def labelled(kind: str) -> Iterator[tuple[str, Any]]:
        for document in documents:
            for block in document.get(kind, []):
                yield from block.items()

    return Module(
        resources=tuple(
            Resource(type=kind, name=name, body=body)
            for kind, named in labelled("resource")
            for name, body in named.items()
        ),
        variables=dict(labelled("variable")),
        outputs=dict(labelled("output")),
        locals=dict(labelled("locals")),
    )


def provider_table() -> dict[str, Any]:
    """The arguments that the provider knows; scripts/azurerm_arguments.py writes the file."""
    (path,) = Path(__file__).parent.glob("azurerm-*.json")
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["resources"]
    return table


def known_arguments(module: Module) -> Iterator[str]:
    """Terraform would say so too, but needs the provider for it."""
    table = provider_table()
    for resource in module.resources:
        if resource.type not in table:
            yield f"{resource.address}: not in the table: run scripts/azurerm_arguments.py"
        else:
            yield from _arguments(resource.address, resource.body, table[resource.type])


def _arguments(where: str, body: dict[str, Any], known: dict[str, Any]) -> Iterator[str]:
    names = {name for name in body if not name.startswith("__")} - META
    for name in sorted(names - {*known["required"], *known["optional"]}):
        yield f"{where}: unknown argument {name!r}"
    for name in sorted(set(known["required"]) - names):
        yield f"{where}: missing argument {name!r}"
    for name in sorted(names & set(known["blocks"])):
        for block in body[name]:
            yield from _arguments(f"{where}.{name}", block, known["blocks"][name])


def idle_platform_costs_no_nodes(module: Module) -> Iterator[str]:
    """The provider validates neither; both are literals because they are decisions."""
    for cluster in module.of_type("azurerm_machine_learning_compute_cluster"):
        for settings in cluster.body.get("scale_settings", []):
            if settings.get("min_node_count") != 0:
                yield f"{cluster.address}: min_node_count must be the literal 0"
            if settings.get("scale_down_nodes_after_idle_duration") != "PT5M":
                yield f'{cluster.address}: the idle time must be the literal "PT5M"'


def nobody_signs_in_to_nodes(module: Module) -> Iterator[str]:
    for cluster in module.of_type("azurerm_machine_learning_compute_cluster"):
        for name in ("local_auth_enabled", "ssh_public_access_enabled"):
            if cluster.body.get(name) is not False:
                yield f"{cluster.address}: {name} must be the literal false"
        if "ssh" in cluster.body:
            yield f"{cluster.address}: no ssh block"


def roles_are_the_least(module: Module) -> Iterator[str]:
    """The provider takes any text for a role's name and Azure refuses it only when applied."""
    for grant in module.of_type("azurerm_role_assignment"):
        role = grant.body.get("role_definition_name")
        if role not in ROLES:
            yield f"{grant.address}: this module may not give role {role!r}"


def federation_trusts_one_environment(module: Module) -> Iterator[str]:
    """A wrong subject is accepted when applied and fails, or worse succeeds, only at sign-in."""
    for credential in module.of_type("azurerm_federated_identity_credential"):
        subject = str(credential.body.get("subject"))
        if not re.fullmatch(r"\$\{each\.value\}:environment:[a-z][a-z-]*", subject):
            yield f"{credential.address}: must trust one literal environment"
        if credential.body.get("for_each") != "${local.subjects}":
            yield f"{credential.address}: the subjects must be those of local.subjects"
    for form, subject in module.locals.get("subjects", {}).items():
        if "*" in subject:
            yield f"local.subjects: {form} holds a wildcard"
        for name in re.findall(r"var\.(\w+)", subject):
            if "validation" not in module.variables.get(name, {}):
                yield f"local.subjects: {form} takes var.{name}, which is not validated"


def everything_is_described(module: Module) -> Iterator[str]:
    for kind, declared in (("var", module.variables), ("output", module.outputs)):
        for name, body in declared.items():
            if not str(body.get("description", "")).strip().endswith("."):
                yield f"{kind}.{name}: needs a description, a sentence"


def variables_are_declared_and_used(module: Module) -> Iterator[str]:
    used = _names(r"\bvar\.(\w+)", [module.locals, module.outputs, *_bodies(module)])
    for name in sorted(set(module.variables) - used):
        yield f"var.{name}: declared and not used"
    for name in sorted(used - set(module.variables)):
        yield f"var.{name}: used and not declared"
    locals_used = _names(r"\blocal\.(\w+)", [module.locals, module.outputs, *_bodies(module)])
    for name in sorted(set(module.locals) - locals_used - {"__is_block__"}):
        yield f"local.{name}: declared and not used"
    for name in sorted(locals_used - set(module.locals)):
        yield f"local.{name}: used and not declared"


def _bodies(module: Module) -> list[dict[str, Any]]:
    return [resource.body for resource in module.resources]


def _names(pattern: str, where: list[dict[str, Any]]) -> set[str]:
    return set(re.findall(pattern, json.dumps(where)))


CHECKS: tuple[Callable[[Module], Iterator[str]], ...] = (
    known_arguments,
    idle_platform_costs_no_nodes,
    nobody_signs_in_to_nodes,
    roles_are_the_least,
    federation_trusts_one_environment,
    everything_is_described,
    variables_are_declared_and_used,
)


def problems(files: dict[str, str]) -> list[str]:
    """Everything that is wrong with the module in these files."""
    module = parse(files)
    return [line for check in CHECKS for line in check(module)]
