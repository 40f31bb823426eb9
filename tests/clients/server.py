"""What the clients talk to: a server with something of everything that they can do."""

from __future__ import annotations

from typing import Any, Final

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
    Suite,
    Tool,
    elicit_form,
    list_roots,
    mcp,
    sample,
)

NOTE: Final = "note://today"


@attrs.frozen
class Terms:
    a: int
    b: int


@attrs.frozen
class Sum:
    total: int


class Add(Tool[Terms], name="add", output_schema=Sum):
    """Adds two numbers."""

    async def call(self, request: Any, channel: Channel) -> Any:
        terms = request.params.arguments
        return mcp.call_tool_result(data=Sum(terms.a + terms.b))


class Work(Tool, name="work"):
    """Works in three steps, and tells of each."""

    async def call(self, request: Any, channel: Channel) -> str:
        for step in (1, 2, 3):
            await channel.send_progress(step, 3, message=f"step {step}")
            await channel.send_log("info", {"step": step}, logger="work")
            await channel.send_log("debug", "of no interest")
        return "worked"


@attrs.frozen
class Name:
    name: str


class Greet(Tool, name="greet"):
    """Asks for a name, and then for a surname."""

    async def call(self, request: Any, channel: Channel) -> Any:
        first = channel.answers.form("first", Name)
        if first is None:
            return InputRequired({"first": elicit_form("First name?", Name)}, client_state=1)
        last = channel.answers.form("last", Name)
        if last is None:
            return InputRequired({"last": elicit_form("Surname?", Name)}, client_state=2)
        match first, last:
            case Accepted(Name(first_name)), Accepted(Name(last_name)):
                return f"{first_name} {last_name}"
            case _:
                return "nobody"


class Think(Tool, name="think"):
    """Asks the client's model."""

    async def call(self, request: Any, channel: Channel) -> Any:
        said = channel.answers.sampling("said")
        if said is None:
            return InputRequired({"said": sample("Of France?", max_tokens=9)})
        assert isinstance(said.content, mcp.TextContent)
        return said.content.text


class Look(Tool, name="look"):
    """Asks for the client's folders."""

    async def call(self, request: Any, channel: Channel) -> Any:
        roots = channel.answers.roots("roots")
        if roots is None:
            return InputRequired({"roots": list_roots()})
        return " ".join(root.uri for root in roots)


class Change(Tool, name="change"):
    """Changes a note."""

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus

    async def call(self, request: Any, channel: Channel) -> str:
        self._bus.publish(
            mcp.ResourceUpdatedNotification(params=mcp.ResourceUpdatedNotificationParams(uri=NOTE))
        )
        return "changed"


class Hang(Tool, name="hang"):
    """Tells that it has begun, and hangs until it is cancelled."""

    def __init__(self) -> None:
        self.cancelled = 0

    async def call(self, request: Any, channel: Channel) -> str:
        await channel.send_progress(1)
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            self.cancelled += 1
            raise
        raise AssertionError


class Count(Tool, name="count"):
    """Tells how many calls of `hang` were cancelled."""

    def __init__(self, hang: Hang) -> None:
        self._hang = hang

    async def call(self, request: Any, channel: Channel) -> str:
        return str(self._hang.cancelled)


class Notes(ResourceRepo, prefix="note://"):
    async def list_resources(self, cursor: str | None, channel: Channel) -> Any:
        return [mcp.Resource(uri=NOTE, name="today")]

    async def read(self, target: Any, channel: Channel) -> Any:
        if target != NOTE:
            raise NotFound
        return mcp.read_resource_result(uri=target, text="Buy tea.")


class Greetings(PromptRepo):
    async def list_prompts(self, cursor: str | None, channel: Channel) -> Any:
        return [mcp.Prompt(name="hail", arguments=[mcp.PromptArgument(name="who")])]

    async def get(self, name: str, arguments: Any, channel: Channel) -> Any:
        return mcp.get_prompt_result(text=f"Hail, {arguments['who']}")

    async def complete(self, *args: Any) -> Any:
        return ["ada", "eve"]


def make_suite() -> Suite:
    """Return a server. Its lists come in pages of three."""
    bus, hang = EventBus(), Hang()
    return Suite(
        server_name="for clients",
        server_version="1.0.0",
        tools=[Add, Work, Greet, Think, Look, Change(bus), hang, Count(hang)],
        prompts=[Greetings],
        resources=[Notes],
        subscription_handler=EventSubscriptions(bus),
        send_server_info=True,
        page_size=3,
    )
