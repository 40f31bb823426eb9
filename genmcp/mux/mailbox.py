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

    __slots__ = ("_max_messages", "_messages", "_reader")

    def __init__(self, max_messages: int) -> None:
        self._max_messages = max_messages
        # There are as many of these as listen streams, and nearly all are empty: a list,
        # since an empty deque takes 600 bytes.
        self._messages: list[Any] = []
        self._reader: trio.lowlevel.Task | None = None

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
        if self._reader is not None:
            trio.lowlevel.reschedule(self._reader)
            self._reader = None

    async def receive(self) -> Any:
        """Wait for the next message. A checkpoint; cancelled, it takes none."""
        await trio.lowlevel.checkpoint()
        while not self._messages:
            self._reader = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._leave)
        return self._messages.pop(0)

    def _leave(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._reader = None
        return trio.lowlevel.Abort.SUCCEEDED
