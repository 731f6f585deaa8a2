"""A job's REST body turned back into a job file, without the SDK.

Written from `commandJob` of the REST reference and the job file's YAML reference, so that a
key which azure-ai-ml drops or bends on the way does not come back.
"""

import re
from typing import Any

from azureml_fake.server import Fake

_MODES = {
    "ReadOnlyMount": "ro_mount",
    "ReadWriteMount": "rw_mount",
    "Download": "download",
    "Upload": "upload",
    "Direct": "direct",
    "EvalMount": "eval_mount",
    "EvalDownload": "eval_download",
}
_DISTRIBUTIONS = {
    "distributionType": "type",
    "processCountPerInstance": "process_count_per_instance",
    "workerCount": "worker_count",
    "parameterServerCount": "parameter_server_count",
    "port": "port",
    "address": "address",
    "includeDashboard": "include_dashboard",
    "dashboardPort": "dashboard_port",
    "headNodeAdditionalArgs": "head_node_additional_args",
    "workerNodeAdditionalArgs": "worker_node_additional_args",
}
_RESOURCES = {
    "instanceCount": "instance_count",
    "instanceType": "instance_type",
    "shmSize": "shm_size",
    "locations": "locations",
    "maxInstanceCount": "max_instance_count",
    "dockerArgs": "docker_args",
    "properties": "properties",
}
_IDENTITIES = {"Managed": "managed", "UserIdentity": "user_identity", "AMLToken": "aml_token"}
_SERVICES = {
    "TensorBoard": "tensor_board",
    "SSH": "ssh",
    "JupyterLab": "jupyter_lab",
    "VSCode": "vs_code",
}
_PRIORITIES = {1: "low", 2: "medium", 3: "high"}
_PLAIN = {
    "command": "command",
    "displayName": "display_name",
    "experimentName": "experiment_name",
    "description": "description",
    "tags": "tags",
    "properties": "properties",
    "environmentVariables": "environment_variables",
}


def job_file(body: dict[str, Any], fake: Fake) -> dict[str, Any]:
    """The job file that `body` says; an inline environment is looked up in `fake`."""
    rest = dict(body["properties"])
    assert rest.pop("jobType") == "Command"
    assert rest.pop("isArchived") is False
    read: dict[str, Any] = {yaml: rest.pop(key) for key, yaml in _PLAIN.items() if key in rest}
    readers = {
        "codeId": ("code", _asset),
        "computeId": ("compute", _last),
        "limits": ("limits", _limits),
        "environmentId": ("environment", lambda value: _environment(value, fake)),
        "distribution": ("distribution", _distribution),
        "resources": ("resources", _resources),
        "identity": ("identity", _identity),
        "queueSettings": ("queue_settings", _queue),
        "inputs": ("inputs", lambda value: {k: _input(v) for k, v in value.items()}),
        "outputs": ("outputs", lambda value: {k: _output(v) for k, v in value.items()}),
        "services": ("services", lambda value: {k: _service(v) for k, v in value.items()}),
    }
    for key, (yaml, reader) in readers.items():
        if rest.get(key) not in (None, {}):
            read[yaml] = reader(rest.pop(key))
        else:
            rest.pop(key, None)
    assert not rest, f"keys nobody asked for: {rest}"
    return read


def _renamed(value: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names[key]: one for key, one in value.items()}


def _last(arm_id: str) -> str:
    return arm_id.rpartition("/")[2]


def _asset(arm_id: str) -> str:
    match = re.fullmatch(r"/.*/workspaces/ws1/\w+/(.+)/versions/(.+)", arm_id)
    return f"azureml:{match[1]}:{match[2]}" if match else arm_id


def _environment(arm_id: str, fake: Fake) -> Any:
    if "CliV2AnonymousEnvironment" not in arm_id:
        return _asset(arm_id)
    kept = fake.state.environments[arm_id.partition("/environments/")[2].replace("/versions", "")]
    properties = dict(kept["properties"])
    assert properties.pop("isAnonymous") is True
    assert properties.pop("isArchived") is False
    return properties


def _limits(value: dict[str, Any]) -> dict[str, Any]:
    assert value.pop("jobLimitsType") == "Command"
    match = re.fullmatch(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?", value.pop("timeout"))
    assert match is not None
    assert not value
    units = (86400, 3600, 60, 1)
    parts = zip(match.groups(), units, strict=True)
    return {"timeout": sum(int(number or 0) * unit for number, unit in parts)}


def _distribution(value: dict[str, Any]) -> dict[str, Any]:
    read = _renamed(value, _DISTRIBUTIONS)
    return read | {"type": read["type"].lower()}


def _resources(value: dict[str, Any]) -> dict[str, Any]:
    read = _renamed(value, _RESOURCES)
    if read.get("properties") == {}:
        del read["properties"]
    return read


def _identity(value: dict[str, Any]) -> dict[str, Any]:
    read = {"type": _IDENTITIES[value.pop("identityType")]}
    return read | _renamed(value, {"clientId": "client_id"})


def _queue(value: dict[str, Any]) -> dict[str, Any]:
    read = {"job_tier": value.pop("jobTier").lower()}
    if "priority" in value:
        read["priority"] = _PRIORITIES[value.pop("priority")]
    assert not value
    return read


def _input(value: dict[str, Any]) -> Any:
    kind = value.pop("jobInputType")
    if kind == "literal":
        return value.pop("value")
    read = {"type": kind, "path": _asset(value.pop("uri"))}
    if "mode" in value:
        read["mode"] = _MODES[value.pop("mode")]
    assert not value
    return read


def _output(value: dict[str, Any]) -> dict[str, Any]:
    read = {"type": value.pop("jobOutputType")}
    if "mode" in value:
        read["mode"] = _MODES[value.pop("mode")]
    return read | _renamed(value, {"uri": "path", "assetName": "name", "assetVersion": "version"})


def _service(value: dict[str, Any]) -> dict[str, Any]:
    read = {"type": _SERVICES[value.pop("jobServiceType")]}
    names = {"logDir": "log_dir", "sshPublicKeys": "ssh_public_keys"}
    read |= _renamed(value.pop("properties", {}), names)
    if value.pop("nodes", None) == {"nodesValueType": "All"}:
        read["nodes"] = "all"
    return read | _renamed(value, {"port": "port"})
