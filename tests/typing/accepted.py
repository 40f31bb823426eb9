"""User code that must type-check under pyright strict and mypy strict. Never run.

`assert_type` holds what an author's editor shows, not only that nothing is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypedDict, assert_type

import attrs

import genmcp
from genmcp import (
    Access,
    Authorization,
    BlockingChannel,
    Channel,
    Error,
    InputRequired,
    InvalidParams,
    InvalidToken,
    RateLimit,
    Stream,
    StreamableHTTP,
    Suite,
    TokenVerifier,
    Tool,
    ToolError,
    serve,
)
from genmcp.authorization.jwt import JwtVerifier
from genmcp.mcp import v2607 as mcp


@attrs.frozen
class AddArgs:
    a: float
    b: float


class Add(Tool[AddArgs], name="add", description="Adds two numbers."):
    async def call(
        self, request: mcp.CallToolRequest[AddArgs], channel: Channel
    ) -> mcp.CallToolResult:
        args = request.params.arguments
        assert_type(args, AddArgs)
        assert_type(args.a, float)
        assert_type(channel.request_id, str | int)
        assert_type(await channel.send_progress(1, total=2, message="half"), bool)
        assert_type(await channel.send_log("info", {"a": args.a}), bool)
        return mcp.call_tool_result(text=str(args.a + args.b))


@dataclass
class SearchArgs:
    query: str
    limit: int = 10
    tags: list[str] | None = None


class Search(Tool[SearchArgs], name="search"):
    """Searches; the docstring is the description."""

    async def call(self, request: mcp.CallToolRequest[SearchArgs], channel: Channel) -> str:
        args = request.params.arguments
        assert_type(args.tags, list[str] | None)
        if not args.query:
            raise ToolError("say what to search for")
        return args.query


class RenameArgs(TypedDict):
    old: str
    new: str


class Rename(Tool[RenameArgs, BlockingChannel], name="rename"):
    """A plain `def`: the second parameter says which channel it gets."""

    def call(self, request: mcp.CallToolRequest[RenameArgs], channel: BlockingChannel) -> str:
        assert_type(request.params.arguments["old"], str)
        assert_type(channel.send_progress(1), bool)
        return request.params.arguments["new"]


class Anything(Tool, name="anything", input_schema={"type": "object"}):
    """Without a parameter the arguments are a dict."""

    async def call(
        self, request: mcp.CallToolRequest[dict[str, Any]], channel: Channel
    ) -> genmcp.Error | str:
        assert_type(request.params.arguments, dict[str, Any])
        return Error("not today") if "no" in request.params.arguments else "yes"


class Keywords(
    Tool[AddArgs],
    name="keywords",
    title="Keywords",
    description="Takes every class keyword.",
    annotations={"read_only_hint": True},
    icons=[mcp.Icon(src="https://example.org/icon.png")],
    meta={"org.example/owner": "maths"},
    input_schema=AddArgs,
    output_schema={"type": "object"},
    cache_control=("public", timedelta(minutes=5)),
    rate_limit=RateLimit(calls=5, per_seconds=60),
):
    async def call(
        self, request: mcp.CallToolRequest[AddArgs], channel: Channel
    ) -> mcp.CallToolResult:
        return mcp.call_tool_result(data={"sum": request.params.arguments.a})


class Countdown(Tool[AddArgs], name="countdown", annotations=mcp.ToolAnnotations()):
    """Stays open: what is posted arrives at `handle_message`, with the state."""

    async def call(
        self, request: mcp.CallToolRequest[AddArgs], channel: Channel
    ) -> Stream[int] | InputRequired:
        channel.start_soon(self.tick, channel)
        return Stream(3)

    async def tick(self, channel: Channel) -> None:
        channel.post("tick")

    async def handle_message(
        self, message: object, channel: Channel, state: int
    ) -> Stream[int] | str:
        return Stream(state - 1) if state else "done"

    async def handle_close(self, channel: Channel, state: int) -> None:
        assert_type(channel.closed, bool)


@attrs.frozen
class Greeter(Tool[RenameArgs], name="greet"):
    """Configuration is the instance."""

    greeting: str = "Hello"

    async def call(self, request: mcp.CallToolRequest[RenameArgs], channel: Channel) -> str:
        return f"{self.greeting}, {request.params.arguments['new']}"

    def validate_request(
        self, request: mcp.CallToolRequest[Any]
    ) -> mcp.CallToolRequest[RenameArgs]:
        if not request.params.arguments:
            raise InvalidParams("nobody to greet")
        return super().validate_request(request)


suite = Suite(
    server_name="typed",
    server_version="1.0.0",
    instructions="Adds.",
    tools=[Add, Search, Rename(), Anything, Keywords, Countdown, Greeter("Hi")],
)
app = StreamableHTTP(
    suite,
    path="/mcp",
    allowed_origins=["https://example.org"],
    max_calls_per_caller=None,
    rate_limit=RateLimit.read("100/minute"),
)


async def main() -> None:
    await serve(suite, host="127.0.0.1", port=8000)


class OwnVerifier(TokenVerifier):
    async def verify(self, token: str) -> Access:
        if not token:
            raise InvalidToken("There is none")
        return Access(subject="ada", audiences=["https://mcp.example.com/mcp"], scopes={"a", "b"})


class Guarded(Tool, name="guarded", required_scopes=["files:write"]):
    async def call(self, request: mcp.CallToolRequest[dict[str, Any]], channel: Channel) -> str:
        assert_type(channel.principal, str | None)
        assert_type(channel.access, Access | None)
        if channel.access is None:
            return "nobody"
        assert_type(channel.access.scopes, frozenset[str])
        assert_type(channel.access.expires_at, float | None)
        return channel.access.subject


authorization = Authorization(
    OwnVerifier(),
    authorization_servers=["https://auth.example.com"],
    required_scopes={"use"},
    scopes_supported=("use", "files:write"),
    implied_scopes={"files:write": ["files:read"], "admin": {"files:write"}},
    extra_audiences=["api://files"],
    resource_name="Files",
)
assert_type(authorization.required_scopes, frozenset[str])
assert_type(authorization.expand(["admin"]), frozenset[str])
Authorization(
    JwtVerifier(issuer="https://auth.example.com", algorithms=["ES256"], leeway_seconds=10),
    authorization_servers=["https://auth.example.com"],
)
StreamableHTTP(
    Suite(server_name="guarded", server_version="1", tools=[Guarded]),
    public_url="https://mcp.example.com/mcp",
    authorization=authorization,
)
