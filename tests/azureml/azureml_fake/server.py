"""The server: TLS, routing, and faults that strike at a chosen request."""

import contextlib
import os
import re
import signal
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from azureml_fake import arm, certificate, elsewhere
from azureml_fake.state import Answer, Seen, State, refused

_ROUTES = arm.ROUTES + elsewhere.ROUTES
_OPEN = re.compile(r"/discovery|/github/token|/operations/.*|/[^/]+/oauth2/.*")


@dataclass
class Fault:
    """What happens at a request, once.

    `kind`: a status such as `503`; `drop` (the connection closes before anything was done);
    `lose` (it is done, and the answer lost); `kill` (done, and the process `pid` killed).
    `at` is the number of the request since the last reset, or a pattern for its short form.
    """

    at: int | str
    kind: str
    pid: int = 0
    times: int = 1

    def strikes(self, number: int, seen: Seen) -> bool:
        here = number == self.at if isinstance(self.at, int) else re.match(self.at, seen.short)
        if not here or self.times == 0:
            return False
        self.times -= 1
        return True


@dataclass(repr=False)
class Fake:
    """The running service: its state, its faults and its address."""

    state: State = field(default_factory=State)
    faults: list[Fault] = field(default_factory=list)
    delay_seconds: float = 0
    url: str = ""
    cert_file: Path = Path()
    key_file: Path = Path()
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reset(self) -> None:
        with self.lock:
            self.state = State(public=self.url)
            self.faults = []
            self.delay_seconds = 0

    @property
    def requests(self) -> list[str]:
        return [seen.short for seen in self.state.seen]

    def seen(self, start: str) -> list[Seen]:
        return [one for one in self.state.seen if one.short.startswith(start)]

    @property
    def writes(self) -> list[str]:
        return [short for short in self.requests if not short.startswith(("GET", "HEAD"))]

    def environ(self) -> dict[str, str]:
        """What a process needs in order to reach this service instead of Azure and GitHub."""
        return {
            "AZUREML_DEV_URL_MFE": self.url,
            "AZURE_AUTHORITY_HOST": self.url,
            "REQUESTS_CA_BUNDLE": str(self.cert_file),
            "SSL_CERT_FILE": str(self.cert_file),
            "GITHUB_ACTIONS": "true",
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.url}/github/token?api-version=2.0",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "planted-request-token",
        }

    def answer(self, seen: Seen) -> tuple[Answer, Fault | None]:
        with self.lock:
            self.state.seen.append(seen)
            number = len(self.state.seen)
            fault = next((one for one in self.faults if one.strikes(number, seen)), None)
            if fault is not None and fault.kind == "drop":
                return Answer(), fault
            if fault is not None and fault.kind.isdigit():
                status = int(fault.kind)
                return refused(status, "Fault", "planted"), fault
            answer = self._route(seen)
            if fault is not None and fault.kind == "kill":
                os.kill(fault.pid, signal.SIGKILL)
            return answer, fault

    def _route(self, seen: Seen) -> Answer:
        if not _OPEN.fullmatch(seen.path) and not (
            seen.headers.get("authorization", "").startswith("Bearer ") or "sig" in seen.query
        ):
            return refused(401, "Unauthorized", "no token")
        if any(part in seen.path for part in self.state.forbidden):
            return refused(403, "AuthorizationFailed", "The client does not have authorization")
        for method, pattern, handle in _ROUTES:
            match = re.fullmatch(pattern, seen.path)
            if match and method == seen.method:
                return handle(self.state, match, seen)
        return refused(404, "FakeHasNoSuchRoute", seen.short)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    fake: Fake

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing: the state keeps the requests."""

    def _handle(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        address = urlsplit(self.path)
        seen = Seen(
            method=self.command,
            path=unquote(address.path),
            query=dict(parse_qsl(address.query, keep_blank_values=True)),
            headers={key.lower(): value for key, value in self.headers.items()},
            body=body,
        )
        answer, fault = self.fake.answer(seen)
        if self.fake.delay_seconds:
            time.sleep(self.fake.delay_seconds)
        if fault is not None and fault.kind in {"drop", "lose", "kill"}:
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        later = answer.status in {429, 503}
        self._send(answer, {"Retry-After": "0"} if later else {})

    def _send(self, answer: Answer, extra: dict[str, str]) -> None:
        self.send_response(answer.status)
        headers = {"Content-Type": "application/json"} | answer.headers | extra
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.payload)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.payload)

    def __getattr__(self, name: str) -> Any:
        """Every method is handled alike; the base class looks for `do_GET` and so on."""
        if name.startswith("do_"):
            return self._handle
        raise AttributeError(name)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed, or that went away, is what these tests are about."""


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Fake]:
    """Serve on a free port of 127.0.0.1 until the block ends."""
    fake = Fake()
    fake.cert_file, fake.key_file = certificate.write(folder)
    handler = type("Handler", (_Handler,), {"fake": fake})
    server = _Server(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(fake.cert_file, fake.key_file)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    fake.url = f"https://127.0.0.1:{server.server_address[1]}"
    fake.reset()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
