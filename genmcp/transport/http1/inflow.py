"""What comes in on a connection, and who reads it.

Layer: transport, shell. `genmcp.transport.http1.connection` takes its bytes from here.

At first the task that answers reads. While an answer takes its time, the client may
leave, and only reading shows it: then the connection's other task, which has nothing else
to do, begins to read ahead, and from there on reads everything for the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from genmcp.transport.http1.wire import Wire

_READ_AHEAD_BYTES: Final = 256 * 1024
_LOOK_SECONDS: Final = 1.0


class Inflow:
    """The bytes of one connection, as they come.

    Args:
        wire: where they come from.
        on_leaving: awaited, in the second task, when the client has left, or may have.
    """

    __slots__ = (
        "_ahead",
        "_ahead_bytes",
        "_asked",
        "_asking",
        "_news",
        "_on_leaving",
        "_over",
        "_reads_ahead",
        "_room",
        "_wire",
        "at_end",
    )

    def __init__(self, wire: Wire, on_leaving: Callable[[], Awaitable[None]]) -> None:
        self.at_end = False
        """Whether the second task has seen the end."""
        self._wire = wire
        self._on_leaving = on_leaving
        self._reads_ahead = False
        self._asked = False
        self._over = False
        self._asking = trio.lowlevel.ParkingLot()
        self._ahead: list[bytes] = []
        self._ahead_bytes = 0
        self._news: trio.lowlevel.ParkingLot | None = None
        self._room: trio.lowlevel.ParkingLot | None = None

    def receive(self) -> Awaitable[bytes]:
        """Return the next bytes; `b""` when there are no more. For the first task."""
        return self._take_ahead() if self._reads_ahead else self._wire.receive()

    async def _take_ahead(self) -> bytes:
        if self._news is None:
            self._news = trio.lowlevel.ParkingLot()
        while not self._ahead and not self.at_end:
            await self._news.park()
        data = b"".join(self._ahead)
        self._ahead.clear()
        self._ahead_bytes = 0
        if self._room is not None:
            self._room.unpark_all()
        return data

    def read_ahead(self) -> None:
        """From now on, let the second task read, so that a client's leaving is seen."""
        # At once, and not when the second task wakes: the first may read before that.
        self._reads_ahead = True
        if not self._asked:
            self._asked = True
            self._asking.unpark_all()

    async def attend(self) -> None:
        """Be the second task: read once that is asked for, until `end`."""
        begun = False
        while not self._over:
            if not self._asked:
                await self._asking.park()
                continue
            self._asked = False
            if begun:
                # Asked again. If it is at its end, the client had left this request
                # behind, and gone.
                await self._on_leaving()
            else:
                begun = True
                await self._read_ahead()

    def end(self) -> None:
        """Let the second task end: nothing is read any more."""
        self._over = True
        self._asking.unpark_all()
        self.wake()

    def wake(self) -> None:
        """Let the second task see that the connection is closed."""
        if self._room is not None:
            self._room.unpark_all()

    async def _read_ahead(self) -> None:
        while not self._wire.closed:
            if self._ahead_bytes >= _READ_AHEAD_BYTES:
                await self._wait_for_room()
                continue
            data = await self._wire.receive()
            if not data:
                break
            self._ahead.append(data)
            self._ahead_bytes += len(data)
            self._tell()
        self.at_end = True
        self._tell()
        await self._on_leaving()

    def _tell(self) -> None:
        if self._news is not None:
            self._news.unpark_all()

    async def _wait_for_room(self) -> None:
        if self._room is None:
            self._room = trio.lowlevel.ParkingLot()
        with trio.move_on_after(_LOOK_SECONDS):
            await self._room.park()
            return
        # Nothing is read, so that the end would not be seen where it is to be read.
        if self._wire.deserted:
            await self._on_leaving()
