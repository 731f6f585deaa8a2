"""How the doctor speaks HTTP: briefly, and with hosts that files under review may have named."""

import json
import time

import httpx

_CONNECT_SECONDS = 5.0
_READ_SECONDS = 10.0
#: More than any token or error that a registry sends.
_LONGEST_BODY_BYTES = 64 * 1024


def client() -> httpx.Client:
    """A client that waits little and follows no redirect.

    A job file may name any host. One that accepts and never answers must not hold the doctor, and
    one that redirects must not choose where a request goes next.
    """
    timeout = httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS)
    return httpx.Client(timeout=timeout, follow_redirects=False)


def short_json(client: httpx.Client, request: httpx.Request) -> dict[str, object]:
    """The JSON object that `request` is answered with; empty for an error or for anything else.

    Reads a bounded number of bytes in a bounded time: the read timeout alone would let a host
    send a byte every few seconds for ever.

    Raises:
        httpx.HTTPError: the host does not answer.
    """
    request.headers["Accept-Encoding"] = "identity"  # Else few bytes may become very many.
    answer = client.send(request, stream=True)
    try:
        return _object(_bounded(answer)) if answer.is_success else {}
    finally:
        answer.close()


def _bounded(answer: httpx.Response) -> bytes:
    body, end = b"", time.monotonic() + _READ_SECONDS
    for part in answer.iter_raw():
        body += part
        if len(body) > _LONGEST_BODY_BYTES or time.monotonic() > end:
            return b""
    return body


def _object(body: bytes) -> dict[str, object]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):  # The second for brackets in brackets in brackets.
        return {}
    return value if isinstance(value, dict) else {}
