"""When to ask GitHub again, and how long to wait before.

Source: https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api and
"Best practices for using the REST API": honour `retry-after`; else, with no request left,
`x-ratelimit-reset`; else at least a minute, growing exponentially.
"""

import httpx

#: A POST may have done its work before the answer was lost, so only these are sent twice.
IDEMPOTENT = frozenset({"GET", "PUT", "PATCH", "DELETE"})
TRIES = 5
_SECONDARY_SECONDS = 60.0
_SERVER_SECONDS = 1.0


def wait_seconds(
    response: httpx.Response, attempt: int, *, now: float, repeatable: bool
) -> float | None:
    """How long to wait before sending the request again, or None when it is final.

    Args:
        response: GitHub's answer.
        attempt: how often the request was sent before, from 0.
        now: seconds since the epoch.
        repeatable: whether sending it twice does no more than sending it once.
    """
    if response.status_code in {403, 429}:
        return _limited(response, attempt, now)
    return _SERVER_SECONDS * 2.0**attempt if response.is_server_error and repeatable else None


def dropped_seconds(error: httpx.TransportError, attempt: int, *, repeatable: bool) -> float | None:
    """The same for a connection that failed: a creation only when it certainly was not sent."""
    unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    return _SERVER_SECONDS * 2.0**attempt if unsent or repeatable else None


def _limited(response: httpx.Response, attempt: int, now: float) -> float | None:
    headers: httpx.Headers = response.headers
    if after := _number(headers.get("retry-after")):
        return after
    if headers.get("x-ratelimit-remaining") == "0":
        reset = _number(headers.get("x-ratelimit-reset"))
        return max(reset - now, 0.0) + 1 if reset else _SECONDARY_SECONDS * 2.0**attempt
    if response.status_code == httpx.codes.TOO_MANY_REQUESTS or "rate limit" in response.text:
        return _SECONDARY_SECONDS * 2.0**attempt
    return None  # A plain 403 is a missing permission, and waiting does not grant it.


def _number(text: str | None) -> float | None:
    return float(text) if text and text.isdigit() else None
