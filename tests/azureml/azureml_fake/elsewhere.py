"""What is not Resource Manager: blobs, run history, Entra's tokens and GitHub's."""

import time
from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from azureml_fake.state import Answer, Route, Seen, State, jwt, refused
from traingate.backends.azureml.github_token import claims_of

_BLOB_HEADERS = {
    "x-ms-version": "2021-08-06",
    "ETag": '"0x1"',
    "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT",
}


def blob_put(state: State, match: Any, seen: Seen) -> Answer:
    name = match["blob"]
    if seen.query.get("comp") == "metadata":
        state.metadata[name] = {
            key[10:]: value for key, value in seen.headers.items() if key.startswith("x-ms-meta-")
        }
        return Answer(headers=_BLOB_HEADERS)
    if seen.headers.get("if-none-match") == "*" and name in state.blobs:
        return _no_blob(409, "BlobAlreadyExists")
    state.blobs[name] = seen.body
    return Answer(status=201, headers=_BLOB_HEADERS)


def blob_get(state: State, match: Any, seen: Seen) -> Answer:
    name = match["blob"]
    if seen.query.get("comp") == "list":
        return _listing(state, name, seen.query.get("prefix", ""))
    data = state.blobs.get(name)
    if data is None:
        return _no_blob(404, "BlobNotFound")
    meta = {f"x-ms-meta-{key}": value for key, value in state.metadata.get(name, {}).items()}
    headers = _BLOB_HEADERS | meta | {"x-ms-blob-type": "BlockBlob"}
    wanted = seen.headers.get("x-ms-range", "").removeprefix("bytes=")
    if not wanted or not data:
        return Answer(raw=data, headers=headers)
    start, _, end = wanted.partition("-")
    part = data[int(start) : int(end) + 1]
    span = f"bytes {start}-{int(start) + len(part) - 1}/{len(data)}"
    return Answer(status=206, raw=part, headers=headers | {"Content-Range": span})


def _listing(state: State, container: str, prefix: str) -> Answer:
    found = (
        name.removeprefix(f"{container}/")
        for name in state.blobs
        if name.startswith(f"{container}/")
    )
    blobs = "".join(
        f"<Blob><Name>{escape(name)}</Name><Properties/></Blob>"
        for name in found
        if name.startswith(prefix)
    )
    text = (
        "<?xml version='1.0' encoding='utf-8'?>"
        f"<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker/></EnumerationResults>"
    )
    return Answer(raw=text.encode(), headers=_BLOB_HEADERS | {"Content-Type": "application/xml"})


def _no_blob(status: int, code: str) -> Answer:
    return Answer(status=status, headers=_BLOB_HEADERS | {"x-ms-error-code": code})


def discovery(state: State, match: Any, seen: Seen) -> Answer:
    return Answer(body={"api": f"{state.public}/", "history": f"{state.public}/history"})


def details(state: State, match: Any, seen: Seen) -> Answer:
    name = match["name"]
    about: dict[str, Any] = {
        "runId": name,
        "status": state.jobs[name]["properties"]["status"],
        "startTimeUtc": "2026-11-30T10:00:00.000Z",
        "endTimeUtc": "2026-11-30T10:30:00.000Z",
        "logFiles": {},
    }
    if name in state.errors:
        about["error"] = {"error": state.errors[name]}
    return Answer(body=about)


def entra(state: State, match: Any, seen: Seen) -> Answer:
    """Federation: the assertion's subject must be the credential's, and it must be fresh."""
    form = {key: values[0] for key, values in parse_qs(seen.body.decode()).items()}
    claims = claims_of(form["client_assertion"])
    assert claims is not None
    if state.token_age_seconds > 300:
        return _no_token(700024, "Client assertion is not within its valid time range.")
    if claims.subject != state.federated_subject:
        same = claims.subject.lower() == state.federated_subject.lower()
        return _no_token(7002138 if same else 700213, f"No match for subject {claims.subject!r}.")
    token = jwt({"tid": match["tenant"], "aud": form["scope"], "exp": time.time() + 3600})
    return Answer(body={"token_type": "Bearer", "expires_in": 3600, "access_token": token})


def _no_token(code: int, text: str) -> Answer:
    body = {
        "error": "invalid_client",
        "error_description": f"AADSTS{code}: {text}",
        "error_codes": [code],
    }
    return Answer(status=401, body=body)


def github(state: State, match: Any, seen: Seen) -> Answer:
    if seen.headers.get("authorization") != "bearer planted-request-token":
        return refused(401, "Unauthorized", "no")
    if seen.query != {"api-version": "2.0", "audience": "api://AzureADTokenExchange"}:
        return refused(400, "BadRequest", f"query {seen.query}")
    return Answer(body={"value": state.github_token()})


ROUTES: tuple[Route, ...] = (
    ("GET", r"/discovery", discovery),
    ("GET", r"/history/v1\.0/.*/workspaces/ws1/runs/(?P<name>[^/]+)/details", details),
    ("POST", r"/(?P<tenant>[^/]+)/oauth2/v2\.0/token", entra),
    ("GET", r"/github/token", github),
    ("PUT", r"/blob/acct1/(?P<blob>.+)", blob_put),
    ("GET", r"/blob/acct1/(?P<blob>.+)", blob_get),
    ("HEAD", r"/blob/acct1/(?P<blob>.+)", blob_get),
)
