"""A schema compiled into one yes-or-no question.

Nearly every file is valid, and for those jsonschema would be half of what a check costs: the
import, and a walk that is ready to explain itself. So a file is asked for here first, and only
one that is refused goes to jsonschema, which knows every keyword and says what is wrong. What
this module answers is held against jsonschema in `tests/documents/test_acceptance.py`.
"""

import re
from collections.abc import Callable
from datetime import date
from typing import Any

Accepts = Callable[[Any], bool]
Schema = dict[str, Any] | bool

_TYPES: dict[str, Accepts] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}


def compiled(schema: Schema) -> Accepts:
    """Whether a value in JSON's types is valid under `schema` (draft 2020-12, the keywords below).

    Raises:
        KeyError: the schema uses a keyword that is not compiled here.
    """
    if isinstance(schema, bool):
        return lambda _: schema
    checks = [
        _KEYWORDS[keyword](limit, schema)
        for keyword, limit in schema.items()
        if keyword not in _SAY_NOTHING
    ]
    return _every(checks)


def _every(checks: list[Accepts]) -> Accepts:
    def accepts(value: Any) -> bool:
        for check in checks:  # noqa: SIM110 (twice as fast as a generator in `all`)
            if not check(value):
                return False
        return True

    return checks[0] if len(checks) == 1 else accepts


def _type(limit: str | list[str], _: Any) -> Accepts:
    wanted = [_TYPES[name] for name in ([limit] if isinstance(limit, str) else limit)]
    return wanted[0] if len(wanted) == 1 else lambda value: any(is_a(value) for is_a in wanted)


def _properties(limit: dict[str, Schema], _: Any) -> Accepts:
    known = {key: compiled(below) for key, below in limit.items()}

    def accepts(value: dict[str, Any]) -> bool:
        for key, it in value.items():  # noqa: SIM110 (as above)
            if key in known and not known[key](it):
                return False
        return True

    return _of(dict, accepts)


def _additional(limit: Schema, schema: dict[str, Any]) -> Accepts:
    known, accepts = schema.get("properties", {}), compiled(limit)
    if limit is False:
        return _of(dict, lambda value: value.keys() <= known.keys())
    return _of(
        dict, lambda value: all(accepts(it) for key, it in value.items() if key not in known)
    )


def _names(limit: Schema, _: Any) -> Accepts:
    accepts = compiled(limit)
    return _of(dict, lambda value: all(map(accepts, value)))


def _items(limit: Schema, _: Any) -> Accepts:
    accepts = compiled(limit)
    return _of(list, lambda value: all(map(accepts, value)))


def _pattern(limit: str, _: Any) -> Accepts:
    # `re` keeps what it compiled, and compiles only what a file comes to need.
    return _of(str, lambda value: re.search(limit, value) is not None)


def _all_of(limit: list[Schema], _: Any) -> Accepts:
    return _every([compiled(one) for one in limit])


def _if(limit: Schema, schema: dict[str, Any]) -> Accepts:
    asked = compiled(limit)
    then, otherwise = compiled(schema.get("then", True)), compiled(schema.get("else", True))
    return lambda value: then(value) if asked(value) else otherwise(value)


def _not(limit: Schema, _: Any) -> Accepts:
    accepts = compiled(limit)
    return lambda value: not accepts(value)


def _dependent(limit: dict[str, Schema], _: Any) -> Accepts:
    below = {key: compiled(schema) for key, schema in limit.items()}
    return _of(
        dict, lambda value: all(accepts(value) for key, accepts in below.items() if key in value)
    )


def _together(limit: dict[str, list[str]], _: Any) -> Accepts:
    return _of(
        dict, lambda value: all(value.keys() >= set(limit[key]) for key in limit if key in value)
    )


def _is_unique(value: list[Any]) -> bool:
    # Of anything but text jsonschema decides: to it `1` and `1.0` are one value, `true` another.
    return all(isinstance(it, str) for it in value) and len(set(value)) == len(value)


def _is_date(value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _of(kind: type | tuple[type, ...], accepts: Accepts) -> Accepts:
    """`accepts` for values of that kind; a keyword says nothing of any other."""
    return lambda value: not isinstance(value, kind) or accepts(value)


def _number(accepts: Accepts) -> Accepts:
    return lambda value: not _TYPES["number"](value) or accepts(value)


_SAY_NOTHING = {
    *("$schema", "$id", "title", "description", "examples", "default", "readOnly", "errorMessage"),
    *("then", "else"),  # `if` reads them.
}

_KEYWORDS: dict[str, Callable[[Any, dict[str, Any]], Accepts]] = {
    "type": _type,
    "enum": lambda limit, _: lambda value: isinstance(value, str) and value in limit,
    "required": lambda limit, _: _of(dict, lambda value: value.keys() >= set(limit)),
    "properties": _properties,
    "additionalProperties": _additional,
    "propertyNames": _names,
    "dependentRequired": _together,
    "dependentSchemas": _dependent,
    "items": _items,
    "minItems": lambda limit, _: _of(list, lambda value: len(value) >= limit),
    "uniqueItems": lambda _, __: _of(list, _is_unique),
    "pattern": _pattern,
    "minLength": lambda limit, _: _of(str, lambda value: len(value) >= limit),
    "maxLength": lambda limit, _: _of(str, lambda value: len(value) <= limit),
    "format": lambda _, __: _of(str, _is_date),
    "minimum": lambda limit, _: _number(lambda value: value >= limit),
    "maximum": lambda limit, _: _number(lambda value: value <= limit),
    "exclusiveMinimum": lambda limit, _: _number(lambda value: value > limit),
    "allOf": _all_of,
    "if": _if,
    "not": _not,
}
