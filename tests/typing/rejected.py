"""User code in which exactly the marked lines must be rejected. Never run.

`# E: pyright mypy` marks a line that both must reject, `# E: pyright` one that only
pyright does. A line that is rejected without a mark fails the test as well.
"""

from __future__ import annotations

from typing import Any

import attrs

from genmcp import (
    Authorization,
    BlockingChannel,
    Channel,
    InputRequired,
    Stream,
    Suite,
    TokenVerifier,
    Tool,
    ToolError,
    serve,
)
from genmcp.mcp import v2607 as mcp


@attrs.frozen
class AddArgs:
    a: float
    b: float


# -- arguments -----------------------------------------------------------------------


class MisspeltField(Tool[AddArgs], name="misspelt_field"):
    async def call(self, request: mcp.CallToolRequest[AddArgs], channel: Channel) -> str:
        return str(request.params.arguments.c)  # E: pyright mypy


class ArgumentOfAnotherType(Tool[AddArgs], name="argument_of_another_type"):
    async def call(self, request: mcp.CallToolRequest[AddArgs], channel: Channel) -> str:
        return request.params.arguments.a  # E: pyright mypy


class OtherArguments(Tool[AddArgs], name="other_arguments"):
    async def call(  # E: pyright
        self,
        request: mcp.CallToolRequest[dict[str, Any]],  # E: mypy
        channel: Channel,
    ) -> str:
        return str(request.params.arguments)


class MisspeltParams(Tool[AddArgs], name="misspelt_params"):
    async def call(self, request: mcp.CallToolRequest[AddArgs], channel: Channel) -> str:
        return str(request.param)  # E: pyright mypy


# -- class keywords ------------------------------------------------------------------


class NameOfAnotherType(Tool[AddArgs], name=7):  # E: pyright mypy
    async def call(self, request: mcp.CallToolRequest[AddArgs], channel: Channel) -> str:
        return ""


class MetaOfAnotherType(Tool[AddArgs], name="meta", meta=["a"]):  # E: pyright mypy
    async def call(self, request: mcp.CallToolRequest[AddArgs], channel: Channel) -> str:
        return ""


class ScopeMisspelt(Tool[AddArgs], cache_control=("pubic", 0)):  # E: pyright mypy
    async def call(self, request: mcp.CallToolRequest[AddArgs], channel: Channel) -> str:
        return ""


class RateAsText(Tool[AddArgs], rate_limit="5/minute"):  # E: pyright mypy
    async def call(self, request: mcp.CallToolRequest[AddArgs], channel: Channel) -> str:
        return ""


class KeywordMisspelt(Tool[AddArgs], descripton="Adds."):  # E: pyright mypy
    async def call(self, request: mcp.CallToolRequest[AddArgs], channel: Channel) -> str:
        return ""


# -- returns -------------------------------------------------------------------------

AddRequest = mcp.CallToolRequest[AddArgs]


class ReturnsNumber(Tool[AddArgs], name="returns_number"):
    async def call(self, request: AddRequest, channel: Channel) -> int:  # E: pyright mypy
        return 42


class ReturnsNothing(Tool[AddArgs], name="returns_nothing"):
    async def call(self, request: AddRequest, channel: Channel) -> None:  # E: pyright mypy
        await channel.send_progress(1)


class ReturnsListResult(Tool[AddArgs], name="returns_list_result"):
    async def call(  # E: pyright mypy
        self, request: AddRequest, channel: Channel
    ) -> mcp.ListToolsResult:
        return mcp.list_tools_result([])


class MessageReturnsNumber(Tool[AddArgs], name="message_returns_number"):
    async def call(self, request: AddRequest, channel: Channel) -> Stream[int] | InputRequired:
        return Stream("one")  # E: pyright mypy

    async def handle_message(  # E: pyright mypy
        self, message: object, channel: Channel, state: int
    ) -> int:
        return state


# -- channels ------------------------------------------------------------------------


class BlockingWithoutSayingSo(Tool[AddArgs], name="blocking"):
    def call(  # E: pyright
        self,
        request: mcp.CallToolRequest[AddArgs],
        channel: BlockingChannel,  # E: mypy
    ) -> str:
        return ""


class ChannelMisused(Tool[AddArgs], name="channel_misused"):
    async def call(self, request: mcp.CallToolRequest[AddArgs], channel: Channel) -> str:
        await channel.send_log("verbose", "text")  # E: pyright mypy
        await channel.send_progress("half")  # E: pyright mypy
        await channel.send_message("text")  # E: pyright mypy
        channel.send_progress(1)  # E: pyright mypy
        channel.request_id = 2  # E: pyright mypy
        return ""


class Unannotated(Tool[AddArgs], name="unannotated"):
    async def call(self, request, channel):  # E: pyright mypy
        return str(request.params.arguments.c)  # E: pyright


# -- the rest of the facade ----------------------------------------------------------

Suite(server_name="rejected", server_version="1", tools=[AddArgs])  # E: pyright mypy
Suite(server_name="rejected", server_version="1", tool=[])  # E: pyright mypy
Suite(server_name="rejected")  # E: pyright mypy
mcp.TextContent(txt="42")  # E: pyright mypy
mcp.TextContent(text=42)  # E: pyright mypy
ToolError()  # E: pyright mypy


async def main(suite: Suite) -> None:
    await serve(suite, port="8000")  # E: pyright mypy
    await serve(MisspeltField)  # E: pyright mypy


# -- authorization -------------------------------------------------------------------


class ScopesOfAnotherType(Tool, name="scopes", required_scopes=7):  # E: pyright mypy
    async def call(self, request: mcp.CallToolRequest[dict[str, Any]], channel: Channel) -> str:
        return ""


class NoAccess(TokenVerifier):
    async def verify(self, token: str) -> str:  # E: pyright mypy
        return token


def settings(verifier: TokenVerifier) -> None:
    Authorization(verifier)  # E: pyright mypy
    Authorization(verifier, authorization_servers=[7])  # E: pyright mypy
    Authorization(verifier, authorization_servers=[], required_scopes=7)  # E: pyright mypy
