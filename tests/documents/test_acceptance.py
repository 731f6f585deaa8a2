"""The compiled schemas say yes to nothing that jsonschema refuses."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traingate.documents.acceptance import compiled
from traingate.documents.schema import _validator, schema_of

READ = ("job", "admission", "platform", "rehearsal")

JOB = {
    "command": "python train.py",
    "environment": {"image": "x", "build": {"path": "."}, "version": 3},
    "distribution": {"type": "PyTorch", "process_count_per_instance": 8},
    "resources": {"instance_count": 2, "docker_args": ["a"], "locations": ["eastus"]},
    "identity": {"type": "managed", "client_id": "x"},
    "inputs": {"lr": 0.1, "data": {"type": "mltable", "path": "a:b:1", "mode": "eval_mount"}},
    "outputs": {"model": {"type": "uri_folder", "mode": "rw_mount"}, "empty": None},
    "limits": {"timeout": 3600},
    "queue_settings": {"job_tier": "spot"},
    "services": {"shell": {"type": "ssh", "ssh_public_keys": "k"}, "ui": {"type": "jupyter_lab"}},
}
ADMISSION = {
    "workload": "probe",
    "owner": "@contoso/vision",
    "model": {"name": "probe", "existing": True},
    "need": "memory",
    "evidence": {"run": "r", "size": "s", "peak_gpu_memory_gib": 74.1},
    "envelope": {
        "targets": ["gpu"],
        "nodes": 1,
        "gpus": 2,
        "hours": 1.5,
        "runs": 1,
        "cost_usd": 10,
    },
    "expires": "2027-03-31",
    "waivers": [{"rule": "r", "target": "gpu", "reason": "w", "expires": "2027-03-31"}],
}
PLATFORM = {
    "backend": "local",
    "targets": {"gpu": {"size": "s", "max_nodes": 2, "secrets": ["keyvault://kv/*"]}},
    "allowed_keys": ["build"],
    "severities": {"TG101": "note"},
    "prices_usd_per_hour": {"Standard_ND96isr_H100_v5": 98.3},
    "approvers": {"@contoso/ml": ["ada"]},
}
VALID = {"job": JOB, "admission": ADMISSION, "platform": PLATFORM, "rehearsal": {}}

VALUES = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 2, 2.0, 2.5, 10**400, float("nan"), float("inf")),
        *("", "x", "managed", "user_identity", "PyTorch", "mpi", "ray", "mltable", "eval_mount"),
        *("azureml:e:1", "uri_file", "2027-02-31", "2027-03-31", "20270331", "spot", "x\n", "²"),
        *([], {}, ["a", "a"], ["a", 1], [1, True, 1.0], {"type": "ray"}, {"value": 1}),
    ]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(below, (*path, key))


def known_keys(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(known_keys, schema))
    if not isinstance(schema, dict):
        return set()
    known = schema.get("properties", {})  # `properties` is a key of jobs too.
    return set(known if isinstance(known, dict) else ()).union(*map(known_keys, schema.values()))


@st.composite
def variations(draw: st.DrawFn, name: str) -> Any:
    """A valid instance with some of its values replaced, dropped or joined by others."""
    value: Any = copy.deepcopy(VALID[name])
    keys = st.sampled_from(sorted(known_keys(schema_of(name)))) | st.sampled_from(["free", "1", ""])
    for _ in range(draw(st.integers(0, 4))):
        *parents, last = draw(st.sampled_from([*places(value), ("free",)]))
        place = value
        for step in parents:
            place = place[step]
        change = draw(st.sampled_from(("replace", "drop", "add")))
        if change == "replace":
            place[last] = copy.deepcopy(draw(VALUES))
        elif change == "drop" and last != "free":
            del place[last]
        elif isinstance(place, dict):
            place[draw(keys)] = copy.deepcopy(draw(VALUES))
    return value


@pytest.mark.parametrize("name", READ)
@given(st.data())
def test_what_is_accepted_is_valid(name: str, data: st.DataObject):
    value = data.draw(variations(name))
    if compiled(schema_of(name))(value):
        assert list(_validator(name).iter_errors(value)) == []


@pytest.mark.parametrize("name", READ)
@given(st.data())
def test_what_is_valid_is_accepted(name: str, data: st.DataObject):
    # Not promised (a refusal only costs time), but a compiled schema that refused much would be
    # worth nothing. NaN is the one value it refuses that jsonschema takes.
    value = data.draw(variations(name))
    if _validator(name).is_valid(value) and "nan" not in repr(value):
        assert compiled(schema_of(name))(value)


@pytest.mark.parametrize("name", VALID)
def test_the_examples_are_accepted(name: str):
    assert compiled(schema_of(name))(VALID[name])


def test_a_keyword_that_is_not_compiled_is_no_yes():
    with pytest.raises(KeyError, match="contains"):
        compiled({"type": "array", "contains": {"type": "string"}})


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        ({"minimum": 2}, 1),
        ({"maximum": 2}, 3),
        ({"exclusiveMinimum": 2}, 2),
        ({"minLength": 2}, "a"),
        ({"maxLength": 2}, "abc"),
        ({"minItems": 1}, []),
        ({"uniqueItems": True}, ["a", "a"]),
        ({"pattern": "^a$"}, "b"),
        ({"format": "date"}, "2027-02-31"),
        ({"enum": ["a"]}, "b"),
        ({"required": ["a"]}, {}),
        ({"properties": {"a": {"type": "string"}}}, {"a": 1}),
        ({"additionalProperties": False}, {"a": 1}),
        ({"propertyNames": {"pattern": "^a$"}}, {"b": 1}),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}),
        ({"items": {"type": "string"}}, [1]),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, ""),
        ({"if": {"type": "string"}, "then": {"minLength": 1}}, ""),
        ({"if": {"type": "string"}, "else": {"minimum": 1}}, 0),
        ({"not": {}}, 1),
        ({"type": "integer"}, 2.0),
        ({"type": "integer"}, True),
        ({"type": ["string", "null"]}, 1),
    ],
)
def test_each_keyword_refuses(schema: dict[str, Any], wrong: Any):
    assert not compiled(schema)(wrong)
