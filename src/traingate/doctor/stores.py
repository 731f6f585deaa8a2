"""The stores a run writes to: the tracking server and the results database, from here."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import httpx

from traingate.doctor.diagnosis import Area, Diagnosis

AREA = Area(name="stores")

#: `train_aml` speaks MLflow 3's LoggedModel calls.
TRACKING_MAJOR = 3
_TIMEOUT_SECONDS = 10.0


def tracking(location: str) -> Iterator[Diagnosis]:
    """The tracking server answers, in a version that `train_aml` can speak to."""
    if location.startswith("keyvault://"):
        told = f"{location} is resolved inside the job only."
        yield AREA.skipped("tracking", told)
    elif location.startswith("sqlite:///"):
        yield _sqlite("tracking", location)
    else:
        yield _server(location)


def results(location: str) -> Iterator[Diagnosis]:
    """The results database takes a connection."""
    if location.startswith("keyvault://"):
        yield AREA.skipped("results", f"{location} is resolved inside the job only.")
    elif location.startswith("sqlite:///"):
        yield _sqlite("results", location)
    else:
        yield _database(location)


def without_password(location: str) -> str:
    """A location that may be shown: without user and password, and without its query.

    Up to the last `@`, because a password that was not encoded may hold `/` and `@` itself.
    """
    shown = re.sub(r"//.*@", "//", location, flags=re.DOTALL)
    return re.sub(r"\?.*", "?…", shown, flags=re.DOTALL)


def _server(location: str) -> Diagnosis:
    shown = without_password(location)
    try:
        answer = httpx.get(f"{location.rstrip('/')}/version", timeout=_TIMEOUT_SECONDS)
        answer.raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        told = f"{shown} does not answer ({type(error).__name__})."
        return AREA.wrong("tracking", told, "Start it, or mend `local.tracking_uri`.")
    version = answer.text.strip()
    if not version.startswith(f"{TRACKING_MAJOR}."):
        told = f"{shown} runs MLflow {version[:20]}, and runs need {TRACKING_MAJOR}.x."
        return AREA.wrong("tracking", told, f"pip install 'mlflow=={TRACKING_MAJOR}.*' there.")
    return AREA.well("tracking", f"{shown}, MLflow {version[:20]}")


def _sqlite(subject: str, location: str) -> Diagnosis:
    path = Path(location.removeprefix("sqlite:///"))
    told = "is there" if path.exists() else "is made by the first run"
    return AREA.well(subject, f"{path} {told}.")


def _database(location: str) -> Diagnosis:
    shown = without_password(location)
    try:
        sqlalchemy = importlib.import_module("sqlalchemy")
    except ImportError:
        return AREA.skipped("results", f"{shown}: needs `pip install 'traingate[train]'` here.")
    try:
        engine = sqlalchemy.create_engine(
            location, connect_args={"connect_timeout": int(_TIMEOUT_SECONDS)}
        )
        with engine.connect() as connection:
            connection.execute(sqlalchemy.text("SELECT 1"))
    except (sqlalchemy.exc.SQLAlchemyError, ValueError) as error:
        told = f"{shown} takes no connection ({type(error).__name__})."
        return AREA.wrong("results", told, "Start it, or mend `local.results_url`.")
    return AREA.well("results", shown)
