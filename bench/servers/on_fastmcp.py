"""The tools on FastMCP, on uvicorn as its documentation deploys it: `http_app`.

Stateless, and with JSON responses where nothing is streamed, as in `on_sdk`.
"""

from __future__ import annotations

import argparse
import asyncio

import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.tools import Tool

CATALOG_SIZE = 200


def add_tools(server: FastMCP) -> None:
    """Add the five tools. Without output schema: plain text results, as the others'."""

    @server.tool(output_schema=None)
    async def add(a: float, b: float) -> str:
        """Add two numbers."""
        return str(a + b)

    @server.tool(output_schema=None)
    async def report(count: int, context: Context) -> str:
        """Report progress."""
        for done in range(1, count + 1):
            await context.report_progress(done, count)
        return "done"

    @server.tool(output_schema=None)
    async def measure(text: str) -> str:
        """Measure a text."""
        return str(len(text))

    @server.tool(output_schema=None)
    async def produce(size: int) -> str:
        """Produce a text."""
        return "x" * size

    @server.tool(output_schema=None)
    async def wait(context: Context) -> str:
        """Wait for nothing."""
        await context.report_progress(1)
        await asyncio.Event().wait()
        raise AssertionError


def add_catalog(server: FastMCP) -> None:
    """Add the tools of the catalog."""

    async def find(query: str, limit: int = 10, exact: bool = False) -> str:  # noqa: FBT001, FBT002 - an argument of a tool
        """Find what matches a query."""
        return query

    for number in range(CATALOG_SIZE):
        server.add_tool(Tool.from_function(find, name=f"tool_{number:03}", output_schema=None))


def main(port: int, style: str) -> None:
    """Serve until ended."""
    server: FastMCP = FastMCP("bench", version="1.0.0")
    (add_catalog if style == "catalog" else add_tools)(server)
    app = server.http_app(stateless_http=True, json_response=style != "streams")
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--style", required=True)
    main(**vars(parser.parse_args()))
