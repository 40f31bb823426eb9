"""A keyword with a slip in it is refused: it would not be checked."""

from __future__ import annotations

from typing import Any

import pytest

from genmcp.wire.schema import SchemaError, compile_schema


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("requried", "required"),
        ("requires", "required"),
        ("additionalproperties", "additionalProperties"),
        ("additionalProperty", "additionalProperties"),
        ("Properties", "properties"),
        ("propertys", "properties"),
        ("minlength", "minLength"),
        ("max_length", "maxLength"),
        ("anyof", "anyOf"),
        ("item", "items"),
        ("exclusiveMinium", "exclusiveMinimum"),
    ],
)
def test_slip_is_refused_with_what_was_meant(slip: str, meant: str) -> None:
    for schema, pointer in (
        ({"type": "object", slip: {}}, f"/{slip}"),
        ({"type": "object", "properties": {"a": {slip: 1}}}, f"/properties/a/{slip}"),
    ):
        with pytest.raises(SchemaError, match=f"{slip!r} is no keyword.*{meant!r}") as caught:
            compile_schema(schema)
        assert caught.value.pointer == pointer


@pytest.mark.parametrize(
    "name",
    ["x-mcp-header", "x-required", "example", "nullable", "enumNames", "order", "unit", "foo", ""],
)
def test_other_members_are_left_alone(name: str) -> None:
    schema: dict[str, Any] = {"type": "object", name: "anything"}
    assert compile_schema(schema).is_valid({})


def test_names_of_properties_are_no_keywords() -> None:
    schema = {"type": "object", "properties": {"requried": {"type": "string"}}}
    assert compile_schema(schema).is_valid({"requried": "x"})
