"""What a schema allows at a path. Our schemas keep every union in one place, so it is one walk."""

from collections.abc import Container
from typing import Any

from traingate.documents.located import Path

Schema = dict[str, Any]

ANYTHING = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})


def slot(schema: Schema, path: Path) -> Schema | None:
    """The subschema of the value at `path`; empty where all is allowed, None where nothing is."""
    here: Any = schema
    for step in path:
        if not here:
            return {}
        if isinstance(step, int):
            here = here.get("items", {})
        else:
            here = here.get("properties", {}).get(step, here.get("additionalProperties", {}))
        if here is False:
            return None
    return here if isinstance(here, dict) else {}


def is_below(path: Path, told: Container[Path]) -> bool:
    """Whether `path`, or something it stands in, is told already."""
    return any(path[:length] in told for length in range(1, len(path) + 1))


def types(schema: Schema) -> frozenset[str]:
    """The JSON types a subschema allows."""
    allowed = schema.get("type", ANYTHING)
    return frozenset({allowed}) if isinstance(allowed, str) else frozenset(allowed)


def homes(schema: Schema, key: str) -> list[str]:
    """The mappings (dotted) in which a key is known, those inside free names left out."""
    found = []
    for name, below in schema.get("properties", {}).items():
        if isinstance(below, dict) and key in below.get("properties", {}):
            found.append(name)
    if key in schema.get("properties", {}):
        found.append("")
    return found
