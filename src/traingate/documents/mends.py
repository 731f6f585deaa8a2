"""Values whose only mistake is their quotes or their decimal point: the certain mends."""

import re
from typing import Any

from traingate.documents.scalars import Kind, Spelling, resolve
from traingate.documents.slots import types


def mended(value: Any, spelling: Spelling | None, schema: dict[str, Any]) -> str | None:
    """What to write instead of a value of the wrong type, None where only the author knows."""
    allowed = types(schema)
    if "string" in allowed and spelling is not None and spelling.text:
        return f'"{spelling.text}"' if fits(schema, spelling.text) else None
    if "integer" in allowed and isinstance(value, float) and value.is_integer():
        return str(int(value))
    return _bare(value, allowed) if isinstance(value, str) else None


def fits(schema: dict[str, Any], text: str) -> bool:
    """Whether `text` would be accepted where text belongs."""
    if "enum" in schema and text not in schema["enum"]:
        return False
    return re.search(schema.get("pattern", ""), text) is not None


def _bare(text: str, allowed: frozenset[str]) -> str | None:
    """`text` itself, where it is the number or the boolean that is wanted, but in quotes."""
    meaning, spelling = resolve(text)
    if spelling is None or spelling.kind is not Kind.USUAL:
        return None
    if isinstance(meaning, bool):
        return text if "boolean" in allowed else None
    if isinstance(meaning, int):
        return text if allowed & {"integer", "number"} else None
    return text if isinstance(meaning, float) and "number" in allowed else None
