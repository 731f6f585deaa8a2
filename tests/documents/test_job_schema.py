"""schemas/job.schema.json against the shape of the SDK's own classes (tests/data)."""

import json
from pathlib import Path
from typing import Any

import pytest

from traingate.documents.reading import read_job
from traingate.documents.schema import schema_of
from traingate.documents.slots import slot

SHAPE = json.loads(
    (Path(__file__).parents[1] / "data" / "command_job_shape.json").read_text(encoding="utf-8")
)["shape"]

# Where the two differ on purpose, and why.
REFUSED_HERE = {
    # The SDK takes the key and then crashes on it (TypeError in ManagedIdentityConfiguration).
    ("identity", "msi_resource_id"),
    # A mapping with the one key `value` is any mapping's shape; variables have free names here.
    ("environment_variables", "value"),
}
ONLY_HERE = {
    "$schema",
    "id",
    "creation_context",
    "status",
    "log_files",
    "parameters",
    "latest_version",
    "intellectual_property",
    "endpoint",
    "error_message",
}


def ours(path: str) -> dict[str, Any]:
    steps = tuple("free" if step == "*" else step for step in path.split(".") if step)
    found = slot(schema_of("job"), steps)
    assert found is not None, path
    return found


@pytest.mark.parametrize("path", SHAPE)
def test_keys(path: str):
    if path == "environment_variables":
        return  # Free names: see REFUSED_HERE.
    theirs = {key for entry in SHAPE[path] for key in entry["keys"]}
    known = set(ours(path)["properties"])
    assert {key for key in theirs - known if (path, key) not in REFUSED_HERE} == set()
    assert known - theirs <= ONLY_HERE


@pytest.mark.parametrize("path", SHAPE)
def test_required_keys(path: str):
    theirs = set.intersection(*(set(entry["required"]) for entry in SHAPE[path]))
    assert set(ours(path).get("required", ())) == theirs


def test_every_choice_of_the_sdk_is_accepted():
    for path, entries in SHAPE.items():
        for entry in entries:
            for key, words in entry["choices"].items():
                for word in words:
                    assert refused(path, entry, key, word) == (), f"{path}.{key}: {word}"


def refused(path: str, entry: dict[str, Any], key: str, word: str) -> tuple[str, ...]:
    """What we say of the smallest job with this word there, in each alternative that has it."""
    inner: dict[str, Any] = {}
    if "type" in entry["choices"] and key != "type":
        inner["type"] = entry["choices"]["type"][0]
    inner[key] = word
    job: dict[str, Any] = {"command": "x", "environment": "azureml:e:1"}
    place = job
    steps = ["free" if step == "*" else step for step in path.split(".") if step]
    for step in steps:
        place[step] = {} if step != "environment" else {"image": "x"}
        place = place[step]
    place |= inner
    _, findings = read_job(json.dumps(job).encode(), "job.yml")
    return tuple(map(str, findings))


@pytest.mark.parametrize("path", [path for path, them in SHAPE.items() if len(them) > 1])
def test_a_key_of_another_alternative_is_refused(path: str):
    if path in {"environment", "environment_variables"}:
        return
    every = {key for entry in SHAPE[path] for key in entry["keys"]}
    for entry in SHAPE[path]:
        kinds = entry["choices"].get("type", ())
        for kind in kinds if len(kinds) < 4 else ():
            for key in every - set(entry["keys"]) - {"value", "msi_resource_id"}:
                assert refused(path, {**entry, "choices": {"type": [kind]}}, key, "x"), (kind, key)
