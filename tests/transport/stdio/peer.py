"""A stdio client in memory, and the server it is connected to."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import lockstep_stream_one_way_pair, memory_stream_one_way_pair

from genmcp import serve_stdio
from genmcp.server import Server

HANG_GUARD_SECONDS = 3_600  # of a clock that jumps; longer than anything waits

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(
    request_id: Any, method: str = "tools/call", *, meta: Any = None, **params: Any
) -> dict[str, Any]:
    full = {**params, "_meta": {**META, **(meta or {})}}
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": full}


def cancelled(request_id: Any, **more: Any) -> dict[str, Any]:
    params = {"requestId": request_id, **more}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def read_lines(text: bytes) -> list[dict[str, Any]]:
    *lines, rest = text.split(b"\n")
    assert rest == b"", f"a partial line: {rest!r}"
    return [json.loads(line) for line in lines]


class Peer:
    """What a test holds of the client.

    Attributes:
        stdin: leads to the server.
        stdout: comes from it.
        ended: set when the server has returned.
    """

    def __init__(self, stdin: Any, stdout: Any) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self.ended = trio.Event()
        self._text = b""

    async def send(self, *messages: dict[str, Any] | bytes) -> None:
        for message in messages:
            raw = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
            await self.stdin.send_all(raw)

    async def receive(self) -> dict[str, Any]:
        """Return the next message; waits for a whole line."""
        while b"\n" not in self._text:
            data = await self.stdout.receive_some()
            assert data, f"the end of the output, after {self._text!r}"
            self._text += data
        line, _, self._text = self._text.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    async def receive_rest(self) -> list[dict[str, Any]]:
        """Return all messages up to the end of the output."""
        async for data in self.stdout:
            self._text += data
        text, self._text = self._text, b""
        return read_lines(text)

    async def end(self) -> list[dict[str, Any]]:
        """End the input, and return what came until the server was done."""
        await self.stdin.aclose()
        return await self.receive_rest()


@asynccontextmanager
async def connected(
    server: Server, *, lockstep: bool = False, **options: Any
) -> AsyncGenerator[Peer]:
    """Serve `server` to a client; with `lockstep`, nothing is written that is not read."""
    to_server, stdin = memory_stream_one_way_pair()
    pair: Any = lockstep_stream_one_way_pair if lockstep else memory_stream_one_way_pair
    stdout, from_server = pair()
    peer = Peer(to_server, from_server)

    async def serve() -> None:
        try:
            await serve_stdio(server, stdin=stdin, stdout=stdout, **options)
        finally:
            peer.ended.set()
            await stdout.aclose()

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            yield peer
            await peer.stdin.aclose()
            await peer.ended.wait()
