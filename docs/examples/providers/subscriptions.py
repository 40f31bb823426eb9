"""A notice board: clients that listen hear at once what changes on it.

    genmcp serve docs/examples/providers/subscriptions.py:suite

Notes are resources, `note:///` and their name. `pin_note` puts one up or rewrites it,
`take_down_note` removes it. Both say so on an event bus, and `EventSubscriptions` tells
every client that listens. The tools are plain `def` and run in worker threads, which
makes no difference to the bus.
"""

import threading
from collections.abc import Sequence
from typing import Annotated, Any

import attrs

from genmcp import (
    BlockingChannel,
    Channel,
    EventBus,
    EventSubscriptions,
    NotFound,
    ResourceRepo,
    SubscriptionCapabilities,
    Suite,
    Tool,
    ToolError,
)
from genmcp.mcp import v2607 as mcp

PREFIX = "note:///"


class Board:
    """The notes, by name. For any thread; whatever changes is said on the bus."""

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self._notes: dict[str, str] = {}
        self._changing = threading.Lock()

    def read_all(self) -> dict[str, str]:
        """Return the notes as they are now."""
        with self._changing:
            return dict(self._notes)

    def pin(self, name: str, text: str) -> None:
        """Put a note up, or rewrite it."""
        with self._changing:
            known = name in self._notes
            self._notes[name] = text
        # After the change, so that whoever hears of it reads the new text.
        if known:
            self._bus.resource_updated(PREFIX + name)
        else:
            self._bus.resources_changed()

    def take_down(self, name: str) -> bool:
        """Remove a note; return whether it was there."""
        with self._changing:
            known = self._notes.pop(name, None) is not None
        if known:
            self._bus.resources_changed()
        return known


@attrs.frozen
class Note:
    """A note to pin up."""

    name: Annotated[str, "what it is called", {"pattern": "^[a-z0-9-]{1,50}$"}]
    text: Annotated[str, "what it says"]


@attrs.frozen
class Name:
    """Which note."""

    name: Annotated[str, "what it is called"]


@attrs.frozen
class PinNote(Tool[Note, BlockingChannel], name="pin_note"):
    """Pin a note to the board, or rewrite the one of that name."""

    board: Board

    def call(self, request: mcp.CallToolRequest[Note], channel: BlockingChannel) -> str:
        """Pin it."""
        note = request.params.arguments
        self.board.pin(note.name, note.text)
        return f"Pinned {note.name}."


@attrs.frozen
class TakeDownNote(Tool[Name, BlockingChannel], name="take_down_note"):
    """Take a note off the board."""

    board: Board

    def call(self, request: mcp.CallToolRequest[Name], channel: BlockingChannel) -> str:
        """Take it down."""
        name = request.params.arguments.name
        if not self.board.take_down(name):
            raise ToolError(f"There is no note called {name!r}.")
        return f"Took {name} down."


@attrs.frozen
class Notes(ResourceRepo, prefix=PREFIX):
    """The notes on the board."""

    board: Board

    async def list_resources(self, cursor: Any, channel: Channel) -> Sequence[mcp.Resource]:
        """Return all of them, by name."""
        names = sorted(self.board.read_all())
        return [mcp.Resource(uri=PREFIX + name, name=name) for name in names]

    async def read(self, target: str, channel: Channel) -> str:
        """Return what a note says."""
        text = self.board.read_all().get(target.removeprefix(PREFIX))
        if text is None:
            raise NotFound
        return text


def make_suite(bus: EventBus) -> Suite:
    """Return a board of its own, which publishes on `bus`."""
    board = Board(bus)
    return Suite(
        server_name="notice-board",
        server_version="1.0.0",
        instructions="A board for notes. Listen to it to hear of new and changed ones.",
        tools=[PinNote(board), TakeDownNote(board)],
        resources=[Notes(board)],
        subscription_handler=EventSubscriptions(
            bus,
            # The tools are always the same, so nothing is promised about their list.
            capabilities=SubscriptionCapabilities(
                resources_list_changed=True, resource_updated=True
            ),
        ),
    )


suite = make_suite(EventBus())
