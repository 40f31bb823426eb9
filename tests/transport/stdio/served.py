"""A server with a tool for each way a call can go."""

from __future__ import annotations

from typing import Any

import trio

from genmcp import (
    Channel,
    EventBus,
    EventSubscriptions,
    Suite,
    Tool,
    ToolError,
)


class Journal:
    """What the tools saw.

    Attributes:
        started: the names of the calls that have begun.
        cleaned: those whose clean-up is through.
        release: set to let `wait` return.
    """

    def __init__(self) -> None:
        self.started: list[str] = []
        self.cleaned: list[str] = []
        self.facts: list[Any] = []
        self.release = trio.Event()
        self.bus = EventBus()


class Echo(Tool, name="echo", description="Says what it is told."):
    async def call(self, request: Any, channel: Channel) -> str:
        text: str = request.params.arguments["text"]
        return text


class Report(Tool, name="report", description="Reports while it works."):
    async def call(self, request: Any, channel: Channel) -> str:
        for step in range(3):
            await channel.send_progress(step + 1)
            await channel.send_log("info", step)
        return "reported"


class Fail(Tool, name="fail", description="Fails."):
    async def call(self, request: Any, channel: Channel) -> str:
        if request.params.arguments.get("how") == "crash":
            raise RuntimeError("secret")
        raise ToolError("told to fail")


def make_suite(journal: Journal | None = None, **more: Any) -> Suite:
    seen = Journal() if journal is None else journal

    class Wait(Tool, name="wait", description="Waits until it is released."):
        async def call(self, request: Any, channel: Channel) -> str:
            name: str = request.params.arguments.get("name", "wait")
            seen.started.append(name)
            seen.facts.append((dict(channel.assigns), channel.principal))
            try:
                await seen.release.wait()
            finally:
                await trio.sleep(0.2)
                seen.cleaned.append(name)
                # A cancelled call may try; nothing of it goes out.
                await channel.send_progress(99)
            return name

    class Chatter(Tool, name="chatter", description="Never stops reporting."):
        async def call(self, request: Any, channel: Channel) -> str:
            seen.started.append("chatter")
            step = 0
            try:
                while True:
                    step += 1
                    await channel.send_progress(step)
            finally:
                seen.cleaned.append("chatter")

    class Stubborn(Tool, name="stubborn", description="Takes an hour to clean up."):
        async def call(self, request: Any, channel: Channel) -> str:
            seen.started.append("stubborn")
            try:
                await trio.sleep_forever()
            finally:
                try:
                    await trio.sleep(3600)
                finally:
                    seen.cleaned.append("stubborn")
            return ""

    tools = [Echo, Report, Fail, Wait, Chatter, Stubborn]
    return Suite(
        server_name="stdio",
        server_version="1",
        tools=tools,
        subscription_handler=EventSubscriptions(seen.bus),
        **more,
    )
