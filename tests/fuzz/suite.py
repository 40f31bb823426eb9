"""A server that has one of everything, for clients that mean it no good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import trio

from genmcp import (
    Accepted,
    Channel,
    EventBus,
    EventSubscriptions,
    InputRequired,
    PromptRepo,
    ResourceRepo,
    Suite,
    Tool,
    ToolError,
    elicit_form,
    mcp,
)


@attrs.frozen
class Numbers:
    a: int
    b: int


class Add(Tool[Numbers], name="add", description="Adds."):
    async def call(self, request: mcp.CallToolRequest[Numbers], channel: Channel) -> str:
        return str(request.params.arguments.a + request.params.arguments.b)


@attrs.frozen
class Seconds:
    seconds: float


class Wait(Tool[Seconds], name="wait", description="Waits."):
    async def call(self, request: mcp.CallToolRequest[Seconds], channel: Channel) -> str:
        await trio.sleep(request.params.arguments.seconds)
        return "waited"


@attrs.frozen
class Steps:
    steps: int
    pause: float = 0.001


class Count(Tool[Steps], name="count", description="Counts, and says how far it is."):
    async def call(self, request: mcp.CallToolRequest[Steps], channel: Channel) -> str:
        for step in range(1, request.params.arguments.steps + 1):
            await channel.send_progress(step)
            await trio.sleep(request.params.arguments.pause)
        return "counted"


@attrs.frozen
class Size:
    size: int


class Large(Tool[Size], name="large", description="Answers at length."):
    async def call(self, request: mcp.CallToolRequest[Size], channel: Channel) -> str:
        return "x" * min(request.params.arguments.size, 10_000_000)


class Fail(Tool[dict[str, Any]], name="fail", description="Fails."):
    async def call(self, request: Any, channel: Channel) -> str:
        raise ToolError("as it should")


@attrs.frozen
class Sure:
    sure: bool


class Ask(Tool[dict[str, Any]], name="ask", description="Asks first."):
    async def call(self, request: Any, channel: Channel) -> str | InputRequired:
        match channel.answers.form("sure", Sure):
            case None:
                return InputRequired({"sure": elicit_form("Are you?", Sure)})
            case Accepted(Sure(sure=True)):
                return "sure"
            case _:
                return "not sure"


@attrs.frozen
class Publish(Tool[dict[str, Any]], name="publish", description="Tells those who listen."):
    bus: EventBus

    async def call(self, request: Any, channel: Channel) -> str:
        self.bus.tools_changed()
        return "published"


class Prompts(PromptRepo):
    async def list_prompts(self, cursor: Any, channel: Channel) -> Sequence[mcp.Prompt]:
        who = mcp.PromptArgument(name="who", required=True)
        return [mcp.Prompt(name="greet", arguments=[who])]

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> str:
        return f"Greet {arguments['who']}."

    async def complete(self, name: str, argument: Any, context: Any, channel: Channel) -> list[str]:
        return [argument.value + "lice"]


class Memos(ResourceRepo, prefix="memo://"):
    async def list_resources(self, cursor: Any, channel: Channel) -> Sequence[mcp.Resource]:
        return [mcp.Resource(uri="memo://1", name="one")]

    async def read(self, uri: Any, channel: Channel) -> str:
        return "a memo"


def make_suite(bus: EventBus) -> Suite:
    """Return the server; its listeners hear what `bus` hears."""
    return Suite(
        server_name="target",
        server_version="1",
        tools=[Add(), Wait(), Count(), Large(), Fail(), Ask(), Publish(bus)],
        prompts=[Prompts()],
        resources=[Memos()],
        subscription_handler=EventSubscriptions(bus),
    )
