"""What a plain scalar means to YAML 1.1, and whether a person would read it differently.

PyYAML's resolver decides the meaning, because Azure ML's tools read job files with it. What a
person (and YAML 1.2) may read otherwise is told as a `Spelling`.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum, auto
from functools import lru_cache

from yaml.nodes import ScalarNode
from yaml.resolver import Resolver

Plain = str | int | float | bool | date | None

_RESOLVER = Resolver()
_PREFIX = "tag:yaml.org,2002:"

#: Longer than any number a request holds; Python's own conversion slows down far beyond it.
_LONGEST_NUMBER = 100


class Kind(StrEnum):
    """How a spelling departs from what a person reads."""

    WORD = auto()  # NO, on, Yes: a boolean
    OCTAL = auto()  # 010: eight
    SEXAGESIMAL = auto()  # 1:30: ninety
    DECORATED = auto()  # +8, 1_000, 0x10: the number a person means, in an unusual spelling
    NUMBER_AS_TEXT = auto()  # 1e-4, 0o10, 08: text, though it looks like a number
    NOT_FINITE = auto()  # .nan, .inf
    DATE = auto()  # 2026-11-30
    TIME = auto()  # 2026-11-30T12:00:00Z
    IMPOSSIBLE = auto()  # 2026-02-30, or digits without end
    USUAL = auto()  # 8, 0.01, true, null: as everybody reads it


@dataclass(frozen=True, kw_only=True, slots=True)
class Spelling:
    """How a value that is not plainly text was written.

    `meaning` is what YAML makes of it; `digits` the usual spelling of the number that is
    certainly meant, None where there is no such number.
    """

    text: str
    kind: Kind
    meaning: Plain
    digits: str | None = None


def resolve(text: str) -> tuple[Plain, Spelling | None]:
    """The value of an untagged plain scalar, and its spelling unless it is plainly text."""
    return _known(text) if len(text) <= _LONGEST_NUMBER else _resolve(text)


def _resolve(text: str) -> tuple[Plain, Spelling | None]:
    tag: str = _RESOLVER.resolve(ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    kind = tag.removeprefix(_PREFIX)
    if kind in {"int", "float"} and len(text) > _LONGEST_NUMBER:
        return text, Spelling(text=text, kind=Kind.IMPOSSIBLE, meaning=None)
    build = _BUILDERS.get(kind)
    return build(text) if build else (text, _number_as_text(text))


# Requests share their keys and many of their values, thousands of times in a large repository.
_known = lru_cache(maxsize=4096)(_resolve)


def resolve_tagged(text: str, tag: str) -> Plain:
    """The value of a scalar under an explicit core tag.

    Raises:
        ValueError: `text` is no value of that type.
    """
    kind = tag.removeprefix(_PREFIX)
    if kind in {"!", "str"}:
        return text
    value, _ = resolve(text)
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"`{text}` is no finite number")
    if {"int": int, "float": float, "bool": bool, "null": type(None)}.get(kind) is not type(value):
        raise ValueError(f"`{text}` is not of type `!!{kind}`")
    return value


def _integer(text: str) -> tuple[Plain, Spelling]:
    bare = text.replace("_", "").lstrip("+-")
    if ":" in text:
        value, kind, digits = _sexagesimal(bare), Kind.SEXAGESIMAL, None
    elif bare.startswith(("0x", "0b")):
        value, kind = int(bare, 0), Kind.DECORATED
        digits = str(value)
    elif len(bare) > 1 and bare.startswith("0"):
        value, kind, digits = int(bare, 8), Kind.OCTAL, None
    else:
        value, digits = int(bare or "0"), bare
        kind = Kind.USUAL if text.lstrip("-") == bare else Kind.DECORATED
    if text.startswith("-"):
        value, digits = -value, digits and f"-{digits}"
    return value, Spelling(text=text, kind=kind, meaning=value, digits=digits)


def _sexagesimal(text: str) -> int:
    value = 0
    for part in text.split(":"):
        value = value * 60 + int(part)
    return value


def _float(text: str) -> tuple[Plain, Spelling]:
    bare = text.replace("_", "").lower()
    if "inf" in bare or "nan" in bare:
        number = float(bare.replace(".", ""))
        return number, Spelling(text=text, kind=Kind.NOT_FINITE, meaning=number)
    if ":" in bare:
        whole, _, fraction = bare.lstrip("+-").partition(".")
        number = _sexagesimal(whole) + float(f"0.{fraction or 0}")
        number = -number if bare.startswith("-") else number
        return number, Spelling(text=text, kind=Kind.SEXAGESIMAL, meaning=number)
    number = float(bare)
    if number in {float("inf"), float("-inf")}:
        return number, Spelling(text=text, kind=Kind.NOT_FINITE, meaning=number)
    usual = "_" not in text and not text.startswith("+")
    kind = Kind.USUAL if usual else Kind.DECORATED
    return number, Spelling(text=text, kind=kind, meaning=number, digits=bare.lstrip("+"))


def _boolean(text: str) -> tuple[Plain, Spelling]:
    value = text.lower() in {"yes", "true", "on"}
    kind = Kind.USUAL if text.lower() in {"true", "false"} else Kind.WORD
    return value, Spelling(text=text, kind=kind, meaning=value)


def _timestamp(text: str) -> tuple[Plain, Spelling]:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        return text, Spelling(text=text, kind=Kind.TIME, meaning=text)
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text, Spelling(text=text, kind=Kind.IMPOSSIBLE, meaning=None)
    return day, Spelling(text=text, kind=Kind.DATE, meaning=day)


def _null(text: str) -> tuple[Plain, Spelling]:
    return None, Spelling(text=text, kind=Kind.USUAL, meaning=None)


_BUILDERS: dict[str, Callable[[str], tuple[Plain, Spelling]]] = {
    "int": _integer,
    "float": _float,
    "bool": _boolean,
    "timestamp": _timestamp,
    "null": _null,
}

# A number to YAML 1.2's core schema and to a person; tried only on what YAML 1.1 calls text.
_CORE_NUMBER = re.compile(
    r"[-+]?(?:0o[0-7]{1,30}|(?:\.\d{1,30}|\d{1,30}(?:\.\d{0,30})?)(?:[eE][-+]?\d{1,3})?)", re.ASCII
)


def _number_as_text(text: str) -> Spelling | None:
    if not _CORE_NUMBER.fullmatch(text):
        return None
    bare = text.lstrip("+-")
    if bare.startswith("0o"):
        digits = str(int(bare, 0))
    elif not re.search(r"[.eE]", bare):
        return Spelling(text=text, kind=Kind.NUMBER_AS_TEXT, meaning=text)  # 08: which base?
    else:
        digits = _usual(float(bare))
    sign = "-" if text.startswith("-") else ""
    return Spelling(text=text, kind=Kind.NUMBER_AS_TEXT, meaning=text, digits=sign + digits)


def _usual(number: float) -> str:
    """The shortest spelling that YAML 1.1 and 1.2 both read as this number."""
    if number.is_integer() and abs(number) < 1e16:  # noqa: PLR2004 (beyond it floats skip integers)
        return str(int(number))
    text = repr(number)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{e}{exponent}" if e else text
