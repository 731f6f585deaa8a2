"""The job file: a plain Azure ML v2 command job, typed.

The shape is the SDK's `CommandJobSchema` (azure-ai-ml 1.35.2); `schemas/job.schema.json`
refuses what does not have it, so that reading here needs no second look.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from traingate.documents.located import Document


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """What the processes run in: a registered environment by reference, or an inline image."""

    reference: str | None = None
    image: str | None = None
    conda_file: str | None = None
    build_path: str | None = None

    @property
    def digest(self) -> str | None:
        """The image's `sha256:…`, or None when it is not pinned."""
        _, at, digest = (self.image or "").partition("@")
        return digest if at and digest.startswith("sha256:") else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """How Azure ML starts the processes; `type` is lower case: pytorch, tensorflow, mpi or ray."""

    type: str
    process_count_per_instance: int | None = None
    worker_count: int | None = None
    parameter_server_count: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Input:
    """A literal (`value`, already text as Azure ML sends it) or data at `path`."""

    value: str | None = None
    type: str | None = None
    path: str | None = None
    mode: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether `path` names files of this repository rather than something Azure ML knows."""
        return self.path is not None and ":" not in self.path


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    type: str = "uri_folder"
    path: str | None = None
    mode: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One command job. `document` holds the place of everything in it.

    `compute` is the bare target name ("azureml:" removed). `timeout_seconds` is
    `limits.timeout`. `environment_variables` and `tags` are text to text.
    """

    document: Document
    command: str
    environment: Environment
    code: str | None = None
    compute: str | None = None
    distribution: Distribution | None = None
    instance_count: int = 1
    max_instance_count: int | None = None
    instance_type: str | None = None
    shm_size: str | None = None
    timeout_seconds: int | None = None
    job_tier: str | None = None
    identity: str | None = None
    name: str | None = None
    display_name: str | None = None
    experiment_name: str | None = None
    inputs: Mapping[str, Input]
    outputs: Mapping[str, Output]
    environment_variables: Mapping[str, str]
    tags: Mapping[str, str]

    @property
    def file(self) -> str:
        return self.document.file


def job(document: Document) -> Job:
    """The typed job of a document that `schemas/job.schema.json` accepts."""
    raw: dict[str, Any] = document.value
    resources = raw.get("resources") or {}
    return Job(
        document=document,
        command=raw["command"],
        environment=_environment(raw["environment"]),
        code=raw.get("code"),
        compute=_bare(raw.get("compute")),
        distribution=_distribution(raw.get("distribution")),
        instance_count=resources.get("instance_count", 1),
        max_instance_count=resources.get("max_instance_count"),
        instance_type=resources.get("instance_type"),
        shm_size=resources.get("shm_size"),
        timeout_seconds=(raw.get("limits") or {}).get("timeout"),
        job_tier=(raw.get("queue_settings") or {}).get("job_tier"),
        identity=(raw.get("identity") or {}).get("type"),
        name=raw.get("name"),
        display_name=raw.get("display_name"),
        experiment_name=raw.get("experiment_name"),
        inputs={name: _input(value) for name, value in (raw.get("inputs") or {}).items()},
        outputs={name: _output(value) for name, value in (raw.get("outputs") or {}).items()},
        environment_variables=raw.get("environment_variables") or {},
        tags=raw.get("tags") or {},
    )


def _bare(reference: str | None) -> str | None:
    return reference.removeprefix("azureml:") if reference else reference


def _environment(raw: str | dict[str, Any]) -> Environment:
    if isinstance(raw, str):
        return Environment(reference=raw)
    conda_file = raw.get("conda_file")
    return Environment(
        image=raw.get("image"),
        conda_file=conda_file if isinstance(conda_file, str) else None,
        build_path=(raw.get("build") or {}).get("path"),
    )


def _distribution(raw: dict[str, Any] | None) -> Distribution | None:
    if raw is None:
        return None
    return Distribution(
        type=raw["type"].lower(),
        process_count_per_instance=raw.get("process_count_per_instance"),
        worker_count=raw.get("worker_count"),
        parameter_server_count=raw.get("parameter_server_count") or 0,
    )


def _input(raw: Any) -> Input:
    if not isinstance(raw, dict):
        return Input(value=_literal(raw))
    if "value" in raw:
        return Input(value=_literal(raw["value"]))
    return Input(type=raw.get("type", "uri_folder"), path=raw.get("path"), mode=raw.get("mode"))


def _literal(value: object) -> str:
    """Text as the SDK sends it: `true` becomes `True` (azure-ai-ml 1.35.2, literal inputs)."""
    return str(value)


def _output(raw: dict[str, Any] | None) -> Output:
    raw = raw or {}
    return Output(type=raw.get("type", "uri_folder"), path=raw.get("path"), mode=raw.get("mode"))
