"""Whether a job may read its secrets: the rights of its target's identity, not of the asker.

Sources: Azure RBAC REST, "Role Assignments - List For Scope" and "Role Definitions - Get";
Key Vault REST, "Vaults - Get".
"""

import fnmatch
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from traingate.doctor.arm import Arm, ArmProblem
from traingate.doctor.diagnosis import Diagnosis
from traingate.doctor.looking import AREA, looked_up
from traingate.doctor.secrets import Reader, Secret
from traingate.documents.platform import Azure

ROLE = "Key Vault Secrets User"
_GET_SECRET = "Microsoft.KeyVault/vaults/secrets/getSecret/action"  # noqa: S105 - a right's name
_COMPUTE_API = "2023-08-01-preview"
_RESOURCES_API = "2021-04-01"
_VAULT_API = "2022-07-01"
_ROLES_API = "2022-04-01"
_ABOVE_SUBSCRIPTIONS = "/providers/microsoft.management/managementgroups/"


@dataclass(frozen=True, kw_only=True, slots=True)
class Grants:
    """Looks at who may read what."""

    arm: Arm
    azure: Azure

    def may_read(self, secret: Secret, reader: Reader) -> Iterator[Diagnosis]:
        """One line: the identity of `reader` has a right to read `secret`, or has none."""
        line = f"secret {secret.location} for {reader.target}"
        words = ("az", "role", "assignment", "list", "--all", "--assignee", "OBJECT_ID")
        probe = lambda: self._may_read(line, secret, reader)  # noqa: E731 - as the other probes
        yield from looked_up(line, probe, by_hand=shlex.join((*words, "--output", "table")))

    def _may_read(self, line: str, secret: Secret, reader: Reader) -> Iterator[Diagnosis]:
        try:
            principal = self._principal(reader)
        except ArmProblem as error:
            if not error.is_absent:
                raise
            yield AREA.skipped(line, "There is no such target to ask about.")
            return
        if principal is None:
            told = f"{reader.target} has no managed identity that its jobs could be."
            yield AREA.wrong(line, told, "terraform -chdir=infra apply")
            return
        vault = self._vault(secret.vault)
        if vault is None:
            told = f"No vault {secret.vault} of this subscription is visible to you."
            show = f"az keyvault show --name {secret.vault} --query id"
            yield AREA.skipped(line, told, show)
            return
        if not vault["properties"].get("enableRbacAuthorization"):
            yield _by_policy(line, secret, vault, principal)
            return
        yield self._by_role(line, secret, vault["id"], principal)

    def _principal(self, reader: Reader) -> str | None:
        """The object id of the identity that jobs on the target have.

        That is the one with the job's `client_id` or `object_id`, or the first: a cluster's first
        user-assigned identity is its jobs' default.
        """
        workspace = (
            f"/subscriptions/{self.azure.subscription_id}"
            f"/resourceGroups/{self.azure.resource_group}/providers"
            f"/Microsoft.MachineLearningServices/workspaces/{self.azure.workspace}"
        )
        compute = self.arm.get(f"{workspace}/computes/{reader.target}", _COMPUTE_API)
        identity = compute.get("identity") or {}
        assigned = (identity.get("userAssignedIdentities") or {}).values()
        for one in assigned:
            by_client = reader.client_id.lower() in {"", one["clientId"].lower()}
            if by_client and reader.object_id.lower() in {"", one["principalId"].lower()}:
                return str(one["principalId"])
        own = identity.get("principalId")
        is_chosen = reader.client_id or reader.object_id not in {"", own}
        return None if own is None or is_chosen else str(own)

    def _vault(self, name: str) -> dict[str, Any] | None:
        """The vault as a resource, wherever in the subscription it lies."""
        wanted = f"resourceType eq 'Microsoft.KeyVault/vaults' and name eq '{name}'"
        resources = f"/subscriptions/{self.azure.subscription_id}/resources"
        for found in self.arm.pages(resources, _RESOURCES_API, filter=wanted):
            return self.arm.get(found["id"], _VAULT_API)
        return None

    def _by_role(self, line: str, secret: Secret, vault_id: str, principal: str) -> Diagnosis:
        assignments = self.arm.pages(
            f"{vault_id}/providers/Microsoft.Authorization/roleAssignments",
            _ROLES_API,
            # Unlike `principalId eq`, it counts what the identity has as a member of a group.
            filter=f"assignedTo('{principal}')",
        )
        conditional = ""
        for one in assignments:
            about = one["properties"]
            if not _covers(about["scope"], secret, vault_id):
                continue
            role = self.arm.get(about["roleDefinitionId"], _ROLES_API)["properties"]
            if any(_grants(permission) for permission in role["permissions"]):
                if not about.get("condition"):
                    return AREA.well(line, f"Its identity has {role['roleName']}.")
                conditional = role["roleName"]
        if conditional:
            told = f"Its identity has {conditional} under a condition, which is not looked into."
            words = ("az", "role", "assignment", "list", "--assignee", principal)
            return AREA.skipped(line, told, shlex.join((*words, "--scope", vault_id)))
        told = f"Its identity has no role that reads secrets there; {ROLE} is enough."
        grant = ("az", "role", "assignment", "create", "--role", ROLE)
        whom = ("--assignee-object-id", principal, "--assignee-principal-type", "ServicePrincipal")
        return AREA.wrong(line, told, shlex.join((*grant, *whom, "--scope", vault_id)))


def _by_policy(line: str, secret: Secret, vault: dict[str, Any], principal: str) -> Diagnosis:
    """A vault with access policies, the older way, which name no single secret."""
    for policy in vault["properties"].get("accessPolicies") or ():
        rights = {right.lower() for right in policy["permissions"].get("secrets") or ()}
        if policy["objectId"] == principal and rights & {"get", "all"}:
            return AREA.well(line, "Its identity has an access policy that gets secrets.")
    told = "The vault goes by access policies, and none lets its identity get secrets."
    words = ("az", "keyvault", "set-policy", "--name", secret.vault, "--object-id", principal)
    return AREA.wrong(line, told, shlex.join((*words, "--secret-permissions", "get")))


def _covers(scope: str, secret: Secret, vault_id: str) -> bool:
    """Whether a right at `scope` reaches the secret: from above, from the vault, or from itself."""
    if scope.lower().startswith(_ABOVE_SUBSCRIPTIONS):
        return True  # It would not be listed for the vault if it were not above it.
    held = f"{vault_id}/secrets/{secret.name}" if secret.name else vault_id
    return f"{held}/".lower().startswith(f"{scope.rstrip('/')}/".lower())


def _grants(permission: dict[str, Any]) -> bool:
    """Whether one permission of a role lets secrets be read; `*` stands for any part."""
    allowed, denied = (
        any(fnmatch.fnmatchcase(_GET_SECRET.lower(), pattern.lower()) for pattern in patterns)
        for patterns in (
            permission.get("dataActions") or (),
            permission.get("notDataActions") or (),
        )
    )
    return allowed and not denied
