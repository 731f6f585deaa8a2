"""What hadolint does not check about the training image: one function a rule."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.infra.module import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = ROOT / "src" / "train_aml"

SECRET_NAME = re.compile(
    r"(?i)(?:^|_)(?:passw(?:or)?d|pwd|secret|token|credentials?|(?:api|access|account)_?key)(?:_|$)"
)
SECRET_VALUE = re.compile(
    r"\bgh[oprsu]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\bAccountKey=|[?&]sig=[A-Za-z0-9%]{20,}|://[^/\s:@]+:[^/\s@]+@"
)
SECRET_FILE = re.compile(
    r"(?:^|/)(?:\.env|\.netrc|\.pypirc|\.git|id_[a-z0-9]+|.*\.(?:pem|key|pfx))$"
)
PINNED = re.compile(r"[A-Za-z0-9._-]+(?:\[[A-Za-z0-9,._-]+\])?==[0-9][A-Za-z0-9.+!]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Instruction:
    keyword: str
    arguments: str
    line: int


def parse_dockerfile(text: str) -> list[Instruction]:
    """The instructions, with continued lines joined and comments left out."""
    found: list[Instruction] = []
    pending, start = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#") or (not line.strip() and not pending):
            continue
        start = start or number
        pending += " " + line.strip().removesuffix("\\")
        if not line.rstrip().endswith("\\"):
            keyword, _, arguments = pending.strip().partition(" ")
            found.append(
                Instruction(keyword=keyword.upper(), arguments=arguments.strip(), line=start)
            )
            pending, start = "", 0
    return found


def bases_are_pinned(instructions: list[Instruction]) -> Iterator[str]:
    stages: set[str] = set()
    for step in instructions:
        if step.keyword != "FROM":
            continue
        image = next(word for word in step.arguments.split() if not word.startswith("--"))
        if image not in stages and not re.search(r"@sha256:[0-9a-f]{64}$", image):
            yield f"{step.line}: base {image} is not pinned by digest"
        if ":latest" in image:
            yield f"{step.line}: base {image} is latest"
        stages.update(re.findall(r"(?i)\sAS\s+(\S+)$", step.arguments))


def the_last_user_is_not_root(instructions: list[Instruction]) -> Iterator[str]:
    start = max(index for index, step in enumerate(instructions) if step.keyword == "FROM")
    users = [step for step in instructions[start:] if step.keyword == "USER"]
    if not users:
        yield f"{instructions[start].line}: the image runs as root: no USER"
    elif not re.fullmatch(r"[1-9][0-9]*(:[1-9][0-9]*)?", users[-1].arguments):
        yield f"{users[-1].line}: USER must be a number other than 0, which needs no look-up"


def no_secrets(instructions: list[Instruction]) -> Iterator[str]:
    for step in instructions:
        if SECRET_VALUE.search(step.arguments):
            yield f"{step.line}: a secret's value in {step.keyword}"
        if step.keyword in {"ARG", "ENV"}:
            for name in re.findall(r"(?:^|\s)([A-Za-z_]\w*)(?=[=\s]|$)", step.arguments):
                if SECRET_NAME.search(name):
                    yield f"{step.line}: {step.keyword} {name} would stay in the image"
        if step.keyword in {"COPY", "ADD"}:
            for source in step.arguments.split()[:-1]:
                if SECRET_FILE.search(source):
                    yield f"{step.line}: {source} would stay in the image"


def nothing_is_fetched_unchecked(instructions: list[Instruction]) -> Iterator[str]:
    for step in instructions:
        if step.keyword == "ADD" and "://" in step.arguments:
            yield f"{step.line}: ADD from the network"
        if step.keyword == "RUN" and re.search(r"\b(?:curl|wget)\b", step.arguments):
            yield f"{step.line}: a download that nothing checks"
        for install in re.findall(r"\bpip3? install\b[^&|;]*", step.arguments):
            words = [word for word in install.split()[2:] if not word.startswith("-")]
            if any(not word.endswith(".txt") for word in words):
                yield f"{step.line}: pip install names packages beside the requirements files"


DOCKERFILE_CHECKS: tuple[Callable[[list[Instruction]], Iterator[str]], ...] = (
    bases_are_pinned,
    the_last_user_is_not_root,
    no_secrets,
    nothing_is_fetched_unchecked,
)


def dockerfile_problems(text: str) -> list[str]:
    instructions = parse_dockerfile(text)
    return [line for check in DOCKERFILE_CHECKS for line in check(instructions)]


def requirements(text: str) -> list[tuple[str, list[str]]]:
    """Each requirement as written, with its hashes; options are left out."""
    joined = re.sub(r"\\\n\s*", " ", text)
    found = []
    for line in joined.splitlines():
        words = line.partition("#")[0].split()
        if words and not words[0].startswith("--"):
            found.append((words[0], [word for word in words if word.startswith("--hash=")]))
    return found


def requirement_problems(text: str, *, hashes: bool) -> list[str]:
    """What is not pinned exactly; with hashes, what could be replaced under its version."""
    found = []
    for name, given in requirements(text):
        if not PINNED.fullmatch(name):
            found.append(f"{name}: not pinned to one version")
        if hashes and not given:
            found.append(f"{name}: no hash")
        found += [
            f"{name}: {item} is no sha256"
            for item in given
            if not re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", item)
        ]
    return found


def versions(text: str) -> dict[str, str]:
    """Exact versions by name, extras left out."""
    pins = (name.partition("==") for name, _ in requirements(text))
    return {
        re.sub(r"[._-]+", "-", name.partition("[")[0]).lower(): version for name, _, version in pins
    }
