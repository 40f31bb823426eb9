"""A whole server on FastMCP: all that comes before it is run."""

from fastmcp import FastMCP

server: FastMCP = FastMCP("bench", version="1.0.0")


@server.tool(output_schema=None)
async def add(a: float, b: float) -> str:
    """Add two numbers."""
    return str(a + b)
