"""A page in a browser as client: its browser asks first, then sends, then lets it read.

What goes over the socket is what a browser sends for `fetch` from a page of another
origin; whether the page would be let read is decided as the Fetch standard does.
"""

from __future__ import annotations

import json
from typing import Any

import attrs
import h11
import pytest
import trio

from genmcp.channel import Channel
from genmcp.providers import Tool
from genmcp.suite import Suite
from tests.e2e.test_serve import META, serving

PAGE = "https://app.example.com"
PUBLIC_URL = "https://mcp.example.com/mcp"


class Stream(Tool[dict[str, Any]], name="stream", description="Streams, then answers."):
    async def call(self, request: Any, channel: Channel) -> str:
        await channel.send_progress(1)
        return "done"


SUITE = Suite(server_name="test", server_version="1", tools=[Stream()])


@attrs.frozen
class Response:
    status: int
    headers: dict[str, str]
    body: bytes


class BlockedError(Exception):
    """The page gets "Failed to fetch"."""


class Browser:
    """Fetches for one page, on one connection."""

    def __init__(self, stream: trio.abc.Stream, page: str, host: str) -> None:
        self.connection = h11.Connection(h11.CLIENT)
        self.stream = stream
        self.page = page
        self.host = host

    async def fetch(self, method: str, headers: dict[str, str], body: bytes = b"") -> Response:
        asked = sorted(headers)
        preflight = await self._exchange(
            "OPTIONS",
            {
                "Access-Control-Request-Method": method,
                "Access-Control-Request-Headers": ",".join(asked),
            },
        )
        if not 200 <= preflight.status <= 299:
            raise BlockedError(f"the preflight was answered {preflight.status}")
        self._check_readable(preflight)
        methods = split(preflight.headers.get("access-control-allow-methods", ""))
        names = split(preflight.headers.get("access-control-allow-headers", ""))
        if method not in methods or not set(asked) <= {name.lower() for name in names}:
            raise BlockedError(f"{method} with {asked} is not allowed")
        response = await self._exchange(method, {**headers, "Content-Length": str(len(body))}, body)
        self._check_readable(response)
        return response

    def _check_readable(self, response: Response) -> None:
        if response.headers.get("access-control-allow-origin") not in {"*", self.page}:
            raise BlockedError("the page may not read this")

    async def _exchange(self, method: str, headers: dict[str, str], body: bytes = b"") -> Response:
        fields = {"Host": self.host, "Origin": self.page, **headers}
        target = "/mcp"
        request = h11.Request(method=method, target=target, headers=list(fields.items()))
        for event in (request, h11.Data(data=body), h11.EndOfMessage()):
            await self.stream.send_all(self.connection.send(event) or b"")
        head = await self._next_event()
        assert isinstance(head, h11.Response)
        received = b""
        while isinstance(event := await self._next_event(), h11.Data):
            received += event.data
        self.connection.start_next_cycle()
        names = [name.decode() for name, _ in head.headers]
        assert len(names) == len(set(names))
        pairs = {name.decode(): value.decode() for name, value in head.headers}
        return Response(head.status_code, pairs, received)

    async def _next_event(self) -> Any:
        while (event := self.connection.next_event()) is h11.NEED_DATA:
            self.connection.receive_data(bytes(await self.stream.receive_some()))
        return event


def split(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def call(tool: str) -> tuple[dict[str, str], bytes]:
    params = {"name": tool, "_meta": {**META, "progressToken": 1}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "accept": "application/json, text/event-stream",
        "authorization": "Bearer some.token",
        "content-type": "application/json",
        "mcp-method": "tools/call",
        "mcp-name": tool,
        "mcp-protocol-version": "2026-07-28",
        "mcp-param-region": "eu",
    }
    return headers, json.dumps(message).encode()


async def browse(url: str, page: str = PAGE, host: str = "mcp.example.com") -> Browser:
    port = int(url.split(":")[2].partition("/")[0])
    return Browser(await trio.open_tcp_stream("127.0.0.1", port), page, host)


async def test_a_page_that_is_allowed_calls_a_tool_and_reads_its_stream() -> None:
    options = {"public_url": PUBLIC_URL, "allowed_origins": [PAGE]}
    async with serving(SUITE, **options) as server:
        browser = await browse(server.urls[0])
        answer = await browser.fetch("POST", *call("stream"))
        refused = await browser.fetch("POST", *call("other"))
        await browser.stream.aclose()
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/event-stream"
    assert b'"method":"notifications/progress"' in answer.body
    assert b'"done"' in answer.body
    assert json.loads(refused.body)["error"]["code"] == -32602


@pytest.mark.parametrize("page", ["https://mcp.example.com", "http://localhost:5173"])
async def test_pages_of_the_public_url_and_of_this_machine_need_no_setting(page: str) -> None:
    async with serving(SUITE, public_url=PUBLIC_URL) as server:
        browser = await browse(server.urls[0], page)
        assert (await browser.fetch("POST", *call("stream"))).status == 200
        await browser.stream.aclose()


@pytest.mark.parametrize("page", ["https://evil.example", "null"])
async def test_another_page_is_stopped_by_its_browser(page: str) -> None:
    options = {"public_url": PUBLIC_URL, "allowed_origins": [PAGE]}
    async with serving(SUITE, **options) as server:
        browser = await browse(server.urls[0], page)
        with pytest.raises(BlockedError, match="answered 403"):
            await browser.fetch("POST", *call("stream"))
        await browser.stream.aclose()


async def test_a_verb_that_is_not_served_is_stopped_by_the_browser() -> None:
    async with serving(SUITE, public_url=PUBLIC_URL, allowed_origins=["*"]) as server:
        browser = await browse(server.urls[0])
        with pytest.raises(BlockedError, match="PUT"):
            await browser.fetch("PUT", {"authorization": "Bearer some.token"})
        await browser.stream.aclose()


async def test_a_preflight_has_no_body_and_leaves_the_connection_open() -> None:
    async with serving(SUITE, public_url=PUBLIC_URL) as server:
        port = int(server.urls[0].split(":")[2].partition("/")[0])
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(
                b"OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
                b"Access-Control-Request-Method: POST\r\n\r\n"
                b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            )
            received = b"".join([part async for part in stream])
    preflight, _, rest = received.partition(b"\r\n\r\n")
    assert preflight.startswith(b"HTTP/1.1 204 ")
    assert b"content-length" not in preflight.lower()
    assert b"transfer-encoding" not in preflight.lower()
    assert rest.startswith(b"HTTP/1.1 405 ")
