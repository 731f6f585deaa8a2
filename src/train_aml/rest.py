"""MLflow's REST interface, for what must not wait for MLflow or pay for it at every point.

MLflow takes two seconds to import, and turning a metric point into its request costs its client
seven times as much as plain JSON (`benchmarks/tracking.py --points`), on a thread that shares
its interpreter with the training. Paths and fields are those of MLflow's published REST API 2.0.
"""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any, Self

from train_aml.environment import MLFLOW_SETTINGS
from train_aml.problems import StoreProblem, StoreRefusal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    import requests
    from train_aml.locations import Server
    from train_aml.spool import Point

INTERFACE = "api/2.0/mlflow"
#: What MLflow's own client asks again for.
RETRIED_STATUS = (408, 429, 500, 502, 503, 504)
NOT_FOUND = 404
#: What MLflow, or a proxy that takes no large requests, says of one that is wrong in itself.
REFUSALS = ("INVALID_PARAMETER_VALUE", "BAD_REQUEST", "MALFORMED_REQUEST", "413")


class Unclear(StoreProblem):
    """An answer that is not of MLflow's interface, as from a proxy before it."""


class ServerSays(StoreProblem):
    """The server's own error; `code` is MLflow's name for it."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Rest:
    """A connection to a tracking server; close it, or use it in a `with` block.

    Its methods raise `StoreProblem`: `ServerSays` or `StoreRefusal` where the server answers with
    an error, and `Unclear` where something else answers.
    """

    def __init__(self, server: Server) -> None:
        # The library that MLflow speaks through, so that proxies and authorities are as there.
        import requests  # noqa: PLC0415 - off the critical path

        self._address = server.address.rstrip("/")
        self._session = requests.Session()
        self._problems = requests.RequestException
        if server.username:
            self._session.auth = (server.username, server.password)
        settings = MLFLOW_SETTINGS | os.environ
        self._timeout_seconds = float(settings["MLFLOW_HTTP_REQUEST_TIMEOUT"])
        _retry(self._session, int(settings["MLFLOW_HTTP_REQUEST_MAX_RETRIES"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session.close()

    def version(self) -> requests.Response:
        """The answer that has the server's version as its text."""
        return self._request("GET", f"{self._address}/version")

    def get(self, path: str, **fields: str) -> dict[str, Any]:
        return self._understand(path, self._request("GET", self._at(path), params=fields))

    def post(self, path: str, **fields: object) -> dict[str, Any]:
        """Call `path`, which must be one that may be called twice: it is repeated if in doubt."""
        return self._understand(path, self._request("POST", self._at(path), json=fields))

    def log_points(self, run_id: str, points: Sequence[Point]) -> None:
        """Write at most 1,000 metric points; one that is sent twice is stored once."""
        metrics = [
            {"key": name, "value": _number(value), "step": step, "timestamp": milliseconds}
            for name, value, step, milliseconds in points
        ]
        self.post("runs/log-batch", run_id=run_id, metrics=metrics)

    def _at(self, path: str) -> str:
        return f"{self._address}/{INTERFACE}/{path}"

    def _request(self, method: str, url: str, **content: Any) -> requests.Response:
        try:
            return self._session.request(method, url, timeout=self._timeout_seconds, **content)
        # A missing file of authorities is an OSError, a broken address a ValueError.
        except (self._problems, OSError, ValueError) as error:
            raise StoreProblem(
                f"tracking server {self._address}: {type(error).__name__}: {error}. Check "
                "TRAINGATE_TRACKING_URI and that the server is reachable from the job."
            ) from error

    def _understand(self, path: str, answer: requests.Response) -> dict[str, Any]:
        where = f"tracking server {self._address}, {path}"
        try:
            body = json.loads(answer.text)
        except (ValueError, RecursionError):
            body = None
        if answer.ok and isinstance(body, dict):
            return body
        if isinstance(body, dict) and "error_code" in body:
            code, said = str(body["error_code"]), str(body.get("message")).partition("\n")[0]
        elif answer.ok or answer.status_code == NOT_FOUND:
            raise Unclear(
                f"{where}: {answer.status_code}, but no answer of MLflow's. Check that "
                "TRAINGATE_TRACKING_URI is the tracking server's address and no page before it."
            )
        else:
            code, said = str(answer.status_code), answer.reason
        text = (
            f"{where}: {said} [{code}]. Check TRAINGATE_TRACKING_URI, that the server is reachable "
            "from the job, and its rights."
        )
        raise StoreRefusal(text) if code in REFUSALS else ServerSays(code, text)


def _number(value: float) -> float | str:
    # JSON has no such numbers; protobuf's mapping to it, which MLflow reads, writes them so.
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _retry(session: requests.Session, times: int) -> None:
    from requests.adapters import HTTPAdapter  # noqa: PLC0415 - as above
    from urllib3.util import Retry  # noqa: PLC0415 - as above

    retries = Retry(
        total=times,
        backoff_factor=1,
        status_forcelist=RETRIED_STATUS,
        allowed_methods=None,
        raise_on_status=False,
        # A server may ask for an hour.
        respect_retry_after_header=False,
    )
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=retries))
