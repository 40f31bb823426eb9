"""The tools on the official Python SDK, on uvicorn as the SDK's documentation runs it.

Stateless and with JSON responses where nothing is streamed, which its documentation
recommends for production and which is its faster way; `streams` leaves JSON responses
off, as they drop notifications. uvicorn takes uvloop and httptools where they are
installed, which `requirements-sdk.txt` sees to; `--plain` does without, as a mere
`pip install mcp` leaves it.
"""

from __future__ import annotations

import argparse

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp_types import SubscriptionsListenRequestParams

CATALOG_SIZE = 200
ROOM = 20_000


def add_tools(server: MCPServer) -> None:
    """Add the five tools. Plain text results: their other form says the same twice."""

    @server.tool(structured_output=False)
    async def add(a: float, b: float) -> str:
        """Add two numbers."""
        return str(a + b)

    @server.tool(structured_output=False)
    async def report(count: int, context: Context) -> str:
        """Report progress."""
        for done in range(1, count + 1):
            await context.report_progress(done, count)
        return "done"

    @server.tool(structured_output=False)
    async def measure(text: str) -> str:
        """Measure a text."""
        return str(len(text))

    @server.tool(structured_output=False)
    async def produce(size: int) -> str:
        """Produce a text."""
        return "x" * size

    @server.tool(structured_output=False)
    async def wait(context: Context) -> str:
        """Wait for nothing."""
        await context.report_progress(1)
        await anyio.sleep_forever()
        raise AssertionError


def add_catalog(server: MCPServer) -> None:
    """Add the tools of the catalog."""

    async def find(query: str, limit: int = 10, exact: bool = False) -> str:  # noqa: FBT001, FBT002 - an argument of a tool
        """Find what matches a query."""
        return query

    for number in range(CATALOG_SIZE):
        server.add_tool(find, name=f"tool_{number:03}", structured_output=False)


def main(port: int, style: str, *, plain: bool) -> None:
    """Serve until ended."""
    bus = InMemorySubscriptionBus()
    server = MCPServer("bench", version="1.0.0", log_level="WARNING", subscriptions=bus)
    # More listen streams than its 1,024, for which there is no option.
    server._lowlevel_server.add_request_handler(
        "subscriptions/listen",
        SubscriptionsListenRequestParams,
        ListenHandler(bus, max_subscriptions=ROOM),
    )
    (add_catalog if style == "catalog" else add_tools)(server)
    app = server.streamable_http_app(stateless_http=True, json_response=style != "streams")
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=port,
        log_level="warning",
        access_log=False,
        loop="asyncio" if plain else "auto",
        http="h11" if plain else "auto",
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--style", required=True)
    parser.add_argument("--plain", action="store_true")
    main(**vars(parser.parse_args()))
