# pyright: standard
"""User code without annotations, as it is written in a hurry. Never run.

pyright takes the types of unannotated parameters from the class that is subclassed;
mypy does not look into such functions at all, so only pyright reads this file.
"""

from typing import assert_type

import attrs

from genmcp import Channel, Tool
from genmcp.mcp import v2607 as mcp


@attrs.frozen
class AddArgs:
    a: float
    b: float


class Add(Tool[AddArgs], name="add", description="Adds two numbers."):
    async def call(self, request, channel):
        args = request.params.arguments
        assert_type(args, AddArgs)
        assert_type(channel, Channel)
        return mcp.call_tool_result(text=str(args.a + args.b))
