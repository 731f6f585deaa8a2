"""Azure Resource Manager's and Azure ML's control plane."""

from typing import Any

from azureml_fake.state import SIZES, Answer, Route, Seen, State, refused

_CREATE_ONLY = (
    "codeId", "command", "computeId", "displayName", "distribution", "environmentId",
    "environmentVariables", "experimentName", "identity", "inputs", "limits", "outputs",
    "queueSettings", "resources",
)  # fmt: skip


def workspace(state: State, match: Any, seen: Seen) -> Answer:
    about = {
        "discoveryUrl": f"{state.public}/discovery",
        "storageAccount": "/x",
        "workspaceId": "0",
    }
    return Answer(
        body={"id": seen.path, "name": "ws1", "location": "westeurope", "properties": about}
    )


def job_get(state: State, match: Any, seen: Seen) -> Answer:
    name = match["name"]
    job = state.jobs.get(name)
    if job is None:
        return refused(404, "UserError", f"Run/Job {name} not found")
    coming = state.states.get(name)
    if coming:
        job["properties"]["status"] = coming.pop(0) if len(coming) > 1 else coming[0]
    return Answer(body=job)


def job_put(state: State, match: Any, seen: Seen) -> Answer:
    name, wanted = match["name"], seen.json["properties"]
    found = state.jobs.get(name)
    if found is not None:
        return _job_again(found, wanted)
    services = {
        "Studio": {
            "jobServiceType": "Studio",
            "endpoint": f"https://ml.azure.com/runs/{name}?wsid={match['arm']}",
        }
    }
    job = {
        "id": f"{match['arm']}/jobs/{name}",
        "name": name,
        "type": "Microsoft.MachineLearningServices/workspaces/jobs",
        "properties": wanted | {"status": "Starting", "services": services},
    }
    state.jobs[name] = job
    return Answer(status=201, body=job)


def _job_again(found: dict[str, Any], wanted: dict[str, Any]) -> Answer:
    for key in _CREATE_ONLY:
        if found["properties"].get(key) != wanted.get(key):
            return refused(
                400,
                "UserError",
                "A job with this name already exists. If you are trying to create a new job, use "
                f"a different name. The existing job's {key} cannot be changed.",
                inner="JobPropertyImmutable",
            )
    found["properties"]["tags"] = wanted.get("tags")
    return Answer(body=found)


def job_list(state: State, match: Any, seen: Seen) -> Answer:
    """Two a page, filtered by `properties=key=value`, archived ones only when asked for."""
    key, _, value = seen.query.get("properties", "").partition("=")
    every = seen.query.get("listViewType") == "All"
    fitting = [
        job
        for job in state.jobs.values()
        if (not key or job["properties"].get("properties", {}).get(key) == value)
        and (every or not job["properties"].get("isArchived"))
    ]
    start = int(seen.query.get("$skip", "0"))
    rest = "&".join(f"{name}={text}" for name, text in seen.query.items() if name != "$skip")
    more = f"{state.public}{seen.path}?{rest}&$skip={start + 2}"
    page: dict[str, Any] = {"value": fitting[start : start + 2]}
    return Answer(body=page | ({"nextLink": more} if start + 2 < len(fitting) else {}))


def job_cancel(state: State, match: Any, seen: Seen) -> Answer:
    state.jobs[match["name"]]["properties"]["status"] = "CancelRequested"
    return Answer(status=202, headers={"Location": f"{state.public}/operations/done"})


def code_list(state: State, match: Any, seen: Seen) -> Answer:
    """By content, whatever the name: what a content-addressed lookup is for."""
    return Answer(
        body={
            "value": [
                code
                for code in state.codes.values()
                if code["properties"].get("properties", {}).get("hash_sha256")
                == seen.query.get("hash")
            ]
        }
    )


def code_upload(state: State, match: Any, seen: Seen) -> Answer:
    own = (f"{state.public}/blob/acct1/{match['name']}", "sv=2021-08-06&sr=c&sp=rcwl&sig=planted")
    container, signature = state.code_container or own
    return Answer(
        body={
            "pendingUploadId": "1",
            "pendingUploadType": "TemporaryBlobReference",
            "blobReferenceForConsumption": {
                "blobUri": container,
                "storageAccountArmId": "/subscriptions/x",
                "credential": {
                    "credentialType": "SAS",
                    "sasUri": f"{container}?{signature}",
                },
            },
        }
    )


def version_get(state: State, match: Any, seen: Seen) -> Answer:
    found = _kept(state, match).get(f"{match['name']}/{match['version']}")
    return Answer(body=found) if found else refused(404, "UserError", "Not found")


def version_put(state: State, match: Any, seen: Seen) -> Answer:
    made = {"id": seen.path, "name": match["version"], "properties": seen.json["properties"]}
    _kept(state, match)[f"{match['name']}/{match['version']}"] = made
    return Answer(status=201, body=made)


def _kept(state: State, match: Any) -> dict[str, dict[str, Any]]:
    return state.codes if match["kind"] == "codes" else state.environments


def compute(state: State, match: Any, seen: Seen) -> Answer:
    found = state.computes.get(match["name"])
    if found is None:
        return refused(404, "ResourceNotFound", f"Compute {match['name']} not found")
    about = {"id": seen.path, "name": match["name"], "location": "westeurope"}
    return Answer(body=about | {"properties": found})


def datastore(state: State, match: Any, seen: Seen) -> Answer:
    container = {"workspaceblobstore": "data1", "workspaceartifactstore": "azureml"}[match["name"]]
    about = {
        "datastoreType": "AzureBlob", "accountName": "acct1", "containerName": container,
        "endpoint": "core.windows.net", "protocol": "https", "isDefault": False,
        "credentials": {"credentialsType": "None"},
    }  # fmt: skip
    return Answer(body={"id": seen.path, "name": match["name"], "properties": about})


def sizes(state: State, match: Any, seen: Seen) -> Answer:
    return Answer(body={"value": SIZES})


def usages(state: State, match: Any, seen: Seen) -> Answer:
    return Answer(body={"value": state.usages})


def done(state: State, match: Any, seen: Seen) -> Answer:
    return Answer()


_SUBSCRIPTION = r"/subscriptions/[^/]+"
_PROVIDER = r"/providers/Microsoft\.MachineLearningServices"
_WORKSPACE = rf"(?P<arm>{_SUBSCRIPTION}/resourceGroups/rg1{_PROVIDER}/workspaces/ws1)"
_VERSION = rf"{_WORKSPACE}/(?P<kind>codes|environments)/(?P<name>[^/]+)/versions/(?P<version>[^/]+)"
_LOCATION = rf"{_SUBSCRIPTION}{_PROVIDER}/locations/westeurope"

ROUTES: tuple[Route, ...] = (
    ("GET", rf"{_WORKSPACE}", workspace),
    ("GET", rf"{_WORKSPACE}/jobs", job_list),
    ("GET", rf"{_WORKSPACE}/jobs/(?P<name>[^/]+)", job_get),
    ("PUT", rf"{_WORKSPACE}/jobs/(?P<name>[^/]+)", job_put),
    ("POST", rf"{_WORKSPACE}/jobs/(?P<name>[^/]+)/cancel", job_cancel),
    ("GET", rf"{_WORKSPACE}/codes/(?P<name>[^/]+)/versions", code_list),
    ("POST", rf"{_WORKSPACE}/codes/(?P<name>[^/]+)/versions/1/startPendingUpload", code_upload),
    ("GET", _VERSION, version_get),
    ("PUT", _VERSION, version_put),
    ("GET", rf"{_WORKSPACE}/computes/(?P<name>[^/]+)", compute),
    ("GET", rf"{_WORKSPACE}/datastores/(?P<name>[^/]+)", datastore),
    ("GET", rf"{_LOCATION}/vmSizes", sizes),
    ("GET", rf"{_LOCATION}/usages", usages),
    ("GET", r"/operations/done", done),
)  # fmt: skip
