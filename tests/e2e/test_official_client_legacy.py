"""The official Python client as one of 2025, against real sockets and both servers."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import mcp_types
import pytest
import trio
from mcp import Client

from genmcp import mcp
from genmcp.transport.serve import serve
from tests.e2e.raw_http import read_until
from tests.legacy.client import HEADERS, NOVEMBER
from tests.legacy.server import Served

if TYPE_CHECKING:
    from genmcp import StreamableHTTP

# The client leaves streams half-read that it has the answer of.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")

SECONDS = 30  # a guard against hanging, not a measure


@attrs.frozen
class Running:
    url: str
    served: Served
    app: StreamableHTTP

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].partition("/")[0])


@pytest.fixture(params=["native", "hypercorn"])
async def running(request: pytest.FixtureRequest, nursery: trio.Nursery) -> Running:
    served = Served()
    app = served.make_app()
    [url] = await nursery.start(partial(serve, app, port=0, http=request.param))
    return Running(url, served, app)


async def elicit(context: Any, params: Any) -> Any:
    name = "Ada" if "First" in params.message else "Lovelace"
    return mcp_types.ElicitResult(action="accept", content={"name": name})


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_both_eras_are_served_to_one_client_alike(running: Running, mode: str) -> None:
    running.served.work.finish.set()
    heard: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    with trio.fail_after(SECONDS):
        client = Client(running.url, mode=mode, cache=None, elicitation_callback=elicit)
        async with client:
            assert client.protocol_version == (NOVEMBER if mode == "legacy" else "2026-07-28")
            assert len((await client.list_tools()).tools) == 1
            greeted = await client.call_tool("greet", {})
            assert greeted.content[0].text == "Ada Lovelace (2)"
            worked = await client.call_tool("work", {}, progress_callback=on_progress)
            assert worked.content[0].text == "finished"
            who = await client.call_tool("who", {})
            assert who.structured_content["version"] == client.protocol_version
    assert heard == [1, 2]


class Wire:
    """A client of 2025 on a socket of its own, which can hang up."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._session: bytes | None = None

    async def send(self, message: Any) -> trio.SocketStream:
        stream = await trio.open_tcp_stream("127.0.0.1", self._running.port)
        body = json.dumps(message).encode()
        headers = {**HEADERS, b"content-length": str(len(body)).encode()}
        if self._session is not None:
            headers[b"mcp-session-id"] = self._session
        head = b"".join(b"%s: %s\r\n" % pair for pair in headers.items())
        await stream.send_all(b"POST /mcp HTTP/1.1\r\n" + head + b"\r\n" + body)
        return stream

    async def open(self) -> None:
        params = {
            "protocolVersion": NOVEMBER,
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        stream = await self.send(
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        )
        head = await read_until(stream, b"\r\n\r\n")
        [line] = [one for one in head.split(b"\r\n") if one.lower().startswith(b"mcp-session-id:")]
        self._session = line.partition(b":")[2].strip()
        await stream.aclose()

    async def listen(self) -> trio.SocketStream:
        stream = await trio.open_tcp_stream("127.0.0.1", self._running.port)
        assert self._session is not None
        await stream.send_all(
            b"GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n"
            b"mcp-session-id: %s\r\n\r\n" % self._session
        )
        return stream

    async def read_rest(self, event_id: bytes) -> bytes:
        """Come back for what followed an event; return it when the stream has ended."""
        assert self._session is not None
        async with await trio.open_tcp_stream("127.0.0.1", self._running.port) as stream:
            await stream.send_all(
                b"GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n"
                b"mcp-session-id: %s\r\nlast-event-id: %s\r\n\r\n" % (self._session, event_id)
            )
            return await read_until(stream, b"\r\n0\r\n\r\n")


async def test_a_call_outlives_its_connection_and_its_client_comes_back(running: Running) -> None:
    with trio.fail_after(SECONDS):
        wire = Wire(running)
        await wire.open()
        params = {"name": "work", "_meta": {"progressToken": 1}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        stream = await wire.send(call)
        seen = await read_until(stream, b"working")
        event_id = seen.split(b"id: ")[1].split(b"\n")[0]
        await stream.aclose()
        # Long enough for the server to see that the client has gone.
        await trio.sleep(0.5)
        assert running.app.mux.open_calls == 1
        running.served.work.finish.set()
        rest = await wire.read_rest(event_id)
    assert b'"text":"finished"' in rest
    assert rest.count(b"data: {") == 4
    assert running.served.work.cancelled == 0


async def test_a_stream_of_changes_ends_with_its_client(running: Running) -> None:
    with trio.fail_after(SECONDS):
        wire = Wire(running)
        await wire.open()
        stream = await wire.listen()
        await read_until(stream, b": keep-alive")
        running.served.bus.publish(mcp.ToolListChangedNotification())
        heard = await read_until(stream, b"list_changed")
        assert b"subscriptionId" not in heard
        assert running.app.mux.open_calls == 1
        await stream.aclose()
        while running.app.mux.open_calls:  # noqa: ASYNC110 - only the kernel tells
            await trio.sleep(0.01)
