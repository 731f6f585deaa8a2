"""The job as the service gets it: the plan's payload plus the documented additions."""

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from azure.ai.ml import load_job
from azure.ai.ml.entities import Job
from azure.ai.ml.exceptions import MlException
from marshmallow.exceptions import ValidationError

from traingate.backends.base import Provenance
from traingate.backends.contract import contract
from traingate.errors import Refusal, TraingateError
from traingate.plan import Plan

#: https://learn.microsoft.com/azure/machine-learning/resource-limits-capacity, tags and properties
#: alike.
MOST_ENTRIES = 50
LONGEST_KEY = 100
LONGEST_VALUE = 1000

#: Run history's pattern, in lower case: azure-ai-ml lowers a name, the service tells cases apart.
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,254}")

_REGISTERED_CODE = re.compile(r"azureml:(?P<name>[\w.-]+):(?P<version>[\w.-]+)")

#: What is searched for is a property: a list can be filtered by a property's value, by a tag's
#: key only.
RUN, WORKLOAD, ADMISSION, DIGEST, COST = (
    f"traingate.{name}" for name in ("run", "workload", "admission", "digest", "cost_ceiling_usd")
)

#: Named by azure-ai-ml for the studio's page; setting it keeps the SDK from adding what it finds
#: in the current folder.
_GIT_COMMIT = "mlflow.source.git.commit"


def additions(plan: Plan, provenance: Provenance) -> dict[str, Any]:
    """Everything that is sent beside what the job file says, by job key.

    Raises:
        Refusal: the run's name is none the service takes.
    """
    name = plan.run_name(provenance.origin)
    if not _NAME.fullmatch(name):
        raise Refusal(
            f"{name!r} is no run name for Azure ML.",
            todo="Use lower-case letters, digits, `-` and `_`, at most 255 of them.",
        )
    about = _about(plan, provenance)
    tags = {key: about[key] for key in about if key not in {ADMISSION, DIGEST}}
    git = {_GIT_COMMIT: provenance.commit} if provenance.commit else {}
    return {
        "name": name,
        "tags": tags,
        "properties": about | git,
        "environment_variables": contract(plan, provenance),
    }


def body(plan: Plan, provenance: Provenance) -> dict[str, Any]:
    """The job file with the additions, as a job file.

    Raises:
        Refusal: tags or properties exceed what the service keeps, or a key would not reach it.
    """
    job: dict[str, Any] = dict(plan.payload)
    for key, value in additions(plan, provenance).items():
        job[key] = {**(job.get(key) or {}), **value} if isinstance(value, dict) else value
    job.setdefault("display_name", job["name"])
    job.setdefault("experiment_name", plan.workload)
    for key in ("tags", "properties"):
        _within_limits(key, job[key])
    _refuse_what_would_be_lost(job)
    return job


def with_code_id(job: Mapping[str, Any], workspace_id: str) -> dict[str, Any]:
    """The job with registered code (`azureml:NAME:VERSION`) named by its whole id.

    azure-ai-ml 1.35.2 takes the short form in a job file and then looks for a folder of that
    name.
    """
    short = _REGISTERED_CODE.fullmatch(str(job.get("code") or ""))
    if short is None:
        return dict(job)
    whole = f"{workspace_id}/codes/{short['name']}/versions/{short['version']}"
    return {**job, "code": f"azureml:{whole}"}


def load(job: Mapping[str, Any], job_file: Path) -> Job:
    """The SDK's job; local paths are relative to `job_file`.

    Raises:
        TraingateError: the SDK does not take what our schema accepted.
    """
    text = yaml.safe_dump(dict(job), sort_keys=False, allow_unicode=True)
    try:
        return load_job(io.StringIO(text), relative_origin=str(job_file))
    except (ValidationError, MlException) as error:
        raise TraingateError(
            f"azure-ai-ml does not take {job_file.name}: {str(error).strip()[:2000]}",
            todo="Mend the key it names; the check should have said so first, so report it too.",
        ) from error


def _about(plan: Plan, provenance: Provenance) -> dict[str, str]:
    known = {
        "run": plan.run_name(provenance.origin),
        "workload": plan.workload,
        "repository": plan.repository,
        "pull_request": str(provenance.pull_request) if provenance.pull_request else None,
        "commit": provenance.commit,
        "attempt": str(provenance.attempt),
        "admission": plan.admission,
        "digest": plan.digest,
        "cost_ceiling_usd": f"{plan.cost.usd:.2f}" if plan.cost else None,
    }
    return {f"traingate.{name}": value for name, value in known.items() if value is not None}


def _refuse_what_would_be_lost(job: Mapping[str, Any]) -> None:
    """With `docker_args` as a list azure-ai-ml 1.35.2 sends neither of two other keys."""
    resources = job.get("resources") or {}
    lost = [key for key in ("locations", "max_instance_count") if resources.get(key) is not None]
    if isinstance(resources.get("docker_args"), list) and lost:
        raise Refusal(
            f"azure-ai-ml would drop resources.{lost[0]}, because docker_args is a list.",
            todo="Write docker_args as one string.",
        )


def _within_limits(kind: str, entries: Mapping[str, str | None]) -> None:
    if len(entries) > MOST_ENTRIES:
        raise Refusal(
            f"The job would have {len(entries)} {kind}, those of traingate included; Azure ML "
            f"keeps {MOST_ENTRIES}.",
            todo=f"Remove {len(entries) - MOST_ENTRIES} of the {kind} in the job file.",
        )
    for key, value in entries.items():
        if len(key) > LONGEST_KEY or len(value or "") > LONGEST_VALUE:
            raise Refusal(
                f"{kind} entry {key[:LONGEST_KEY]!r} is longer than Azure ML keeps ({LONGEST_KEY} "
                f"characters of key, {LONGEST_VALUE} of value).",
                todo="Shorten it in the job file.",
            )
