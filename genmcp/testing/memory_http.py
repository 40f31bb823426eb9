"""HTTP without a socket: an ASGI app, called in memory, streaming and cuttable.

Layer: testing. The response arrives as it is written, with back-pressure (a body
part is handed over when it is read, not before), and leaving the exchange is a
client that closes its connection.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import trio

from genmcp.testing.beside import run_beside

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Awaitable,
        Callable,
        Iterable,
        Mapping,
        MutableMapping,
    )


class ASGIApp(Protocol):
    """An ASGI 3 application."""

    def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
        /,
    ) -> Awaitable[None]:
        """Serve one connection."""
        ...


@attrs.define(eq=False)
class MemoryResponse:
    """A response that is arriving.

    Attributes:
        status: the HTTP status.
        headers: the header fields as sent, names in lower case.
    """

    status: int
    headers: list[tuple[str, str]]
    _body: trio.MemoryReceiveChannel[bytes]
    _client_gone: trio.Event
    _app_done: trio.Event

    def header(self, name: str) -> str | None:
        """Return the value of a header, or `None`. Fails if it was sent twice."""
        values = [value for key, value in self.headers if key == name.lower()]
        assert len(values) <= 1, f"header {name} was sent {len(values)} times"
        return values[0] if values else None

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Give the body as it arrives, part by part."""
        return self._body

    async def read(self) -> bytes:
        """Wait for the rest of the body."""
        return b"".join([part async for part in self])

    async def disconnect(self) -> None:
        """Close the connection, and wait until the app has noticed and is done."""
        self._client_gone.set()
        self._body.close()
        await self._app_done.wait()


@asynccontextmanager
async def exchange(
    app: ASGIApp,
    *,
    method: str = "POST",
    path: str = "/mcp",
    headers: Iterable[tuple[bytes, bytes]] = (),
    body: bytes = b"",
    query: bytes = b"",
    scope: Mapping[str, Any] | None = None,
) -> AsyncGenerator[MemoryResponse]:
    """Send one request to `app`; give its response once the head has arrived.

    Leaving the block closes the connection and waits for the app to end.
    `scope` adds to the ASGI scope, such as `{"root_path": "/api"}`.

    Raises:
        AssertionError: the app ended without a response.
        Exception: what the app raised.
    """
    client_gone = trio.Event()
    app_done = trio.Event()
    head: list[MutableMapping[str, Any]] = []
    head_arrived = trio.Event()
    # Zero: the app waits until the test reads, as it would on a socket.
    parts_in, parts_out = trio.open_memory_channel[bytes](0)
    to_send = [body]

    async def receive() -> MutableMapping[str, Any]:
        if to_send:
            await trio.lowlevel.checkpoint()
            return {"type": "http.request", "body": to_send.pop(), "more_body": False}
        await client_gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        await trio.lowlevel.checkpoint()
        if message["type"] == "http.response.start":
            head.append(message)
            return
        head_arrived.set()
        try:
            if message.get("body"):
                await parts_in.send(message["body"])
        except trio.BrokenResourceError:
            pass  # ASGI servers drop what is sent to a client that has gone
        if not message.get("more_body", False):
            parts_in.close()

    full_scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("ascii", "replace"),
        "query_string": query,
        "root_path": "",
        "headers": list(headers),
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8_000),
        **(scope or {}),
    }

    async def run_app() -> None:
        try:
            await app(full_scope, receive, send)
        finally:
            app_done.set()
            head_arrived.set()
            parts_in.close()

    def leave() -> None:
        client_gone.set()
        parts_out.close()

    async with run_beside(run_app, leave):
        await head_arrived.wait()
        assert head, "the app ended without a response"
        yield MemoryResponse(
            head[0]["status"],
            [(k.decode("latin-1"), v.decode("latin-1")) for k, v in head[0]["headers"]],
            parts_out,
            client_gone,
            app_done,
        )
