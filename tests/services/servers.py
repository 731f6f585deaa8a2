"""Starting real servers on loopback."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa
from launching import free_port

import requests

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START_SECONDS = 90.0
USER, PASSWORD = "admin", "a-long-p@ssword/for-tests"
QUOTED = "a-long-p%40ssword%2Ffor-tests"


@dataclass(frozen=True)
class Server:
    """A tracking server; `uri` holds the credentials of its administrator."""

    port: int
    log: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def uri(self) -> str:
        return f"http://{USER}:{QUOTED}@127.0.0.1:{self.port}"


def database(postgres: str, name: str) -> str:
    """The URL of a new database on the server at `postgres`."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return sa.make_url(postgres).set(database=name).render_as_string(hide_password=False)


def serve(folder: Path, backend_store: str) -> Iterator[Server]:
    """Run `mlflow server` with basic authentication until the session ends."""
    port = free_port()
    (folder / "auth.ini").write_text(
        "[mlflow]\ndefault_permission = READ\n"
        f"database_uri = sqlite:///{folder}/auth.db\nadmin_username = {USER}\n"
        "authorization_function = mlflow.server.auth:authenticate_request_basic_auth\n"
        # Without this cache every request costs a password hash, a fifth of a second.
        "auth_cache_ttl_seconds = 3600\n"
    )
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    variables = {
        "MLFLOW_AUTH_CONFIG_PATH": str(folder / "auth.ini"),
        "MLFLOW_AUTH_ADMIN_PASSWORD": PASSWORD,
        "MLFLOW_FLASK_SERVER_SECRET_KEY": secrets.token_hex(16),
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
    arguments = ["server", "--app-name", "basic-auth", "--host", "127.0.0.1", "--port", str(port)]
    arguments += ["--backend-store-uri", backend_store, "--workers", "1"]
    arguments += ["--artifacts-destination", str(folder / "artifacts")]
    log = folder / "server.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", *arguments],
            cwd=folder,
            env=kept | variables,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(port=port, log=log)
    try:
        wait_until_up(server, process)
        yield server
    finally:
        os.killpg(process.pid, 15)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()


def wait_until_up(server: Server, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, server.log.read_text()
        assert time.monotonic() < until, server.log.read_text()
        try:
            if requests.get(f"{server.uri}/version", timeout=5).ok:
                return
        except requests.ConnectionError:
            time.sleep(0.1)
