"""What the live repository lacks of docs/setup-github.md, read with any token that can see it."""

from collections.abc import Iterator

from traingate.github.api import GitHub
from traingate.github.approvals import Reason
from traingate.github.labels import ALL
from traingate.github.problems import GitHubProblem, NotThere
from traingate.github.pulls import read_branch_rules

_GUIDE = "docs/setup-github.md, step {}"
_FORBIDDEN = 403


def shortcomings(github: GitHub, *, with_azure: bool) -> tuple[Reason, ...]:
    """Everything that is missing or too weak, in the guide's order.

    Args:
        github: a client; the workflow's own token sees all but the environments' rules.
        with_azure: whether the platform's backend is Azure ML.
    """
    branch = github.get("")["default_branch"]
    found = [*_ruleset(github, branch), *_owners(github), *_workflows(github), *_labels(github)]
    if with_azure:
        for name in ("azureml", "azureml-read"):
            found += _environment(github, name, branch)
    return tuple(found)


def _ruleset(github: GitHub, branch: str) -> Iterator[Reason]:
    rules = read_branch_rules(github, branch)
    demanded = {
        "at least one approval": rules.approvals >= 1,
        "a review from Code Owners": rules.code_owner_review,
        "dismissal of stale approvals": rules.dismiss_stale,
        "approval of the most recent push": rules.last_push_approval,
    }
    for what, is_set in demanded.items():
        if not is_set:
            yield _lacks(f"The rules of {branch} do not demand {what}.", 1)
    kinds = {rule["type"] for rule in github.pages(f"rules/branches/{branch}")}
    if "non_fast_forward" not in kinds:
        yield _lacks(f"{branch} may be force-pushed.", 1)
    if "required_status_checks" not in kinds:
        yield _lacks(f"{branch} requires no status check, so a red gate can be merged.", 1)


def _owners(github: GitHub) -> Iterator[Reason]:
    try:
        errors = github.get("codeowners/errors")["errors"]
    except NotThere:
        yield _lacks("There is no CODEOWNERS file on the default branch.", 2)
        return
    for error in errors:
        yield _lacks(f"GitHub skips line {error['line']} of {error['path']}: {error['kind']}.", 2)


def _workflows(github: GitHub) -> Iterator[Reason]:
    try:
        settings = github.get("actions/permissions/workflow")
    except GitHubProblem as problem:
        if problem.status != _FORBIDDEN:
            raise
        yield _unseen("what workflows may do by default", 3)
        return
    if settings["default_workflow_permissions"] != "read":
        yield _lacks("Workflows may write unless they say otherwise.", 3)
    if settings["can_approve_pull_request_reviews"]:
        yield _lacks("Workflows may approve pull requests.", 3)


def _labels(github: GitHub) -> Iterator[Reason]:
    there = {label["name"] for label in github.pages("labels")}
    for name in ALL:
        if name not in there:
            yield _lacks(f"The label {name} does not exist.", 4)


def _environment(github: GitHub, name: str, branch: str) -> Iterator[Reason]:
    try:
        settings = github.get(f"environments/{name}")
    except NotThere:
        yield _lacks(f"The environment {name} does not exist.", 6)
        return
    policy = settings.get("deployment_branch_policy") or {}
    if not policy.get("custom_branch_policies"):
        yield _lacks(f"Any branch may use the environment {name}.", 6)
        return
    path = f"environments/{name}/deployment-branch-policies"
    allowed = [one["name"] for one in github.pages(path, key="branch_policies")]
    if allowed != [branch]:
        names = ", ".join(allowed) or "no branch"
        yield _lacks(f"The environment {name} is open to {names}, not to {branch} alone.", 6)
    reviewed = [rule["type"] for rule in settings.get("protection_rules") or ()]
    if name == "azureml-read" and "required_reviewers" in reviewed:
        yield _lacks(f"Required reviewers of {name} stop the scheduled report.", 6)


def _lacks(problem: str, step: int) -> Reason:
    return Reason(problem=problem, todo=f"See {_GUIDE.format(step)}.")


def _unseen(what: str, step: int) -> Reason:
    return Reason(
        problem=f"This token may not read {what}.",
        todo=f"Run it with an administrator's token, or check {_GUIDE.format(step)} by hand.",
    )
