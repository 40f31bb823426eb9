"""The tasks that a call has started beside its handler.

Layer: mux. `genmcp.mux.call` makes one when a handler first asks for a task, which few do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from genmcp.mux.cleanup import HandlerScope


class Children:
    """The scopes of the tasks that still run."""

    def __init__(self) -> None:
        self._scopes: set[HandlerScope] = set()
        self._last_ended: trio.lowlevel.ParkingLot | None = None

    def add(self, scope: HandlerScope) -> None:
        """Take in a task that will run in `scope`, before it has had its first turn."""
        self._scopes.add(scope)

    def discard(self, scope: HandlerScope) -> None:
        """Forget a task that has ended."""
        self._scopes.discard(scope)
        if self._last_ended is not None and not self._scopes:
            self._last_ended.unpark_all()

    def cancel(self) -> None:
        """Cancel them all; their clean-ups go on."""
        for scope in self._scopes:
            scope.cancel()

    def abort(self) -> None:
        """Cancel them all, clean-ups included."""
        for scope in self._scopes:
            scope.abort()

    async def end(self) -> None:
        """Cancel them all, and wait until they have ended. Shielded."""
        self._last_ended = trio.lowlevel.ParkingLot()
        with trio.CancelScope(shield=True):
            self.cancel()
            while self._scopes:
                await self._last_ended.park()
