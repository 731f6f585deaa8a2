"""What would be sent, by the same code that sends it: reads go out, writes are kept."""

import io
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from azure.core.pipeline.transport import RequestsTransport
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

import requests

_READS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Write:
    """A request that was not sent: its address without the host, and its JSON body."""

    method: str
    path: str
    body: Any

    def __str__(self) -> str:
        return f"{self.method} {self.path}\n{json.dumps(self.body, indent=2)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class WhatIf:
    """What a submission would do now. `writes` is empty when the run exists already."""

    run_name: str
    is_new: bool
    writes: tuple[Write, ...]
    uploads: tuple[str, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        if not self.is_new:
            return f"{self.run_name} is already submitted; nothing would be sent."
        parts = [*(f"upload {path}" for path in self.uploads), *map(str, self.writes)]
        return "\n".join([*parts, *(f"note: {note}" for note in self.notes)])


@dataclass
class KeptWrites(HTTPAdapter):
    """An adapter of requests that answers each write itself, as the service would, and keeps it."""

    writes: list[Write] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # type: ignore[override]
        """Let a read through; keep anything else."""
        if request.method in _READS:
            return super().send(request, **options)
        address = urlsplit(request.url or "")
        body = json.loads(request.body) if isinstance(request.body, str | bytes) else None
        path = f"{address.path}?{address.query}"
        self.writes.append(Write(method=request.method or "", path=path, body=body))
        answer = {"id": address.path, "name": address.path.rsplit("/", 1)[-1]}
        if isinstance(body, dict):
            answer |= body
        raw = HTTPResponse(
            body=io.BytesIO(json.dumps(answer).encode()),
            headers={"Content-Type": "application/json"},
            status=201,
            preload_content=False,
        )
        return self.build_response(request, raw)


def transport(kept: KeptWrites) -> RequestsTransport:
    """A transport for `Workspace.client` that writes nothing."""
    session = requests.Session()
    session.mount("https://", kept)
    session.mount("http://", kept)
    return RequestsTransport(session=session, session_owner=False)
