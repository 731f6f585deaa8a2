"""One merged request held against everything that admits it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from traingate import pipeline
from traingate.documents.platform import Platform
from traingate.documents.reading import read_platform
from traingate.documents.request import Request
from traingate.errors import TraingateError
from traingate.findings import Severity, has_errors
from traingate.github import approvals
from traingate.github.approvals import Merge, Reason, Verdict
from traingate.github.pulls import (
    pulls_of,
    read_branch_rules,
    read_pull,
    request_objects,
)
from traingate.loop.history import History, paths_of
from traingate.loop.links import link_findings
from traingate.loop.world import World
from traingate.plan import Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class Runnable:
    """A request without errors, and its plan."""

    request: Request
    plan: Plan


def pull_numbers(world: World, commit: str) -> tuple[int | None, int | None]:
    """The pull request whose merge commit this is, and one that merely contains it."""
    merged = list(pulls_of(world.github, commit))
    own = [pull["number"] for pull in merged if _is_merge_of(pull, commit, world.branch)]
    if len(own) > 1:
        # One merge closes every pull request whose commits it brings, also a stranger's copy of
        # the branch. What it brings is the same, so the one that was approved speaks for it.
        own.sort(key=lambda number: read_pull(world.github, number).decision != "APPROVED")
    return own[0] if own else None, merged[0]["number"] if merged else None


def _is_whole(world: World, commit: str, number: int) -> bool:
    """Whether a merge commit brings all of its pull request, so that its parent is the base.

    After a rebase of several commits the last one is GitHub's merge commit: the pull request's
    own earlier commits lie below it, with whatever CODEOWNERS and policy they brought along.
    """
    parent = world.history.object_id(f"{commit}^1")
    below = pulls_of(world.github, parent) if parent else ()
    return all(pull["number"] != number for pull in below)


def verify_merge(
    world: World, commit: str, number: int, workload: str, files: tuple[str, ...]
) -> Verdict:
    """Whether the review of `number` admits `files` of a request, as merged in `commit`."""
    base = f"{commit}^1"
    owners = world.history.owners(base)
    errors = world.github.get("codeowners/errors", ref=world.history.object_id(base) or base)
    pull = read_pull(world.github, number)
    approved = request_objects(world.github, pull.head, workload)
    merged = tuple(world.history.object_id(f"{commit}:{path}") for path in paths_of(workload))
    merge = Merge(
        commit=commit,
        default_branch=world.branch,
        changed=world.history.changed(commit),
        request_files=files,
        owners=owners,
        owner_errors=tuple(f"line {one['line']}: {one['kind']}" for one in errors["errors"]),
        same_files=approved == merged,
        is_whole=_is_whole(world, commit, number),
        rules=read_branch_rules(world.github, world.branch),
        pull=pull,
    )
    return approvals.verify(merge, world.membership(platform_at(world.history, base)))


def planned(world: World, commit: str, workload: str) -> Runnable | tuple[Reason, ...]:
    """Check and plan a request again, from the commit's own files, or say why it may not run."""
    findings = link_findings(world.history, commit, workload)
    if not findings:
        with world.history.checked_out(commit, workload) as tree:
            reading = pipeline.read(tree, (workload,), world.today)
            findings = pipeline.check(reading)
            if not has_errors(findings):
                request = reading.requests[0]
                return Runnable(request=request, plan=pipeline.plan(request))
    return tuple(
        Reason(problem=str(finding), todo="Mend it in a new pull request.")
        for finding in findings
        if finding.severity is Severity.ERROR
    )


def platform_at(history: History, commit: str) -> Platform:
    """The policy of a commit.

    Raises:
        TraingateError: there is none, or it cannot be understood.
    """
    data = history.bytes_at(commit, "platform.yml")
    policy, findings = read_platform(data) if data is not None else (None, ())
    if policy is None:
        raise TraingateError(
            f"platform.yml at {commit} is missing or cannot be understood"
            f"{''.join(f': {finding}' for finding in findings)}.",
            todo="Mend it on the default branch first: every request is judged by it.",
        )
    return policy


def _is_merge_of(pull: Mapping[str, Any], commit: str, branch: str) -> bool:
    return bool(pull["merge_commit_sha"] == commit and pull["base"]["ref"] == branch)
