"""Suites that can be listened to, and listen calls on the real mux, without HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio

from genmcp import (
    Channel,
    PromptRepo,
    ResourceRepo,
    Stream,
    SubscriptionCapabilities,
    SubscriptionHandler,
    Suite,
    Tool,
    mcp,
)
from genmcp.events import Answered, Event, Failed, Notified
from genmcp.mux import Call, Mux
from genmcp.testing import RecordingSink, fake_caller, fake_request
from genmcp.wire.codec import encode

EVERYTHING = SubscriptionCapabilities(
    tools_list_changed=True,
    prompts_list_changed=True,
    resources_list_changed=True,
    resource_updated=True,
)

ACCEPTED = Stream("state")
TOOLS = mcp.ToolListChangedNotification()
PROMPTS = mcp.PromptListChangedNotification()
RESOURCES = mcp.ResourceListChangedNotification()


def updated(uri: str) -> mcp.ResourceUpdatedNotification:
    return mcp.ResourceUpdatedNotification(params=mcp.ResourceUpdatedNotificationParams(uri=uri))


class Nothing(Tool, name="nothing", description="Does nothing."):
    async def call(self, request: Any, channel: Channel) -> str:
        return ""


class Files(ResourceRepo, prefix="file:///"):
    async def list_resources(self, cursor: Any, channel: Channel) -> Sequence[mcp.Resource]:
        return [mcp.Resource(uri="file:///a", name="a")]

    async def read(self, uri: Any, channel: Channel) -> str:
        return str(uri)


class Greetings(PromptRepo):
    async def list_prompts(self, cursor: Any, channel: Channel) -> Sequence[mcp.Prompt]:
        return [mcp.Prompt(name="hello")]

    async def get(self, name: str, arguments: Any, channel: Channel) -> str:
        return name


class Handler(SubscriptionHandler):
    """Sends what is posted, and remembers what it was asked."""

    def __init__(
        self, answer: Any = ACCEPTED, capabilities: SubscriptionCapabilities = EVERYTHING
    ) -> None:
        self.answer = answer
        self.capabilities = capabilities
        self.filters: list[mcp.SubscriptionFilter] = []
        self.channels: list[Channel] = []
        self.sent: list[bool] = []
        self.closed: list[Any] = []

    def subscription_capabilities(self, channel: Channel) -> Any:
        return self.capabilities

    async def subscribe(self, filter: mcp.SubscriptionFilter, channel: Channel) -> Any:  # noqa: A002
        self.filters.append(filter)
        self.channels.append(channel)
        return self.answer

    async def handle_message(self, message: Any, channel: Channel, state: Any) -> Any:
        self.sent.append(await channel.send_notification(message))
        return Stream(state)

    async def handle_close(self, channel: Channel, state: Any) -> None:
        await trio.lowlevel.checkpoint()
        self.closed.append(state)


def make_suite(handler: Any, **options: Any) -> Suite:
    facts: dict[str, Any] = {
        "server_name": "s",
        "server_version": "1",
        "tools": [Nothing],
        "resources": [Files],
        "send_server_info": False,
    }
    return Suite(**{**facts, **options}, subscription_handler=handler)


@attrs.define
class Listener:
    """One listen call that runs, and what its client got."""

    call: Call
    sink: RecordingSink
    ended: trio.Event = attrs.field(factory=trio.Event)

    async def run(self) -> None:
        await self.call.run()
        self.ended.set()

    async def next(self) -> mcp.ServerNotification:
        """Wait for the next notification."""
        event = await self.sink.next_event()
        assert isinstance(event, Notified), event
        return event.notification

    async def accepted(self) -> dict[str, Any]:
        """Wait for the acknowledgement; return its filter in wire form."""
        first = await self.next()
        assert isinstance(first, mcp.SubscriptionsAcknowledgedNotification)
        accepted: dict[str, Any] = encode(first.params.notifications)
        return accepted

    async def leave(self) -> None:
        self.call.client_gone()
        await self.ended.wait()

    async def ending(self) -> Event:
        await self.ended.wait()
        [ending] = self.sink.endings
        assert self.sink.events[-1] is ending
        return ending

    async def result(self) -> dict[str, Any]:
        ending = await self.ending()
        assert isinstance(ending, Answered), ending
        result: dict[str, Any] = encode(ending.result)
        return result

    async def error(self) -> Any:
        ending = await self.ending()
        assert isinstance(ending, Failed), ending
        return ending.error


def request_listen(**wanted: Any) -> mcp.SubscriptionsListenRequest:
    return mcp.SubscriptionsListenRequest(
        params=mcp.SubscriptionsListenRequestParams(
            meta=fake_request().params.meta, notifications=mcp.SubscriptionFilter(**wanted)
        )
    )


Listen = Callable[..., Listener]


@asynccontextmanager
async def listening(server: Suite | Mux) -> AsyncIterator[Listen]:
    """Give a function that listens; at the end, hang up whatever still listens."""
    mux = Mux(server) if isinstance(server, Suite) else server
    listeners: list[Listener] = []

    def listen(
        request_id: mcp.RequestId = 1,
        *,
        gate: trio.Event | None = None,
        sink: RecordingSink | None = None,
        **wanted: Any,
    ) -> Listener:
        sink = RecordingSink() if sink is None else sink
        sink.gate = gate
        caller = fake_caller(request_id=request_id)
        listener = Listener(mux.open(request_listen(**wanted), caller, sink), sink)
        listeners.append(listener)
        nursery.start_soon(listener.run)
        return listener

    async with trio.open_nursery() as nursery:
        try:
            yield listen
        finally:
            # Calls are shielded: a failed assertion alone would not end them.
            for listener in listeners:
                listener.call.client_gone()
