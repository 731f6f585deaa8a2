"""The identities that GitHub signs in as: whose tokens they trust, and whose they should."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from traingate.doctor.arm import Arm, ArmProblem
from traingate.doctor.diagnosis import Diagnosis
from traingate.doctor.github import Subjects
from traingate.doctor.looking import AREA, looked_up
from traingate.documents.platform import Azure

ISSUER = "https://token.actions.githubusercontent.com"
#: How the issuer of a GitHub Enterprise Server ends, after the server's address.
SERVER_ISSUER = "/_services/token"
AUDIENCE = "api://AzureADTokenExchange"
#: The environment that each identity belongs to; submit.yml and report.yml name them.
ENVIRONMENTS = {"submitter": "azureml", "reader": "azureml-read"}

_IDENTITIES = "providers/Microsoft.ManagedIdentity/userAssignedIdentities"
_API = "2023-01-31"
_OUTPUT = "terraform -chdir=infra output -raw platform_yml"


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """A user-assigned identity, by its resource id."""

    id: str
    name: str

    @property
    def group(self) -> str:
        """`/subscriptions/S/resourceGroups/G/...`: the group, in whatever case Azure writes it."""
        return self.id.split("/")[4]

    def command(self, verb: str, credential: str, *arguments: str) -> str:
        """`az identity federated-credential VERB` for one credential of this identity."""
        words = ("az", "identity", "federated-credential", verb, "--name", credential)
        owner = ("--identity-name", self.name, "--resource-group", self.group)
        return shlex.join((*words, *owner, *arguments))


@dataclass(frozen=True, kw_only=True, slots=True)
class Credential:
    """Whose tokens an identity trusts. `subject` is None where an expression stands for it."""

    name: str
    issuer: str
    subject: str | None
    audiences: tuple[str, ...]


def federation(arm: Arm, azure: Azure, role: str, subjects: Subjects | str) -> Iterator[Diagnosis]:
    """The identity of `role` trusts this repository's environment, and nobody else.

    Args:
        arm: asks on behalf of whoever runs the doctor.
        azure: where the identities are.
        role: `submitter` or `reader`.
        subjects: what GitHub signs, or why that is not known.
    """
    line = f"{role} identity"
    client_id = azure.submitter_client_id if role == "submitter" else azure.reader_client_id
    if client_id is None:
        yield AREA.wrong(line, f"platform.yml has no `{role}_client_id`.", _OUTPUT)
        return
    name = f"$(az identity list --query \"[?clientId=='{client_id}'].name\" --output tsv)"
    group = shlex.quote(azure.resource_group)
    show = f"az identity federated-credential list --resource-group {group}"
    by_hand = f'{show} --identity-name "{name}"'
    if isinstance(subjects, str):
        yield AREA.skipped(line, subjects, by_hand)
        return
    yield from looked_up(
        line, lambda: _federation(arm, azure, role, client_id, subjects), by_hand=by_hand
    )


def _federation(
    arm: Arm, azure: Azure, role: str, client_id: str, subjects: Subjects
) -> Iterator[Diagnosis]:
    line = f"{role} identity"
    identity = _identity(arm, azure, client_id)
    if identity is None:
        told = f"No identity of {azure.resource_group} has the client id {client_id}."
        yield AREA.wrong(line, f"{told} Correct `{role}_client_id` in platform.yml.", _OUTPUT)
        return
    trusted = tuple(_credentials(arm, identity))
    environment = ENVIRONMENTS[role]
    wanted = subjects.of(subjects.signed, environment)
    yield _needed(line, identity, trusted, wanted, is_by_id="@" in subjects.signed)
    # In any case of letters: one that differs in it matches no token.
    ours = {wanted.lower(), subjects.of(subjects.other, environment).lower()}
    for one in trusted:
        is_ours = (one.subject or "").lower() in ours
        if is_ours and one.issuer.endswith(SERVER_ISSUER):
            told = (
                f"Its credential {one.name} trusts {one.issuer}; look whether that is your server."
            )
            yield AREA.skipped(line, told, identity.command("show", one.name))
        elif not (is_ours and _is_github(one.issuer)):
            who = _who(one, subjects, environment)
            told = f"Its credential {one.name} lets {who} sign in too."
            yield AREA.wrong(line, told, identity.command("delete", one.name, "--yes"))


def _needed(
    line: str, identity: Identity, trusted: tuple[Credential, ...], wanted: str, *, is_by_id: bool
) -> Diagnosis:
    """The credential without which the workflow cannot sign in."""
    same = [one for one in trusted if one.subject == wanted and _is_github(one.issuer)]
    if any(one.audiences == (AUDIENCE,) for one in same):
        return AREA.well(line, f"{identity.name} trusts {wanted}.")
    about = ("--issuer", ISSUER, "--subject", wanted, "--audiences", AUDIENCE)
    if same:
        is_ = ", ".join(same[0].audiences) or "none"
        told = f"{identity.name} trusts {wanted} for the audience {is_}, not {AUDIENCE}."
        return AREA.wrong(line, told, identity.command("update", same[0].name, *about))
    told = f"{identity.name} does not trust {wanted}, which GitHub signs."
    for one in trusted:
        if (one.subject or "").lower() == wanted.lower() and one.subject != wanted:
            told += f" {one.subject} differs in upper and lower case, and matches nothing."
    name = "github-by-id" if is_by_id else "github-by-name"
    return AREA.wrong(line, told, identity.command("create", name, *about))


def _is_github(issuer: str) -> bool:
    # An enterprise may have its name in the issuer; the subject's organisation is its own anyway.
    return issuer == ISSUER or issuer.startswith(f"{ISSUER}/")


def _who(one: Credential, subjects: Subjects, environment: str) -> str:
    """Who holds tokens that the credential trusts, in words."""
    if one.subject is None:
        return "whoever matches an expression (claimsMatchingExpression)"
    if not _is_github(one.issuer):
        return f"tokens of {one.issuer} ({one.subject})"
    for form in (subjects.signed, subjects.other):
        if one.subject.lower().startswith(f"{form}:".lower()):
            context = one.subject[len(form) + 1 :]
            return f"{_context(context, environment)} ({one.subject})"
    return f"another repository ({one.subject})"


def _context(context: str, environment: str) -> str:
    kind, _, value = context.partition(":")
    if kind == "pull_request":
        return "every pull request before any review"
    if kind == "environment" and value != environment:
        return f"the environment {value}"
    if kind == "ref":
        return f"every workflow on {value} without an environment"
    return "other workflows"


def _identity(arm: Arm, azure: Azure, client_id: str) -> Identity | None:
    """The identity with that client id: of the group, or else of the subscription."""
    subscription = f"/subscriptions/{azure.subscription_id}"
    group = f"{subscription}/resourceGroups/{azure.resource_group}"
    found = _with_client_id(arm.pages(f"{group}/{_IDENTITIES}", _API), client_id)
    if found is not None:
        return found
    try:
        return _with_client_id(arm.pages(f"{subscription}/{_IDENTITIES}", _API), client_id)
    except ArmProblem as error:
        # Rights on the group are enough for the group, where Terraform puts them.
        if error.is_forbidden:
            return None
        raise


def _with_client_id(entries: Iterator[dict[str, Any]], client_id: str) -> Identity | None:
    for entry in entries:
        if entry["properties"]["clientId"].lower() == client_id.lower():
            return Identity(id=entry["id"], name=entry["name"])
    return None


def _credentials(arm: Arm, identity: Identity) -> Iterator[Credential]:
    for entry in arm.pages(f"{identity.id}/federatedIdentityCredentials", _API):
        about = entry["properties"]
        yield Credential(
            name=entry["name"],
            issuer=about["issuer"],
            subject=about.get("subject"),
            audiences=tuple(about.get("audiences") or ()),
        )
