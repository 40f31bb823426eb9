"""A server with everything that clients of 2025 can use."""

from __future__ import annotations

from typing import Any

import attrs
import trio

from genmcp import (
    Accepted,
    Channel,
    EventBus,
    EventSubscriptions,
    InputRequired,
    NotFound,
    PromptRepo,
    ResourceRepo,
    StreamableHTTP,
    Suite,
    Tool,
    elicit_form,
    list_roots,
    mcp,
    sample,
)


@attrs.frozen
class Name:
    name: str


class Greet(Tool, name="greet"):
    """Asks for a name, then for a surname."""

    async def call(self, request: Any, channel: Channel) -> Any:
        first = channel.answers.form("first", Name)
        if first is None:
            return InputRequired({"first": elicit_form("First name?", Name)}, client_state=1)
        if not isinstance(first, Accepted):
            return "nobody"
        last = channel.answers.form("last", Name)
        if last is None:
            return InputRequired({"last": elicit_form("Last name?", Name)}, client_state=2)
        assert isinstance(last, Accepted)
        return f"{first.content.name} {last.content.name} ({channel.answers.client_state})"


class AskAll(Tool, name="ask_all"):
    """Asks for a model's words and for folders at once."""

    async def call(self, request: Any, channel: Channel) -> Any:
        words, roots = channel.answers.sampling("words"), channel.answers.roots("roots")
        if words is None or roots is None:
            return InputRequired({"words": sample("Hi", max_tokens=5), "roots": list_roots()})
        assert isinstance(words.content, mcp.TextContent)
        return f"{words.content.text} {len(roots)}"


class Patient(Tool, name="patient"):
    """Wants to be called again until the third time, and asks nothing."""

    async def call(self, request: Any, channel: Channel) -> Any:
        times = (channel.answers.client_state or 0) + 1
        return f"{times} times" if times == 3 else InputRequired(client_state=times)


class Who(Tool, name="who"):
    """Says who is calling."""

    async def call(self, request: Any, channel: Channel) -> Any:
        assert channel.client_info is not None
        return mcp.call_tool_result(
            data={
                "version": channel.protocol_version,
                "client": channel.client_info.name,
                "level": channel.log_level,
                "principal": channel.principal,
            }
        )


class Work(Tool, name="work"):
    """Works until it is told to finish; says so when it is cancelled."""

    def __init__(self) -> None:
        self.started = 0
        self.cancelled = 0
        self.finish = trio.Event()

    async def call(self, request: Any, channel: Channel) -> Any:
        self.started += 1
        await channel.send_progress(1, 2)
        await channel.send_log("info", "working")
        await channel.send_log("debug", "thinking")
        try:
            await self.finish.wait()
        except trio.Cancelled:
            self.cancelled += 1
            raise
        await channel.send_progress(2, 2)
        return "finished"


class Wait(Work, name="wait"):
    """Works as the other does, silently."""

    async def call(self, request: Any, channel: Channel) -> Any:
        self.started += 1
        try:
            await self.finish.wait()
        except trio.Cancelled:
            self.cancelled += 1
            raise
        return "waited"


class Crash(Tool, name="crash"):
    """Fails."""

    async def call(self, request: Any, channel: Channel) -> Any:
        raise RuntimeError("secret")


class Lists(Tool, name="lists", output_schema={"type": "array"}):
    """Answers with a list."""

    async def call(self, request: Any, channel: Channel) -> Any:
        return mcp.call_tool_result(data=[1, 2])


class Notes(ResourceRepo):
    def prefix(self) -> str:
        return "note:"

    async def list_resources(self, cursor: str | None, channel: Channel) -> Any:
        return [mcp.Resource(uri="note:a", name="A"), mcp.Resource(uri="note:b", name="B")], None

    async def read(self, uri: Any, channel: Channel) -> Any:
        if uri not in {"note:a", "note:b"}:
            raise NotFound
        return mcp.read_resource_result(uri=uri, text="note")


class Greetings(PromptRepo):
    def prefix(self) -> str:
        return ""

    async def list_prompts(self, cursor: str | None, channel: Channel) -> Any:
        argument = mcp.PromptArgument(name="who", required=True)
        return [mcp.Prompt(name="greeting", arguments=[argument])], None

    async def get(self, name: str, arguments: Any, channel: Channel) -> Any:
        if name != "greeting":
            raise NotFound
        answer = channel.answers.form("name", Name)
        if arguments["who"] == "ask" and answer is None:
            return InputRequired({"name": elicit_form("Who?", Name)})
        who = answer.content.name if isinstance(answer, Accepted) else arguments["who"]
        return mcp.get_prompt_result(text=f"Hello, {who}")

    async def complete(self, *args: Any) -> Any:
        return ["ada", "eve"]


@attrs.define(eq=False)
class Served:
    """The server, and what tests look at from outside."""

    bus: EventBus = attrs.field(factory=EventBus)
    work: Work = attrs.field(factory=Work)
    wait: Wait = attrs.field(factory=Wait)

    def make_suite(self) -> Suite:
        return Suite(
            server_name="both",
            server_version="1",
            instructions="Ask.",
            tools=[Greet, AskAll, Patient, Who, self.work, self.wait, Crash, Lists],
            prompts=[Greetings],
            resources=[Notes],
            subscription_handler=EventSubscriptions(self.bus),
            page_size=1,
        )

    def make_app(self, **settings: Any) -> StreamableHTTP:
        return StreamableHTTP(self.make_suite(), **{"secret_key": "k" * 32, **settings})
