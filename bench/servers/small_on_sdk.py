"""A whole server on the official Python SDK: all that comes before it is run."""

from mcp.server import MCPServer

server = MCPServer("bench", version="1.0.0")


@server.tool(structured_output=False)
async def add(a: float, b: float) -> str:
    """Add two numbers."""
    return str(a + b)
