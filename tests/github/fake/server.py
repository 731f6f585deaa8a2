"""The fake itself: one function from a request to an answer, over HTTP or straight into httpx."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import httpx

from github.fake import contract, graph
from github.fake.clock import VirtualClock
from github.fake.limits import Limits
from github.fake.rest import ROUTES, Request
from github.fake.state import Repository

#: Called before a request is answered; may answer instead of the fake.
Interference = Callable[[str, str], tuple[int, dict[str, str], Any] | None]


@dataclass
class FakeGitHub:
    """One repository behind GitHub's two APIs.

    `page_size` caps every page; `log` holds every request as `METHOD path`; a broken contract
    is kept in `violations` too, so that it fails a test whose client only saw a 500.
    """

    repository: Repository = field(default_factory=Repository)
    clock: VirtualClock = field(default_factory=VirtualClock)
    page_size: int = 100
    interference: Interference | None = None
    log: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    base_url: str = "https://api.github.test"
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.limits = Limits(self.clock)

    def handle(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the answer."""
        with self._lock:
            try:
                status, more, answer = self._answer(method, url, headers, body)
            except contract.Violation as violation:
                self.violations.append(str(violation))
                status, more, answer = 500, {}, {"message": str(violation)}
        data = b"" if answer is None else json.dumps(answer).encode()
        sent = {"content-type": "application/json", **self.limits.headers(), **more}
        return status, sent, data

    def transport(self) -> httpx.MockTransport:
        """Answers an httpx client without a socket."""

        def answer(request: httpx.Request) -> httpx.Response:
            status, headers, data = self.handle(
                request.method, str(request.url), request.headers, request.content
            )
            return httpx.Response(status, headers=headers, content=data)

        return httpx.MockTransport(answer)

    def _answer(
        self, method: str, url: str, headers: Mapping[str, str], data: bytes
    ) -> tuple[int, dict[str, str], Any]:
        split = urlsplit(url)
        path, body = split.path, json.loads(data) if data else None
        self.log.append(f"{method} {path}")
        if not headers.get("authorization", "").startswith("Bearer "):
            return 401, {}, {"message": "Bad credentials"}
        if self.interference and (taken := self.interference(method, path)):
            return taken
        is_graphql = path == "/graphql"
        refusal = self.limits.refusal(is_write=method != "GET" and not is_graphql)
        if refusal:
            status, more, message = refusal
            return status, more, {"message": message}
        if is_graphql:
            return 200, {}, graph.execute(self.repository, body, self.page_size)
        return self._rest(method, path, dict(parse_qsl(split.query)), body)

    def _rest(
        self, method: str, path: str, query: dict[str, str], body: Any
    ) -> tuple[int, dict[str, str], Any]:
        template, raw = contract.operation(method, path)
        contract.hold_request(method, template, query, body)
        handler = ROUTES.get((method, template))
        if handler is None:
            raise contract.Violation(f"the fake does not know {method} {template}")
        parameters = {key: unquote(value) for key, value in raw.items()}
        request = Request(self.repository, parameters, query, body, self.clock.now())
        status, answer = handler(request)
        if status < 0:  # An answer GitHub gives but does not describe for this call.
            return -status, {}, answer
        answer = contract.answer(method, template, status, answer)
        if isinstance(answer, list) and "per_page" in query:
            return self._paged(path, query, answer)
        return status, {}, answer

    def _paged(
        self, path: str, query: dict[str, str], items: list[Any]
    ) -> tuple[int, dict[str, str], Any]:
        size = min(int(query["per_page"]), self.page_size)
        number = int(query.get("page", "1"))
        headers = {}
        if number * size < len(items):
            following = urlencode(query | {"page": str(number + 1)})
            headers["link"] = f'<{self.base_url}{path}?{following}>; rel="next"'
        return 200, headers, items[(number - 1) * size : number * size]


@contextmanager
def serving(fake: FakeGitHub, extra: Callable[[str], Any] | None = None) -> Iterator[str]:
    """The fake on an ephemeral loopback port; `extra` may answer GET paths of other services."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            data = self.rfile.read(length)
            other = extra(self.path) if extra and self.command == "GET" else None
            if other is not None:
                status, headers, answer = 200, {}, json.dumps(other).encode()
            else:
                status, headers, answer = fake.handle(
                    self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, data
                )
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PATCH = do_DELETE = _any  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            """The fake keeps its own log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    fake.base_url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield fake.base_url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
