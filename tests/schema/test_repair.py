"""Strings that hold exactly what a schema wants are unquoted, and nothing else is."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.wire.repair import repair
from genmcp.wire.schema import compile_schema


def fix(schema: Any, value: Any) -> Any:
    return repair(compile_schema(schema).parts, value)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("integer", "10", 10),
        ("integer", "-7", -7),
        ("integer", "0", 0),
        ("integer", "18446744073709551615", 2**64 - 1),
        ("number", "10", 10),
        ("number", "1.5", 1.5),
        ("number", "-0.25", -0.25),
        ("number", "1e3", 1000.0),
        ("number", "1.50", 1.5),
        ("boolean", "true", True),
        ("boolean", "false", False),
        ("array", "[]", []),
        ("array", '[1, "2"]', [1, "2"]),
        ("object", "{}", {}),
        ("object", '{"a": null}', {"a": None}),
    ],
)
def test_string_is_unquoted(kind: str, text: str, value: Any) -> None:
    found = fix({"type": kind}, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("integer", "010"),
        ("integer", "-0"),
        ("integer", "+1"),
        ("integer", "1.0"),
        ("integer", "1e3"),
        ("integer", " 5"),
        ("integer", "5\n"),
        ("integer", "5 "),
        ("integer", "1_000"),
        ("integer", "0x10"),
        ("integer", "٣"),
        ("integer", "18446744073709551616"),
        ("integer", "-9223372036854775809"),
        ("integer", ""),
        ("integer", "ten"),
        ("integer", "true"),
        ("number", "1e400"),
        ("number", "1e1000"),
        ("number", "0.1234567890123456789"),
        ("number", "NaN"),
        ("number", "Infinity"),
        ("number", ".5"),
        ("number", "5."),
        ("number", "1,5"),
        ("number", "1" * 500),
        ("boolean", "True"),
        ("boolean", "FALSE"),
        ("boolean", "1"),
        ("boolean", "yes"),
        ("boolean", "null"),
        ("array", "[1, 2"),
        ("array", " [1]"),
        ("array", "[1]]"),
        ("array", "[NaN]"),
        ("array", "{}"),
        ("array", "1,2"),
        ("array", "[" * 200 + "]" * 200),
        ("object", "[]"),
        ("object", '{"a": 1, "a": 2}'),
        ("object", '{"a": 1} '),
        ("object", '{"a": "\\ud800"}'),
        ("null", "null"),
        ("null", ""),
    ],
)
def test_string_that_does_not_hold_exactly_that_is_left(kind: str, text: str) -> None:
    assert fix({"type": kind}, text) == text


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": ["string", "integer"]},
        {"type": ["integer", "boolean", "null", "string"]},
        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"anyOf": [{"type": "integer"}, {"minLength": 5}]},
        {"oneOf": [{"type": "integer"}, {"$ref": "#/$defs/text"}], "$defs": {"text": {}}},
        {"enum": [10, "11"]},
        {"const": "1"},
        {"minimum": 5},
        {"not": {"type": "string"}},
        {"if": True, "then": {"type": "integer"}},
        {"$dynamicRef": "#here", "$dynamicAnchor": "here"},
        {
            "$id": "urn:x:a",
            "$ref": "urn:x:b",
            "$defs": {"b": {"$id": "urn:x:b", "type": "integer"}},
        },
    ],
)
@pytest.mark.parametrize("text", ["10", "true", "[1]", "1e234567", '{"a": 1}'])
def test_string_is_left_where_text_is_allowed_or_that_cannot_be_told(
    schema: Any, text: str
) -> None:
    assert fix(schema, text) == text


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "true", True),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"allOf": [{"type": ["string", "integer"]}, {"type": "integer"}]}, "5", 5),
        ({"type": "integer", "enum": [1, 2]}, "1", 1),
        ({"enum": [1, 2]}, "1", 1),
        ({"const": True}, "true", True),
        (
            {
                "$ref": "#/$defs/n",
                "$defs": {"n": {"$ref": "#n"}, "m": {"$anchor": "n", "type": "integer"}},
            },
            "5",
            5,
        ),
    ],
)
def test_types_are_found_through_combinations(schema: Any, text: str, value: Any) -> None:
    assert fix(schema, text) == value


DEEP = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "list": {"type": "array", "items": {"type": "number"}},
        "row": {
            "prefixItems": [{"type": "boolean"}, {"type": "string"}],
            "items": {"type": "integer"},
        },
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "self": {"$ref": "#"},
        "text": {"type": "string"},
    },
}


def test_strings_are_unquoted_at_any_depth() -> None:
    value = {
        "n": "1",
        "list": ["1.5", 2, "x"],
        "row": ["true", "true", "3", "4"],
        "map": {"a": "1", "b": 2},
        "self": {"n": "2", "self": '{"n": "3", "list": "[\\"4\\"]", "text": "5"}'},
        "text": "6",
        "unknown": "7",
    }
    kept = copy.deepcopy(value)
    assert fix(DEEP, value) == {
        "n": 1,
        "list": [1.5, 2, "x"],
        "row": [True, "true", 3, 4],
        "map": {"a": 1, "b": 2},
        "self": {"n": 2, "self": {"n": 3, "list": [4], "text": "5"}},
        "text": "6",
        "unknown": "7",
    }
    assert value == kept


def test_what_needs_no_repair_is_the_same_object() -> None:
    value = {"n": 1, "list": [1.5], "self": {"text": "1"}}
    assert fix(DEEP, value) is value


def test_member_that_a_pattern_may_mean_is_left() -> None:
    schema = {
        "properties": {"n": {"type": "integer"}},
        "patternProperties": {"^x": {"type": "string"}},
        "additionalProperties": {"type": "integer"},
    }
    assert fix(schema, {"n": "1", "x": "1", "y": "1"}) == {"n": 1, "x": "1", "y": "1"}


SHAPES = {
    "anyOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "circle"}, "size": {"type": "number"}},
            "required": ["kind", "size"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "label"}, "size": {"type": "string"}},
            "required": ["kind", "size"],
        },
    ]
}


def test_alternative_that_then_fits_is_repaired() -> None:
    assert fix(SHAPES, {"kind": "circle", "size": "1"}) == {"kind": "circle", "size": 1}
    assert fix(SHAPES, {"kind": "label", "size": "1"}) == {"kind": "label", "size": "1"}
    assert fix(SHAPES, {"kind": "other", "size": "1"}) == {"kind": "other", "size": "1"}
    assert fix(SHAPES, '{"kind": "circle", "size": "1"}') == {"kind": "circle", "size": 1}


@pytest.mark.parametrize(
    ("schema", "value", "result"),
    [
        (
            {"items": [{"type": "integer"}], "additionalItems": {"type": "boolean"}},
            ["1", "true"],
            [1, True],
        ),
        ({"items": {"type": "integer"}}, ["1", "2"], [1, 2]),
    ],
)
def test_items_of_older_dialects_are_known(schema: Any, value: Any, result: Any) -> None:
    assert fix({"$schema": "http://json-schema.org/draft-07/schema#", **schema}, value) == result


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["1", "2.5", "true", "[1]", '["1"]', '{"n": "1"}', '{"self": {}}', "x", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*DEEP["properties"], "kind", "size"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(value=JSON)
@pytest.mark.parametrize("schema", [DEEP, SHAPES], ids=["object", "union"])
def test_repairing_twice_is_repairing_once_and_valid_values_stay(schema: Any, value: Any) -> None:
    compiled = compile_schema(schema)
    kept = copy.deepcopy(value)
    repaired = repair(compiled.parts, value)
    assert value == kept
    assert repair(compiled.parts, repaired) == repaired
    if compiled.is_valid(value):
        assert repaired == value
        assert compiled.is_valid(repaired)
