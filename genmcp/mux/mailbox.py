"""The mailbox: messages posted to one streaming call, in order and bounded.

Layer: mux. Posting is synchronous, so that a callback, another task or another
thread can do it without waiting for the call; the price is a limit, beyond which
the poster hears of it.
"""

from __future__ import annotations

from typing import Any

import trio

from genmcp.errors import MailboxFull


class Mailbox:
    """A queue with one reader. Costs next to nothing until it is used."""

    def __init__(self, max_messages: int) -> None:
        self._max_messages = max_messages
        # There are as many of these as listen streams, and nearly all are empty: a list,
        # since an empty deque takes 600 bytes.
        self._messages: list[Any] = []
        self._reader = trio.lowlevel.ParkingLot()

    def post(self, message: Any) -> None:
        """Add a message.

        Raises:
            MailboxFull: `max_messages` are waiting already.
        """
        if len(self._messages) >= self._max_messages:
            raise MailboxFull(
                f"{self._max_messages} messages are waiting for this call; "
                "post less often, or raise max_queued_messages"
            )
        self._messages.append(message)
        self._reader.unpark()

    async def receive(self) -> Any:
        """Wait for the next message. A checkpoint; cancelled, it takes none."""
        await trio.lowlevel.checkpoint()
        while not self._messages:
            await self._reader.park()
        return self._messages.pop(0)
