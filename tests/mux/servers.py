"""Servers for the mux's tests: each answers every request in one way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from genmcp.caller import Caller
from genmcp.channel import Channel
from genmcp.mcp import v2607 as mcp
from genmcp.mux import Call, Mux
from genmcp.outcome import Error, Stream
from genmcp.server import Server
from genmcp.testing.sink import RecordingSink

Answer = mcp.Result | Stream[Any] | Error
DONE = mcp.CallToolResult(content=[mcp.TextContent(text="done")])


class HandlerServer(Server):
    """Answers with whatever the given coroutine functions do."""

    def __init__(
        self,
        handle: Callable[[Channel], Awaitable[Any]],
        *,
        on_message: Callable[[object, Channel, Any], Awaitable[Any]] | None = None,
        on_close: Callable[[Channel, Any], Awaitable[None]] | None = None,
    ) -> None:
        self._handle = handle
        self._on_message = on_message
        self._on_close = on_close

    def methods(self) -> set[str]:
        return {"server/discover", "tools/call"}

    async def handle_request(self, request: mcp.Request, channel: Channel) -> Any:
        return await self._handle(channel)

    async def handle_message(self, message: object, channel: Channel, state: Any) -> Any:
        assert self._on_message is not None
        return await self._on_message(message, channel, state)

    async def handle_close(self, channel: Channel, state: Any) -> None:
        if self._on_close is not None:
            await self._on_close(channel, state)


def caller(**facts: Any) -> Caller:
    """A caller with a progress token and no other facts."""
    given: dict[str, Any] = {
        "request_id": 1,
        "protocol_version": mcp.PROTOCOL_VERSION,
        "client_capabilities": mcp.ClientCapabilities(),
        "progress_token": "token",
    }
    return Caller(**{**given, **facts})


def request() -> mcp.Request:
    """Any request."""
    meta = mcp.RequestMetaObject(
        protocol_version=mcp.PROTOCOL_VERSION, client_capabilities=mcp.ClientCapabilities()
    )
    return mcp.CallToolRequest(
        params=mcp.CallToolRequestParams(meta=meta, name="any", arguments={})
    )


def open_call(
    server: Server, *, mux: Mux | None = None, **facts: Any
) -> tuple[Call, RecordingSink, Mux]:
    """A call on `server`, not running yet, and the sink it will write to."""
    mux = Mux(server) if mux is None else mux
    sink = RecordingSink()
    return mux.open(request(), caller(**facts), sink), sink, mux
