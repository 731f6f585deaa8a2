"""A whole run whose stores are in a vault: where its secrets go, and where they do not."""

from __future__ import annotations

import json
import os
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from launching import Launch
from servers import PASSWORD, QUOTED, USER
from vault import TOKEN, serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from servers import Server

AML_TOKEN = "token-that-azure-ml-planted"

#: Trains nothing to speak of; every rank writes down what it and a child of its can see.
SCRIPT = """
import os, pathlib, subprocess, sys
import torch
import train_aml

with train_aml.session() as session:
    session.describe(data_digest="0" * 64)
    session.ready()
    for step in range(5):
        session.log({"train_loss": 1.0 / (step + 1)}, step=step)
    own = pathlib.Path(f"dump{session.ranks.rank}.txt")
    child = "import os; print(dict(os.environ)); print(open('/proc/self/environ').read())"
    with own.open("w") as dump:
        print(dict(os.environ), pathlib.Path("/proc/self/environ").read_text(), file=dump)
        for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                print(process.read_text(), file=dump)
            except OSError:
                continue
        dump.flush()
        subprocess.run([sys.executable, "-c", child], stdout=dump, check=True)
    session.register(torch.nn.Linear(4, 2), torch.zeros(2, 4), {"test_accuracy": 0.5})
"""


class Recorder(BaseHTTPRequestHandler):
    """Passes everything on to the tracking server and keeps what was asked."""

    port = 0
    seen: list[str]
    protocol_version = "HTTP/1.1"

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.seen.append(f"{self.requestline}\n{self.headers}\n{body.decode(errors='replace')}")
        upstream = HTTPConnection("127.0.0.1", self.port, timeout=60)
        upstream.request(self.command, self.path, body, dict(self.headers))
        answer = upstream.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        upstream.close()

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):
            return self.forward
        raise AttributeError(name)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing: pytest reads standard error."""


@pytest.fixture
def recorder(sqlite_server: Server) -> Iterator[tuple[int, list[str]]]:
    seen: list[str] = []
    handler = type("Bound", (Recorder,), {"port": sqlite_server.port, "seen": seen})
    listening = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    listening.daemon_threads = True
    threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True).start()
    yield listening.server_port, seen
    listening.shutdown()
    listening.server_close()


@pytest.fixture
def poison() -> dict[str, str]:
    """What Azure ML puts into every process."""
    return {
        "MLFLOW_TRACKING_TOKEN": AML_TOKEN,
        "MLFLOW_TRACKING_URI": "azureml://eastus.api.azureml.ms/mlflow",
        "MLFLOW_RUN_ID": "aml_job_abc",
        "MLFLOW_EXPERIMENT_NAME": "elsewhere",
        "AZUREML_RUN_TOKEN": AML_TOKEN,
    }


def launch(folder: Path, variables: dict[str, str]) -> Launch:
    script = folder / "train.py"
    script.write_text(SCRIPT)
    return Launch(
        folder=folder / "run",
        run="probe-0123456789ab-l1",
        arguments=(str(script),),
        tracking_uri="keyvault://contoso/tracking",
        results_url="keyvault://contoso/results",
        variables=variables | {"TRAINGATE_WORKLOAD": "secrets", "TRAINGATE_MODEL": "secrets"},
    )


def test_secrets_of_the_vault_and_azure_mls_token_go_nowhere_else(
    tmp_path: Path, recorder: tuple[int, list[str]], poison: dict[str, str], postgres: str
):
    port, seen = recorder
    database_password = "p4ssword-of-the-database"
    with serve(tmp_path) as vault:
        tracking = f"http://{USER}:{QUOTED}@127.0.0.1:{port}"
        vault.secrets["tracking"] = tracking
        results = postgres.replace("postgres:@", f"postgres:{database_password}@", 1)
        vault.secrets["results"] = results
        run = launch(tmp_path, vault.variables | poison)
        assert run.run_to_end() == [0, 0], run.logs()

    assert run.outcome()["status"] == "succeeded"
    # One challenge and one answer a secret: of the two ranks only one has asked.
    assert [path for path, _ in vault.requests] == ["/secrets/results/"] * 2 + [
        "/secrets/tracking/"
    ]
    secrets = (tracking, PASSWORD, QUOTED, results, database_password, TOKEN)
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    assert {"dump0.txt", "dump1.txt", "outcome.json", "rank0.log"} <= {path.name for path in files}
    for path in files:
        text = path.read_bytes().decode(errors="replace")
        assert not [secret for secret in secrets if secret in text], path
    # The tracking server gets its password, by way of the Authorization header, and no other.
    assert len(seen) > 10
    assert not [request for request in seen if AML_TOKEN in request or "Bearer" in request]
    assert not [request for request in seen if any(secret in request for secret in secrets)]
    assert all("Authorization: Basic" in request for request in seen)


def test_a_secret_in_an_error_is_masked_in_the_log_and_in_the_outcome(tmp_path: Path):
    with serve(tmp_path) as vault:
        vault.secrets["tracking"] = "no-scheme-but-s3cret-text"
        vault.secrets["results"] = "not-a-database-url-with-s3cret"
        run = launch(tmp_path, dict(vault.variables))
        codes = run.run_to_end()

    assert codes[0] == 69, run.logs()
    outcome = run.outcome()
    assert outcome["status"] == "failed"
    assert "s3cret" not in json.dumps(outcome)
    assert "s3cret" not in run.logs()


def test_a_vault_that_refuses_ends_the_run_before_it_trains(tmp_path: Path):
    with serve(tmp_path) as vault:
        vault.refusals["results"] = (403, "ForbiddenByRbac")
        run = launch(tmp_path, dict(vault.variables))
        codes = run.run_to_end()

    assert codes[0] == 69, run.logs()
    assert "Key Vault Secrets User" in run.outcome()["failure"]["error"]
    assert not list(run.folder.glob("dump*.txt"))
    assert os.environ.get("MSI_SECRET") is None
