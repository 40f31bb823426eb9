"""A server with something of everything, and a request for each of the ten methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio

from genmcp import (
    Channel,
    EventBus,
    EventSubscriptions,
    InputRequired,
    PromptRepo,
    ResourceRepo,
    StreamableHTTP,
    Suite,
    Tool,
    elicit_form,
    mcp,
)
from genmcp.testing import Client

LISTEN = "subscriptions/listen"
SECRET = "0123456789abcdef0123456789abcdef"
FORM = mcp.FormSchema(properties={"sure": mcp.BooleanSchema()}, required=["sure"])
ASKABLE = mcp.ClientCapabilities(elicitation=mcp.ElicitationCapability())


def ask() -> InputRequired:
    return InputRequired({"sure": elicit_form("Sure?", FORM)}, client_state={"round": 1})


class Plain(Tool, name="plain", description="Answers."):
    async def call(self, request: Any, channel: Channel) -> str:
        return "plain"


class Asks(Tool, name="asks", description="Asks before it answers."):
    async def call(self, request: Any, channel: Channel) -> Any:
        return "asked" if channel.answers.form("sure", FORM) is not None else ask()


class Talks(Tool, name="talks", description="Reports and logs before it answers."):
    async def call(self, request: Any, channel: Channel) -> str:
        await channel.send_progress(1, total=2, message="half")
        await channel.send_log("info", {"step": 1})
        return "said"


class Greetings(PromptRepo):
    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Prompt(name=name) for name in ("hello", "asks", "bye")]

    async def get(self, name: str, arguments: Any, channel: Channel) -> Any:
        return ask() if name == "asks" and not channel.answers else name

    async def complete(self, name: str, argument: Any, context: Any, channel: Channel) -> Any:
        return [argument.value + "!"]


class Notes(ResourceRepo, prefix="note:", template="note:{name}", name="Note"):
    async def list_resources(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Resource(uri=f"note:{name}", name=name) for name in ("a", "asks", "b")]

    async def read(self, target: Mapping[str, str], channel: Channel) -> Any:
        return ask() if target["name"] == "asks" and not channel.answers else target["name"]


class Letters(ResourceRepo, prefix="letter:", template="letter:{name}", name="Letter"):
    async def list_resources(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Resource(uri="letter:z", name="z")]

    async def read(self, target: Mapping[str, str], channel: Channel) -> Any:
        return target["name"]


def make_suite(**options: Any) -> Suite:
    facts: dict[str, Any] = {
        "server_name": "whole",
        "server_version": "1",
        "tools": [Plain, Asks, Talks],
        "prompts": [Greetings],
        "resources": [Notes, Letters],
        "subscription_handler": EventSubscriptions(EventBus()),
        "page_size": 1,
    }
    return Suite(**{**facts, **options})


def make_app(suite: Suite | None = None, **settings: Any) -> StreamableHTTP:
    """An endpoint whose key is that of all others made here."""
    suite = make_suite() if suite is None else suite
    return StreamableHTTP(suite, **{"secret_key": SECRET, **settings})


LISTS: Mapping[str, str] = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""The member of the result that holds the items, by method."""

REQUESTS: Mapping[str, Mapping[str, Any]] = {
    "server/discover": {},
    "tools/list": {},
    "tools/call": {"name": "plain"},
    "prompts/list": {},
    "prompts/get": {"name": "hello"},
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": "note:a"},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "hello"},
        "argument": {"name": "a", "value": "b"},
    },
    LISTEN: {"notifications": {"toolsListChanged": True}},
}
"""Parameters that each method answers with a complete result, listening at its end."""

ASKING: Mapping[str, Mapping[str, Any]] = {
    "tools/call": {"name": "asks"},
    "prompts/get": {"name": "asks"},
    "resources/read": {"uri": "note:asks"},
}
"""Parameters that are answered with a question."""

CACHED = {"server/discover", "resources/read", *LISTS}


async def messages_of(
    app: StreamableHTTP, method: str, params: Mapping[str, Any], **meta: Any
) -> list[dict[str, Any]]:
    """All messages that a request is answered with, in wire form."""
    client = Client(app, capabilities=ASKABLE)
    messages: list[dict[str, Any]] = []
    async with (
        trio.open_nursery() as nursery,
        client.open(method, params, meta=meta) as answer,
    ):
        async for message in answer:
            messages.append(message)
            if message.get("method") == "notifications/subscriptions/acknowledged":
                # Beside the reading: the last message waits until it is read.
                nursery.start_soon(app.drain, 60)
    return messages


async def result_of(method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The result of a request to a server of its own, in wire form."""
    params = REQUESTS[method] if params is None else params
    messages = await messages_of(make_app(), method, params)
    result: dict[str, Any] = messages[-1]["result"]
    return result
