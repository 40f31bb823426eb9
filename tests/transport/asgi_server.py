"""An ASGI server in memory: drives an application for one request, and checks it.

What the application sends must follow the ASGI specification; a test fails here if it
does not.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import trio

from genmcp.mcp import v2607 as mcp
from genmcp.server import Server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from genmcp.channel import Channel
    from genmcp.transport.asgi_exchange import Message

META: dict[str, Any] = {
    mcp.PROTOCOL_VERSION_KEY: mcp.PROTOCOL_VERSION,
    mcp.CLIENT_CAPABILITIES_KEY: {},
    "progressToken": "token",
}


class HandlerServer(Server):
    """Answers `tools/call` with what a coroutine function does with the channel."""

    def __init__(self, handle: Callable[[Channel], Awaitable[Any]] | None = None) -> None:
        self.notifications: list[mcp.ClientNotification] = []
        self._handle = handle

    def methods(self) -> set[str]:
        return {"server/discover", "tools/call"}

    async def handle_request(self, request: mcp.Request, channel: Channel) -> Any:
        if self._handle is None:
            return mcp.call_tool_result(text="42")
        return await self._handle(channel)

    async def handle_notification(self, notification: mcp.ClientNotification) -> None:
        self.notifications.append(notification)
        if notification.method == "notifications/crash":
            raise ValueError("secret")


def call_body(request_id: mcp.RequestId = 1) -> bytes:
    """The body of a good `tools/call`."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call"}
    return json.dumps({**message, "params": {"name": "any", "_meta": META}}).encode()


CALL_HEADERS = {
    b"host": b"localhost",
    b"content-type": b"application/json",
    b"mcp-protocol-version": mcp.PROTOCOL_VERSION.encode(),
    b"mcp-method": b"tools/call",
    b"mcp-name": b"any",
}


class Connection:
    """One request to an application, and what came back for it.

    Args:
        body: the body in the pieces it arrives in, the last one ending it.
        ends: whether the body ends; if not, the application waits for more.
    """

    def __init__(
        self,
        body: bytes | Iterable[bytes] = b"",
        headers: Mapping[bytes, bytes] = CALL_HEADERS,
        *,
        ends: bool = True,
        **scope: Any,
    ) -> None:
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "path": "/mcp",
            "root_path": "",
            "headers": list(headers.items()),
            **scope,
        }
        self.status: int | None = None
        self.headers: dict[bytes, bytes] = {}
        self.chunks: list[tuple[float, bytes]] = []
        self.complete = False
        self._feed, self._inbox = trio.open_memory_channel[Any](math.inf)
        pieces = [body] if isinstance(body, bytes) else list(body)
        for index, piece in enumerate(pieces):
            more = index < len(pieces) - 1 or not ends
            self.feed({"type": "http.request", "body": piece, "more_body": more})

    def feed(self, message: dict[str, Any]) -> None:
        """Let the application receive `message`."""
        self._feed.send_nowait(message)

    def disconnect(self) -> None:
        """Let the application know that the client has left."""
        self.feed({"type": "http.disconnect"})

    @property
    def waiting_pieces(self) -> int:
        """How many messages the application has not received yet."""
        return self._inbox.statistics().current_buffer_used

    @property
    def body(self) -> bytes:
        """All of the response's body."""
        return b"".join(chunk for _, chunk in self.chunks)

    @property
    def json(self) -> Any:
        """The response's body, which must be one JSON text of the length it says."""
        assert self.complete
        assert self.headers[b"content-type"] == b"application/json"
        assert self.headers[b"content-length"] == str(len(self.body)).encode()
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The messages on the response's stream; a comment is None."""
        assert self.headers[b"content-type"] == b"text/event-stream"
        frames = self.body.decode().split("\n\n")
        assert frames.pop() == ""
        return [None if frame[0] == ":" else json.loads(frame[6:]) for frame in frames]

    async def receive(self) -> Any:
        """ASGI's `receive`."""
        return await self._inbox.receive()

    async def send(self, message: Message) -> None:
        """ASGI's `send`."""
        await trio.lowlevel.checkpoint()
        assert not self.complete, "sent after the end of the response"
        if message["type"] == "http.response.start":
            assert self.status is None, "started twice"
            self.status = message["status"]
            self.headers = dict(message["headers"])
            assert len(self.headers) == len(message["headers"])
            return
        assert message["type"] == "http.response.body"
        assert self.status is not None, "a body before its head"
        self.chunks.append((trio.current_time(), message["body"]))
        self.complete = not message.get("more_body", False)

    async def run(self, app: Callable[..., Awaitable[None]]) -> Connection:
        """Run the application for this request to its end."""
        await app(self.scope, self.receive, self.send)
        return self
