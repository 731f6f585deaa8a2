"""Requests and answers held against GitHub's own description of its REST API.

A handler gives the fields that matter; what else GitHub would send is filled in by type, so an
answer always has every required field, and a field GitHub does not know is an error.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

_SHAPES = Path(__file__).with_name("rest-shapes.json")


class Violation(AssertionError):
    """The client or the fake left GitHub's contract."""


@cache
def shapes() -> dict[str, Any]:
    return _json_schema(json.loads(_SHAPES.read_text()))


def operation(method: str, path: str) -> tuple[str, Mapping[str, str]]:
    """The template of a path and its parameters.

    Raises:
        Violation: GitHub documents no such call.
    """
    for template, pattern in _templates():
        found = pattern.fullmatch(path)
        if found and method.lower() in shapes()["paths"][template]:
            return template, found.groupdict()
    raise Violation(f"GitHub documents no {method} {path}")


def hold_request(method: str, template: str, query: Mapping[str, str], body: Any) -> None:
    """Raise `Violation` unless the query and the body are what GitHub documents."""
    described = shapes()["paths"][template][method.lower()]
    known = {_resolved(one)["name"] for one in described.get("parameters", ())}
    if unknown := set(query) - known:
        raise Violation(f"{method} {template} has no parameter {sorted(unknown)}")
    content = _resolved(described.get("requestBody", {})).get("content", {})
    if body is not None:
        _hold(f"{method} {template} body", content["application/json"]["schema"], body)
    elif content and _resolved(described["requestBody"]).get("required"):
        raise Violation(f"{method} {template} needs a body")


def answer(method: str, template: str, status: int, given: Any) -> Any:
    """`given`, filled up to what GitHub sends, and held against its description."""
    responses = shapes()["paths"][template][method.lower()]["responses"]
    if str(status) not in responses:
        # 401, 403, 429 and 5xx can answer anything; GitHub describes few of them.
        if status in {401, 403, 429} or status >= 500:
            return given
        raise Violation(f"{method} {template} never answers {status}")
    content = _resolved(responses[str(status)]).get("content", {})
    if not content:
        return None
    schema = next(iter(content.values()))["schema"]
    filled = _fill(schema, given)
    _hold(f"{method} {template} {status}", schema, filled)
    return filled


@cache
def _templates() -> list[tuple[str, re.Pattern[str]]]:
    found = []
    for template in shapes()["paths"]:
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(template))
        # Only these two parameters hold slashes.
        pattern = re.sub(r"\(\?P<(path|ref)>\[\^/\]\+\)", r"(?P<\1>.+)", pattern)
        found.append((template, re.compile(pattern)))
    return found


def _json_schema(node: Any) -> Any:
    """OpenAPI 3.0's `nullable` in JSON Schema's words."""
    if isinstance(node, list):
        return [_json_schema(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {key: _json_schema(value) for key, value in node.items()}
    if made.pop("nullable", False) is True:
        return {"anyOf": [{"type": "null"}, made]}
    return made


@cache
def _validator(schema: str) -> jsonschema.protocols.Validator:
    # Draft 4 is what OpenAPI 3.0 builds on; its references point into the whole document.
    whole = {**json.loads(schema), "components": shapes()["components"]}
    return jsonschema.Draft4Validator(whole)


def _hold(what: str, schema: Mapping[str, Any], value: Any) -> None:
    error = jsonschema.exceptions.best_match(_validator(json.dumps(schema)).iter_errors(value))
    if error is not None:
        where = "/".join(map(str, error.absolute_path))
        raise Violation(f"{what} at {where or 'the top'}: {error.message[:300]}")


def _resolved(node: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in node:
        target: Any = shapes()
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def _fill(schema: Mapping[str, Any], given: Any) -> Any:
    schema = _one(schema, given)
    if isinstance(given, list):
        return [_fill(schema.get("items", {}), one) for one in given]
    if not isinstance(given, dict):
        return given
    properties = _properties(schema)
    if properties and (unknown := set(given) - set(properties)):
        raise Violation(f"GitHub sends no {sorted(unknown)} here")
    filled = {key: _fill(properties.get(key, {}), value) for key, value in given.items()}
    for key in _required(schema) - set(filled):
        filled[key] = _empty(properties[key])
    return filled


def _one(schema: Mapping[str, Any], given: Any) -> Mapping[str, Any]:
    """The alternative that `given` is an instance of."""
    schema = _resolved(schema)
    for word in ("anyOf", "oneOf"):
        if word in schema and "properties" not in schema:
            choices = [_one(one, given) for one in schema[word]]
            return max(choices, key=lambda choice: _likeness(choice, given))
    return schema


def _likeness(schema: Mapping[str, Any], given: Any) -> tuple[bool, int]:
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    fits = isinstance(given, kinds.get(schema.get("type", "object"), object))
    properties = _properties(schema)
    if not isinstance(given, dict):
        return fits, 0
    wrong = sum(
        value not in _resolved(properties[key]).get("enum", [value]) if key in properties else 1
        for key, value in given.items()
    )
    return fits, -wrong


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(schema.get("properties", {}))
    for part in schema.get("allOf", ()):
        found |= _properties(_resolved(part))
    return found


def _required(schema: Mapping[str, Any]) -> set[str]:
    found = set(schema.get("required", ()))
    for part in schema.get("allOf", ()):
        found |= _required(_resolved(part))
    return found


def _empty(schema: Mapping[str, Any]) -> Any:
    """The least value of a type: what GitHub sends where nothing was said."""
    schema = _resolved(schema)
    for word in ("anyOf", "oneOf"):
        if word in schema and "properties" not in schema:
            return _empty(schema[word][0])
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema or "allOf" in schema or schema.get("type") == "object":
        return _fill(schema, {})
    plain = {"array": [], "boolean": False, "integer": 0, "number": 0, "null": None}
    if schema.get("type") != "string":
        return plain.get(schema.get("type", "null"))
    formats = {"date-time": "2026-11-30T12:00:00Z", "uri": "https://api.github.com/x"}
    return formats.get(schema.get("format", ""), "x")
