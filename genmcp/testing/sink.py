"""A sink that keeps what a call wrote.

Layer: testing. Implements `genmcp.events.Sink` in memory, with the faults a real
connection has: it can be slow, and it can break.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import trio

from genmcp.events import Answered, ClientGone, Failed, Notified, Sink
from genmcp.wire.messages import write_error, write_notification, write_result

if TYPE_CHECKING:
    from genmcp.events import Ending, Event
    from genmcp.mcp import v2607 as mcp


class RecordingSink(Sink):
    """Records events, in order.

    Attributes:
        events: everything written so far.
        gate: while this is closed (`sink.gate = trio.Event()`), writes wait for it,
            as they do when a client does not read.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.gate: trio.Event | None = None
        self._broken = False
        self._send: trio.MemorySendChannel[Event]
        self._receive: trio.MemoryReceiveChannel[Event]
        self._send, self._receive = trio.open_memory_channel(math.inf)

    def break_connection(self) -> None:
        """Make every write from here on raise `ClientGone`."""
        self._broken = True

    async def write(self, event: Event) -> None:
        """See `Sink.write`. Encodes as a real sink does, so that bad values show."""
        _encode(event)
        await trio.lowlevel.checkpoint()
        if self.gate is not None:
            try:
                await self.gate.wait()
            except trio.Cancelled:
                self._broken = True
                raise
        if self._broken:
            raise ClientGone("the fake connection is broken")
        self.events.append(event)
        self._send.send_nowait(event)

    async def next_event(self) -> Event:
        """Wait for the next event that was not taken yet."""
        return await self._receive.receive()

    @property
    def notifications(self) -> list[mcp.ServerNotification]:
        """The notifications written so far."""
        return [event.notification for event in self.events if isinstance(event, Notified)]

    @property
    def endings(self) -> list[Ending]:
        """The endings written so far: at most one, or the mux is broken."""
        return [event for event in self.events if isinstance(event, Answered | Failed)]


def _encode(event: Event) -> None:
    match event:
        case Notified(notification):
            write_notification(notification)
        case Answered(result):
            write_result(0, result)
        case Failed(error):
            write_error(0, error)
        case _:
            pass
