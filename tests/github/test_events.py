import json
from pathlib import Path
from typing import Any

import pytest

from traingate.errors import UsageProblem
from traingate.github.events import (
    DispatchEvent,
    MergeGroupEvent,
    PullRequestEvent,
    PushEvent,
    read_event,
)

REPOSITORY = {"full_name": "acme/train", "default_branch": "main"}


def event(tmp_path: Path, name: str, payload: Any) -> Any:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(payload))
    return read_event(name, path)


def pull_request(head: Any) -> dict[str, Any]:
    return {
        "repository": REPOSITORY,
        "pull_request": {
            "number": 7,
            "state": "open",
            "base": {"sha": "b", "ref": "main"},
            "head": {"sha": "h", "repo": head},
        },
    }


@pytest.mark.parametrize(
    ("head", "is_fork"),
    [({"full_name": "acme/train"}, False), ({"full_name": "eve/train"}, True), (None, True)],
)
def test_pull_request(tmp_path: Path, head: Any, is_fork: bool) -> None:  # noqa: FBT001
    expected = PullRequestEvent(number=7, base="b", head="h", is_fork=is_fork, is_open=True)
    assert event(tmp_path, "pull_request", pull_request(head)) == expected


def test_merge_group(tmp_path: Path) -> None:
    payload = {"merge_group": {"base_sha": "b", "head_sha": "h"}, "repository": REPOSITORY}
    assert event(tmp_path, "merge_group", payload) == MergeGroupEvent(base="b", head="h")


def test_push(tmp_path: Path) -> None:
    payload = {
        "ref": "refs/heads/main",
        "before": "0" * 40,
        "after": "a",
        "forced": False,
        "deleted": False,
        "repository": REPOSITORY,
    }
    assert event(tmp_path, "push", payload) == PushEvent(
        branch="main", default_branch="main", before=None, after="a", forced=False, deleted=False
    )
    tag = event(tmp_path, "push", payload | {"ref": "refs/tags/main"})
    assert tag.branch is None


def test_dispatch(tmp_path: Path) -> None:
    payload = {
        "inputs": {"workload": "seg"},
        "ref": "refs/heads/main",
        "sender": {"login": "olga", "type": "User"},
        "repository": REPOSITORY,
    }
    assert event(tmp_path, "workflow_dispatch", payload) == DispatchEvent(
        workload="seg",
        ref="refs/heads/main",
        default_branch="main",
        person="olga",
        is_human=True,
    )


@pytest.mark.parametrize("name", ["", "pull_request_target", "schedule"])
def test_other_events_start_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageProblem, match="starts nothing here"):
        event(tmp_path, name, {})


@pytest.mark.parametrize("payload", [{}, [], {"pull_request": None}])
def test_a_payload_that_is_none(tmp_path: Path, payload: Any) -> None:
    with pytest.raises(UsageProblem, match="cannot be read"):
        event(tmp_path, "pull_request", payload)
