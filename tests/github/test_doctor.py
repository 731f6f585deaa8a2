"""What the live repository lacks, one weakness at a time."""

from collections.abc import Callable
from typing import Any

import pytest

from github.fake.server import FakeGitHub
from github.fake.state import Repository
from traingate.github.api import Endpoint, GitHub
from traingate.github.doctor import shortcomings
from traingate.github.labels import ALL


def healthy() -> FakeGitHub:
    fake = FakeGitHub()
    repository = fake.repository
    repository.labels = list(ALL)
    repository.more_rules = ["non_fast_forward", "required_status_checks"]
    for name in ("azureml", "azureml-read"):
        policy = {"protected_branches": False, "custom_branch_policies": True}
        repository.environments[name] = {"deployment_branch_policy": policy}
        repository.branch_policies[name] = ["main"]
    return fake


def found(fake: FakeGitHub, *, with_azure: bool = True) -> list[str]:
    endpoint = Endpoint(
        api_url=fake.base_url, graphql_url="", token="ghs_fake0001", repository="acme/train"
    )
    github = GitHub(endpoint, transport=fake.transport(), clock=fake.clock)
    result = [str(one) for one in shortcomings(github, with_azure=with_azure)]
    assert fake.violations == []
    return result


def test_nothing_is_wrong_with_a_repository_set_up_by_the_guide() -> None:
    assert found(healthy()) == []


def _rule(name: str, value: object) -> Callable[[Repository], None]:
    return lambda repository: repository.rules[0].update({name: value})


def _reviewers(repository: Repository) -> None:
    rule = {"id": 1, "node_id": "x", "type": "required_reviewers", "reviewers": []}
    repository.environments["azureml-read"]["protection_rules"] = [rule]


WEAK: dict[str, Callable[[Repository], Any]] = {
    "at least one approval": _rule("required_approving_review_count", 0),
    "Code Owners": _rule("require_code_owner_review", False),  # noqa: FBT003
    "stale approvals": _rule("dismiss_stale_reviews_on_push", False),  # noqa: FBT003
    "most recent push": _rule("require_last_push_approval", False),  # noqa: FBT003
    "may be force-pushed": lambda repository: repository.more_rules.remove("non_fast_forward"),
    "requires no status check": lambda r: r.more_rules.remove("required_status_checks"),
    "skips line 3": lambda repository: repository.codeowners_errors.append(
        {"line": 3, "column": 1, "kind": "Unknown owner", "path": "CODEOWNERS"}
    ),
    "may write unless": lambda repository: setattr(repository, "workflow_permissions", "write"),
    "traingate:done does not exist": lambda r: r.labels.remove("traingate:done"),
    "environment azureml does not exist": lambda r: r.environments.pop("azureml"),
    "Any branch may use": lambda r: r.environments["azureml"].clear(),
    "open to next": lambda r: r.branch_policies.update(azureml=["next"]),
    "stop the scheduled report": _reviewers,
}


@pytest.mark.parametrize("expected", WEAK)
def test_each_weakness_is_named_with_its_step(expected: str) -> None:
    fake = healthy()
    WEAK[expected](fake.repository)
    (reason,) = found(fake)
    assert expected in reason
    assert "docs/setup-github.md, step" in reason


def test_without_azure_no_environment_is_needed() -> None:
    fake = healthy()
    fake.repository.environments.clear()
    assert found(fake, with_azure=False) == []


def test_what_a_token_may_not_read_is_said() -> None:
    fake = healthy()
    fake.interference = lambda _method, path: (
        (403, {}, {"message": "Resource not accessible"}) if "permissions" in path else None
    )
    (reason,) = found(fake)
    assert "may not read what workflows may do" in reason
