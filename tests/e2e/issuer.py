"""An issuer on loopback: serves its keys, or whatever else a test has it serve."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import trio

Respond = Callable[[str], Awaitable[bytes] | bytes]


def respond_json(document: Any, status: str = "200 OK", **headers: str) -> bytes:
    """Return a whole response with this document; `_` in a header's name is `-`."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    fields = {"Content-Length": str(len(body)), "Connection": "close", **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


class Issuer:
    """A small HTTP server; `documents` are by path, `broken` answers for all of them.

    Attributes:
        url: where it is.
        requests: the paths that were asked for, in order.
        gate: where it is set to an event, answers wait for that.
        asked: set by every request.
    """

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[str] = []
        self.documents: dict[str, Any] = {}
        self.headers: Mapping[str, str] = {}
        self.broken: bytes | None = None
        self.gate: trio.Event | None = None
        self.asked = trio.Event()

    @property
    def jwks_url(self) -> str:
        return self.url + "/jwks"

    async def start(self, nursery: trio.Nursery, port: int = 0) -> None:
        listeners: list[trio.SocketListener] = await nursery.start(
            partial(trio.serve_tcp, self._serve, port, host="127.0.0.1")
        )
        self.url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"

    async def _serve(self, stream: trio.SocketStream) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            piece = await stream.receive_some()
            if not piece:
                return
            request += piece
        path = request.split(b" ")[1].decode()
        self.requests.append(path)
        self.asked.set()
        if self.gate is not None:
            await self.gate.wait()
        try:
            await stream.send_all(self._respond(path))
        except trio.BrokenResourceError:
            return  # the other side has had enough

    def _respond(self, path: str) -> bytes:
        if self.broken is not None:
            return self.broken
        if path not in self.documents:
            return respond_json({}, "404 Not Found")
        return respond_json(self.documents[path], **self.headers)
