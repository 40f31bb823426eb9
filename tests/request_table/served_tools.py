"""The tools that the table's requests call."""

from __future__ import annotations

from typing import Any, Final

import attrs

from genmcp import (
    Accepted,
    Channel,
    InputRequired,
    McpError,
    Tool,
    ToolError,
    elicit_form,
    elicit_url,
    list_roots,
    mcp,
)

SECRET: Final = "the secret"
ODD_NAME: Final = "=?base64?dG9vbA==?="
"""A name that looks wrapped itself."""


class Echo(Tool[dict[str, Any]], name="echo", description="Gives its arguments back."):
    async def call(self, request: Any, channel: Channel) -> Any:
        return mcp.call_tool_result(data=request.params.arguments)


@attrs.frozen
class Sum:
    a: int
    b: int = 0


class Add(Tool[Sum], name="add", description="Adds."):
    async def call(self, request: mcp.CallToolRequest[Sum], channel: Channel) -> str:
        return str(request.params.arguments.a + request.params.arguments.b)


class Route(
    Tool,
    name="route",
    description="Has headers for its arguments.",
    input_schema={
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "loud": {"type": "boolean", "x-mcp-header": "Loud"},
            "where": {
                "type": "object",
                "properties": {"city": {"type": "string", "x-mcp-header": "City"}},
            },
        },
    },
):
    async def call(self, request: Any, channel: Channel) -> str:
        return "routed"


class Report(Tool[dict[str, Any]], name="report", description="Reports, logs, answers."):
    async def call(self, request: Any, channel: Channel) -> str:
        await channel.send_progress(1, total=2, message="half\u2028way")
        await channel.send_log("debug", {"step": 1})
        await channel.send_progress(1, message="again")
        await channel.send_log("error", None, logger="report")
        await channel.send_progress(2)
        return "reported"


CONSTANTS: Final[dict[str, Any]] = {
    "null": None,
    "false": False,
    "zero": 0,
    "minus zero": -0.0,
    "empty text": "",
    "empty list": [],
    "empty object": {},
    "great": 2**64 - 1,
    "least": -(2**63),
    "breaks": "a\u2028b\u2029c\u0085d\r\ne\rf",
}


class Constant(Tool[dict[str, Any]], name="constant", description="Gives one of the values."):
    async def call(self, request: Any, channel: Channel) -> Any:
        return mcp.call_tool_result(data=CONSTANTS[request.params.arguments["which"]])


class Crash(Tool[dict[str, Any]], name="crash", description="Fails."):
    async def call(self, request: Any, channel: Channel) -> Any:
        if request.params.arguments.get("late"):
            await channel.start_stream()
        raise RuntimeError(SECRET)


class Refuse(Tool[dict[str, Any]], name="refuse", description="Says no, in one way or another."):
    async def call(self, request: Any, channel: Channel) -> Any:
        match request.params.arguments["how"]:
            case "tool":
                raise ToolError("not today")
            case "application":
                raise McpError("not today", code=1234, data={"a": [None]})
            case _:
                return mcp.call_tool_result(error="not today")


class Lie(
    Tool[dict[str, Any]], name="lie", description="Breaks its word.", output_schema={"type": "null"}
):
    async def call(self, request: Any, channel: Channel) -> Any:
        return mcp.call_tool_result(data=SECRET)


class Nothing(Tool[dict[str, Any]], name="nothing", description="Forgets to answer."):
    async def call(self, request: Any, channel: Channel) -> Any:
        return None


@attrs.frozen
class Who:
    name: str


class Ask(Tool[dict[str, Any]], name="ask", description="Asks who it is."):
    async def call(self, request: Any, channel: Channel) -> Any:
        match channel.answers.form("who", Who):
            case None:
                return InputRequired({"who": elicit_form("Who?", Who)}, 7)
            case Accepted(content):
                return f"hello {content.name}"
            case other:
                return type(other).__name__


class Facts(Tool[dict[str, Any]], name="facts", description="Gives the request's `_meta` back."):
    async def call(self, request: Any, channel: Channel) -> Any:
        return mcp.call_tool_result(data=channel.meta)


class Defer(Tool[dict[str, Any]], name="defer", description="Is ready when asked again."):
    async def call(self, request: Any, channel: Channel) -> Any:
        if channel.answers.client_state is None:
            return InputRequired(client_state={"round": [1, None]})
        return mcp.call_tool_result(data=channel.answers.client_state)


class AskRoots(Tool[dict[str, Any]], name="ask_roots", description="Asks for roots."):
    async def call(self, request: Any, channel: Channel) -> Any:
        page = elicit_url("Look", "https://a.example")
        return InputRequired({"roots": list_roots(), "page": page})


class NeedsUrl(
    Tool[dict[str, Any]],
    name="needs_url",
    description="Needs a client that opens pages.",
    requires={"elicitation": {"url": {}}},
):
    async def call(self, request: Any, channel: Channel) -> str:
        return "opened"


class NeedsMuch(
    Tool[dict[str, Any]],
    name="needs_much",
    description="Needs a client that can much.",
    requires={"sampling": {"tools": {}}, "roots": {}, "extensions": {"com.example/x": {}}},
):
    async def call(self, request: Any, channel: Channel) -> str:
        return "much"


class Foreign(Tool[dict[str, Any]], name="größe", description="Has a name.", any_name=True):
    async def call(self, request: Any, channel: Channel) -> str:
        return "gross"


class Odd(Tool[dict[str, Any]], name=ODD_NAME, description="Has an odd name.", any_name=True):
    async def call(self, request: Any, channel: Channel) -> str:
        return "odd"


TOOLS: Final[list[type[Tool[Any, Any]]]] = [
    Echo, Add, Route, Report, Constant, Crash, Refuse, Lie, Nothing, Ask, AskRoots, Facts, Defer,
    NeedsUrl, NeedsMuch, Foreign, Odd,
]  # fmt: skip
