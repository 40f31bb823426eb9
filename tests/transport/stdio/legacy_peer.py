"""A stdio client of 2025 in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from genmcp.server import Server
from tests.legacy.client import ASKABLE, NOVEMBER
from tests.transport.stdio.peer import Peer, connected


def handshake(version: str = NOVEMBER, capabilities: Any = None, **more: Any) -> dict[str, Any]:
    params = {
        "protocolVersion": version,
        "capabilities": ASKABLE if capabilities is None else capabilities,
        "clientInfo": {"name": "old", "version": "1"},
    }
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {**params, **more}}


def request(request_id: Any, method: str, **params: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return {**message, "params": params} if params else message


def call(request_id: Any, tool: str, *, token: Any = None, **arguments: Any) -> dict[str, Any]:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return request(request_id, "tools/call", name=tool, arguments=arguments, **meta)


def notification(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


def answer(question_id: Any, **response: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": question_id, **response}


def accept(**content: Any) -> Any:
    return {"action": "accept", "content": content}


def text_of(message: dict[str, Any]) -> str:
    text: str = message["result"]["content"][0]["text"]
    return text


class LegacyPeer:
    """Asks one thing after the other.

    Attributes:
        peer: what it is on.
    """

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self._ids = 100

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the response to a request, which must be the next message."""
        self._ids += 1
        await self.peer.send(request(self._ids, method, **params))
        response = await self.peer.receive()
        assert response.get("id") == self._ids, response
        return response

    async def result(self, method: str, **params: Any) -> Any:
        return (await self.ask(method, **params))["result"]

    async def open(self, version: str = NOVEMBER, capabilities: Any = None) -> Any:
        """Open the session; return the result of `initialize`."""
        await self.peer.send(handshake(version, capabilities))
        response = await self.peer.receive()
        assert response["id"] == 0
        await self.peer.send(notification("initialized"))
        return response["result"]


@asynccontextmanager
async def session(
    server: Server, version: str = NOVEMBER, capabilities: Any = None, **options: Any
) -> AsyncGenerator[LegacyPeer]:
    """Serve `server` to a client that has opened a session."""
    async with connected(server, **options) as peer:
        client = LegacyPeer(peer)
        await client.open(version, capabilities)
        yield client
