"""A server that answers as it is told, by path."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Answers:
    """Status and body by path, for all others `otherwise`, and what was asked."""

    address: str = ""
    by_path: dict[str, tuple[int, str]] = field(default_factory=dict)
    otherwise: tuple[int, str] = (200, "{}")
    asked: list[str] = field(default_factory=list)


def serve_answers() -> Iterator[Answers]:
    answers = Answers()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = urlsplit(self.path).path
            answers.asked.append(path)
            status, body = answers.by_path.get(path, answers.otherwise)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing: pytest reads standard error."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    answers.address = f"http://127.0.0.1:{listening.server_port}"
    threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True).start()
    yield answers
    listening.shutdown()
    listening.server_close()
