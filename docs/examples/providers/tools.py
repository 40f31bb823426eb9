"""A workshop: four tools, one for each way to answer. An MCP server in one file.

    genmcp serve docs/examples/providers/tools.py:suite

`convert` computes at once, `count_primes` works in a thread and reports how far it is,
`wait_for_visitor` stays open until `ring` tells it, from another call, who is at the door.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import attrs

from genmcp import BlockingChannel, Channel, Stream, Suite, Tool, ToolError, mcp

if TYPE_CHECKING:
    from collections.abc import Callable

Unit: TypeAlias = Literal["m", "km", "mile", "g", "kg", "pound"]

FACTORS: dict[Unit, tuple[str, float]] = {
    "m": ("length", 1),
    "km": ("length", 1000),
    "mile": ("length", 1609.344),
    "g": ("weight", 1),
    "kg": ("weight", 1000),
    "pound": ("weight", 453.59237),
}


@attrs.frozen
class Conversion:
    """What to convert."""

    amount: Annotated[float, "how much"]
    unit: Annotated[Unit, "the unit it is given in"]
    to: Annotated[Unit, "the unit it is wanted in"]


@attrs.frozen
class Quantity:
    """An amount of a unit."""

    amount: float
    unit: Unit


class Convert(Tool[Conversion], name="convert", output_schema=Quantity):
    """Convert a length or a weight to another unit."""

    async def call(
        self, request: mcp.CallToolRequest[Conversion], channel: Channel
    ) -> mcp.CallToolResult:
        """Answer with structured content, which is checked against `Quantity`."""
        given = request.params.arguments
        (kind, factor), (wanted, divisor) = FACTORS[given.unit], FACTORS[given.to]
        if kind != wanted:
            # For the model to read, and to mend.
            raise ToolError(f"{given.unit} is a {kind}, and {given.to} is a {wanted}")
        return mcp.call_tool_result(data=Quantity(given.amount * factor / divisor, given.to))


@attrs.frozen
class Below:
    """Where to stop."""

    below: Annotated[int, "primes smaller than this are counted", {"maximum": 1_000_000}]


@attrs.frozen
class CountPrimes(Tool[Below, BlockingChannel], name="count_primes"):
    """Count the prime numbers below a number."""

    chunk: int = 10_000

    def call(self, request: mcp.CallToolRequest[Below], channel: BlockingChannel) -> str:
        """Count, in a worker thread: this is a plain `def`, so it may take its time."""
        below = request.params.arguments.below
        count = 0
        for start in range(0, below, self.chunk):
            stop = min(start + self.chunk, below)
            count += sum(1 for number in range(start, stop) if _is_prime(number))
            # When the client has gone, this raises, and the thread is free again.
            channel.send_progress(stop, total=below)
        return str(count)


def _is_prime(number: int) -> bool:
    if number < 4:  # noqa: PLR2004 - 2 and 3
        return number > 1
    return number % 2 == 1 and all(number % d for d in range(3, int(number**0.5) + 1, 2))


class Door:
    """Who waits at it. Belongs to the event loop: the tools that use it are `async`."""

    def __init__(self) -> None:
        self.waiting: set[Callable[[object], object]] = set()

    def ring(self, visitor: str) -> int:
        """Tell whoever waits; return how many they are."""
        waiting = list(self.waiting)
        for post in waiting:
            post(visitor)
        return len(waiting)


@attrs.frozen
class Visitor:
    """Who is at the door."""

    name: Annotated[str, "who it is", {"minLength": 1}]


@attrs.frozen
class WaitForVisitor(Tool, name="wait_for_visitor", input_schema={"type": "object"}):
    """Wait until somebody rings, and say who."""

    door: Door

    async def call(
        self, request: mcp.CallToolRequest, channel: Channel
    ) -> Stream[Callable[[object], object]]:
        """Stay open. What is posted to the channel goes to `handle_message`."""
        self.door.waiting.add(channel.post)
        return Stream(channel.post)

    async def handle_message(
        self, message: str, channel: Channel, state: Callable[[object], object]
    ) -> str:
        """Answer with the first visitor; `Stream(state)` would wait for the next."""
        self.door.waiting.discard(state)
        return f"{message} is at the door."

    async def handle_close(self, channel: Channel, state: Callable[[object], object]) -> None:
        """Wait no more: the client has gone."""
        self.door.waiting.discard(state)


@attrs.frozen
class Ring(Tool[Visitor], name="ring"):
    """Ring at the door."""

    door: Door

    async def call(self, request: mcp.CallToolRequest[Visitor], channel: Channel) -> str:
        """Tell all calls that wait."""
        return f"{self.door.ring(request.params.arguments.name)} heard it."


def make_suite() -> Suite:
    """Return a workshop with a door of its own."""
    door = Door()
    return Suite(
        server_name="workshop",
        server_version="1.0.0",
        tools=[Convert, CountPrimes, WaitForVisitor(door), Ring(door)],
    )


suite = make_suite()
