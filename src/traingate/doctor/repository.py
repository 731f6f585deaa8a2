"""The repository itself: policy, owners, requests, the image they name."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from codeowners import CodeOwners

from traingate import pipeline
from traingate.doctor.diagnosis import Area, Diagnosis
from traingate.documents import git
from traingate.documents.platform import Platform
from traingate.documents.reading import workloads
from traingate.findings import has_errors

AREA = Area(name="repository")

#: What a pull request must not change without its owner: the requests, the policy, the gate.
OWNED = (
    "admissions/any.md",
    "jobs/any/job.yml",
    "platform.yml",
    "schemas/job.schema.json",
    "src/traingate/cli.py",
    "infra/main.tf",
    "pyproject.toml",
    "constraints.txt",
    "scripts/install_torch.py",
    ".github/workflows/submit.yml",
    ".github/CODEOWNERS",
)
WORKFLOWS = ("gate.yml", "submit.yml", "report.yml")


def owners(repository: Path) -> Iterator[Diagnosis]:
    """CODEOWNERS exists and owns everything that decides over money."""
    path = repository / ".github" / "CODEOWNERS"
    if not path.is_file():
        yield AREA.wrong("CODEOWNERS", "There is none.", "Write .github/CODEOWNERS.")
        return
    parsed = CodeOwners(path.read_text(encoding="utf-8", errors="replace"))
    free = [file for file in OWNED if not parsed.of(file)]
    if free:
        told = f"Nobody owns {', '.join(free)}."
        yield AREA.wrong("CODEOWNERS", told, "Add a line with their owner to .github/CODEOWNERS.")
    else:
        yield AREA.well("CODEOWNERS", f"{len(OWNED)} places that matter have an owner.")


def workflows(repository: Path) -> Iterator[Diagnosis]:
    """The three workflows of the loop are there."""
    folder = repository / ".github" / "workflows"
    missing = [name for name in WORKFLOWS if not (folder / name).is_file()]
    if missing:
        told = f"{', '.join(missing)} is missing."
        yield AREA.wrong("workflows", told, "Bring them back from the template.")
    else:
        yield AREA.well("workflows", "gate, submit and report are there.")


def name(repository: Path) -> Iterator[Diagnosis]:
    """The repository is known by its GitHub name, which is part of every digest."""
    found = git.repository_name(repository)
    if found.startswith("local/"):
        told = f"No GitHub remote, so digests are made for {found}."
        verb = "set-url" if git.has_remote(repository) else "add"
        yield AREA.wrong("name", told, f"git remote {verb} origin git@github.com:OWNER/NAME.git")
    else:
        yield AREA.well("name", found)


def requests(repository: Path, today: date) -> Iterator[Diagnosis]:
    """Every request is still what the gate would admit today."""
    for workload in workloads(repository):
        findings = pipeline.check(pipeline.read(repository, (workload,), today))
        if has_errors(findings):
            told = "The gate would refuse it today."
            yield AREA.wrong(f"request {workload}", told, f"traingate check {workload}")
        else:
            yield AREA.well(f"request {workload}", "The gate takes it.")


def policy(platform: Platform) -> Iterator[Diagnosis]:
    """platform.yml says enough for its backend."""
    if platform.backend == "azureml" and platform.azure is None:
        told = "The backend is azureml and the workspace is not named."
        yield AREA.wrong("platform.yml", told, "terraform output -raw platform_yml")
    else:
        yield AREA.well("platform.yml", f"backend {platform.backend}")
