"""What is read of a pull request: all pages of it, and everybody who pushed."""

import pytest

from github.fake.server import FakeGitHub
from github.fake.state import Account, Pull, Review
from traingate.github.api import Endpoint, GitHub
from traingate.github.problems import GitHubProblem
from traingate.github.pulls import read_branch_rules, read_pull


def client(fake: FakeGitHub) -> GitHub:
    endpoint = Endpoint(
        api_url=fake.base_url,
        graphql_url=f"{fake.base_url}/graphql",
        token="ghs_fake0001",
        repository="acme/train",
    )
    return GitHub(endpoint, transport=fake.transport(), clock=fake.clock)


def test_every_page_of_reviews_commits_and_pushes_is_read() -> None:
    fake = FakeGitHub(page_size=30)
    pull = Pull(7, Account("ada"), "a" * 40)
    pull.reviews = [Review(Account(f"r{n}"), "a" * 40, 1_000.0 + n) for n in range(70)]
    pull.commit_authors = [f"Author{n}" for n in range(100)]
    pull.force_pushers = ["Eve"]
    fake.repository.pulls[7] = pull
    read = read_pull(client(fake), 7)
    assert [review.author.login for review in read.reviews] == [f"r{n}" for n in range(70)]
    assert read.pushers == {f"author{n}" for n in range(100)} | {"eve"}
    assert len(fake.log) == 4
    assert fake.violations == []


def test_bots_and_comments_are_told_apart() -> None:
    fake = FakeGitHub()
    pull = Pull(7, Account("dependabot", "Bot"), "a" * 40)
    pull.reviews = [
        Review(Account("app", "Bot"), "a" * 40, 1_000.0),
        Review(Account("zoe"), "a" * 40, 1_000.0, state="COMMENTED"),
    ]
    fake.repository.pulls[7] = pull
    read = read_pull(client(fake), 7)
    assert read.author is not None
    assert not read.author.is_human
    assert [(one.author.login, one.author.is_human) for one in read.reviews] == [("app", False)]
    assert (read.merge_commit, read.merged_at, read.merged_by) == (None, None, None)


def test_a_pull_request_that_is_not_there() -> None:
    with pytest.raises(GitHubProblem, match="Could not resolve to a PullRequest"):
        read_pull(client(FakeGitHub()), 7)


def test_the_rules_of_all_rulesets_count_together() -> None:
    fake = FakeGitHub()
    weak = dict.fromkeys(fake.repository.rules[0], False) | {"required_approving_review_count": 0}
    fake.repository.rules = [
        weak | {"require_code_owner_review": True},
        weak | {"required_approving_review_count": 2},
    ]
    rules = read_branch_rules(client(fake), "main")
    assert (rules.approvals, rules.code_owner_review) == (2, True)
    assert (rules.dismiss_stale, rules.last_push_approval) == (False, False)
