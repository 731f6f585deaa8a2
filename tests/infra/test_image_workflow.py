"""What image.yml's own shell steps do, run as they stand in the file."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import yaml
from tests.infra.module import ROOT

from traingate.image import check_reference

if TYPE_CHECKING:
    from pathlib import Path

WORKFLOW: dict[str, Any] = yaml.safe_load(
    (ROOT / ".github" / "workflows" / "image.yml").read_text(encoding="utf-8")
)
STEPS = {step["name"]: step.get("run", "") for step in WORKFLOW["jobs"]["image"]["steps"]}
REFUSE = "Refuse a base that nobody has looked up"
ZEROS = "@sha256:" + "0" * 64
IMAGE = "contoso.azurecr.io/traingate/train"


def run(step: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[step]],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environment},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


def dockerfile(folder: Path, text: str) -> None:
    (folder / "src" / "train_aml").mkdir(parents=True)
    (folder / "src" / "train_aml" / "Dockerfile").write_text(text)


def test_a_placeholder_base_is_refused_at_its_line(tmp_path: Path):
    dockerfile(tmp_path, f"# a\nFROM python:3.11{ZEROS}\n")
    done = run(REFUSE, tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("::error file=src/train_aml/Dockerfile,line=2::")


def test_a_base_that_was_looked_up_is_not(tmp_path: Path):
    dockerfile(tmp_path, f"# {ZEROS}\nFROM python:3.11@sha256:{'0a' * 32}\n")
    done = run(REFUSE, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_it_is_refused_before_anybody_signs_in():
    names = list(STEPS)
    assert names.index(REFUSE) < names.index("Sign in to Azure")


def push(folder: Path, digests: list[str]) -> tuple[subprocess.CompletedProcess[str], str]:
    """The push step with a docker that knows these digests of the image."""
    docker = folder / "docker"
    docker.write_text(f"#!/bin/sh\n[ $1 = push ] || printf '%s\\n' {' '.join(digests)}\n")
    docker.chmod(0o755)
    summary = folder / "summary.md"
    done = run(
        "Push and print the digest",
        folder,
        PATH=f"{folder}{os.pathsep}{os.environ['PATH']}",
        IMAGE=IMAGE,
        GITHUB_SHA="c0ffee",
        GITHUB_STEP_SUMMARY=str(summary),
    )
    return done, summary.read_text() if summary.exists() else ""


def test_what_it_prints_is_what_image_set_takes(tmp_path: Path):
    other, ours = f"other.io/x@sha256:{'1' * 64}", f"{IMAGE}@sha256:{'2' * 64}"
    done, summary = push(tmp_path, [other, ours])
    assert (done.returncode, done.stdout) == (0, f"{ours}\n")
    assert f"traingate image set {ours}\n" in summary
    check_reference(done.stdout.strip())


def test_no_digest_is_a_failure(tmp_path: Path):
    done, summary = push(tmp_path, [f"other.io/x@sha256:{'1' * 64}"])
    assert (done.returncode, summary) == (1, "")


def test_the_identity_that_pushes_is_no_other():
    assert WORKFLOW["jobs"]["image"]["environment"] == {"name": "azureml-image"}
