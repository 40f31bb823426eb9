"""A server as its author writes it: nothing in it knows of eras or transports."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

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
    elicit_form,
    mcp,
)

bus = EventBus()


@attrs.frozen
class Dish:
    dish: str


@attrs.frozen
class Amount:
    amount: int


class Order(Tool, name="order"):
    """Takes an order: asks what it is to be, and then how much of it."""

    async def call(self, request: Any, channel: Channel) -> Any:
        dish = channel.answers.form("dish", Dish)
        if dish is None:
            return InputRequired({"dish": elicit_form("What may it be?", Dish)}, client_state="one")
        if not isinstance(dish, Accepted):
            return "Nothing, then."
        amount = channel.answers.form("amount", Amount)
        if amount is None:
            asked = elicit_form(f"How much {dish.content.dish}?", Amount)
            return InputRequired({"amount": asked}, client_state="two")
        if not isinstance(amount, Accepted):
            return "Nothing, after all."
        told = f"{amount.content.amount} {dish.content.dish}, round {channel.answers.client_state}"
        return mcp.call_tool_result(text=told, _data={"version": channel.protocol_version})


class Count(Tool, name="count"):
    """Counts to three, and says so."""

    async def call(self, request: Any, channel: Channel) -> str:
        for number in (1, 2, 3):
            await channel.send_progress(number, 3)
            await channel.send_log("warning", f"counted {number}")
        return "counted"


def _leave_mark(file: str) -> None:
    Path(file).write_text("cleaned up", encoding="utf-8")


class Wait(Tool, name="wait", input_schema={"type": "object"}):
    """Waits for ever, and writes a file when it is cancelled."""

    async def call(self, request: Any, channel: Channel) -> str:
        await channel.send_progress(1)
        try:
            await trio.sleep_forever()
        finally:
            _leave_mark(request.params.arguments["file"])
        raise AssertionError


class Cook(Tool, name="cook"):
    """Changes what is on the menu."""

    async def call(self, request: Any, channel: Channel) -> str:
        Menu.texts["menu:today"] += ", and soup"
        bus.resource_updated("menu:today")
        bus.publish(mcp.ToolListChangedNotification())
        return "cooked"


class Menu(ResourceRepo):
    texts: ClassVar = {"menu:today": "fish", "menu:tomorrow": "meat"}

    def prefix(self) -> str:
        return "menu:"

    async def list_resources(self, cursor: str | None, channel: Channel) -> Any:
        return [mcp.Resource(uri=uri, name=uri) for uri in self.texts]

    async def read(self, uri: Any, channel: Channel) -> Any:
        return self.texts[uri]


class Recipes(PromptRepo):
    def prefix(self) -> str:
        return "recipe"

    async def list_prompts(self, cursor: str | None, channel: Channel) -> Any:
        argument = mcp.PromptArgument(name="dish", required=True)
        return [mcp.Prompt(name="recipe", arguments=[argument])]

    async def get(self, name: str, arguments: Any, channel: Channel) -> str:
        return f"How is {arguments['dish']} made?"

    async def complete(self, name: str, argument: Any, context: Any, channel: Channel) -> list[str]:
        return [dish for dish in ("fish", "meat") if dish.startswith(argument.value)]


suite = Suite(
    server_name="kitchen",
    server_version="1",
    tools=[Order, Count, Wait, Cook],
    resources=[Menu],
    prompts=[Recipes],
    subscription_handler=EventSubscriptions(bus),
    page_size=3,
)
