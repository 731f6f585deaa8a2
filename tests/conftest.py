"""A repository to run commands in, and the command line as its users call it."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner, Result
from hypothesis import settings
from markdown_it import MarkdownIt

from traingate import cli

# The ordinary suite tries the same examples each time, so that a red build is about the change;
# `make test-all` goes looking for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("exploring", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

SOURCES = Path(__file__).resolve().parents[1] / "src"

PLATFORM = """\
backend: local
single_node:
  gpu_memory_gib: 80
targets:
  gpu-cluster:
    # No catalogue knows it, so no rule about GPUs or networks speaks of these small runs.
    size: Standard_LAPTOP_v1
    max_nodes: 8
    secrets: ["keyvault://vault/*"]
prices_usd_per_hour:
  Standard_LAPTOP_v1: 7.346
"""

ADMISSION = """\
---
workload: {workload}
owner: "@contoso/vision"
model: {{name: {workload}}}
need: demonstration
envelope: {{targets: [gpu-cluster], nodes: 2, gpus: 4, hours: 1, runs: 3, cost_usd: 100}}
---

## Why one node is not enough

It is: this shows the path.

## What was measured

Nothing.

## What was tried first

One process.
"""

JOB = """\
command: {command}
code: ./src
environment:
  image: contoso.azurecr.io/train@sha256:{digest}
compute: azureml:gpu-cluster
{distribution}
resources:
  instance_count: {nodes}
  shm_size: 4g
limits:
  timeout: {timeout}
identity:
  type: managed
environment_variables:
  TRAINGATE_TRACKING_URI: keyvault://vault/tracking
  TRAINGATE_RESULTS_URL: keyvault://vault/results
"""


@dataclass(frozen=True)
class Repository:
    """A git work tree with one policy, and requests as tests ask for them."""

    path: Path

    def write(self, file: str, text: str) -> None:
        path = self.path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")

    def request(
        self,
        script: str,
        *,
        workload: str = "probe",
        processes: int | None = 2,
        nodes: int = 1,
        timeout: int = 60,
        command: str = "python train.py",
    ) -> None:
        """Write an admission and a job whose ranks run `script` (train.py)."""
        distribution = (
            ""
            if processes is None
            else f"distribution: {{type: pytorch, process_count_per_instance: {processes}}}"
        )
        job = JOB.format(
            command=command,
            digest="a" * 64,
            distribution=distribution,
            nodes=nodes,
            timeout=timeout,
        )
        self.write(f"jobs/{workload}/job.yml", job)
        self.write(f"jobs/{workload}/src/train.py", script)
        self.write(f"admissions/{workload}.md", ADMISSION.format(workload=workload))

    def runs(self) -> list[Path]:
        return sorted((self.path / ".traingate" / "runs").glob("[a-z]*"))


def git(path: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(path), *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init", "--quiet")
    (path / ".gitignore").write_text(".traingate/\n", encoding="utf-8")
    (path / "platform.yml").write_text(PLATFORM, encoding="utf-8")
    monkeypatch.chdir(path)
    # Ranks run elsewhere: they find this checkout's packages, installed or not.
    monkeypatch.setenv("PYTHONPATH", str(SOURCES))
    monkeypatch.setenv("TRAINGATE_TODAY", "2026-11-30")
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    return Repository(path)


Traingate = Callable[..., Result]


@pytest.fixture
def traingate() -> Traingate:
    """Call the command line in this process: `traingate("check", "probe")`."""

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(_command(), arguments)

    return call


def _command() -> "cli.click.Command":
    import click

    @click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def through_main(arguments: tuple[str, ...]) -> None:
        cli.main(arguments)

    return through_main


@dataclass(frozen=True)
class Block:
    """A fenced command block of a page: its tag (`run` or `cloud`, empty for none) and text."""

    page: str
    line: int
    tag: str
    text: str


@pytest.fixture
def command_blocks() -> Callable[[str], list[Block]]:
    """The command blocks of a page of this repository, in order."""

    def blocks(page: str) -> list[Block]:
        tokens = MarkdownIt().parse((SOURCES.parent / page).read_text(encoding="utf-8"))
        found = []
        for token in tokens:
            language, _, tag = token.info.strip().partition(" ")
            if token.type == "fence" and language in {"bash", "console", "sh", "shell"}:
                line = token.map[0] + 1 if token.map else 1
                found.append(Block(page=page, line=line, tag=tag, text=token.content))
        return found

    return blocks
