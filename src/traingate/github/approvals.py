"""Whether a merged pull request was approved by somebody who may admit its request.

Pure: everything GitHub and git said is given. Nothing that happened before the merge is trusted
except what is verified here, and every reason not to go on says what to do about it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from traingate.github.codeowners import CodeOwners
from traingate.github.pulls import BranchRules, Person, Pull, Review

#: Whether a person belongs to `@org/team`; None when nobody can tell.
IsMember = Callable[[str, str], bool | None]

#: What decides about requests, and so may not change in the same pull request as one: how they are
#: judged, and how the tool that judges them is installed. At the top lie platform.yml, the build's
#: files, .gitattributes and whatever Python or pip would pick up there, so only pages are let off.
DECIDING = (".github/", "src/", "schemas/", "scripts/")
DECIDING_FILES = frozenset({"docs/CODEOWNERS"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """Why not, and what to do about it."""

    problem: str
    todo: str

    def __str__(self) -> str:
        return f"{self.problem} {self.todo}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Merge:
    """One merge of a request, as git and GitHub tell it.

    Args:
        commit: the commit on the default branch.
        default_branch: its name.
        changed: every path the merge changed.
        request_files: those of them that belong to the request.
        owners: CODEOWNERS of the commit before the merge, None without one.
        owner_errors: what GitHub finds wrong in that file.
        same_files: whether admission and job folder are equal at the approved head and here.
        is_whole: whether the commit before is the base, not one of the pull request's own.
        rules: the rules of the default branch.
        pull: the pull request.
    """

    commit: str
    default_branch: str
    changed: tuple[str, ...]
    request_files: tuple[str, ...]
    owners: CodeOwners | None
    owner_errors: tuple[str, ...]
    same_files: bool
    is_whole: bool
    rules: BranchRules
    pull: Pull


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Who approved, or why the merge admits nothing (exactly one of the two is empty)."""

    approver: str | None
    reasons: tuple[Reason, ...]


def verify(merge: Merge, is_member: IsMember) -> Verdict:
    """Hold one merge against every condition; an earlier kind of failure hides the later ones."""
    for conditions in (_origin, _protection, _content):
        if reasons := tuple(conditions(merge)):
            return Verdict(approver=None, reasons=reasons)
    return _approval(merge, is_member)


def could_approve(
    person: Person, pull: Pull, files: tuple[str, ...], owners: CodeOwners, is_member: IsMember
) -> Reason | None:
    """Why `person` could not have approved `files` in `pull`, or None when they could."""
    return next(_not_eligible(person, pull), None) or _not_owner(person, files, owners, is_member)


def members_of(approvers: Mapping[str, tuple[str, ...]]) -> Mapping[str, frozenset[str]]:
    """`approvers` of platform.yml with teams and people as they are compared."""
    return {
        f"@{team.lstrip('@').lower()}": frozenset(one.lstrip("@").lower() for one in people)
        for team, people in approvers.items()
    }


def _origin(merge: Merge) -> Iterator[Reason]:
    pull = merge.pull
    if pull.merged_at is None or pull.merge_commit != merge.commit:
        yield Reason(
            problem=f"Commit {merge.commit[:12]} is not the merge commit of #{pull.number}.",
            todo="Merge by squash, from the pull request's page; a rebase or an indirect merge "
            "brings commits nobody reviewed as they are.",
        )
    if not merge.is_whole:
        yield Reason(
            problem=f"Commit {merge.commit[:12]} is the last of several: the one before it "
            f"belongs to #{pull.number} as well.",
            todo="Merge by squash: after a rebase nobody can say what the review was held against.",
        )
    if pull.base_branch != merge.default_branch:
        yield Reason(
            problem=f"#{pull.number} was merged into {pull.base_branch}.",
            todo=f"Open a pull request against {merge.default_branch}.",
        )


def _protection(merge: Merge) -> Iterator[Reason]:
    demanded = (
        (merge.rules.approvals >= 1, "at least one approval"),
        (merge.rules.code_owner_review, "a review from Code Owners"),
        (merge.rules.dismiss_stale, "dismissal of stale approvals"),
        (merge.rules.last_push_approval, "approval of the most recent push"),
    )
    missing = [what for is_set, what in demanded if not is_set]
    if missing:
        yield Reason(
            problem=f"No rule of {merge.default_branch} demands {', '.join(missing)}.",
            todo="Set it in the branch ruleset (docs/setup-github.md, step 1).",
        )
    if merge.owners is None:
        yield Reason(
            problem="The base commit has no CODEOWNERS file.",
            todo="Add .github/CODEOWNERS in a pull request of its own.",
        )
    elif errors := (*merge.owner_errors, *map(str, merge.owners.skipped())):
        yield Reason(
            problem=f"{merge.owners.file} has lines GitHub skips ({'; '.join(errors[:5])}).",
            todo="Mend them in a pull request of its own; a skipped line protects nothing.",
        )


def _content(merge: Merge) -> Iterator[Reason]:
    deciding = [path for path in merge.changed if is_deciding(path)]
    if deciding:
        yield Reason(
            problem=f"The pull request also changes {', '.join(deciding[:5])}, which decides "
            "about requests.",
            todo="Make it two pull requests: first that change, then the request.",
        )
    if not merge.same_files:
        yield Reason(
            problem="The request's files on the branch differ from those at the approved commit "
            f"{merge.pull.head[:12]}.",
            todo="Another merge changed them meanwhile: update the branch and have it approved.",
        )
    if merge.pull.decision != "APPROVED":
        yield Reason(
            problem=f"GitHub's review decision is {merge.pull.decision or 'none'}, not APPROVED: "
            "the rules were bypassed or the review was withdrawn.",
            todo="Open the request again and merge it with a code owner's approval; take merging "
            "without one out of the ruleset's bypass list.",
        )


def is_deciding(path: str) -> bool:
    """Whether a path belongs to what decides about requests."""
    is_at_the_top = "/" not in path and not path.endswith(".md")
    return is_at_the_top or path in DECIDING_FILES or path.startswith(DECIDING)


def _approval(merge: Merge, is_member: IsMember) -> Verdict:
    merged_at, owners = merge.pull.merged_at, merge.owners
    assert merged_at is not None
    assert owners is not None
    latest = _latest(merge.pull.reviews, merged_at)
    blocking = [one.author.login for one in latest if one.state == "CHANGES_REQUESTED"]
    if blocking:
        problem = f"{', '.join(blocking)} asked for changes and did not take it back."
        todo = "Have that review dismissed or turned into an approval, then open it again."
        return Verdict(approver=None, reasons=(Reason(problem=problem, todo=todo),))
    reasons = []
    for review in sorted(merge.pull.reviews, key=lambda one: one.submitted_at):
        reason = (
            _not_standing(review, latest, merge)
            or next(_not_eligible(review.author, merge.pull), None)
            or _not_owner(review.author, merge.request_files, owners, is_member)
        )
        if reason is None:
            return Verdict(approver=review.author.login, reasons=())
        reasons.append(reason)
    return Verdict(approver=None, reasons=tuple(dict.fromkeys(reasons)) or (_nobody(merge),))


def _latest(reviews: tuple[Review, ...], merged_at: datetime) -> tuple[Review, ...]:
    """The last word of everybody who can push, as it stood at the merge."""
    latest: dict[str, Review] = {}
    for review in sorted(reviews, key=lambda one: one.submitted_at):
        if review.can_push and review.submitted_at <= merged_at:
            latest[review.author.login.lower()] = review
    return tuple(latest.values())


def _not_standing(review: Review, latest: tuple[Review, ...], merge: Merge) -> Reason | None:
    who, again = review.author.login, "Have the request approved again before it is merged."
    assert merge.pull.merged_at is not None
    if review.submitted_at > merge.pull.merged_at:
        return Reason(problem=f"The review by {who} came after the merge.", todo=again)
    if not review.can_push:
        todo = "Give the reviewer write access, without which an approval does not count."
        return Reason(problem=f"{who} cannot push to this repository.", todo=todo)
    if review.state != "APPROVED" or review not in latest:
        return Reason(problem=f"The approval by {who} was dismissed or replaced.", todo=again)
    if review.commit != merge.pull.head:
        at = (review.commit or "a commit that is gone")[:12]
        return Reason(
            problem=f"{who} approved {at}, not the head {merge.pull.head[:12]}.", todo=again
        )
    return None


def _not_eligible(person: Person, pull: Pull) -> Iterator[Reason]:
    other = "Have another code owner approve it."
    if not person.is_human:
        yield Reason(problem=f"{person.login} is no human account.", todo=other)
    if pull.author is None or pull.author.is_named(person.login):
        yield Reason(problem=f"{person.login} is the author of #{pull.number}.", todo=other)
    if person.login.lower() in pull.pushers:
        problem = f"{person.login} wrote or pushed commits of #{pull.number}."
        yield Reason(problem=problem, todo=other)


def _not_owner(
    person: Person, files: tuple[str, ...], owners: CodeOwners, is_member: IsMember
) -> Reason | None:
    """Why `person` does not own each of `files`, or None when they do."""
    for path in files:
        answers = {owner: _owns(person, owner, is_member) for owner in owners.of(path)}
        if any(answers.values()):
            continue
        unknown = [owner for owner, answer in answers.items() if answer is None]
        if unknown:
            return Reason(
                problem=f"Whether {person.login} belongs to {', '.join(unknown)}, which owns "
                f"{path}, cannot be verified with this token.",
                todo="List the team under `approvers` in platform.yml, or give the workflow a "
                "GitHub App token with Members: read (docs/setup-github.md, step 5).",
            )
        who = ", ".join(answers) or "nobody"
        return Reason(
            problem=f"{person.login} does not own {path} (owned by {who}).",
            todo=f"Have an owner of every changed file approve it, by {owners.file} at the base.",
        )
    return None


def _owns(person: Person, owner: str, is_member: IsMember) -> bool | None:
    if not owner.startswith("@"):
        return None  # An address: GitHub does not tell whose it is.
    if "/" in owner:
        return is_member(owner.lower(), person.login)
    return person.is_named(owner[1:])


def _nobody(merge: Merge) -> Reason:
    return Reason(
        problem=f"#{merge.pull.number} has no review.",
        todo="Have a code owner of its files approve it before it is merged.",
    )
