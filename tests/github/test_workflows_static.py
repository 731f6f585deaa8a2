"""What act cannot see: triggers, rights, environments, groups and pins, read from the YAML."""

import itertools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github" / "workflows"
OURS = ("gate.yml", "submit.yml", "report.yml")


def workflow(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text())
    # YAML 1.1 reads the key `on` as true.
    return {("on" if key is True else key): value for key, value in loaded.items()}


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in workflow(name)["jobs"].values() for step in job["steps"]]


def test_triggers() -> None:
    assert workflow("gate.yml")["on"] == {
        "pull_request": {"branches": ["main"]},
        "merge_group": {"branches": ["main"]},
    }
    submit = workflow("submit.yml")["on"]
    assert submit["push"] == {"branches": ["main"]}
    assert list(submit["workflow_dispatch"]["inputs"]) == ["workload"]
    (schedule,) = workflow("report.yml")["on"]["schedule"]
    minutes = [int(one) for one in schedule["cron"].split(" ")[0].split(",")]
    assert 0 not in minutes
    assert all(b - a == 15 for a, b in itertools.pairwise(minutes))


def test_rights() -> None:
    """Exactly these, and nothing at the top: a new right is a decision."""
    rights = {
        f"{name} {job}": described["permissions"]
        for name in OURS
        for job, described in workflow(name)["jobs"].items()
    }
    assert rights == {
        "gate.yml check": {"contents": "read", "pull-requests": "read"},
        "gate.yml rehearse": {"contents": "read"},
        "gate.yml comment": {"contents": "read", "pull-requests": "write"},
        "submit.yml submit": {
            "contents": "read",
            "id-token": "write",
            "pull-requests": "write",
        },
        "submit.yml train": {"contents": "read"},
        "submit.yml tell": {"contents": "read", "pull-requests": "write"},
        "report.yml report": {
            "contents": "read",
            "id-token": "write",
            "pull-requests": "write",
        },
    }
    assert all(workflow(name)["permissions"] == {} for name in OURS)


def test_environments() -> None:
    """Azure's two identities, and none where a pull request's or a merge's code is executed."""
    environments = {
        f"{name} {job}": described.get("environment", {}).get("name")
        for name in OURS
        for job, described in workflow(name)["jobs"].items()
    }
    assert {key: value for key, value in environments.items() if value} == {
        "submit.yml submit": "azureml",
        "report.yml report": "azureml-read",
    }


def test_groups() -> None:
    groups = {name: workflow(name)["concurrency"] for name in OURS}
    assert groups["gate.yml"]["cancel-in-progress"] is True
    # A waiting run in a shared group is cancelled by the next one, and its job is lost.
    assert groups["submit.yml"] == {
        "group": "submit-${{ github.run_id }}",
        "cancel-in-progress": False,
    }
    assert groups["report.yml"] == {"group": "report", "cancel-in-progress": False}


def test_where_the_tool_comes_from() -> None:
    """Jobs that judge or write take the tool from the base, and the pull request as data."""
    jobs = workflow("gate.yml")["jobs"]
    for job in ("check", "comment"):
        base, data = (s for s in jobs[job]["steps"] if "checkout" in s.get("uses", ""))
        assert base["with"]["path"] == "base"
        assert "base" in base["with"]["ref"]
        assert data["with"]["path"] == "pull-request"
        assert "ref" not in data["with"]
        runs = [step["run"] for step in jobs[job]["steps"] if "run" in step]
        assert runs[0] == "python -m pip install --constraint base/constraints.txt ./base"
        assert [run.split(" --checkout")[0] for run in runs[1:]] == ["traingate gate"]
    assert "secrets" not in (FOLDER / "gate.yml").read_text()


def test_a_fork_does_not_reach_the_comment_job() -> None:
    condition = workflow("gate.yml")["jobs"]["comment"]["if"]
    assert "head.repo.full_name == github.repository" in condition
    assert "!cancelled()" in condition


def test_only_the_steps_that_speak_to_github_get_the_token() -> None:
    for name in OURS:
        for step in steps(name):
            given = step.get("env", {})
            speaks = re.match(r"traingate (gate|admit|report)\b", step.get("run", ""))
            assert ("GITHUB_TOKEN" in given) == bool(speaks), step


def test_nothing_at_the_top_of_the_repository_stands_in_for_pip() -> None:
    """`python -m pip` looks in the working directory first, and there lies the repository."""
    for name in ("submit.yml", "report.yml"):
        for described in workflow(name)["jobs"].values():
            for step in described["steps"]:
                rights = set(described["permissions"].values()) - {"read"}
                if "-m pip" in step.get("run", "") and rights:
                    assert step["env"] == {"PYTHONSAFEPATH": "1"}


def test_no_job_that_runs_a_requests_code_has_a_token_that_writes() -> None:
    """Such code can outlive its step, and change the tool that a later step calls."""
    for name in OURS:
        for described in workflow(name)["jobs"].values():
            runs = " ".join(step.get("run", "") for step in described["steps"])
            if re.search(r"traingate (train|rehearse)\b", runs):
                assert described["permissions"] == {"contents": "read"}
                assert "token" not in str(described["steps"]).lower()


@pytest.mark.parametrize("name", OURS)
def test_actions_are_pinned_and_nothing_is_pasted_into_scripts(name: str) -> None:
    text = (FOLDER / name).read_text()
    for line in text.splitlines():
        if "uses:" in line:
            assert re.search(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line
    for step in steps(name):
        assert "${{" not in step.get("run", "")
        if "checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False


def test_every_job_ends() -> None:
    for name in OURS:
        for job in workflow(name)["jobs"].values():
            assert job["timeout-minutes"] <= 350


def test_the_required_check_has_the_name_the_ruleset_demands() -> None:
    assert workflow("gate.yml")["jobs"]["check"]["name"] == "check"
    assert '"context": "check"' in (ROOT / "docs" / "setup-github.md").read_text()


@pytest.mark.parametrize(
    "command",
    [
        ("zizmor", "--offline", "--strict-collection", "--no-progress", "--persona=auditor", "."),
        ("actionlint", *(f".github/workflows/{name}" for name in OURS)),
        (
            "check-jsonschema",
            "--builtin-schema",
            "vendor.github-workflows",
            *(f".github/workflows/{name}" for name in OURS),
        ),
        ("check-jsonschema", "--builtin-schema", "vendor.dependabot", ".github/dependabot.yml"),
    ],
    ids=lambda command: f"{command[0]} {command[2].rpartition('.')[2]}",
)
def test_linters_are_clean(command: tuple[str, ...]) -> None:
    tool = Path(sys.executable).parent / command[0]
    done = subprocess.run(
        [tool, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
