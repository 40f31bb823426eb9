"""The official Python client repeats arguments in headers, over a real socket."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import attrs
import pytest
import trio
from mcp import Client
from mcp.shared.exceptions import MCPError

from genmcp import Channel, StreamableHTTP, Suite, Tool, mcp
from genmcp.transport.serve import serve

SECONDS = 30  # a guard against hanging, not a measure


@attrs.frozen
class Where:
    city: Annotated[str | None, {"x-mcp-header": "City"}] = None


@attrs.frozen
class RouteArgs:
    region: Annotated[str | None, "Where to run it", {"x-mcp-header": "Region"}] = None
    count: Annotated[int | None, {"x-mcp-header": "X-Count"}] = None
    loud: Annotated[bool | None, {"x-mcp-header": "loud"}] = None
    where: Where | None = None


class Route(Tool[RouteArgs], name="route", description="Tells the headers it was routed by."):
    async def call(self, request: mcp.CallToolRequest[RouteArgs], channel: Channel) -> Any:
        args = request.params.arguments
        return mcp.call_tool_result(data={"got": attrs.asdict(args), "sent": channel.param_headers})


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Counting(Suite):
    """Remembers which methods were asked for."""

    asked: list[str] = attrs.field(factory=list[str])

    async def handle_request(self, request: mcp.Request, channel: Channel) -> Any:
        self.asked.append(request.method)
        return await super().handle_request(request, channel)


@pytest.fixture
def suite() -> Counting:
    return Counting(server_name="e2e", server_version="1", tools=[Route])


@pytest.fixture
async def url(nursery: trio.Nursery, suite: Counting) -> str:
    app = StreamableHTTP(suite, secret_key="k" * 32)
    (url,) = await nursery.start(partial(serve, app, port=0))
    return str(url)


def connect(url: str) -> Client:
    return Client(url, mode="2026-07-28", cache=None)


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({}, {}),
        ({"region": "eu-west"}, {"region": "eu-west"}),
        ({"region": ""}, {"region": ""}),
        ({"region": " padded\t"}, {"region": " padded\t"}),
        ({"region": "Zürich 東京"}, {"region": "Zürich 東京"}),
        ({"region": "=?base64?SGVsbG8=?="}, {"region": "=?base64?SGVsbG8=?="}),
        ({"region": "a\r\nMcp-Param-Loud: true"}, {"region": "a\r\nMcp-Param-Loud: true"}),
        ({"region": None, "count": None, "loud": None, "where": None}, {}),
        ({"count": 0}, {"x-count": "0"}),
        ({"count": -(2**53) + 1}, {"x-count": "-9007199254740991"}),
        ({"count": 42.0}, {"x-count": "42.0"}),
        ({"loud": True}, {"loud": "true"}),
        ({"loud": False, "region": None}, {"loud": "false"}),
        ({"where": {"city": "Ulm"}}, {"city": "Ulm"}),
        ({"where": {}}, {}),
    ],
    ids=ascii,
)
async def test_listed_tool_is_called_with_its_headers(
    url: str, arguments: dict[str, Any], sent: dict[str, str]
) -> None:
    with trio.fail_after(SECONDS):
        async with connect(url) as client:
            listed = await client.list_tools()
            # A definition that this client found wrong would not be shown.
            assert [tool.name for tool in listed.tools] == ["route"]
            result = await client.call_tool("route", arguments)
    assert not result.is_error
    got = attrs.asdict(RouteArgs())
    assert result.structured_content == {"got": got | arguments_of(arguments), "sent": sent}


def arguments_of(arguments: dict[str, Any]) -> dict[str, Any]:
    where = arguments.get("where")
    return arguments | ({} if where is None else {"where": {"city": None} | where})


async def test_client_that_is_refused_lists_the_tools_and_calls_again(
    url: str, suite: Counting
) -> None:
    with trio.fail_after(SECONDS):
        async with connect(url) as client:
            result = await client.call_tool("route", {"region": "eu"})
    assert suite.asked == ["tools/call", "tools/list", "tools/call"]
    assert result.structured_content is not None
    assert result.structured_content["sent"] == {"region": "eu"}


async def test_integer_beyond_what_every_reader_keeps_is_refused(url: str) -> None:
    with trio.fail_after(SECONDS):
        async with connect(url) as client:
            await client.list_tools()
            with pytest.raises(MCPError, match=r"must be within \+-9007199254740991") as caught:
                await client.call_tool("route", {"count": 2**53})
            assert caught.value.error.code == -32020
