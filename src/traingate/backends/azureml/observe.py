"""What became of a run: its state, why it failed, and the outcome it left behind.

The service is polled with `jobs.get`. `jobs.stream` returns without a word for a canceled run
and needs an account key; NotResponding counts as an end in the SDK and is none.
"""

import re
from datetime import datetime
from typing import Any, cast

from azure.ai.ml import MLClient
from azure.ai.ml.entities import Job
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.blob import BlobClient

from traingate.backends.azureml.failures import BLOB_READER, READER, explained
from traingate.backends.azureml.workspace import ARTIFACT_STORE, Workspace, quiet
from traingate.backends.base import TERMINAL_STATES, Observation

OUTCOME = "outputs/traingate/outcome.json"
MOST_OUTCOME_BYTES = 64 * 1024

_STORE_URI = re.compile(r"azureml://(?:.*/)?datastores/(?P<store>[^/]+)/(?:paths/)?(?P<path>.*)")


def observation(workspace: Workspace, client: MLClient, job: Job) -> Observation:
    """Everything known of `job` now; history and outcome are read only once it is over."""
    name, state = cast("str", job.name), state_of(job)
    if state not in TERMINAL_STATES:
        return _observation(job, state)
    with quiet(), explained("read the run's history", role=READER):
        # The reason is in run history alone, and the SDK's only public way to it is `stream`.
        details = client.jobs._runs_operations.get_run_details(name)  # noqa: SLF001
    with explained("read the run's outcome", role=BLOB_READER):
        outcome = read_outcome(workspace, client, job)
    return _observation(job, state, details=details, outcome=outcome)


def state_of(job: Job) -> str:
    """The service's own word; one the SDK does not know stays as it is."""
    status = cast("Any", job.status)
    return str(getattr(status, "value", status) or "Unknown")


def read_outcome(workspace: Workspace, client: MLClient, job: Job) -> str | None:
    """The text of the run's outcome file, None when it left none or one beyond the limit."""
    store, folder = artifact_place(job)
    account_url, container = workspace.store(client, store)
    with BlobClient(
        account_url,
        container,
        f"{folder}/{OUTCOME}",
        credential=workspace.credential,
        **workspace.storage_retry_settings,
    ) as blob:
        try:
            data = blob.download_blob(length=MOST_OUTCOME_BYTES + 1, offset=0).readall()
        except ResourceNotFoundError:
            return None
    return None if len(data) > MOST_OUTCOME_BYTES else data.decode("utf-8", errors="replace")


def artifact_place(job: Job) -> tuple[str, str]:
    """Datastore and folder of what the run wrote to `./outputs` and of its logs.

    The service says it in the output named `default`. Where it does not, the place is the one
    azure-ai-ml 1.35.2 falls back on in `jobs.download`
    (`_job_operations.py`, `_get_named_output_uri`).
    """
    default = (cast("Any", job).outputs or {}).get("default")
    match = _STORE_URI.fullmatch(str(getattr(default, "path", "") or ""))
    if match is None:
        return ARTIFACT_STORE, f"ExperimentRun/dcid.{job.name}"
    return match["store"], match["path"].rstrip("/")


def _observation(
    job: Job, state: str, *, details: Any = None, outcome: str | None = None
) -> Observation:
    reason = _reason(details) if state in {"Failed", "Canceled"} else None
    if state == "Completed" and outcome is None:
        reason = f"The job completed without {OUTCOME}, so nothing is known of a model."
    return Observation(
        run_name=cast("str", job.name),
        state=state,
        reason=reason,
        outcome=outcome,
        started_at=_seconds(getattr(details, "start_time_utc", None)),
        finished_at=_seconds(getattr(details, "end_time_utc", None)),
        url=job.studio_url,
        properties={key: str(value) for key, value in (job.properties or {}).items()},
    )


def _reason(details: Any) -> str | None:
    error = getattr(getattr(details, "error", None), "error", None)
    if error is None:
        return None
    return ": ".join(str(part) for part in (error.code, error.message) if part)


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None
