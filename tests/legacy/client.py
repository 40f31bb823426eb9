"""A client of 2025 in memory: what it sends, byte by byte, and what it got."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import trio
from trio.testing import wait_all_tasks_blocked

from tests.transport.asgi_server import Connection

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

NOVEMBER, JUNE = "2025-11-25", "2025-06-18"
HEADERS = {
    b"host": b"localhost",
    b"content-type": b"application/json",
    b"accept": b"application/json, text/event-stream",
}
ASKABLE: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}


@attrs.frozen
class Event:
    """One server-sent event."""

    id: str | None
    retry: str | None
    data: Any


def read_events(body: bytes) -> list[Event]:
    """Return the complete events of a stream, comments left out."""
    events: list[Event] = []
    for frame in body.decode().split("\n\n")[:-1]:
        fields: dict[str, str] = {}
        for line in frame.split("\n"):
            name, _, value = line.partition(":")
            if name:
                fields[name] = value.removeprefix(" ")
        if fields:
            data = fields.get("data")
            events.append(
                Event(fields.get("id"), fields.get("retry"), json.loads(data) if data else None)
            )
    return events


def messages(connection: Connection) -> list[Any]:
    """Return what was said on a stream, or the one answer in JSON."""
    if connection.headers[b"content-type"] == b"application/json":
        return [connection.json]
    return [event.data for event in read_events(connection.body) if event.data is not None]


@attrs.define
class LegacyClient:
    """Speaks to an application in one session."""

    app: Callable[..., Awaitable[None]]
    version: str = NOVEMBER
    session_id: bytes | None = None
    headers: dict[bytes, bytes] = attrs.field(factory=dict[bytes, bytes])
    ids: int = 0

    def make_headers(self, **more: bytes | None) -> dict[bytes, bytes]:
        """Return what the session's requests say; `more` adds, and `None` takes away."""
        found: dict[bytes, bytes | None] = {**HEADERS, **self.headers}
        if self.session_id is not None:
            found[b"mcp-session-id"] = self.session_id
            found[b"mcp-protocol-version"] = self.version.encode()
        found |= {name.replace("_", "-").encode(): value for name, value in more.items()}
        return {name: value for name, value in found.items() if value is not None}

    async def post(self, message: Any, **headers: bytes | None) -> Connection:
        """Post a message, and wait for the end of what came back."""
        return await self.connect(message, **headers).run(self.app)

    def connect(self, message: Any, **headers: bytes | None) -> Connection:
        """Return a post that is still to be run."""
        return Connection(json.dumps(message).encode(), self.make_headers(**headers))

    def request(self, method: str, params: Any = None) -> dict[str, Any]:
        """Return a request with a new id."""
        self.ids += 1
        message = {"jsonrpc": "2.0", "id": self.ids, "method": method}
        return message if params is None else {**message, "params": params}

    async def ask(self, method: str, params: Any = None) -> Any:
        """Return the response to a request, whose HTTP status is 200."""
        connection = await self.post(self.request(method, params))
        assert connection.status == 200
        return messages(connection)[-1]

    async def result(self, method: str, params: Any = None) -> Any:
        """Return the result of a request."""
        response = await self.ask(method, params)
        assert response["id"] == self.ids
        return response["result"]

    async def notify(self, method: str, params: Any = None) -> int | None:
        """Send a notification; return the HTTP status."""
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        return (await self.post(message)).status

    async def answer(self, question_id: Any, **response: Any) -> None:
        """Post the answer to a question."""
        message = {"jsonrpc": "2.0", "id": question_id, **response}
        connection = await self.post(message)
        assert (connection.status, connection.body) == (202, b"")

    async def verb(self, verb: str, **headers: bytes | None) -> Connection:
        """Send a request without a body."""
        return await Connection(b"", self.make_headers(**headers), method=verb).run(self.app)

    async def open(self, capabilities: Any = None) -> Any:
        """Open a session; return the result of `initialize`."""
        info = {"name": "old", "version": "1"}
        params = {
            "protocolVersion": self.version,
            "capabilities": capabilities or {},
            "clientInfo": info,
        }
        connection = await self.post(self.request("initialize", params))
        assert connection.status == 200
        self.session_id = connection.headers[b"mcp-session-id"]
        result = connection.json["result"]
        self.version = result["protocolVersion"]
        assert await self.notify("notifications/initialized") == 202
        return result

    @asynccontextmanager
    async def running(self, connection: Connection) -> AsyncGenerator[Connection]:
        """Run a request beside the block; the end of the block waits for its end."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.run, self.app)
            await wait_all_tasks_blocked()
            yield connection

    def stream(self, **headers: bytes | None) -> Connection:
        """Return a GET that is still to be run."""
        return Connection(b"", self.make_headers(**headers), method="GET")
