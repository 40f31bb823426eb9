"""A whole server on genmcp, as small as it gets: all that comes before `trio.run`."""

import attrs

# What is imported is what is measured: `serve` as well, which runs it.
from genmcp import Channel, Suite, Tool, mcp, serve  # noqa: F401


@attrs.frozen
class Pair:
    """Two numbers."""

    a: float
    b: float


class Add(Tool[Pair], name="add"):
    """Add two numbers."""

    async def call(self, request: mcp.CallToolRequest[Pair], channel: Channel) -> str:
        """Return the sum."""
        pair = request.params.arguments
        return str(pair.a + pair.b)


suite = Suite(server_name="bench", server_version="1.0.0", tools=[Add])
