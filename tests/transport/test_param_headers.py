"""Calls of a tool with `x-mcp-header`, through the ASGI application: what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp import Channel, Suite, Tool, mcp
from genmcp.errors import HeaderMismatch
from genmcp.providers.param_headers import ParamHeader, render_param
from genmcp.suite.param_headers import check_param_headers
from genmcp.transport.asgi import StreamableHTTP
from tests.transport.asgi_server import CALL_HEADERS, META, Connection

MAX = 2**53 - 1


class Route(
    Tool,
    name="route",
    input_schema={
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "loud": {"type": "boolean", "x-mcp-header": "Loud"},
            "where": {
                "type": "object",
                "properties": {"city": {"type": "string", "x-mcp-header": "City"}},
            },
        },
    },
    requires={"elicitation": {}},
):
    async def call(self, request: Any, channel: Channel) -> str:
        await channel.start_stream()
        return "routed"


async def call(
    arguments: Any, *headers: tuple[str, str | bytes], able: bool = True, **params: Any
) -> Connection:
    capabilities: dict[str, Any] = {"elicitation": {}} if able else {}
    meta: dict[str, Any] = {**META, mcp.CLIENT_CAPABILITIES_KEY: capabilities}
    params = {"name": "route", "arguments": arguments, "_meta": meta, **params}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    common = {**CALL_HEADERS, b"mcp-name": params["name"].encode()}
    connection = Connection(json.dumps(message).encode(), common)
    connection.scope["headers"] += [
        (name.encode(), value.encode() if isinstance(value, str) else value)
        for name, value in headers
    ]
    suite = Suite(server_name="s", server_version="0", tools=[Route])
    return await connection.run(StreamableHTTP(suite, secret_key="k" * 32))


REGION, COUNT, LOUD, CITY = (f"mcp-param-{name}" for name in ("region", "count", "loud", "city"))


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({}, []),
        ({"where": {}}, []),
        ({"region": "eu"}, [(REGION, "eu")]),
        ({"region": "eu"}, [("Mcp-Param-REGION", " \teu ")]),
        ({"region": ""}, [(REGION, "")]),
        ({"region": " "}, [(REGION, "=?base64?IA==?=")]),
        ({"region": "Hello"}, [(REGION, "=?base64?SGVsbG8=?=")]),
        ({"region": "SGVsbG8=?="}, [(REGION, "SGVsbG8=?=")]),
        ({"region": "=?base64?SGVsbG8="}, [(REGION, "=?base64?SGVsbG8=")]),
        ({"region": "é"}, [(REGION, "=?base64?w6k=?=")]),
        ({"count": 42}, [(COUNT, "42")]),
        ({"count": 42}, [(COUNT, "42.0")]),
        ({"count": 42.0}, [(COUNT, "42")]),
        ({"count": 0}, [(COUNT, "-0")]),
        ({"count": MAX}, [(COUNT, str(MAX))]),
        ({"count": -MAX}, [(COUNT, f"-{MAX}.00")]),
        # A string that is repaired only later is compared as it was sent.
        ({"count": "42"}, [(COUNT, "42")]),
        ({"loud": True}, [(LOUD, "true")]),
        ({"loud": False}, [(LOUD, "false")]),
        ({"where": {"city": "Ulm"}}, [(CITY, "Ulm")]),
        ({}, [("mcp-param-unknown", "x"), ("mcp-param-bad", b"\xff")]),
        ({"region": "eu"}, [(REGION, "eu"), ("mcp-param-", "=?base64?x?=")]),
    ],
    ids=ascii,
)  # fmt: skip
async def test_headers_that_repeat_the_arguments_are_accepted(
    arguments: dict[str, Any], headers: list[tuple[str, str | bytes]]
) -> None:
    connection = await call(arguments, *headers)
    assert connection.status == 200
    [_, message] = connection.events
    assert message["result"]["content"] == [{"type": "text", "text": "routed"}]


async def test_null_needs_no_header() -> None:
    connection = await call({"region": None, "count": None, "loud": None, "where": None})
    assert connection.status == 200
    # Refused all the same, but by the schema, in words for the model.
    assert connection.json["result"]["isError"]


READ = "The header Mcp-Param-Region cannot be read; send visible ASCII, or wrap the Base64"
DIFFERS = "The header Mcp-Param-{} differs from params.arguments.{}; they must be equal"


@pytest.mark.parametrize(
    ("arguments", "headers", "says"),
    [
        (
            {"region": "eu"},
            [],
            "The header Mcp-Param-Region is missing; it must repeat params.arguments.region",
        ),
        ({"region": ""}, [], "Mcp-Param-Region is missing"),
        ({"count": 0}, [], "Mcp-Param-Count is missing"),
        ({"loud": False}, [], "Mcp-Param-Loud is missing"),
        (
            {"where": {"city": "Ulm"}},
            [],
            "Mcp-Param-City is missing; it must repeat params.arguments.where.city",
        ),
        ({"region": "eu"}, [("mcp-param-region2", "eu")], "Mcp-Param-Region is missing"),
        ({"region": "eu"}, [(REGION, "EU")], DIFFERS.format("Region", "region")),
        ({"region": "eu"}, [(REGION, "")], DIFFERS.format("Region", "region")),
        ({"region": "Hello"}, [(REGION, "=?BASE64?SGVsbG8=?=")], "differs"),
        ({"region": "42"}, [(REGION, "42.0")], "differs"),
        ({"count": 42}, [(COUNT, "43")], DIFFERS.format("Count", "count")),
        ({"count": 42}, [(COUNT, "42.5")], "differs"),
        ({"count": 42}, [(COUNT, "42.")], "differs"),
        ({"count": 42}, [(COUNT, "+42")], "differs"),
        ({"count": 42}, [(COUNT, "042")], "differs"),
        ({"count": 42}, [(COUNT, "4.2e1")], "differs"),
        ({"count": 42}, [(COUNT, "0x2a")], "differs"),
        ({"count": 42}, [(COUNT, "4_2")], "differs"),
        ({"count": 42}, [(COUNT, "=?base64?2aTZog==?=")], "differs"),
        ({"count": 42}, [(COUNT, "9" * 9_000)], "differs"),
        ({"count": 1}, [(COUNT, "true")], "differs"),
        ({"loud": True}, [(LOUD, "1")], "differs"),
        ({"loud": True}, [(LOUD, "True")], "differs"),
        ({"count": 4.5}, [(COUNT, "4")], "differs"),
        (
            {"count": MAX + 1},
            [(COUNT, str(MAX + 1))],
            f"params.arguments.count must be within +-{MAX}, because the header Mcp-Param-Count",
        ),
        ({"count": -1e300}, [(COUNT, "-1e+300")], "must be within"),
        ({"count": 2**63}, [], "must be within"),
        (
            {"region": ["eu"]},
            [],
            "params.arguments.region is an array, which the header Mcp-Param-Region cannot repeat",
        ),
        ({"region": {}}, [(REGION, "{}")], "params.arguments.region is an object"),
        (
            {},
            [(REGION, "eu")],
            "The header Mcp-Param-Region was sent, but params.arguments.region is absent or null",
        ),
        ({"region": None}, [(REGION, "null")], "is absent or null"),
        ({"region": None}, [(REGION, "")], "is absent or null"),
        ({"where": "Ulm"}, [(CITY, "Ulm")], "params.arguments.where.city is absent or null"),
        ({"region": "Hello"}, [(REGION, "=?base64?SGVsbG8?=")], READ),
        ({"region": "Hello"}, [(REGION, "=?base64?SGVs!!!bG8=?=")], READ),
        ({"region": "=?base64?x?="}, [(REGION, "=?base64?x?=")], READ),
        ({"region": "é"}, [(REGION, "é")], READ),
        ({"region": "a\x7f"}, [(REGION, "a\x7f")], READ),
        ({}, [(REGION, b"\xff")], READ),
        (
            {"region": "eu"},
            [(REGION, "eu"), ("Mcp-Param-Region", "eu")],
            "Mcp-Param-region was sent more than once",
        ),
    ],
    ids=lambda value: ascii(value)[:60],
)  # fmt: skip
async def test_headers_that_do_not_repeat_the_arguments_are_refused(
    arguments: dict[str, Any], headers: list[tuple[str, str | bytes]], says: str
) -> None:
    connection = await call(arguments, *headers)
    assert connection.status == 400
    assert connection.json["id"] == 1
    error = connection.json["error"]
    assert error["code"] == -32020
    assert says in error["message"]
    assert len(error["message"]) < 200


@pytest.mark.parametrize(
    ("arguments", "other"),
    [
        ({"region": "eu"}, {"able": False}),
        ({"region": "eu", "where": 1}, {}),
        ({"region": "eu"}, {"requestState": "forged", "inputResponses": {}}),
    ],
    ids=["capability", "arguments", "state"],
)
async def test_headers_are_checked_before(arguments: Any, other: dict[str, Any]) -> None:
    refused = await call(arguments, **other)
    assert (refused.status, refused.json["error"]["code"]) == (400, -32020)
    passed = await call(arguments, (REGION, "eu"), **other)
    assert passed.json.get("error", {}).get("code") in (None, -32602, -32021)


async def test_tool_that_is_not_there_is_invalid_params_whatever_the_headers() -> None:
    connection = await call({"region": "eu"}, name="other")
    assert connection.json["error"]["code"] == -32602


SCALARS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])), st.booleans(), st.integers(-MAX, MAX)
)


@given(SCALARS, SCALARS)
def test_headers_of_two_arguments_are_equal_only_if_they_are(one: Any, other: Any) -> None:
    header = ParamHeader("A", ("a",))
    text = render_param(one)
    check_param_headers([header], {"a": text}, {"a": one})
    if render_param(other) != text:
        with pytest.raises(HeaderMismatch):
            check_param_headers([header], {"a": text}, {"a": other})


@given(st.integers(-MAX, MAX))
def test_integer_is_compared_as_a_number(number: int) -> None:
    header = ParamHeader("A", ("a",))
    for text in (str(number), f"{number}.0"):
        check_param_headers([header], {"a": text}, {"a": number})
        check_param_headers([header], {"a": text}, {"a": float(number)})
    with pytest.raises(HeaderMismatch):
        check_param_headers([header], {"a": f"{number}.5"}, {"a": number})


@given(st.text() | st.none(), st.none() | st.integers() | st.floats(allow_nan=False) | st.text())
def test_check_raises_nothing_but_a_mismatch(text: str | None, argument: Any) -> None:
    try:
        check_param_headers([ParamHeader("A", ("a",))], {"a": text}, {"a": argument})
    except HeaderMismatch as error:
        assert "Mcp-Param-A" in error.message  # noqa: PT017
    else:
        assert text is not None
