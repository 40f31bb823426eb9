"""`x-mcp-header`: which annotations a definition may have, and what the kit sends."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp import Channel, Extension, HeaderMismatch, Suite, Tool, mcp
from genmcp.providers.param_headers import ParamHeader, read_param_headers, render_param
from genmcp.suite.served_tool import serve_tool
from genmcp.testing import Client, ServerError, call_tool, check_tool, fake_caller
from genmcp.testing.client import encode_header_value
from genmcp.transport.headers import decode_value

REGION = {"type": "string", "x-mcp-header": "Region"}


def object_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def define(schema: Mapping[str, Any] | type[Any]) -> type[Tool]:
    class Route(Tool, name="route", description="Routes.", input_schema=schema):
        async def call(self, request: Any, channel: Channel) -> str:
            return repr(request.params.arguments)

    return Route


# -- definitions ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "headers"),
    [
        ({"type": "object"}, []),
        (object_of(region=REGION), [("Region", "region")]),
        (
            object_of(
                b={"type": "boolean", "x-mcp-header": "B"},
                a={"type": "integer", "x-mcp-header": "a!#$%&'*+-.^_`|~9"},
            ),
            [("B", "b"), ("a!#$%&'*+-.^_`|~9", "a")],
        ),
        (
            object_of(where=object_of(deep=object_of(region=REGION))),
            [("Region", "where", "deep", "region")],
        ),
        (object_of(**{"a/b": object_of(**{"~1": REGION})}), [("Region", "a/b", "~1")]),
        (object_of(**{"": REGION}), [("Region", "")]),
        # The name of a property, and data: no annotations.
        (object_of(**{"x-mcp-header": {"type": "string"}}), []),
        (object_of(a={"type": "object", "default": {"x-mcp-header": ""}}), []),
        (object_of(a={"enum": [{"x-mcp-header": 1}]}), []),
        # Keywords beside the annotation, or beside `properties`, are not on the way.
        (object_of(r={**REGION, "enum": ["eu"], "not": {"const": ""}}), [("Region", "r")]),
        (
            {**object_of(region=REGION), "anyOf": [{"required": ["region"]}], "$defs": {"A": {}}},
            [("Region", "region")],
        ),
    ],
    ids=str,
)  # fmt: skip
def test_annotations_reached_through_properties_are_headers(
    schema: dict[str, Any], headers: list[tuple[str, ...]]
) -> None:
    assert define(schema)().describe().input_schema == schema
    expected = tuple(ParamHeader(name, tuple(path)) for name, *path in headers)
    assert serve_tool(define(schema)).param_headers == expected


UNREACHED = "only on a property that is reached from the root through `properties` alone"


@pytest.mark.parametrize(
    ("schema", "place", "says"),
    [
        (object_of(r={"type": "string", "x-mcp-header": ""}), "/properties/r", "got ''"),
        (object_of(r={"type": "string", "x-mcp-header": "a b"}), "/properties/r", "got 'a b'"),
        (object_of(r={"type": "string", "x-mcp-header": "a:"}), "/properties/r", "got 'a:'"),
        (object_of(r={"type": "string", "x-mcp-header": "a\n"}), "/properties/r", "got 'a"),
        (object_of(r={"type": "string", "x-mcp-header": "Größe"}), "/properties/r", '"Region"'),
        (object_of(r={"type": "string", "x-mcp-header": 7}), "/properties/r", "got 7"),
        (object_of(r={"type": "string", "x-mcp-header": None}), "/properties/r", "got None"),
        (object_of(r={"type": "string", "x-mcp-header": "x" * 999 + " "}), "/properties/r", "got"),
        (object_of(r={"type": "number", "x-mcp-header": "N"}), "/properties/r", "got 'number'"),
        (object_of(r={"type": "array", "x-mcp-header": "N"}), "/properties/r", "got 'array'"),
        (object_of(r={"type": ["string"], "x-mcp-header": "N"}), "/properties/r", "['string']"),
        (object_of(r={"enum": ["a"], "x-mcp-header": "N"}), "/properties/r", "there is no type"),
        (
            object_of(a=REGION, b={**REGION, "x-mcp-header": "rEGION"}),
            "/properties/b",
            '"rEGION" is taken by /properties/a',
        ),
        (
            object_of(a=REGION, b=object_of(c=REGION)),
            "/properties/b/properties/c",
            "is taken by /properties/a",
        ),
        ({"type": "object", "x-mcp-header": "Region"}, "root", UNREACHED),
        *(
            (object_of(a={keyword: held}), f"/properties/a/{keyword}{rest}", UNREACHED)
            for keyword, held, rest in [
                ("items", REGION, ""),
                ("items", object_of(b=REGION), "/properties/b"),
                ("prefixItems", [REGION], "/0"),
                ("contains", REGION, ""),
                ("additionalProperties", REGION, ""),
                ("patternProperties", {"^a": REGION}, "/^a"),
                ("propertyNames", REGION, ""),
                ("unevaluatedProperties", REGION, ""),
                ("dependentSchemas", {"b": REGION}, "/b"),
                ("allOf", [object_of(b=REGION)], "/0/properties/b"),
                ("anyOf", [REGION], "/0"),
                ("oneOf", [True, REGION], "/1"),
                ("not", REGION, ""),
                ("if", REGION, ""),
                ("then", REGION, ""),
                ("else", REGION, ""),
            ]
        ),
        (
            {**object_of(a={"$ref": "#/$defs/A"}), "$defs": {"A": object_of(b=REGION)}},
            "/$defs/A/properties/b",
            UNREACHED,
        ),
    ],
    ids=str,
)
def test_annotation_no_client_takes_is_refused(
    schema: dict[str, Any], place: str, says: str
) -> None:
    with pytest.raises(ValueError, match="x-mcp-header") as caught:
        define(schema)
    message = str(caught.value)
    assert message.startswith("define.<locals>.Route: input_schema: schema " + place + ": x-mcp")
    assert says in message
    assert len(message) < 500


@attrs.frozen
class AttrsArgs:
    region: str | None = attrs.field(default=None, metadata={"schema": {"x-mcp-header": "Region"}})


@dataclasses.dataclass
class DataclassArgs:
    region: str = dataclasses.field(metadata={"schema": {"x-mcp-header": "Region"}})


class TypedDictArgs(TypedDict):
    region: Annotated[str, "Where", {"x-mcp-header": "Region"}]


@attrs.frozen
class Nested:
    where: AttrsArgs


@attrs.frozen
class Numbers:
    ratio: Annotated[float, {"x-mcp-header": "Ratio"}]


@attrs.frozen
class Tree:
    name: Annotated[str, {"x-mcp-header": "Name"}]
    below: list[Tree] = attrs.field(factory=list[Any])


@pytest.mark.parametrize(
    ("cls", "path"),
    [
        (AttrsArgs, ("region",)),
        (DataclassArgs, ("region",)),
        (TypedDictArgs, ("region",)),
        (Nested, ("where", "region")),
    ],
)
def test_typed_class_annotates_its_fields(cls: type[Any], path: tuple[str, ...]) -> None:
    class Route(Tool[cls], name="route"):  # type: ignore[valid-type]
        async def call(self, request: Any, channel: Channel) -> str:
            return ""

    assert serve_tool(Route).param_headers == (ParamHeader("Region", path),)


@pytest.mark.parametrize(
    ("cls", "says"),
    [
        (Numbers, "/properties/ratio: x-mcp-header needs"),
        (Tree, "/\\$defs/Tree/properties/name: x-mcp-header may stand only"),
    ],
)
def test_typed_class_with_a_wrong_annotation_is_refused(cls: type[Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"Route: input_schema: schema {says}"):
        define(cls)


def test_hand_written_schema_is_checked_when_the_suite_is_built() -> None:
    class ByHand(Tool, name="by-hand"):
        def input_schema(self) -> Any:
            return object_of(ratio={"type": "number", "x-mcp-header": "Ratio"})

        async def call(self, request: Any, channel: Channel) -> str:
            return ""

    with pytest.raises(ValueError, match="ByHand: input_schema: schema /properties/ratio: x-mcp"):
        Suite(server_name="s", server_version="0", tools=[ByHand])


def test_hand_written_description_is_checked_when_the_suite_is_built() -> None:
    class Described(Tool, name="described"):
        def describe(self) -> mcp.Tool:
            schema = object_of(ratio={"type": "number", "x-mcp-header": "Ratio"})
            return attrs.evolve(super().describe(), input_schema=schema)

        async def call(self, request: Any, channel: Channel) -> str:
            return ""

    with pytest.raises(ValueError, match="Described: describe: input_schema: schema /properties"):
        serve_tool(Described)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        ("eu", "eu"),
        (" ü", " ü"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-7, "-7"),
        (42.0, "42"),
        (0.5, "0.5"),
        (None, None),
        ([], None),
        ({}, None),
    ],
)
def test_argument_is_rendered_as_clients_do(value: object, text: str | None) -> None:
    assert render_param(value) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_the_header_value_encoding(text: str) -> None:
    encoded = encode_header_value(text)
    assert encoded.isascii()
    assert encoded == encoded.strip()
    assert encoded.isprintable()
    assert decode_value(encoded) == text


# -- the testing kit ------------------------------------------------------------------

Route = define(
    object_of(
        region=REGION,
        count={"type": "integer", "x-mcp-header": "Count"},
        loud={"type": "boolean", "x-mcp-header": "Loud"},
    )
)


def test_call_without_headers_is_not_checked() -> None:
    assert not call_tool(Route, region="eu").is_error
    assert len(check_tool(Route, [{"region": "eu", "count": 1}])) == 1


def test_caller_without_the_header_is_refused_by_call_tool_as_well() -> None:
    with pytest.raises(HeaderMismatch, match="Mcp-Param-Region is missing"):
        call_tool(Route, {"region": "eu"}, fake_caller(param_headers={}))


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Counting(Suite):
    """Remembers which methods were asked for."""

    asked: list[str] = attrs.field(factory=list[Any])

    async def handle_request(self, request: mcp.Request, channel: Channel) -> Any:
        self.asked.append(request.method)
        return await super().handle_request(request, channel)


@pytest.mark.parametrize("arguments", [{"region": "Zürich", "count": 3, "loud": False}, {}])
async def test_client_that_listed_the_tools_sends_the_headers(arguments: dict[str, Any]) -> None:
    suite = Counting(server_name="s", server_version="0", tools=[Route])
    async with Client(suite) as client:
        await client.list_tools()
        result = await client.call_tool("route", arguments)
    assert isinstance(result, mcp.CallToolResult)
    assert result.content == [mcp.TextContent(text=repr(arguments))]
    assert suite.asked == ["tools/list", "tools/call"]


async def test_client_that_did_not_list_the_tools_does_so_when_it_has_to() -> None:
    suite = Counting(server_name="s", server_version="0", tools=[Route], page_size=1)
    async with Client(suite) as client:
        await client.call_tool("route", {})
        assert suite.asked == ["tools/call"]
        await client.call_tool("route", {"region": ""})
        assert suite.asked == ["tools/call", "tools/call", "tools/list", "tools/call"]
        await client.call_tool("route", {"region": "eu"})
        assert suite.asked[4:] == ["tools/call"]


async def test_client_gives_up_when_the_list_tells_nothing_new() -> None:
    async with Client(Suite(server_name="s", server_version="0", tools=[Route])) as client:
        with pytest.raises(ServerError, match="count is an array") as caught:
            await client.call_tool("route", {"count": [1]})
    assert caught.value.code == -32020


async def test_tool_of_an_extension_is_checked_too() -> None:
    class ForSome(Extension):
        async def tools(self, channel: Channel) -> Any:
            return [Route]

    suite = Suite(server_name="s", server_version="0", extensions=[ForSome()])
    async with Client(suite) as client:
        with pytest.raises(ServerError, match="Mcp-Param-Region is missing"):
            await client.request("tools/call", {"name": "route", "arguments": {"region": "eu"}})
        result = await client.call_tool("route", {"region": "eu"})
    assert isinstance(result, mcp.CallToolResult)
    assert not result.is_error


def test_schema_from_elsewhere_may_be_deep() -> None:
    schema: dict[str, Any] = object_of(region=REGION)
    for _ in range(5_000):
        schema = object_of(inner=schema)
    [header] = read_param_headers(schema)
    assert len(header.path) == 5_001
