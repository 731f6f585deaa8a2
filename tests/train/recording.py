"""A real MLflow server behind a proxy that keeps every request's headers and body."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

from launching import free_port

if TYPE_CHECKING:
    from pathlib import Path

START_LIMIT_SECONDS = 60.0
HOP_BY_HOP = {"connection", "transfer-encoding", "content-encoding", "content-length", "host"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    line: str
    headers: str
    body: bytes


@dataclass(kw_only=True)
class RecordedServer:
    """Give its `uri` to a run, then read `requests`."""

    folder: Path
    requests: list[Request] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._port = free_port()
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        with (self.folder / "server.log").open("wb") as log:
            self._server = subprocess.Popen(
                [
                    *(sys.executable, "-m", "mlflow", "server", "--workers", "1"),
                    *("--host", "127.0.0.1", "--port", str(self._port)),
                    *("--backend-store-uri", f"sqlite:///{self.folder}/server.db"),
                    *("--artifacts-destination", str(self.folder / "artifacts")),
                ],
                cwd=self.folder,
                env={**kept, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._await_server()
        self._proxy = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._proxy.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._proxy.shutdown()
        self._proxy.server_close()
        os.killpg(self._server.pid, 15)
        self._server.wait(30)

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._proxy.server_port}"

    def _await_server(self) -> None:
        deadline = time.monotonic() + START_LIMIT_SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/health", timeout=2):
                    return
            except OSError:
                if time.monotonic() > deadline or self._server.poll() is not None:
                    raise
                time.sleep(0.1)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        recorded, upstream = self.requests, f"http://127.0.0.1:{self._port}"

        class Proxy(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                recorded.append(
                    Request(line=self.requestline, headers=str(self.headers), body=body)
                )
                headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP}
                request = urllib.request.Request(  # noqa: S310 - loopback
                    upstream + self.path, data=body or None, headers=headers, method=self.command
                )
                try:
                    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
                        self.answer(answer.status, answer.headers, answer.read())
                except urllib.error.HTTPError as refusal:
                    with refusal:
                        self.answer(refusal.code, refusal.headers, refusal.read())

            def answer(self, status: int, headers: object, body: bytes) -> None:
                self.send_response(status)
                for name, value in headers.items():  # type: ignore[attr-defined]
                    if name.lower() not in HOP_BY_HOP:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward  # noqa: N815 - http.server's names

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        return Proxy
