"""The real workflow files, run by act on this machine against the fake."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from github.fake.server import FakeGitHub, serving
from github.fake.stage import Stage
from github.fake.state import Pull

ROOT = Path(__file__).parents[3]
_ACTIONS = Path(__file__).parents[1] / "act"
_PROJECT = ("src", "schemas", "constraints.txt", ".github/workflows", "scripts")


@dataclass
class Outcome:
    """What act told of one workflow run."""

    returncode: int
    events: list[dict[str, Any]]
    stderr: str

    def steps(self) -> dict[tuple[str, str], str]:
        """The result of every step, by job and step name."""
        return {
            (event["jobID"], event["step"]): event["stepResult"]
            for event in self.events
            if "stepResult" in event and event.get("stage") == "Main"
        }

    def commands(self, name: str) -> list[dict[str, Any]]:
        """The workflow commands of a kind, such as `error`."""
        return [event for event in self.events if event.get("command") == name]

    def summary(self) -> str:
        return "\n".join(event["content"] for event in self.commands("summary"))

    def log(self) -> str:
        told = (event for event in self.events if event.get("raw_output") or "arg" in event)
        return "".join(event.get("arg", event["msg"]) + "\n" for event in told)


@dataclass
class Runner:
    """A stage whose repository is this project, and act to run its workflows."""

    folder: Path
    fake: FakeGitHub
    url: str
    python: str = sys.executable
    today: str = "2026-11-30"
    actor: str = "olga"
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stage = Stage(self.folder / "repository", fake=self.fake)
        for name in _PROJECT:
            _copy(ROOT / name, self.stage.path / name)
        self.stage.git("config", "uploadpack.allowAnySHA1InWant", "true")
        self.stage.git("remote", "add", "origin", "https://github.com/acme/train.git")
        self.stage.commit("the project")
        for name in ("home", "state", "artifacts"):
            (self.folder / name).mkdir()

    def merge_ref(self, pull: Pull) -> None:
        """What GitHub checks out for a pull request: its merge with the base."""
        git = self.stage.git
        git("checkout", "--quiet", "--detach", "main")
        git("merge", "--quiet", "--no-ff", "--no-edit", f"pr-{pull.number}")
        git("update-ref", f"refs/pull/{pull.number}/merge", "HEAD")
        git("checkout", "--quiet", "main")

    def run(self, event: str, workflow: str, payload: dict[str, Any], **options: str) -> Outcome:
        """Run one workflow file; every label it names is mapped to this machine."""
        event_file = self.folder / "event.json"
        event_file.write_text(json.dumps({"repository": self._repository()} | payload))
        command = [
            *(shutil.which("act", path=f"{Path(self.python).parent}:{os.environ['PATH']}"), event),
            *("-C", str(self.stage.path), "-W", f".github/workflows/{workflow}"),
            *("-e", str(event_file), "-P", "ubuntu-24.04=-self-hosted", "--json"),
            *("--no-cache-server", "--concurrent-jobs", "1", "--no-skip-checkout"),
            *("--action-cache-path", str(self.folder / "cache"), "-a", "olga"),
            *("-s", "GITHUB_TOKEN=ghs_fake0001"),
            *self._actions(workflow),
            *(f"--env={name}={value}" for name, value in self._environment(options).items()),
            *(f"--var={name}={value}" for name, value in self.variables.items()),
        ]
        done = subprocess.run(
            command,
            env=self._shell(),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=110,
            check=False,
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        return Outcome(done.returncode, [json.loads(line) for line in lines], done.stderr)

    def pull_request(self, pull: Pull, **options: str) -> Outcome:
        self.merge_ref(pull)
        head = {"sha": pull.head, "repo": {"full_name": options.pop("head", "acme/train")}}
        base = {"sha": self.stage.tip, "ref": "main"}
        payload = {"number": pull.number, "pull_request": {"number": pull.number, "state": "open"}}
        payload["pull_request"] |= {"head": head, "base": base, "user": {"login": "ada"}}
        return self.run("pull_request", "gate.yml", payload, **options)

    def push(self, before: str | None, after: str, **options: str) -> Outcome:
        payload = {"ref": "refs/heads/main", "before": before, "after": after}
        payload |= {"forced": False, "deleted": False}
        return self.run("push", "submit.yml", payload, **options)

    def dispatch(self, workload: str, person: str, **options: str) -> Outcome:
        payload = {"ref": "refs/heads/main", "inputs": {"workload": workload}}
        payload |= {"sender": {"login": person, "type": "User"}}
        options = {"GITHUB_TRIGGERING_ACTOR": person} | options
        return self.run("workflow_dispatch", "submit.yml", payload, **options)

    def report(self, **options: str) -> Outcome:
        return self.run("schedule", "report.yml", {"schedule": "7 * * * *"}, **options)

    def _repository(self) -> dict[str, Any]:
        return {"full_name": "acme/train", "default_branch": "main"}

    def _environment(self, options: dict[str, str]) -> dict[str, str]:
        return {
            "GITHUB_API_URL": self.url,
            "GITHUB_GRAPHQL_URL": f"{self.url}/graphql",
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_REPOSITORY": "acme/train",
            "GITHUB_RUN_ID": "4711",
            "GITHUB_TRIGGERING_ACTOR": self.actor,
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.url}/oidc?x=1",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "rt",
            "TRAINGATE_TODAY": self.today,
            "STUB_REMOTE": str(self.stage.path),
            "STUB_STATE": str(self.folder / "state"),
            "STUB_ARTIFACTS": str(self.folder / "artifacts"),
            "STUB_PYTHON": self.python,
        } | options

    def _shell(self) -> dict[str, str]:
        # Nothing else of the caller's environment may reach a step.
        path = f"{_ACTIONS / 'bin'}:{Path(self.python).parent}:{os.environ['PATH']}"
        home = str(self.folder / "home")
        return {"PATH": path, "HOME": home, "GIT_PAGER": "cat", "LANG": "C.UTF-8"}

    def _actions(self, workflow: str) -> list[str]:
        """A stand-in for every action the file uses, under the very pin it names."""
        text = (ROOT / ".github" / "workflows" / workflow).read_text()
        used = {
            step["uses"]
            for job in yaml.safe_load(text)["jobs"].values()
            for step in job["steps"]
            if "uses" in step
        }
        folders = {one: _ACTIONS / one.partition("@")[0].rpartition("/")[2] for one in used}
        return [f"--local-repository={one}={folder}" for one, folder in sorted(folders.items())]


def runner(folder: Path, fake: FakeGitHub) -> Any:
    """A context manager: the fake on a port, and a runner that talks to it."""
    return _Running(folder, fake)


class _Running:
    def __init__(self, folder: Path, fake: FakeGitHub) -> None:
        self._folder, self._serving = folder, serving(fake, extra=_oidc)
        self._fake = fake

    def __enter__(self) -> Runner:
        return Runner(self._folder, self._fake, self._serving.__enter__())

    def __exit__(self, *problem: object) -> None:
        self._serving.__exit__(None, None, None)


def _oidc(path: str) -> dict[str, str] | None:
    return {"value": "a.b.c"} if path.startswith("/oidc") else None


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
