"""The event that started a workflow, read from `GITHUB_EVENT_PATH` once and then typed."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traingate.errors import UsageProblem

_NOTHING = "0" * 40


@dataclass(frozen=True, kw_only=True, slots=True)
class PullRequestEvent:
    """A pull request was opened or changed. Its own text is nobody's business here."""

    number: int
    base: str
    head: str
    is_fork: bool
    is_open: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeGroupEvent:
    """A merge queue asks for the required check on what it is about to merge."""

    base: str
    head: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PushEvent:
    """Commits `before..after` reached `branch`. `before` is None for a new branch."""

    branch: str | None
    default_branch: str
    before: str | None
    after: str
    forced: bool
    deleted: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class DispatchEvent:
    """Somebody pressed "Run workflow" for `workload` on `ref`."""

    workload: str
    ref: str
    default_branch: str
    person: str
    is_human: bool


Event = PullRequestEvent | MergeGroupEvent | PushEvent | DispatchEvent


def read_event(name: str, path: Path) -> Event:
    """The event `GITHUB_EVENT_NAME` with the payload at `GITHUB_EVENT_PATH`.

    Raises:
        UsageProblem: the command was started by an event it does not know, or by none.
    """
    reader = _READERS.get(name)
    if reader is None:
        raise UsageProblem(
            f"The event {name or '(none)'} starts nothing here.",
            todo=f"Run this command in a workflow started by {', '.join(_READERS)}.",
        )
    try:
        payload = json.loads(path.read_text(encoding="utf-8"))
        return reader(payload)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageProblem(
            f"The {name} event at {path} cannot be read: {error!r}.",
            todo="Let GITHUB_EVENT_PATH name the payload the runner wrote.",
        ) from error


def _pull_request(payload: Mapping[str, Any]) -> PullRequestEvent:
    pull = payload["pull_request"]
    # The head repository is null when a fork was deleted; a stranger's all the same.
    head_repository = (pull["head"]["repo"] or {}).get("full_name")
    return PullRequestEvent(
        number=pull["number"],
        base=pull["base"]["sha"],
        head=pull["head"]["sha"],
        is_fork=head_repository != payload["repository"]["full_name"],
        is_open=pull["state"] == "open",
    )


def _merge_group(payload: Mapping[str, Any]) -> MergeGroupEvent:
    group = payload["merge_group"]
    return MergeGroupEvent(base=group["base_sha"], head=group["head_sha"])


def _push(payload: Mapping[str, Any]) -> PushEvent:
    ref, before = payload["ref"], payload["before"]
    is_branch = ref.startswith("refs/heads/")
    return PushEvent(
        branch=ref.removeprefix("refs/heads/") if is_branch else None,
        default_branch=payload["repository"]["default_branch"],
        before=None if before == _NOTHING else before,
        after=payload["after"],
        forced=payload["forced"],
        deleted=payload["deleted"],
    )


def _dispatch(payload: Mapping[str, Any]) -> DispatchEvent:
    return DispatchEvent(
        workload=payload["inputs"]["workload"],
        ref=payload["ref"],
        default_branch=payload["repository"]["default_branch"],
        person=payload["sender"]["login"],
        is_human=payload["sender"]["type"] == "User",
    )


_READERS: dict[str, Callable[[Mapping[str, Any]], Event]] = {
    "pull_request": _pull_request,
    "merge_group": _merge_group,
    "push": _push,
    "workflow_dispatch": _dispatch,
}
