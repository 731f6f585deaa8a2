"""Every way a merge may not count, one row each, around one merge that does."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from traingate.github.approvals import Merge, could_approve, is_deciding, members_of, verify
from traingate.github.codeowners import CodeOwners
from traingate.github.pulls import BranchRules, Person, Pull, Review

HEAD, MERGE = "a" * 40, "b" * 40
ADMISSION, JOB = "admissions/seg.md", "jobs/seg/job.yml"
MERGED_AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
OWNERS = CodeOwners(
    file=".github/CODEOWNERS",
    text="* @platform-lead\n/admissions/ @olga @acme/gpu\n/jobs/ @olga @acme/gpu\n",
)


def review(login: str = "olga", **changes: object) -> Review:
    base = Review(
        author=Person(login=login, is_human=True),
        can_push=True,
        state="APPROVED",
        submitted_at=MERGED_AT.replace(hour=11),
        commit=HEAD,
    )
    return replace(base, **changes)


PULL = Pull(
    number=7,
    author=Person(login="ada", is_human=True),
    base_branch="main",
    head=HEAD,
    merge_commit=MERGE,
    merged_at=MERGED_AT,
    merged_by=Person(login="ada", is_human=True),
    decision="APPROVED",
    reviews=(review(),),
    pushers=frozenset({"ada"}),
)
GOOD = Merge(
    commit=MERGE,
    default_branch="main",
    changed=(ADMISSION, JOB),
    request_files=(ADMISSION, JOB),
    owners=OWNERS,
    owner_errors=(),
    same_files=True,
    is_whole=True,
    rules=BranchRules(
        approvals=1, code_owner_review=True, dismiss_stale=True, last_push_approval=True
    ),
    pull=PULL,
)


def nobody_knows(_team: str, _person: str) -> bool | None:
    return None


def gpu_team(team: str, person: str) -> bool | None:
    return team == "@acme/gpu" and person.lower() == "gil"


def pull(**changes: object) -> Merge:
    return replace(GOOD, pull=replace(PULL, **changes))


def reviews(*given: Review) -> Merge:
    return pull(reviews=given)


def owners(text: str) -> Merge:
    return replace(GOOD, owners=replace(OWNERS, text=text))


REFUSED = {
    "not the merge commit": (pull(merge_commit="c" * 40), "is not the merge commit of #7"),
    "never merged": (pull(merged_at=None), "is not the merge commit of #7"),
    "merged elsewhere": (pull(base_branch="next"), "was merged into next"),
    "no approvals demanded": (
        replace(GOOD, rules=replace(GOOD.rules, approvals=0)),
        "demands at least one approval. Set it in the branch ruleset",
    ),
    "no code owner review": (
        replace(GOOD, rules=replace(GOOD.rules, code_owner_review=False)),
        "demands a review from Code Owners",
    ),
    "stale approvals stay": (
        replace(GOOD, rules=replace(GOOD.rules, dismiss_stale=False)),
        "demands dismissal of stale approvals",
    ),
    "last push unapproved": (
        replace(GOOD, rules=replace(GOOD.rules, last_push_approval=False)),
        "demands approval of the most recent push",
    ),
    "unprotected": (replace(GOOD, rules=BranchRules()), "docs/setup-github.md"),
    "no CODEOWNERS": (replace(GOOD, owners=None), "has no CODEOWNERS file"),
    "GitHub skips a line": (
        replace(GOOD, owner_errors=("line 2: unknown owner",)),
        "has lines GitHub skips (line 2: unknown owner)",
    ),
    "we know a line is skipped": (owners("/jobs/[ab] @olga\n* @olga"), "no `[ ]` ranges"),
    "with a workflow": (
        replace(GOOD, changed=(*GOOD.changed, ".github/workflows/submit.yml")),
        "also changes .github/workflows/submit.yml",
    ),
    "with the tool": (replace(GOOD, changed=(*GOOD.changed, "src/traingate/plan.py")), "two pull"),
    "with a schema": (
        replace(GOOD, changed=(*GOOD.changed, "schemas/job.schema.json")),
        "two pull requests",
    ),
    "with platform.yml": (replace(GOOD, changed=(*GOOD.changed, "platform.yml")), "two pull"),
    "with CODEOWNERS at the root": (replace(GOOD, changed=(*GOOD.changed, "CODEOWNERS")), "two"),
    "with CODEOWNERS in docs": (replace(GOOD, changed=(*GOOD.changed, "docs/CODEOWNERS")), "two"),
    "with CODEOWNERS in .github": (
        replace(GOOD, changed=(*GOOD.changed, ".github/CODEOWNERS")),
        "two pull requests",
    ),
    "a rebase of several commits": (replace(GOOD, is_whole=False), "is the last of several"),
    "other files than approved": (replace(GOOD, same_files=False), "differ from those at"),
    "bypassed": (pull(decision="REVIEW_REQUIRED"), "REVIEW_REQUIRED, not APPROVED"),
    "no decision": (pull(decision=None), "is none, not APPROVED"),
    "changes requested by decision": (pull(decision="CHANGES_REQUESTED"), "not APPROVED"),
    "no review at all": (reviews(), "has no review"),
    "after the merge": (
        reviews(review(submitted_at=MERGED_AT.replace(hour=13))),
        "by olga came after the merge",
    ),
    "on an older commit": (reviews(review(commit="d" * 40)), "olga approved dddddddddddd, not"),
    "on a commit that is gone": (reviews(review(commit=None)), "approved a commit tha, not"),
    "dismissed": (reviews(review(state="DISMISSED")), "by olga was dismissed or replaced"),
    "taken back": (
        reviews(
            review(),
            review(state="CHANGES_REQUESTED", submitted_at=MERGED_AT.replace(hour=11, minute=30)),
        ),
        "olga asked for changes",
    ),
    "another owner objects": (
        reviews(review(), review("gil", state="CHANGES_REQUESTED")),
        "gil asked for changes",
    ),
    "by the author": (reviews(review("Ada")), "Ada is the author of #7"),
    "author unknown": (pull(author=None), "is the author of #7"),
    "by the last pusher": (pull(pushers=frozenset({"ada", "olga"})), "olga wrote or pushed"),
    "by a bot": (
        reviews(review(author=Person(login="olga", is_human=False))),
        "olga is no human account",
    ),
    "by someone without write access": (reviews(review(can_push=False)), "olga cannot push"),
    "owns nothing": (reviews(review("zoe")), "zoe does not own"),
    "owns only one of the files": (
        owners("/admissions/ @olga\n/jobs/ @platform-lead\n"),
        f"olga does not own {JOB} (owned by @platform-lead)",
    ),
    "a file without an owner": (
        owners("/admissions/ @olga\n/jobs/\n"),
        f"does not own {JOB} (owned by nobody)",
    ),
    "an address as owner": (owners("* olga@acme.example"), "cannot be verified"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    merge, expected = REFUSED[case]
    verdict = verify(merge, gpu_team)
    assert verdict.approver is None
    assert expected in " ".join(map(str, verdict.reasons))
    assert all(reason.todo.endswith(".") for reason in verdict.reasons)


ACCEPTED: dict[str, tuple[Merge, Callable[[str, str], bool | None], str]] = {
    "an owner's approval": (GOOD, nobody_knows, "olga"),
    "a team member's": (reviews(review("Gil")), gpu_team, "Gil"),
    "approved again on the head": (
        reviews(
            review(commit="d" * 40, submitted_at=MERGED_AT.replace(hour=9)),
            review(),
        ),
        nobody_knows,
        "olga",
    ),
    "a stranger objects": (
        reviews(review(), review("zoe", state="CHANGES_REQUESTED", can_push=False)),
        nobody_knows,
        "olga",
    ),
    "an objection taken back": (
        reviews(
            review("gil", state="CHANGES_REQUESTED", submitted_at=MERGED_AT.replace(hour=9)),
            review("gil"),
        ),
        gpu_team,
        "gil",
    ),
    "an objection after the merge": (
        reviews(
            review(),
            review("gil", state="CHANGES_REQUESTED", submitted_at=MERGED_AT.replace(hour=13)),
        ),
        gpu_team,
        "olga",
    ),
    "other files beside the request": (
        replace(GOOD, changed=(*GOOD.changed, "README.md", "infra/main.tf")),
        nobody_knows,
        "olga",
    ),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_accepted(case: str) -> None:
    merge, is_member, approver = ACCEPTED[case]
    assert verify(merge, is_member).approver == approver
    assert verify(merge, is_member).reasons == ()


def test_a_team_nobody_can_ask_about_is_named_with_both_ways_out() -> None:
    verdict = verify(reviews(review("gil")), nobody_knows)
    text = " ".join(map(str, verdict.reasons))
    assert "@acme/gpu, which owns admissions/seg.md, cannot be verified" in text
    assert "`approvers` in platform.yml" in text
    assert "Members: read" in text


def test_the_first_kind_of_failure_hides_the_later_ones() -> None:
    everything = replace(
        pull(merge_commit="c" * 40, decision=None, reviews=()), rules=BranchRules(), owners=None
    )
    assert len(verify(everything, gpu_team).reasons) == 1


def test_members_are_compared_as_github_compares_them() -> None:
    assert members_of({"@Acme/GPU": ("@Gil", "olga")}) == {"@acme/gpu": {"gil", "olga"}}
    assert members_of({"acme/gpu": ("gil",)}) == {"@acme/gpu": {"gil"}}


@pytest.mark.parametrize(
    ("login", "is_human", "expected"),
    [
        ("olga", True, None),
        ("gil", True, None),
        ("ada", True, "is the author"),
        ("zoe", True, "does not own"),
        ("olga", False, "is no human"),
    ],
)
def test_who_could_have_approved(login: str, is_human: bool, expected: str | None) -> None:  # noqa: FBT001
    person = Person(login=login, is_human=is_human)
    reason = could_approve(person, PULL, (ADMISSION, JOB), OWNERS, gpu_team)
    assert (reason is None) if expected is None else (reason and expected in reason.problem)


@pytest.mark.parametrize(
    "path",
    [
        *("platform.yml", "CODEOWNERS", ".gitattributes", ".gitignore", ".lfsconfig"),
        *("pyproject.toml", "setup.py", "setup.cfg", "constraints.txt", "pip.py", "Makefile"),
        *("docs/CODEOWNERS", ".github/workflows/submit.yml", "src/a.py", "schemas/job.schema.json"),
        "scripts/install_torch.py",
    ],
)
def test_what_decides_about_requests(path: str) -> None:
    assert is_deciding(path)


@pytest.mark.parametrize(
    "path",
    ["README.md", "docs/owner.md", "infra/main.tf", "jobs/seg/setup.py", "admissions/seg.md"],
)
def test_what_does_not_decide(path: str) -> None:
    assert not is_deciding(path)
