"""The repository on GitHub: what guards the merge, and what the workflows stand on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from traingate.doctor.diagnosis import Area, Diagnosis, Probe
from traingate.errors import TraingateError
from traingate.github import labels
from traingate.github.api import GitHub
from traingate.github.problems import GitHubProblem, NotThere, Unreachable
from traingate.github.pulls import read_branch_rules

AREA = Area(name="github")
PAGE = "docs/setup-github.md"
#: The check of gate.yml that a merge must wait for.
REQUIRED_CHECK = "check"
UNAUTHORIZED = 401
#: Environment, and whether it may have reviewers: a scheduled run would wait for them for ever.
ENVIRONMENTS = {"azureml": True, "azureml-read": False}


def reached(probes: Mapping[str, Probe]) -> Iterator[Diagnosis]:
    """What the probes find, until GitHub does not answer or does not know the token.

    Each retries for a quarter of a minute, so the rest is not begun then.
    """
    away = ""
    for subject, probe in probes.items():
        if away:
            yield AREA.skipped(subject, away)
            continue
        try:
            yield from probe()
        except Unreachable as error:
            away = error.problem
            yield AREA.skipped(subject, away, "Look at the network, and run the command again.")
        except TraingateError as error:
            if isinstance(error, GitHubProblem) and error.status == UNAUTHORIZED:
                away = "GitHub does not know this token."
                yield AREA.wrong("token", error.problem, "gh auth login")
            else:
                yield AREA.wrong(subject, error.problem, error.todo)


def rules(github: GitHub, branch: str) -> Iterator[Diagnosis]:
    """The branch demands a code owner's review of the last commit, and the gate's check."""
    found = read_branch_rules(github, branch)
    lacking = {
        "no approval is required": found.approvals < 1,
        "code owners need not review": not found.code_owner_review,
        "an approval outlives a later push": not found.dismiss_stale,
        "whoever pushed last may approve": not found.last_push_approval,
    }
    every = list(github.pages(f"rules/branches/{branch}"))
    lacking |= {
        f"the check `{REQUIRED_CHECK}` is not required": REQUIRED_CHECK not in _checks(every),
        "force pushes are allowed": not _has(every, "non_fast_forward"),
        "the branch may be deleted": not _has(every, "deletion"),
    }
    weak = [told for told, is_so in lacking.items() if is_so]
    if weak:
        told = f"On {branch} {'; '.join(weak)}."
        yield AREA.wrong("ruleset", told, f'Make the ruleset of {PAGE}, "The ruleset of main".')
    else:
        yield AREA.well("ruleset", f"{branch} demands a code owner's review and the gate's check.")


def owners(github: GitHub, branch: str) -> Iterator[Diagnosis]:
    """GitHub understands every line of CODEOWNERS: it skips the others without a word."""
    errors = github.get("codeowners/errors", ref=branch)["errors"]
    for error in errors:
        told = f"Line {error['line']} is skipped: {error['kind']}."
        yield AREA.wrong("CODEOWNERS", told, f"Mend that line of {error['path']} and push it.")
    if not errors:
        yield AREA.well("CODEOWNERS", "GitHub understands every line.")


def environments(github: GitHub, branch: str) -> Iterator[Diagnosis]:
    """Both environments exist and admit the default branch only."""
    for name, may_have_reviewers in ENVIRONMENTS.items():
        try:
            found = github.get(f"environments/{name}")
        except NotThere:
            mend = f"gh api -X PUT repos/{github.endpoint.repository}/environments/{name}"
            yield AREA.wrong(f"environment {name}", "It does not exist.", mend)
            continue
        others = _other_branches(github, name, found, branch)
        yield _environment(name, found, others, may_have_reviewers=may_have_reviewers)


def known_labels(github: GitHub) -> Iterator[Diagnosis]:
    """The labels by which open runs are found exist."""
    there = {label["name"] for label in github.pages("labels")}
    for name, (colour, description) in labels.ALL.items():
        if name in there:
            yield AREA.well(f"label {name}", "It exists.")
        else:
            mend = f"gh label create '{name}' --color {colour} --description '{description}'"
            yield AREA.wrong(f"label {name}", "It does not exist.", mend)


def token_permissions(github: GitHub) -> Iterator[Diagnosis]:
    """Workflows start with a token that can only read."""
    name = "workflow permissions"
    try:
        found = github.get("actions/permissions/workflow")
    except GitHubProblem as problem:
        if problem.status not in {403, 404}:
            raise
        yield AREA.skipped(name, "Only an administrator's token may read them.")
        return
    if found["default_workflow_permissions"] == "read":
        yield AREA.well(name, "Tokens start read-only.")
    else:
        path = f"repos/{github.endpoint.repository}/actions/permissions/workflow"
        mend = f"gh api -X PUT {path} -f default_workflow_permissions=read"
        yield AREA.wrong(name, "Tokens start with write access.", mend)


@dataclass(frozen=True, kw_only=True, slots=True)
class Subjects:
    """The subjects of this repository's tokens, without the environment at their end.

    `signed` is the form that GitHub signs. `other` is the form it signed before or will sign after
    a rename, and as safe to trust: each names this repository and no other.
    """

    signed: str
    other: str

    @staticmethod
    def of(form: str, environment: str) -> str:
        return f"{form}:environment:{environment}"


def subjects(github: GitHub) -> Subjects | None:
    """Which subjects GitHub signs here; None where somebody customised them."""
    custom = _template(github)
    return _forms(github, custom) if custom.get("use_default", True) else None


def subject(github: GitHub) -> Iterator[Diagnosis]:
    """Which subject GitHub signs, for the federated credential to name exactly."""
    custom = _template(github)
    if not custom.get("use_default", True):
        keys = ", ".join(custom.get("include_claim_keys") or ())
        told = f"The subject is customised ({keys}), and the credentials name the default forms."
        path = f"repos/{github.endpoint.repository}/actions/oidc/customization/sub"
        yield AREA.wrong("subject", told, f"gh api -X PUT {path} -F use_default=true")
        return
    found = _forms(github, custom)
    signed, other = (found.of(form, "azureml") for form in (found.signed, found.other))
    yield AREA.well("subject", f"GitHub signs {signed}; {other} is the other form of the same.")


def _template(github: GitHub) -> Mapping[str, Any]:
    found: Mapping[str, Any] = github.get("actions/oidc/customization/sub")
    return found


def _forms(github: GitHub, custom: Mapping[str, Any]) -> Subjects:
    """Both default forms, and which of them is signed.

    `sub_claim_prefix` is what GitHub says that it signs. `use_immutable_subject` is not: it was
    seen false beside a prefix with ids (Azure/azure-dev#9382).
    """
    found = github.get("")
    owner, name = found["owner"], found["name"]
    by_name = f"repo:{owner['login']}/{name}"
    by_id = f"repo:{owner['login']}@{owner['id']}/{name}@{found['id']}"
    signed = custom.get("sub_claim_prefix") or by_name
    return Subjects(signed=signed, other=by_id if signed == by_name else by_name)


def _other_branches(
    github: GitHub, name: str, found: Mapping[str, Any], branch: str
) -> tuple[str, ...]:
    """Branches (or patterns) beside `branch` that may use the environment."""
    policy = found.get("deployment_branch_policy")
    if policy is None:
        return ("any branch",)
    if not policy.get("custom_branch_policies"):
        return ("every protected branch",)
    listed = github.get(f"environments/{name}/deployment-branch-policies")["branch_policies"]
    return tuple(one["name"] for one in listed if one["name"] != branch)


def _environment(
    name: str, found: Mapping[str, Any], others: tuple[str, ...], *, may_have_reviewers: bool
) -> Diagnosis:
    reviewers = any(rule["type"] == "required_reviewers" for rule in found["protection_rules"])
    subject = f"environment {name}"
    if others:
        told = f"Also {', '.join(others)} may use it."
        return AREA.wrong(subject, told, f"Limit it to the default branch ({PAGE}).")
    if reviewers and not may_have_reviewers:
        told = "It has required reviewers, and the scheduled report would wait for them."
        return AREA.wrong(subject, told, "Take the reviewers away; this identity can only read.")
    return AREA.well(subject, "It exists, for the default branch alone.")


def _checks(rules: list[Any]) -> set[str]:
    return {
        check["context"]
        for rule in rules
        if rule["type"] == "required_status_checks"
        for check in rule["parameters"]["required_status_checks"]
    }


def _has(rules: list[Any], kind: str) -> bool:
    return any(rule["type"] == kind for rule in rules)
