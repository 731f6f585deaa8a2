"""A new request: four files that pass everything but what only a person can write."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from string import Template

from traingate.catalog import size_named
from traingate.cost import cost_ceiling
from traingate.documents.platform import Platform, Target
from traingate.documents.reading import read_job
from traingate.errors import UsageProblem
from traingate.topology import topology

#: Until a team has built its image (image.yml), the job says so; the Azure ML backend refuses it.
PLACEHOLDER_IMAGE = f"registry.example.com/train-aml@sha256:{'0' * 64}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """What `traingate new` asks. `hours` is a run's `limits.timeout`; `expires` the last day."""

    workload: str
    owner: str
    model: str
    need: str
    target: Target
    nodes: int
    processes_per_node: int
    hours: float
    runs: int
    expires: date
    image: str = PLACEHOLDER_IMAGE


def request_files(answers: Answers, platform: Platform) -> dict[str, str]:
    """The files of the request, by path relative to the repository."""
    folder = f"jobs/{answers.workload}"
    values = _values(answers)
    job_text = _filled("job.yml", values)
    values |= {"cost_usd": str(_cost_usd(job_text, answers, platform))}
    return {
        f"admissions/{answers.workload}.md": _filled("admission.md", values),
        f"{folder}/job.yml": job_text,
        f"{folder}/rehearsal.yml": _filled("rehearsal.yml", values),
        f"{folder}/src/train.py": _template("train.py"),
    }


def write(repository: Path, request: Mapping[str, str]) -> None:
    """Write all of the request's files, or none.

    Raises:
        UsageProblem: one of them exists; nothing is ever overwritten.
    """
    there = [path for path in request if (repository / path).exists()]
    if there:
        raise UsageProblem(
            f"{there[0]} exists already.", todo="Choose another workload name, or edit the file."
        )
    for path, text in request.items():
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        with (repository / path).open("x", encoding="utf-8") as file:
            file.write(text)


def gpus_of(target: Target) -> int:
    """Whole GPUs of one node, 1 where the catalogue knows none."""
    size = size_named(target.size)
    return max(1, size.whole_gpus) if size else 1


def _values(answers: Answers) -> dict[str, str]:
    vault = next(iter(answers.target.secrets), "keyvault://YOUR-VAULT/*").rpartition("/")[0]
    return {
        "workload": answers.workload,
        "owner": answers.owner,
        "model": answers.model,
        "need": answers.need,
        "target": answers.target.name,
        "nodes": str(answers.nodes),
        "gpus": str(answers.nodes * gpus_of(answers.target)),
        "hours": f"{answers.hours:g}",
        "runs": str(answers.runs),
        "expires": answers.expires.isoformat(),
        "image": answers.image,
        "timeout_seconds": str(round(answers.hours * 3600)),
        "tracking_uri": f"{vault}/mlflow-tracking-uri",
        "results_url": f"{vault}/training-results-url",
        "distribution": _distribution(answers),
    }


def _distribution(answers: Answers) -> str:
    """Several processes need one; a lone process is simpler without."""
    if answers.nodes * answers.processes_per_node == 1:
        return ""
    count = answers.processes_per_node
    return f"distribution:\n  type: pytorch\n  process_count_per_instance: {count}\n"


def _cost_usd(job_text: str, answers: Answers, platform: Platform) -> int:
    """All runs at their ceiling, in whole dollars; 0 where the size has no known price."""
    job, findings = read_job(job_text.encode(), "job.yml")
    assert job is not None, findings
    placed = topology(job, answers.target)
    ceiling = cost_ceiling(job, placed, answers.target, platform)
    return math.ceil(answers.runs * ceiling.usd) if ceiling else 0


def _filled(template: str, values: Mapping[str, str]) -> str:
    return Template(_template(template)).substitute(values)


def _template(name: str) -> str:
    return (files("traingate") / "templates" / name).read_text(encoding="utf-8")
