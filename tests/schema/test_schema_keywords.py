"""Every keyword of 2020-12 is enforced, those that engines like to skip above all."""

from __future__ import annotations

from typing import Any

import pytest

from genmcp.wire.schema import compile_schema

PREFIX = {"prefixItems": [{"type": "integer"}, {"type": "string"}]}
CARD = {"dependentRequired": {"card": ["address"]}}
EXTENDED = {
    "allOf": [{"properties": {"a": {"type": "integer"}}}],
    "properties": {"b": True},
    "unevaluatedProperties": False,
}
TREE = {
    "$dynamicAnchor": "node",
    "type": "object",
    "properties": {"kids": {"type": "array", "items": {"$dynamicRef": "#node"}}},
    "additionalProperties": False,
}
NARROWED = {"$ref": "#/$defs/small", "minimum": 3, "$defs": {"small": {"maximum": 5}}}
CHOSEN = {
    "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
    "then": {"required": ["x"]},
    "else": {"required": ["y"]},
}

CASES: list[tuple[str, Any, Any, bool]] = [
    ("prefixItems checks by place", PREFIX, [1, "a"], True),
    ("prefixItems refuses by place", PREFIX, ["a", 1], False),
    ("prefixItems takes fewer items", PREFIX, [1], True),
    ("prefixItems leaves the rest", PREFIX, [1, "a", None], True),
    ("items false after prefixItems", {**PREFIX, "items": False}, [1, "a"], True),
    ("items false refuses the rest", {**PREFIX, "items": False}, [1, "a", 2], False),
    ("items is for the rest only", {**PREFIX, "items": {"type": "null"}}, [1, "a", None], True),
    ("dependentRequired is met", CARD, {"card": 1, "address": 2}, True),
    ("dependentRequired is missed", CARD, {"card": 1}, False),
    ("dependentRequired does not apply", CARD, {"name": 1}, True),
    ("dependentSchemas", {"dependentSchemas": {"a": {"maxProperties": 1}}}, {"a": 1}, True),
    (
        "dependentSchemas",
        {"dependentSchemas": {"a": {"maxProperties": 1}}},
        {"a": 1, "b": 1},
        False,
    ),
    ("unevaluatedProperties sees into allOf", EXTENDED, {"a": 1, "b": 2}, True),
    ("unevaluatedProperties refuses", EXTENDED, {"a": 1, "c": 2}, False),
    ("unevaluatedItems", {**PREFIX, "unevaluatedItems": False}, [1, "a"], True),
    ("unevaluatedItems", {**PREFIX, "unevaluatedItems": False}, [1, "a", 1], False),
    ("minContains", {"contains": {"const": 1}, "minContains": 2}, [1, 0, 1], True),
    ("minContains", {"contains": {"const": 1}, "minContains": 2}, [1, 0, 0], False),
    ("minContains 0", {"contains": {"const": 1}, "minContains": 0}, [], True),
    ("maxContains", {"contains": {"const": 1}, "maxContains": 1}, [1, 0], True),
    ("maxContains", {"contains": {"const": 1}, "maxContains": 1}, [1, 1], False),
    ("$dynamicRef", TREE, {"kids": [{"kids": []}]}, True),
    ("$dynamicRef", TREE, {"kids": [{"kinds": []}]}, False),
    ("keyword beside $ref", NARROWED, 4, True),
    ("keyword beside $ref", NARROWED, 2, False),
    ("$ref itself", NARROWED, 6, False),
    ("$anchor", {"$ref": "#num", "$defs": {"n": {"$anchor": "num", "type": "number"}}}, 1, True),
    ("$anchor", {"$ref": "#num", "$defs": {"n": {"$anchor": "num", "type": "number"}}}, "1", False),
    (
        "embedded $id",
        {"$ref": "urn:x:n", "$defs": {"n": {"$id": "urn:x:n", "type": "null"}}},
        1,
        False,
    ),
    ("then", CHOSEN, {"kind": "a", "x": 1}, True),
    ("then", CHOSEN, {"kind": "a", "y": 1}, False),
    ("else", CHOSEN, {"kind": "b", "y": 1}, True),
    ("else", CHOSEN, {"x": 1}, False),
    ("contentEncoding only tells", {"contentEncoding": "base64"}, "no base64!", True),
    ("contentSchema only tells", {"contentMediaType": "application/json"}, "{", True),
    ("format only tells", {"format": "date-time"}, "tomorrow", True),
    ("patternProperties", {"patternProperties": {"^x-": {"type": "string"}}}, {"x-a": "b"}, True),
    ("patternProperties", {"patternProperties": {"^x-": {"type": "string"}}}, {"x-a": 1}, False),
    ("propertyNames", {"propertyNames": {"maxLength": 2}}, {"ab": 1}, True),
    ("propertyNames", {"propertyNames": {"maxLength": 2}}, {"abc": 1}, False),
    ("const 1 is 1.0", {"const": 1}, 1.0, True),
    ("const 1 is not true", {"const": 1}, True, False),
    ("const false is not 0", {"const": False}, 0, False),
    ("enum 1 is 1.0", {"enum": [1]}, 1.0, True),
    ("enum 1 is not true", {"enum": [1]}, True, False),
    ("enum of arrays", {"enum": [[1, {"a": None}]]}, [1.0, {"a": None}], True),
    ("integer takes 1.0", {"type": "integer"}, 1.0, True),
    ("integer refuses true", {"type": "integer"}, True, False),
    ("number refuses true", {"type": "number"}, True, False),
    ("number refuses NaN", {"type": "number"}, float("nan"), False),
    ("number refuses infinity", {"type": "number"}, float("inf"), False),
    ("multipleOf 0.01", {"multipleOf": 0.01}, 19.99, True),
    ("multipleOf 0.01", {"multipleOf": 0.01}, 0.075, False),
    ("multipleOf of a large integer", {"multipleOf": 2}, 2**53 + 1, False),
    ("uniqueItems 1 and true", {"uniqueItems": True}, [1, True], True),
    ("uniqueItems 1 and 1.0", {"uniqueItems": True}, [1, 1.0], False),
    ("uniqueItems of objects", {"uniqueItems": True}, [{"a": 1, "b": 2}, {"b": 2, "a": 1}], False),
    ("maxLength counts characters", {"maxLength": 1}, "\N{PILE OF POO}", True),
    ("pattern searches", {"pattern": "b+"}, "abbc", True),
    ("pattern knows lookahead", {"pattern": "^(?!tmp)"}, "tmpfile", False),
    ("oneOf is exactly one", {"oneOf": [{"minimum": 1}, {"maximum": 5}]}, 3, False),
    ("not", {"not": {"type": "null"}}, None, False),
    ("the schema true", True, object, True),
    ("the schema false", False, 1, False),
]


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [pytest.param(*case[1:], id=f"{number} {case[0]}") for number, case in enumerate(CASES)],
)
def test_keyword_is_enforced(schema: Any, value: Any, fits: object) -> None:
    compiled = compile_schema(schema)
    if value is object:
        value = {}
    assert compiled.is_valid(value) is fits
    assert bool(compiled.violations(value)) is not fits


DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        pytest.param({"$schema": DRAFT_7, "items": [{"type": "null"}]}, [1], False, id="7 items"),
        pytest.param(
            {"$schema": DRAFT_7, "$ref": "#/definitions/a", "maximum": 1, "definitions": {"a": {}}},
            2,
            True,
            id="7 ignores what is beside a reference",
        ),
        pytest.param(
            {"$schema": DRAFT_7, "prefixItems": [False]}, [1], True, id="7 no prefixItems"
        ),
        pytest.param(
            {"$schema": DRAFT_4, "minimum": 1, "exclusiveMinimum": True}, 1, False, id="4 exclusive"
        ),
        pytest.param(
            {
                "$schema": "https://json-schema.org/draft/2019-09/schema",
                "$recursiveAnchor": True,
                "properties": {"a": {"$recursiveRef": "#"}},
                "additionalProperties": False,
            },
            {"a": {"b": 1}},
            False,
            id="2019-09 recursive",
        ),
        pytest.param(
            {"$schema": "http://json-schema.org/draft-06/schema", "const": 1}, 2, False, id="6"
        ),
    ],
)
def test_declared_dialect_is_the_one_enforced(schema: Any, value: Any, fits: object) -> None:
    assert compile_schema(schema).is_valid(value) is fits


@pytest.mark.parametrize("value", [b"bytes", object(), {1: 2}, "\ud800", {"a": {1, 2}}, 1 + 2j])
def test_what_is_not_json_fits_nothing(value: Any) -> None:
    compiled = compile_schema({"additionalProperties": {"type": "string"}})
    assert not compiled.is_valid(value)
    assert compiled.violations(value)


def test_changing_the_schema_afterwards_changes_nothing() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"type": "integer"}}}
    compiled = compile_schema(schema)
    schema["properties"]["a"]["type"] = "string"
    assert compiled.is_valid({"a": 1})
    assert compiled.schema == {"properties": {"a": {"type": "integer"}}}
