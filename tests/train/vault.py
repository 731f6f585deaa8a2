"""A Key Vault, its managed identity and the way to them, on loopback.

The real client asks for the real address, https://NAME.vault.azure.net: HTTPS_PROXY leads it
here and REQUESTS_CA_BUNDLE makes it trust what it finds, so nothing in the code under test knows
of the fake.
"""

from __future__ import annotations

import json
import select
import socket
import ssl
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import trustme

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "token-of-the-managed-identity"
IDENTITY_SECRET = "secret-of-the-identity-endpoint"
CLIENT_ID = "11111111-2222-3333-4444-555555555555"


@dataclass
class Vault:
    """What the fake serves and what it saw. `refusals` maps a secret to (status, inner code)."""

    name: str = "contoso"
    secrets: dict[str, str] = field(default_factory=dict)
    refusals: dict[str, tuple[int, str]] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    connects: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return f"{self.name}.vault.azure.net"


@contextmanager
def serve(folder: Path) -> Iterator[Vault]:
    """Run the fake; `variables` of what is yielded lead a process to it."""
    vault = Vault()
    authority = trustme.CA()
    bundle = folder / "authority.pem"
    authority.cert_pem.write_to_path(bundle)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("*.vault.azure.net").configure_cert(context)
    secrets = ThreadingHTTPServer(("127.0.0.1", 0), _handler(_Secrets, vault))
    secrets.socket = context.wrap_socket(secrets.socket, server_side=True)
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), _handler(_Proxy, vault, secrets.server_port))
    identity = ThreadingHTTPServer(("127.0.0.1", 0), _handler(_Identity, vault))
    servers = (secrets, proxy, identity)
    for server in servers:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    vault.variables = {
        "HTTPS_PROXY": f"http://127.0.0.1:{proxy.server_port}",
        "REQUESTS_CA_BUNDLE": str(bundle),
        "MSI_ENDPOINT": f"http://127.0.0.1:{identity.server_port}/MSI/token",
        "MSI_SECRET": IDENTITY_SECRET,
        "DEFAULT_IDENTITY_CLIENT_ID": CLIENT_ID,
    }
    try:
        yield vault
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def _handler(base: type[BaseHTTPRequestHandler], vault: Vault, port: int = 0) -> type[Any]:
    return type(base.__name__, (base,), {"vault": vault, "port": port})


class _Quiet(BaseHTTPRequestHandler):
    vault: Vault
    port: int
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments: object) -> None:
        """Say nothing: pytest reads standard error."""

    def answer(self, status: int, body: object, **headers: str) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class _Secrets(_Quiet):
    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        sent = self.headers.get("Authorization", "")
        self.vault.requests.append((path, sent))
        if not sent:
            challenge = (
                'Bearer authorization="https://login.microsoftonline.com/tenant", '
                'resource="https://vault.azure.net"'
            )
            self.answer(401, {"error": {"code": "Unauthorized"}}, WWW_Authenticate=challenge)
            return
        assert sent == f"Bearer {TOKEN}"
        name = path.split("/")[2]
        if name in self.vault.refusals:
            status, code = self.vault.refusals[name]
            error = {"code": "Forbidden", "message": "Caller is not authorized.",
                     "innererror": {"code": code}}  # fmt: skip
            self.answer(status, {"error": error})
        elif name not in self.vault.secrets:
            error = {"code": "SecretNotFound", "message": f"A secret {name} was not found."}
            self.answer(404, {"error": error})
        else:
            url = f"https://{self.vault.host}{path}"
            self.answer(200, {"value": self.vault.secrets[name], "id": url, "attributes": {}})


class _Identity(_Quiet):
    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        if self.headers.get("secret") != IDENTITY_SECRET or asked["clientid"] != [CLIENT_ID]:
            self.answer(400, {"error": "invalid_request", "error_description": "no such identity"})
            return
        assert asked["resource"] == ["https://vault.azure.net"]
        expires = str(int(time.time()) + 3600)
        self.answer(200, {"access_token": TOKEN, "expires_on": expires, "token_type": "Bearer"})


class _Proxy(_Quiet):
    def do_CONNECT(self) -> None:
        host, _, _ = self.path.partition(":")
        self.vault.connects.append(host)
        if host != self.vault.host:
            self.send_error(502, "no such host")
            return
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        with socket.create_connection(("127.0.0.1", self.port)) as target, suppress(OSError):
            _pump(self.connection, target)


def _pump(one: socket.socket, other: socket.socket) -> None:
    peers = {one: other, other: one}
    while True:
        for ready in select.select(list(peers), [], [])[0]:
            if not (data := ready.recv(1 << 16)):
                return
            peers[ready].sendall(data)
