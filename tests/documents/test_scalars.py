"""What a plain scalar means, against PyYAML itself, and which spellings are told."""

import math
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from traingate.documents.scalars import Kind, resolve, resolve_tagged

SPELLINGS = [
    ("NO", False, Kind.WORD, None),
    ("on", True, Kind.WORD, None),
    ("true", True, Kind.USUAL, None),
    ("8", 8, Kind.USUAL, "8"),
    ("-3", -3, Kind.USUAL, "-3"),
    ("010", 8, Kind.OCTAL, None),
    ("1:30", 90, Kind.SEXAGESIMAL, None),
    ("-1:30", -90, Kind.SEXAGESIMAL, None),
    ("1:30.5", 90.5, Kind.SEXAGESIMAL, None),
    ("1_000", 1000, Kind.DECORATED, "1000"),
    ("+2", 2, Kind.DECORATED, "2"),
    ("0x1F", 31, Kind.DECORATED, "31"),
    ("-0b11", -3, Kind.DECORATED, "-3"),
    ("1_0.5", 10.5, Kind.DECORATED, "10.5"),
    ("0.01", 0.01, Kind.USUAL, "0.01"),
    ("1.5e+3", 1500.0, Kind.USUAL, "1.5e+3"),
    ("1e-4", "1e-4", Kind.NUMBER_AS_TEXT, "0.0001"),
    ("1e-9", "1e-9", Kind.NUMBER_AS_TEXT, "1.0e-09"),
    ("8e0", "8e0", Kind.NUMBER_AS_TEXT, "8"),
    ("0o10", "0o10", Kind.NUMBER_AS_TEXT, "8"),
    ("08", "08", Kind.NUMBER_AS_TEXT, None),
    (".inf", math.inf, Kind.NOT_FINITE, None),
    ("1.0e+999", math.inf, Kind.NOT_FINITE, None),
    ("2026-02-30", "2026-02-30", Kind.IMPOSSIBLE, None),
    ("2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z", Kind.TIME, None),
    ("9" * 101, "9" * 101, Kind.IMPOSSIBLE, None),
    ("", None, Kind.USUAL, None),
]


@pytest.mark.parametrize(
    ("text", "value", "kind", "digits"), SPELLINGS, ids=lambda it: str(it)[:20]
)
def test_spelling(text: str, value: object, kind: Kind, digits: str | None):
    meaning, spelling = resolve(text)
    assert meaning == value
    assert spelling is not None
    assert (spelling.kind, spelling.digits) == (kind, digits)


@pytest.mark.parametrize("text", ["gpu", "1.2.3", "v1", "y", "<<", "=", "1e", "0x", "--1", "1:99"])
def test_text_is_text(text: str):
    assert resolve(text) == (text, None)


@given(st.from_regex(r"[-+0-9._:xobeEfINnaA]{1,12}", fullmatch=True))
def test_numbers_are_what_pyyaml_reads(text: str):
    try:
        expected = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return  # Not one plain scalar, or one that PyYAML itself trips over.
    if type(expected) not in {int, float}:
        return
    value, _ = resolve(text)
    assert type(value) is type(expected)
    assert value == expected or math.isnan(expected)


@given(st.from_regex(r"[-+]?[0-9._]{1,6}([eE][-+]?[0-9]{1,2})?", fullmatch=True))
def test_usual_digits_mean_the_same_to_everybody(text: str):
    _, spelling = resolve(text)
    if spelling is None or spelling.digits is None:
        return
    again, usual = resolve(spelling.digits)
    assert usual is not None
    assert usual.kind is Kind.USUAL
    assert float(again) == float(spelling.digits)  # type: ignore[arg-type]
    assert re.fullmatch(r"-?[0-9.]+(e[-+][0-9]+)?", spelling.digits, re.IGNORECASE)


@pytest.mark.parametrize("text", [".inf", "-.inf", ".nan", "1.0e+400"])
def test_a_tagged_float_is_finite(text):
    with pytest.raises(ValueError, match="finite"):
        resolve_tagged(text, "tag:yaml.org,2002:float")
