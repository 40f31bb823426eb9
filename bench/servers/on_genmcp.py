"""The tools on genmcp, as its documentation runs a server: `serve`, on one port.

Everything is as it is by default, but for the room for thousands of parked streams.
"""

from __future__ import annotations

import argparse
import functools
import os
from typing import TYPE_CHECKING, Any

import attrs
import trio

from genmcp import Channel, EventBus, EventSubscriptions, Suite, Tool, mcp, serve

if TYPE_CHECKING:
    from genmcp.providers.tool import InfoKey

CATALOG_SIZE = 200
ROOM = 20_000
"""Connections and calls, for the rows with thousands of parked streams."""


@attrs.frozen
class Pair:
    """Two numbers."""

    a: float
    b: float


@attrs.frozen
class Count:
    """How often."""

    count: int


@attrs.frozen
class Text:
    """A text of any length."""

    text: str


@attrs.frozen
class Size:
    """How long."""

    size: int


@attrs.frozen
class Query:
    """What each tool of the catalog takes."""

    query: str
    limit: int = 10
    exact: bool = False


class Add(Tool[Pair], name="add"):
    """Add two numbers."""

    async def call(self, request: mcp.CallToolRequest[Pair], channel: Channel) -> str:
        """Return the sum."""
        pair = request.params.arguments
        return str(pair.a + pair.b)


class Report(Tool[Count], name="report"):
    """Report progress."""

    async def call(self, request: mcp.CallToolRequest[Count], channel: Channel) -> str:
        """Send the notifications, one after the other."""
        count = request.params.arguments.count
        for done in range(1, count + 1):
            await channel.send_progress(done, count)
        return "done"


class Measure(Tool[Text], name="measure"):
    """Measure a text."""

    async def call(self, request: mcp.CallToolRequest[Text], channel: Channel) -> str:
        """Return its length."""
        return str(len(request.params.arguments.text))


class Produce(Tool[Size], name="produce"):
    """Produce a text."""

    async def call(self, request: mcp.CallToolRequest[Size], channel: Channel) -> str:
        """Return a text of that length."""
        return "x" * request.params.arguments.size


class Wait(Tool, name="wait"):
    """Wait for nothing."""

    async def call(self, request: mcp.CallToolRequest[dict[str, Any]], channel: Channel) -> str:
        """Open the stream, and stay."""
        await channel.send_progress(1)
        await trio.sleep_forever()
        raise AssertionError


class Find(Tool[Query], name="find"):
    """Find what matches a query."""

    def __init__(self, number: int) -> None:
        self._name = f"tool_{number:03}"

    def info(self, key: InfoKey) -> Any:
        """Return this one's name; the rest is the class's."""
        return self._name if key == "name" else super().info(key)

    async def call(self, request: mcp.CallToolRequest[Query], channel: Channel) -> str:
        """Find it."""
        return request.params.arguments.query


def make_suite(style: str) -> Suite:
    """Return the server of this style."""
    if style == "catalog":
        found = [Find(number) for number in range(CATALOG_SIZE)]
        return Suite(
            server_name="bench", server_version="1.0.0", tools=found, page_size=CATALOG_SIZE
        )
    return Suite(
        server_name="bench",
        server_version="1.0.0",
        tools=[Add, Report, Measure, Produce, Wait],
        subscription_handler=EventSubscriptions(EventBus()),
    )


suite = make_suite("calls")
"""What `genmcp serve --workers` is given."""


async def main(port: int, style: str) -> None:
    """Serve until ended."""
    await serve(
        make_suite(style),
        port=port,
        secret_key=os.urandom(32),
        max_connections=ROOM,
        max_calls=ROOM,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--style", required=True)
    trio.run(functools.partial(main, **vars(parser.parse_args())))
