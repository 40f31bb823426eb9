"""Limits over HTTP: statuses, Retry-After, and what the refusal says."""

from __future__ import annotations

import json
import logging
from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from genmcp.channel import Channel
from genmcp.event_bus import EventBus
from genmcp.limits import RateLimit
from genmcp.mcp import v2607 as mcp
from genmcp.providers import EventSubscriptions, Tool
from genmcp.suite import Suite
from genmcp.testing import Client, ServerError
from genmcp.transport.asgi import StreamableHTTP
from tests.transport.asgi_server import CALL_HEADERS, Connection, HandlerServer, call_body

SECRET = "0123456789abcdef0123456789abcdef"


def read_user(scope: Any) -> str | None:
    user = dict(scope["headers"]).get(b"x-user")
    return None if user is None else user.decode()


def connect(user: str, request_id: mcp.RequestId = 1) -> Connection:
    return Connection(call_body(request_id), {**CALL_HEADERS, b"x-user": user.encode()})


async def wait_for_ever(channel: Channel) -> Any:
    await trio.sleep_forever()


def make_app(handle: Any = wait_for_ever, **settings: Any) -> StreamableHTTP:
    settings = {"secret_key": SECRET, "principal": read_user, **settings}
    return StreamableHTTP(HandlerServer(handle), **settings)


async def test_one_call_too_many_of_one_caller_is_429(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    app = make_app(max_calls_per_caller=2)
    open_ones = [connect("ada"), connect("ada")]
    for connection in open_ones:
        nursery.start_soon(connection.run, app)
    await wait_all_tasks_blocked()
    with caplog.at_level(logging.INFO, "genmcp"):
        refused = await connect("ada", "the third").run(app)
    assert refused.status == 429
    assert refused.headers[b"retry-after"] == b"1"
    assert refused.json["id"] == "the third"
    assert refused.json["error"]["code"] == -32600
    assert refused.json["error"]["data"] == {
        "setting": "max_calls_per_caller",
        "flag": "--max-calls-per-caller",
        "variable": "GENMCP_MAX_CALLS_PER_CALLER",
        "limit": 2,
        "retryAfterSeconds": 1,
    }
    [record] = caplog.records
    assert "429" in record.message
    assert "max_calls_per_caller" in record.message
    other = connect("bob")
    nursery.start_soon(other.run, app)
    await wait_all_tasks_blocked()
    assert other.status is None, "it runs"
    assert app.mux.open_calls == 3
    for connection in (*open_ones, other):
        connection.disconnect()
    await wait_all_tasks_blocked()
    assert app.mux.open_calls == 0
    last = connect("ada")
    nursery.start_soon(last.run, app)
    await wait_all_tasks_blocked()
    assert app.mux.open_calls == 1
    last.disconnect()


async def test_full_server_is_503_and_says_when_to_come_back(nursery: trio.Nursery) -> None:
    app = make_app(max_calls=1)
    first = connect("ada")
    nursery.start_soon(first.run, app)
    await wait_all_tasks_blocked()
    refused = await connect("bob", "b").run(app)
    assert refused.status == 503
    assert refused.headers[b"retry-after"] == b"5"
    assert refused.json["id"] == "b"
    assert refused.json["error"]["code"] == -32603
    assert refused.json["error"]["data"] == {
        "setting": "max_calls",
        "flag": "--max-calls",
        "variable": "GENMCP_MAX_CALLS",
        "limit": 1,
        "retryAfterSeconds": 5,
    }
    first.disconnect()


async def test_call_over_the_rate_is_429_and_echoes_its_id(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def handle(channel: Channel) -> mcp.Result:
        channel.check_rate("tools/call", "any")
        return mcp.call_tool_result(text="done")

    app = make_app(handle, rate_limit=RateLimit(calls=1, per_seconds=60))
    assert (await connect("ada").run(app)).status == 200
    await trio.sleep(0.5)
    refused = await connect("ada", "again").run(app)
    assert refused.status == 429
    assert refused.headers[b"retry-after"] == b"60"
    assert refused.json["id"] == "again"
    assert refused.json["error"]["data"] == {
        "setting": "rate_limit",
        "flag": "--rate-limit",
        "variable": "GENMCP_RATE_LIMIT",
        "limit": "1/60s",
        "retryAfterSeconds": 60,
    }
    assert (await connect("bob").run(app)).status == 200
    await trio.sleep(60)
    assert (await connect("ada").run(app)).status == 200


async def count_answered(app: StreamableHTTP, most: int) -> int:
    for answered in range(most):
        if (await connect("ada").run(app)).status != 200:
            return answered
    return most


async def check(channel: Channel) -> mcp.Result:
    channel.check_rate("tools/call", "any")
    return mcp.call_tool_result(text="done")


@pytest.mark.parametrize(
    ("settings", "answered"),
    [
        ({}, 1000),
        ({"principal": None}, 1010),
        ({"rate_limit": None}, 1010),
        ({"rate_limit": RateLimit(calls=3, per_seconds=60)}, 3),
        ({"rate_limit": RateLimit(calls=3, per_seconds=60), "principal": None}, 3),
    ],
    ids=str,
)
async def test_rate_is_limited_by_default_where_callers_are_told_apart(
    settings: dict[str, Any], answered: int, autojump_clock: trio.testing.MockClock
) -> None:
    assert await count_answered(make_app(check, **settings), 1010) == answered


@pytest.mark.parametrize(
    ("settings", "running"),
    [({}, 100), ({"principal": None}, 110), ({"max_calls_per_caller": None}, 110)],
    ids=str,
)
async def test_open_calls_are_limited_by_default_where_callers_are_told_apart(
    settings: dict[str, Any], running: int
) -> None:
    app = make_app(**settings)
    connections = [connect("ada") for _ in range(110)]
    async with trio.open_nursery() as nursery:
        for connection in connections:
            nursery.start_soon(connection.run, app)
        await wait_all_tasks_blocked()
        assert app.mux.open_calls == running
        assert [one.status for one in connections].count(429) == 110 - running
        for connection in connections:
            connection.disconnect()
    assert app.mux.admission.taken == 0


async def test_refused_identity_and_cut_off_bodies_take_no_place() -> None:
    def refuse(scope: Any) -> str:
        raise ValueError("no")

    app = make_app(principal=refuse)
    assert (await connect("ada").run(app)).status == 500
    endless = Connection(call_body()[:10], ends=False)
    endless.disconnect()
    await endless.run(app)
    assert app.mux.admission.taken == 0


# -- with a suite, as clients see it ---------------------------------------------------


class Hello(Tool[dict[str, Any]], name="hello", description="Says hello."):
    async def call(self, request: Any, channel: Channel) -> str:
        return "hello"


def make_suite(bus: EventBus | None = None) -> Suite:
    handler = EventSubscriptions(EventBus() if bus is None else bus)
    return Suite(server_name="s", server_version="1", tools=[Hello], subscription_handler=handler)


async def test_listen_streams_over_their_limit_are_429_and_calls_go_on() -> None:
    bus = EventBus()
    app = StreamableHTTP(make_suite(bus), secret_key=SECRET, max_streams_per_caller=2)
    async with Client(app) as client, AsyncExitStack() as streams:
        heard = [
            await streams.enter_async_context(client.listen(tools_list_changed=True))
            for _ in range(2)
        ]
        listen = {"notifications": {"toolsListChanged": True}}
        async with client.open("subscriptions/listen", listen) as refused:
            assert refused.response.status == 429
            assert refused.response.header("retry-after") == "10"
            error = json.loads(await refused.response.read())["error"]
        assert error["data"]["setting"] == "max_streams_per_caller"
        assert (await client.call_tool("hello")).text == "hello"
        bus.tools_changed()
        assert isinstance(await heard[1].next_change(), mcp.ToolListChangedNotification)
        await heard[0].disconnect()
        async with client.listen(tools_list_changed=True) as another:
            bus.tools_changed()
            assert isinstance(await another.next_change(), mcp.ToolListChangedNotification)
    assert app.mux.admission.taken == 0


async def test_listen_streams_count_towards_all_calls() -> None:
    app = StreamableHTTP(make_suite(), secret_key=SECRET, max_calls=1)
    async with Client(app) as client:
        async with client.listen(tools_list_changed=True):
            with pytest.raises(ServerError) as refused:
                await client.call_tool("hello")
            assert refused.value.data["setting"] == "max_calls"
        assert (await client.call_tool("hello")).text == "hello"


async def test_a_drain_ends_streams_at_their_limit_and_frees_their_places() -> None:
    app = StreamableHTTP(make_suite(), secret_key=SECRET, max_streams_per_caller=1)
    async with (
        trio.open_nursery() as nursery,
        Client(app) as client,
        client.listen(tools_list_changed=True) as stream,
    ):
        nursery.start_soon(app.drain, 5)
        await stream.result()
    assert app.mux.admission.taken == 0
