"""What is wrong with a value is told in its own terms, and in bounded time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from genmcp.wire.schema import compile_schema
from genmcp.wire.violation import MAX_QUOTED, quote, render_path, render_pointer

JARGON = ("schema", "keyword", "anyOf", "oneOf", "instance", "validat", "properties")


def explain(schema: Any, value: Any) -> list[str]:
    violations = compile_schema(schema).violations(value)
    return [f"{render_path(found.path)}: {found.message}" for found in violations]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "integer"}, "x", 'expected integer, got string "x"'),
        ({"type": "integer"}, 1.5, "expected integer, got number 1.5"),
        ({"type": "integer"}, True, "expected integer, got boolean true"),
        ({"type": "string"}, None, "expected string, got null"),
        ({"type": "string"}, [1], "expected string, got array"),
        ({"type": ["null", "integer", "array"]}, {}, "expected array or integer, got object"),
        ({"enum": ["a", 1, None]}, "b", 'must be one of "a", 1 or null, got "b"'),
        ({"const": "a"}, "b", 'must be "a", got "b"'),
        ({"minimum": 1}, 0, "must be at least 1, got 0"),
        ({"maximum": 1.5}, 2, "must be at most 1.5, got 2"),
        ({"exclusiveMinimum": 0}, 0, "must be greater than 0, got 0"),
        ({"exclusiveMaximum": 9}, 9, "must be less than 9, got 9"),
        ({"multipleOf": 5}, 7, "must be a multiple of 5, got 7"),
        ({"minLength": 1}, "", "must have at least 1 character"),
        ({"maxLength": 2}, "abc", "must have at most 2 characters"),
        ({"pattern": "^a"}, "b", 'must match the pattern ^a, got "b"'),
        ({"minItems": 2}, [1], "must have at least 2 items"),
        ({"maxItems": 1}, [1, 2], "must have at most 1 item"),
        ({"uniqueItems": True}, [1, 1], "must not hold the same item twice"),
        ({"contains": {"const": 1}}, [], "holds no item of the form it must hold"),
        ({"contains": {"const": 1}, "minContains": 2}, [1], "holds too few items"),
        ({"contains": {"const": 1}, "maxContains": 1}, [1, 1], "holds too many items"),
        ({"minProperties": 1}, {}, "must have at least 1 field"),
        ({"maxProperties": 0}, {"a": 1}, "must have at most 0 fields"),
        ({"required": ["a"]}, {}, 'missing required field "a"'),
        (
            {"dependentRequired": {"a": ["b"]}},
            {"a": 1},
            'missing required field "b", needed beside "a"',
        ),
        ({"additionalProperties": False}, {"a": 1}, 'unknown field "a"'),
        ({"unevaluatedProperties": False}, {"a": 1}, 'unknown field "a"'),
        ({"unevaluatedItems": False}, [1], "has more items than it may have"),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, 'the name "ab" is not allowed: must have'),
        ({"not": {}}, 1, "has a form that is not allowed"),
        ({"oneOf": [True, True]}, 1, "fits more than one of the allowed forms"),
        (False, 1, "is not allowed here"),
        ({"properties": {"a": False}}, {"a": 1}, "is not allowed here"),
    ],
)
def test_violation_is_told_in_terms_of_the_value(schema: Any, value: Any, message: str) -> None:
    (line,) = explain(schema, value)
    assert message in line
    assert not [word for word in JARGON if word in line]


UNION = {
    "anyOf": [
        {"type": "integer"},
        {
            "type": "object",
            "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
            "required": ["kind", "radius"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "box"}, "sides": {"type": "array"}},
            "required": ["kind", "sides"],
        },
    ]
}


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ("x", ['s: expected integer or object, got string "x"']),
        ({"kind": "box", "sides": 1}, ["s.sides: expected array, got integer 1"]),
        ({"kind": "circle"}, ['s: missing required field "radius"']),
        (
            {"kind": "ball", "radius": 1, "sides": []},
            ['s.kind: must be one of "circle" or "box", got "ball"'],
        ),
    ],
)
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_alternatives_are_told_by_the_closest(keyword: str, value: Any, lines: list[str]) -> None:
    schema = {"properties": {"s": {keyword: UNION["anyOf"]}}}
    assert explain(schema, {"s": value}) == lines


def test_null_is_no_alternative_to_explain() -> None:
    schema = {"anyOf": [{"type": "string", "maxLength": 1}, {"type": "null"}]}
    assert explain(schema, "ab") == [": must have at most 1 character"]


SLOW = r"^(?:a|aa)+(?!b)$"


@pytest.mark.parametrize(
    ("schema", "value", "line"),
    [
        (
            {"properties": {"z": {"pattern": SLOW}}},
            {"z": "a" * 2000 + "c"},
            f"z: could not be checked against the pattern {SLOW}, which took too long; send less",
        ),
        (
            {"propertyNames": {"pattern": SLOW}},
            {"a" * 2000 + "c": 1},
            (
                f": its names could not be checked against the pattern {SLOW}, "
                "which took too long; send less"
            ),
        ),
        (
            {"patternProperties": {SLOW: {}}, "additionalProperties": False},
            {"a" * 2000 + "c": 1},
            (
                f": its names could not be checked against the pattern {SLOW}, "
                "which took too long; send less"
            ),
        ),
    ],
)
def test_pattern_that_takes_too_long_is_named(schema: Any, value: Any, line: str) -> None:
    assert explain(schema, value) == [line]


def test_known_names_are_found_through_references() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"properties": {"x": {}, "y": {}}, "additionalProperties": False}},
    }
    (violation,) = compile_schema(schema).violations({"a": {"z": 1}})
    assert (violation.name, violation.candidates) == ("z", ("x", "y"))


@pytest.mark.parametrize(
    ("path", "code", "pointer"),
    [
        ((), "", ""),
        (("items", 2, "name"), "items[2].name", "/items/2/name"),
        ((0, "a b", "c"), '[0]["a b"].c', "/0/a b/c"),
        (("a/b", "c~d"), '["a/b"]["c~d"]', "/a~1b/c~0d"),
        (("",), '[""]', "/"),
    ],
)
def test_place_is_written_as_code_and_as_pointer(
    path: tuple[str | int, ...], code: str, pointer: str
) -> None:
    assert render_path(path) == code
    assert render_pointer(path) == pointer


@pytest.mark.parametrize(
    "value",
    ["x" * 500, "\ud800" * 30, 10**5000, -(10**5000), 1e300, "\n" * 200, {"a": 1}, [1], b"x"],
    ids=[
        "long",
        "surrogates",
        "huge",
        "hugely negative",
        "float",
        "lines",
        "dict",
        "list",
        "bytes",
    ],
)
def test_value_is_repeated_briefly_and_can_be_written(value: Any) -> None:
    text = quote(value)
    text.encode()
    # A surrogate or a line end takes a few characters where the value has one.
    assert len(text) <= 6 * MAX_QUOTED + 2
    assert "\n" not in text


def test_reason_has_nothing_of_the_value() -> None:
    schema = {
        "properties": {
            "a": {"type": "integer"},
            "b": {"enum": [1]},
            "c": {"pattern": "^a"},
            "d": {"anyOf": [{"type": "string", "maxLength": 1}, {"type": "integer"}]},
            "e": {"propertyNames": {"maxLength": 1}},
        }
    }
    secret = "s3cr3t-value"
    value = {**dict.fromkeys("abcd", secret), "e": {secret: 1}}
    violations = compile_schema(schema).violations(value)
    assert len(violations) == len(value)
    assert not [found for found in violations if secret in found.reason]
    assert [found.message for found in violations if secret in found.message]


RECURSIVE_UNION = {
    "$defs": {
        "n": {
            "anyOf": [
                {"type": "array", "items": {"$ref": "#/$defs/n"}},
                {"type": "array", "prefixItems": [{"$ref": "#/$defs/n"}]},
                {"type": "integer"},
            ]
        }
    },
    "properties": {"x": {"$ref": "#/$defs/n"}},
}
WIDE_UNION = {
    "properties": {
        "x": {
            "anyOf": [
                {"type": "array", "items": {"type": "integer"}},
                {"type": "array", "items": {"type": "boolean"}},
            ]
        }
    }
}
ROWS = {
    "properties": {
        "x": {
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "integer"}}},
        }
    }
}


def nest(depth: int) -> Any:
    value: Any = "bad"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param(RECURSIVE_UNION, nest(120), id="deep"),
        pytest.param(RECURSIVE_UNION, [nest(8)] * 500, id="deep and wide"),
        pytest.param(WIDE_UNION, ["bad"] * 50_000, id="wide"),
        pytest.param(ROWS, [{"n": "bad"}] * 50_000, id="rows"),
    ],
)
def test_explaining_takes_bounded_time(schema: Any, value: Any) -> None:
    compiled = compile_schema(schema)
    start = time.process_time()
    violations = compiled.violations({"x": value})
    # Told by the validator alone, these take from two seconds to longer than anyone waits.
    assert time.process_time() - start < 1.5
    assert violations
    assert all(found.path[0] == "x" for found in violations)


def test_large_value_is_explained_where_it_is_wrong() -> None:
    rows: list[dict[str, Any]] = [{"n": number} for number in range(5000)]
    rows[4321]["n"] = "bad"
    assert explain(ROWS, {"x": rows}) == ['x[4321].n: expected integer, got string "bad"']


def test_large_value_is_explained_by_the_alternative_its_tag_names() -> None:
    tree = {
        "$defs": {
            "node": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {
                            "op": {"const": op},
                            "left": {"$ref": "#/$defs/node"},
                            "right": {"$ref": "#/$defs/node"},
                        },
                    }
                    for op in ("add", "mul")
                ]
                + [{"type": "number"}]
            }
        },
        "$ref": "#/$defs/node",
    }
    value: Any = {"op": "add", "left": "bad", "right": 1}
    for _ in range(60):
        value = {"op": "mul", "left": 1, "right": value}
    path = ".right" * 60 + ".left"
    assert explain(tree, value) == [f'{path[1:]}: expected number or object, got string "bad"']


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({"maxItems": 3}, "x: must have at most 3 items"),
        ({"allOf": [{"maxItems": 3}]}, "x: must have at most 3 items"),
        ({"$ref": "#/$defs/few"}, "x: must have at most 3 items"),
        ({"not": {"type": "array"}}, "x: has a form that is not allowed"),
        (
            {"anyOf": [{"type": "object"}, {"type": "array", "items": {"maximum": 3}}]},
            "x[4]: must be at most 3, got 4",
        ),
        ({"anyOf": [{"maxItems": 3}, {"maxItems": 4}]}, "x: fits none of the allowed forms"),
        (
            {"$id": "urn:x:inner", "$ref": "urn:x:inner#/$defs/a", "$defs": {"a": {"maxItems": 3}}},
            "x: ",
        ),
    ],
)
def test_large_value_that_is_wrong_as_a_whole_is_told_so(schema: Any, line: str) -> None:
    schema = {"properties": {"x": schema}, "$defs": {"few": {"maxItems": 3}}}
    lines = explain(schema, {"x": list(range(5000))})
    assert lines[0].startswith(line)


def test_large_value_with_many_faults_tells_some_of_them() -> None:
    lines = explain(ROWS, {"x": [{"n": "bad"}] * 5000})
    assert 10 <= len(lines) <= 50
