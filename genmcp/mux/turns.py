"""Turns: who writes next, of the tasks of one call.

Layer: mux. Nearly every call writes once, from one task, so a lock that is made for many
waiters would be most of what it costs; this one is two attributes until somebody waits.
"""

from __future__ import annotations

import trio


class Turns:
    """Lets one task in at a time, the others in the order in which they came."""

    __slots__ = ("_taken", "_waiting")

    def __init__(self) -> None:
        self._taken = False
        self._waiting: trio.lowlevel.ParkingLot | None = None

    @property
    def taken(self) -> bool:
        """Whether it is somebody's turn."""
        return self._taken

    def take_now(self) -> bool:
        """Take the turn if it is free; return whether it was."""
        if self._taken:
            return False
        self._taken = True
        return True

    async def wait(self) -> None:
        """Wait for the turn, which is somebody else's; it is the caller's then.

        Cancellation: the place in the queue is given up.
        """
        if self._waiting is None:
            self._waiting = trio.lowlevel.ParkingLot()
        await self._waiting.park()

    def pass_on(self) -> None:
        """Give the turn to whoever waits longest, or let it be free."""
        if self._waiting is None or not self._waiting.unpark(count=1):
            self._taken = False
