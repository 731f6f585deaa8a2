"""The results database: one row a run, whatever is retried."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime  # noqa: TC003 - the annotations of a dataclass are public
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from train_aml.problems import StoreProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

#: A connection that broke may have broken after the commit; the upsert makes asking again safe.
RETRY_AFTER_SECONDS = (0.5, 2.0)

metadata = sa.MetaData()

training_results = sa.Table(
    "training_results",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run_name", sa.String(255), nullable=False, unique=True),
    sa.Column("workload", sa.String(255), nullable=False),
    sa.Column("model_name", sa.String(255), nullable=False),
    sa.Column("model_version", sa.Integer, nullable=False),
    sa.Column("model_uri", sa.String(511), nullable=False),
    sa.Column("mlflow_run_id", sa.String(64), nullable=False),
    sa.Column("metrics", sa.JSON, nullable=False),
    sa.Column("dataset_digest", sa.String(64), nullable=False),
    sa.Column("image", sa.String(511), nullable=False),
    sa.Column("git_commit", sa.String(64), nullable=False),
    sa.Column("backend", sa.String(32), nullable=False),
    sa.Column("world_size", sa.Integer, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """One successful run; `backend` is the model's `training.backend`, times are in UTC."""

    run_name: str
    workload: str
    model_name: str
    model_version: int
    model_uri: str
    mlflow_run_id: str
    metrics: dict[str, float]
    dataset_digest: str
    image: str
    git_commit: str
    backend: str
    world_size: int
    attempt: int
    started_at: datetime
    finished_at: datetime


class Results:
    """The table `training_results` in the SQLite or PostgreSQL database at `url`."""

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)

    def prepare(self) -> None:
        """Reach the database and create the table where it is missing.

        Raises:
            StoreProblem: the database is away, or refuses.
        """
        with _named(self._engine):
            self._create()
            with self._engine.connect() as connection:
                connection.execute(sa.select(training_results.c.id).limit(1))

    def record(self, result: Result) -> None:
        """Insert or update the run's row; a retry after an unclear commit finds its own row.

        Raises:
            StoreProblem: the database is away, or refuses, or holds another model's row for the
                run.
        """
        row: dict[str, Any] = asdict(result)
        with _named(self._engine):
            self._create()
            written = self._insist(row)
        if not written:
            (other,) = self.rows(result.run_name)
            raise StoreProblem(
                f"results database: the run {result.run_name} has a row already, of "
                f"{other['model_uri']} from MLflow run {other['mlflow_run_id']}, and now made "
                f"{result.model_uri} in {result.mlflow_run_id}. Find out which is right; a run has "
                "one model. Remove the wrong row, then start the run again."
            )

    def _insist(self, row: dict[str, Any]) -> bool:
        for pause_seconds in RETRY_AFTER_SECONDS:
            try:
                return self._upsert(row)
            except sa.exc.OperationalError:
                time.sleep(pause_seconds)
        return self._upsert(row)

    def _upsert(self, row: dict[str, Any]) -> bool:
        """Whether the row was written: it was not there, or was this model's own."""
        with self._engine.begin() as connection:
            insert = _INSERTS[connection.dialect.name](training_results).values(**row)
            there = training_results.c
            statement = insert.on_conflict_do_update(
                index_elements=["run_name"],
                set_={name: insert.excluded[name] for name in row if name != "run_name"},
                where=sa.and_(
                    there.mlflow_run_id == insert.excluded.mlflow_run_id,
                    there.model_uri == insert.excluded.model_uri,
                ),
            )
            return connection.execute(statement.returning(there.id)).first() is not None

    def rows(self, run_name: str) -> list[dict[str, Any]]:
        """The rows of a run: none or one."""
        statement = sa.select(training_results).where(training_results.c.run_name == run_name)
        with _named(self._engine), self._engine.connect() as connection:
            return [dict(row) for row in connection.execute(statement).mappings()]

    def close(self) -> None:
        self._engine.dispose()

    def _create(self) -> None:
        try:
            metadata.create_all(self._engine)
        except sa.exc.DBAPIError:
            # Two jobs that create the table at once: one loses after its own look. If the table
            # is there now, that was it.
            if not sa.inspect(self._engine).has_table(training_results.name):
                raise


# Each dialect has its own insert with ON CONFLICT; they share no base class that says so.
_INSERTS: dict[str, Any] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


def _engine(url: str) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise StoreProblem(
            "TRAINGATE_RESULTS_URL is no database URL; write sqlite:///path.db or "
            "postgresql://host/database."
        ) from error
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() not in _INSERTS:
        raise StoreProblem(
            f"TRAINGATE_RESULTS_URL names {parsed.get_backend_name()!r}; results go to sqlite or "
            "postgresql."
        )
    timeout = "timeout" if parsed.get_backend_name() == "sqlite" else "connect_timeout"
    return sa.create_engine(parsed, connect_args={timeout: 30}, pool_pre_ping=True)


@contextmanager
def _named(engine: sa.Engine) -> Iterator[None]:
    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        # Neither the password nor options that may hold one; the driver's text has none.
        where = engine.url.set(query={}).render_as_string(hide_password=True)
        raise StoreProblem(
            f"results database {where}: {str(error).splitlines()[0]}. Check that it is reachable "
            "from the job, its user and password, and that the user may create and write the "
            "table training_results."
        ) from error
