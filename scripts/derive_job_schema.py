"""Write the command job's shape, as the SDK's own classes define it, to tests/data.

Run it after a new azure-ai-ml; tests/documents/test_job_schema.py then says where
schemas/job.schema.json differs. The shape lists, by path, each alternative mapping the SDK
accepts there: its keys, which of them are required, and the choices of those that have any. `*`
stands for a free name. Keys that the SDK only ever writes are left out.
"""

import json
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from azure.ai.ml._schema.core.fields import ExperimentalField, NestedField, UnionField
from azure.ai.ml._schema.job.command_job import CommandJobSchema
from marshmallow import Schema, fields

Shape = dict[str, list[dict[str, Any]]]


def alternatives(field: fields.Field) -> list[fields.Field]:
    """The fields a union is made of; the field itself when it is none."""
    if isinstance(field, ExperimentalField):
        return alternatives(field.experimental_field)
    if isinstance(field, UnionField):
        return [one for part in field.union_fields for one in alternatives(part)]
    return [field]


def choices(field: fields.Field) -> list[str]:
    """The words a field is restricted to, empty when there are none."""
    found = [getattr(one, "allowed_values", None) or [] for one in alternatives(field)]
    return sorted({str(word) for words in found for word in words})


def walk(schema: Schema, path: str, shape: Shape) -> None:
    """Add the mapping of `schema`, and all below it, to `shape`."""
    kept = {key: it for key, it in schema.fields.items() if not it.dump_only}
    entry = {
        "keys": sorted(it.data_key or key for key, it in kept.items()),
        "required": sorted(it.data_key or key for key, it in kept.items() if it.required),
        "choices": {it.data_key or key: choices(it) for key, it in kept.items() if choices(it)},
    }
    if entry not in shape[path]:
        shape[path].append(entry)
    for key, field in kept.items():
        for one in alternatives(field):
            descend(one, f"{path}.{field.data_key or key}".lstrip("."), shape)


def descend(field: fields.Field, path: str, shape: Shape) -> None:
    if isinstance(field, NestedField | fields.Nested):
        walk(field.schema, path, shape)
    elif isinstance(field, fields.Dict) and field.value_field is not None:
        for one in alternatives(field.value_field):
            descend(one, f"{path}.*", shape)


if __name__ == "__main__":
    shape: Shape = defaultdict(list)
    walk(CommandJobSchema(context={"base_path": "."}), "", shape)
    target = Path(__file__).parents[1] / "tests" / "data" / "command_job_shape.json"
    target.parent.mkdir(exist_ok=True)
    document = {"azure-ai-ml": version("azure-ai-ml"), "shape": shape}
    target.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"wrote {target}")
