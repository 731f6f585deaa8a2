"""The REST calls, one function each: what GitHub would answer from the state."""

from collections.abc import Callable, Mapping
from typing import Any

from github.fake.state import BOT, Comment, Pull, Repository, moment

Answer = tuple[int, Any]
Call = Callable[["Request"], Answer]


class Request:
    """One call: path parameters, query, body, the state and the time."""

    def __init__(
        self,
        repository: Repository,
        parameters: Mapping[str, str],
        query: Mapping[str, str],
        body: Any,
        now: float,
    ) -> None:
        self.repository = repository
        self.parameters = parameters
        self.query = query
        self.body = body
        self.now = now

    def pull(self, name: str = "issue_number") -> Pull | None:
        return self.repository.pulls.get(int(self.parameters[name]))


NOT_FOUND: Answer = (404, {"message": "Not Found", "documentation_url": "x", "status": "404"})


def list_commit_pulls(request: Request) -> Answer:
    numbers = request.repository.commit_pulls.get(request.parameters["commit_sha"], [])
    return 200, [pull_json(request.repository.pulls[number]) for number in numbers]


def get_pull(request: Request) -> Answer:
    pull = request.pull("pull_number")
    return (200, pull_json(pull)) if pull else NOT_FOUND


def create_comment(request: Request) -> Answer:
    body = request.body["body"]
    if len(body.encode("utf-16-le")) // 2 > 65_536:
        message = "Body is too long (maximum is 65536 characters)"
        return 422, {"message": "Validation Failed", "documentation_url": "x", "errors": [message]}
    number = int(request.parameters["issue_number"])
    if number not in request.repository.pulls:
        return NOT_FOUND
    made = request.repository.comment(number, BOT, body, request.now)
    return 201, comment_json(made)


def edit_comment(request: Request) -> Answer:
    found = request.repository.find_comment(int(request.parameters["comment_id"]))
    if found is None:
        return refused(404)
    found[1].body, found[1].editor = request.body["body"], BOT
    return 200, comment_json(found[1])


def delete_comment(request: Request) -> Answer:
    found = request.repository.find_comment(int(request.parameters["comment_id"]))
    if found is None:
        return refused(404)
    found[0].comments.remove(found[1])
    return 204, None


def add_labels(request: Request) -> Answer:
    pull = request.pull()
    if pull is None:
        return NOT_FOUND
    for label in request.body["labels"]:
        if label not in pull.labels:
            pull.labels.append(label)
    return 200, [{"name": label} for label in pull.labels]


def remove_label(request: Request) -> Answer:
    pull = request.pull()
    if pull is None or request.parameters["name"] not in pull.labels:
        return NOT_FOUND
    pull.labels.remove(request.parameters["name"])
    return 200, [{"name": label} for label in pull.labels]


def branch_rules(request: Request) -> Answer:
    rules: list[dict[str, Any]] = [{"type": kind} for kind in request.repository.more_rules]
    rules += [{"type": "pull_request", "parameters": rule} for rule in request.repository.rules]
    return 200, rules


def codeowners_errors(request: Request) -> Answer:
    return 200, {"errors": request.repository.codeowners_errors}


def membership(request: Request) -> Answer:
    teams = request.repository.teams
    if teams is None:
        return refused(403)
    team = f"{request.parameters['org']}/{request.parameters['team_slug']}".lower()
    if request.parameters["username"].lower() not in teams.get(team, set()):
        return refused(404)
    return 200, {"state": "active", "role": "member", "url": "https://api.github.com/x"}


def repository(request: Request) -> Answer:
    owner, _, name = request.repository.name.partition("/")
    return 200, {
        "name": name,
        "full_name": request.repository.name,
        "private": request.repository.is_private,
        "default_branch": "main",
        "owner": {"login": owner},
    }


def environment(request: Request) -> Answer:
    name = request.parameters["environment_name"]
    found = request.repository.environments.get(name)
    return (200, {"name": name, **found}) if found is not None else refused(404)


def branch_policies(request: Request) -> Answer:
    names = request.repository.branch_policies.get(request.parameters["environment_name"], [])
    policies = [{"name": name} for name in names]
    return 200, {"total_count": len(policies), "branch_policies": policies}


def labels(request: Request) -> Answer:
    return 200, [{"name": label} for label in request.repository.labels]


def workflow_permissions(request: Request) -> Answer:
    return 200, {
        "default_workflow_permissions": request.repository.workflow_permissions,
        "can_approve_pull_request_reviews": False,
    }


def refused(status: int) -> Answer:
    """An answer whose body GitHub does not describe for this call."""
    return -status, {"message": "Not Found" if status == 404 else "Resource not accessible"}


def comment_json(comment: Comment) -> dict[str, Any]:
    return {
        "id": comment.id,
        "body": comment.body,
        "created_at": moment(comment.created_at),
        "updated_at": moment(comment.created_at),
        "html_url": f"https://github.example/comment/{comment.id}",
        "user": {"login": comment.author, "type": "Bot" if "[bot]" in comment.author else "User"},
    }


def pull_json(pull: Pull) -> dict[str, Any]:
    return {
        "number": pull.number,
        "state": "closed" if pull.merged_at else "open",
        "merged_at": moment(pull.merged_at) if pull.merged_at else None,
        "merge_commit_sha": pull.merge_commit,
        "user": {"login": pull.author.login, "type": pull.author.kind},
        "base": {"ref": pull.base_branch},
        "head": {"sha": pull.head},
    }


_REPOSITORY = "/repos/{owner}/{repo}"
ROUTES: dict[tuple[str, str], Call] = {
    ("GET", f"{_REPOSITORY}"): repository,
    ("GET", f"{_REPOSITORY}/commits/{{commit_sha}}/pulls"): list_commit_pulls,
    ("GET", f"{_REPOSITORY}/pulls/{{pull_number}}"): get_pull,
    ("POST", f"{_REPOSITORY}/issues/{{issue_number}}/comments"): create_comment,
    ("PATCH", f"{_REPOSITORY}/issues/comments/{{comment_id}}"): edit_comment,
    ("DELETE", f"{_REPOSITORY}/issues/comments/{{comment_id}}"): delete_comment,
    ("POST", f"{_REPOSITORY}/issues/{{issue_number}}/labels"): add_labels,
    ("DELETE", f"{_REPOSITORY}/issues/{{issue_number}}/labels/{{name}}"): remove_label,
    ("GET", f"{_REPOSITORY}/rules/branches/{{branch}}"): branch_rules,
    ("GET", f"{_REPOSITORY}/codeowners/errors"): codeowners_errors,
    ("GET", f"{_REPOSITORY}/environments/{{environment_name}}"): environment,
    (
        "GET",
        f"{_REPOSITORY}/environments/{{environment_name}}/deployment-branch-policies",
    ): branch_policies,
    ("GET", f"{_REPOSITORY}/labels"): labels,
    ("GET", f"{_REPOSITORY}/actions/permissions/workflow"): workflow_permissions,
    ("GET", "/orgs/{org}/teams/{team_slug}/memberships/{username}"): membership,
}
