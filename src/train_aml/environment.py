"""The job's environment: what is taken out of it, and the contract that is read from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from train_aml.problems import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

REQUIRED = ("RUN", "WORKLOAD", "MODEL", "DIGEST", "ATTEMPT", "TRACKING_URI", "RESULTS_URL")

#: Set after the clean-up. MLflow's default of seven retries holds one call for four minutes when
#: a server is away.
MLFLOW_SETTINGS = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3", "MLFLOW_HTTP_REQUEST_TIMEOUT": "30"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Contract:
    """What the planner says about this run, from the job's `TRAINGATE_*` variables.

    `tracking_uri` and `results_url` are locations: possibly `keyvault://...`, resolved on rank
    zero only. `image`, `commit`, `pull_request` and `repository` are "" where there is none, as
    on a laptop.
    """

    run: str
    workload: str
    model: str
    model_existing: bool
    digest: str
    attempt: int
    image: str
    commit: str
    pull_request: str
    repository: str
    tracking_uri: str
    results_url: str

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Contract:
        """Read the contract.

        Raises:
            EnvironmentProblem: a variable is missing or malformed; the message shows how to set it.
        """
        missing = [f"TRAINGATE_{name}" for name in REQUIRED if not _value(environ, name)]
        if missing:
            raise EnvironmentProblem(_how_to_set(missing))
        attempt, existing = _value(environ, "ATTEMPT"), _value(environ, "MODEL_EXISTING")
        if not (attempt.isascii() and attempt.isdigit()) or int(attempt) < 1:
            raise EnvironmentProblem(
                f"TRAINGATE_ATTEMPT={attempt!r} is not a whole number from 1 up; the first run of "
                "a workload is attempt 1."
            )
        if existing not in ("", "true", "false"):
            raise EnvironmentProblem(
                f"TRAINGATE_MODEL_EXISTING={existing!r} is neither `true` nor `false`; write one."
            )
        return cls(
            run=_value(environ, "RUN"),
            workload=_value(environ, "WORKLOAD"),
            model=_value(environ, "MODEL"),
            model_existing=existing == "true",
            digest=_value(environ, "DIGEST"),
            attempt=int(attempt),
            image=_value(environ, "IMAGE"),
            commit=_value(environ, "COMMIT"),
            pull_request=_value(environ, "PULL_REQUEST"),
            repository=_value(environ, "REPOSITORY"),
            tracking_uri=_value(environ, "TRACKING_URI"),
            results_url=_value(environ, "RESULTS_URL"),
        )


def _value(environ: Mapping[str, str], name: str) -> str:
    return environ.get(f"TRAINGATE_{name}", "").strip()


def _how_to_set(missing: list[str]) -> str:
    return (
        f"not inside a traingate run: {', '.join(missing)} missing or empty. Start the workload "
        "with `traingate submit WORKLOAD`, or, to run the script by hand: "
        "TRAINGATE_RUN=try-l0 TRAINGATE_WORKLOAD=try TRAINGATE_MODEL=try TRAINGATE_DIGEST=none "
        "TRAINGATE_ATTEMPT=1 TRAINGATE_TRACKING_URI=sqlite:///try.db "
        "TRAINGATE_RESULTS_URL=sqlite:///try-results.db python SCRIPT"
    )


def clean(environ: MutableMapping[str, str]) -> str:
    """Remove every MLflow variable and return the Azure ML run id among them ("" without one).

    Azure ML points MLflow at its own server inside every job and hands over a token for it; with
    these variables in place that token would be sent to ours, and its run id looked up there.
    Call this before MLflow reads them.
    """
    azureml_run_id = environ.get("MLFLOW_RUN_ID", "").strip()
    for name in [name for name in environ if name.upper().startswith("MLFLOW_")]:
        del environ[name]
    environ.update(MLFLOW_SETTINGS)
    return azureml_run_id
