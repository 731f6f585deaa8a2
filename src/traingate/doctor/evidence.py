"""An admission's evidence beside the tracking server it was measured into."""

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx

from traingate.doctor.diagnosis import Area, Diagnosis
from traingate.errors import TraingateError, UsageProblem

AREA = Area(name="evidence")
_TIMEOUT_SECONDS = 30.0
#: The figures that evidence is computed from.
FIGURES = ("step_seconds", "planned_steps", "gpu_memory_peak_gib")


def compared(workload: str, text: str | None, tracking_uri: str) -> Iterator[Diagnosis]:
    """Compare `jobs/<workload>/evidence.json` with the run it names.

    Raises:
        UsageProblem: nothing was measured.
        TraingateError: the tracking server does not answer.
    """
    if text is None:
        raise UsageProblem(
            f"jobs/{workload}/evidence.json is not there.",
            todo=f"Run `traingate measure {workload}`.",
        )
    outcome = json.loads(text)["outcome"]
    run, kept = outcome["run_name"], outcome["metrics"]
    found = _metrics(tracking_uri, outcome["mlflow_run_id"])
    if found is None:
        told = f"The tracking server knows no run {run}."
        yield AREA.wrong(workload, told, f"traingate measure {workload}")
        return
    for name in FIGURES:
        if name in kept and not math.isclose(kept[name], found.get(name, math.nan), rel_tol=1e-6):
            told = f"`{name}` is {kept[name]:g} in the file and {found.get(name)} on the server."
            yield AREA.wrong(workload, told, f"traingate measure {workload}")
            return
    yield AREA.well(workload, f"{run} is on the tracking server with the same figures.")


def _metrics(tracking_uri: str, run_id: str) -> Mapping[str, float] | None:
    if tracking_uri.startswith("sqlite:///"):
        return _from_file(Path(tracking_uri.removeprefix("sqlite:///")), run_id)
    return _from_server(tracking_uri, run_id)


def _from_file(database: Path, run_id: str) -> Mapping[str, float] | None:
    if not database.exists():
        return None
    query = "SELECT key, value FROM latest_metrics WHERE run_uuid = ?"
    with closing(sqlite3.connect(database)) as connection:
        found = dict(connection.execute(query, (run_id,)).fetchall())
    return found or None


def _from_server(tracking_uri: str, run_id: str) -> Mapping[str, float] | None:
    url = f"{tracking_uri.rstrip('/')}/api/2.0/mlflow/runs/get"
    try:
        answer = httpx.get(url, params={"run_id": run_id}, timeout=_TIMEOUT_SECONDS)
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        answer.raise_for_status()
        listed: list[dict[str, Any]] = answer.json()["run"]["data"].get("metrics", [])
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise TraingateError(
            f"The tracking server did not tell of the run ({type(error).__name__}).",
            todo="Ask again from a machine that may reach it, or mend `local.tracking_uri`.",
        ) from error
    return {one["key"]: float(one["value"]) for one in listed}
