from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
import trio

from genmcp.errors import InvalidRequest
from genmcp.events import Answered, ClientGone, EncodeError, KeptAlive
from genmcp.mcp import v2607 as mcp
from genmcp.transport.asgi_exchange import AsgiExchange
from genmcp.transport.exchange import DRAIN_BYTES, DRAIN_SECONDS
from genmcp.transport.inbound import Refusal
from genmcp.transport.reply import Reply
from tests.transport.asgi_server import Connection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from genmcp.transport.asgi_exchange import Message

ANSWER = Answered(mcp.call_tool_result(text="42"))
REFUSAL = Refusal(403, InvalidRequest("no"))


class Pipe(Connection):
    """A connection whose `send` can be made to wait or to fail."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.room = trio.Event()
        self.room.set()
        self.failure: Exception | None = None

    async def send(self, message: Message) -> None:
        await self.room.wait()
        if self.failure is not None:
            raise self.failure
        await super().send(message)


def open_exchange(connection: Connection) -> AsgiExchange:
    exchange = AsgiExchange(connection.scope, connection.receive, connection.send)
    exchange.reply = Reply(1)
    return exchange


# -- writing -----------------------------------------------------------------------


async def test_write_cancelled_half_way_leaves_the_connection_unusable() -> None:
    pipe = Pipe()
    exchange = open_exchange(pipe)
    pipe.room = trio.Event()
    with trio.move_on_after(0.01):
        await exchange.write(KeptAlive())
    pipe.room.set()
    assert not exchange.reachable
    with pytest.raises(ClientGone):
        await exchange.write(ANSWER)
    assert pipe.chunks == []


async def test_write_cancelled_before_it_began_changes_nothing() -> None:
    pipe = Pipe()
    exchange = open_exchange(pipe)
    with trio.CancelScope() as scope:
        scope.cancel()
        await exchange.write(KeptAlive())
    assert scope.cancelled_caught
    await exchange.write(ANSWER)
    assert pipe.json["id"] == 1


async def test_write_waits_for_the_client() -> None:
    pipe = Pipe()
    exchange = open_exchange(pipe)
    pipe.room = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(exchange.write, ANSWER)
        await trio.testing.wait_all_tasks_blocked()
        assert not pipe.complete
        pipe.room.set()
    assert pipe.complete


@pytest.mark.parametrize(
    ("failure", "logged"),
    [
        (OSError("gone"), False),
        (ConnectionResetError(), False),
        (trio.BrokenResourceError(), False),
        (trio.ClosedResourceError(), False),
        (RuntimeError("a middleware's own"), True),
    ],
    ids=repr,
)
async def test_send_that_fails_means_that_the_client_is_gone(
    failure: Exception,
    logged: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    pipe = Pipe()
    pipe.failure = failure
    exchange = open_exchange(pipe)
    with caplog.at_level(logging.INFO), pytest.raises(ClientGone):
        await exchange.write(KeptAlive())
    assert bool(caplog.records) is logged
    pipe.failure = None
    with pytest.raises(ClientGone):
        await exchange.write(ANSWER)


async def test_what_is_not_json_leaves_the_connection_as_it_was() -> None:
    pipe = Pipe()
    exchange = open_exchange(pipe)
    with pytest.raises(EncodeError):
        await exchange.write(
            Answered(mcp.CallToolResult(content=[], structured_content=float("nan")))
        )
    await exchange.write(ANSWER)
    assert pipe.json["id"] == 1


async def test_middleware_may_change_the_headers_it_is_given() -> None:
    class Adding(Connection):
        async def send(self, message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"].append((b"x-added", b"1"))
            await super().send(message)

    for _ in range(2):
        connection = Adding()
        await open_exchange(connection).write(KeptAlive())
        assert len(connection.headers) == 4


# -- refusing ----------------------------------------------------------------------


async def refuse(
    body: list[bytes], headers: Mapping[bytes, bytes], *, ends: bool = True, **scope: Any
) -> Connection:
    connection = Connection(body, headers, ends=ends, **scope)
    await open_exchange(connection).refuse(REFUSAL)
    assert connection.status == 403
    assert connection.complete
    return connection


async def test_small_body_is_read_before_the_refusal() -> None:
    for headers in ({b"content-length": b"4"}, {b"transfer-encoding": b"chunked"}):
        connection = await refuse([b"ab", b"cd"], headers)
        assert b"connection" not in connection.headers


async def test_request_without_a_body_is_refused_at_once() -> None:
    connection = await refuse([], {}, method="GET")
    assert b"connection" not in connection.headers


@pytest.mark.parametrize("length", [str(DRAIN_BYTES + 1).encode(), b"9" * 4000, b"x", b""])
async def test_body_that_is_not_small_is_not_read(length: bytes) -> None:
    connection = await refuse([], {b"content-length": length}, ends=False)
    assert connection.headers[b"connection"] == b"close"


async def test_body_that_turns_out_not_small_is_not_read_to_its_end() -> None:
    piece = b"x" * DRAIN_BYTES
    connection = await refuse([piece] * 9, {b"transfer-encoding": b"chunked"}, ends=False)
    assert connection.headers[b"connection"] == b"close"


async def test_slow_body_is_not_waited_for_long(autojump_clock: trio.testing.MockClock) -> None:
    connection = await refuse([b"a"], {b"content-length": b"2"}, ends=False)
    assert trio.current_time() == pytest.approx(DRAIN_SECONDS)
    assert connection.headers[b"connection"] == b"close"


async def test_http2_has_no_connection_header() -> None:
    connection = await refuse([], {b"content-length": b"99999999"}, ends=False, http_version="2")
    assert b"connection" not in connection.headers


async def test_client_that_leaves_is_not_refused() -> None:
    connection = Connection([], {b"content-length": b"2"}, ends=False)
    connection.disconnect()
    exchange = open_exchange(connection)
    with pytest.raises(ClientGone):
        await exchange.refuse(REFUSAL)
    assert connection.status is None
    assert exchange.client_left
