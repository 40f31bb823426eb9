"""The way out: whole lines, one after the other, as fast as they are read.

Layer: transport, shell. Every call of a client writes to one `Output`; one task writes it
out. It takes a line when there is room for the beginning of one, and holds no other:
whoever has one waits for its turn, and may be cancelled while it waits, without anything
having been written. So a client that does not read costs a line for each call it has open,
holds up no cancellation and no clean-up, and finds nothing of what it has cancelled when it
reads again. A `Voice` is what one request has of it.

Spec: basic/transports/stdio
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import trio

from genmcp.events import ClientGone

if TYPE_CHECKING:
    from trio.abc import SendStream

_log: Final = logging.getLogger("genmcp.transport")


class Output:
    """Writes lines to `stream`.

    Attributes:
        gone: set when nobody reads any more.
        done: set when nothing will be written any more.
    """

    def __init__(self, stream: SendStream) -> None:
        self.gone = trio.Event()
        self.done = trio.Event()
        self._stream = stream
        # Without room in it, what is sent is with the writer, or it is not sent.
        self._send, self._receive = trio.open_memory_channel[bytes](0)

    async def send(self, lines: bytes) -> None:
        """Have whole lines written, together and in full, after what was sent before.

        Raises:
            ClientGone: nobody reads any more.

        Cancellation: nothing of them is written. Once it has returned, all of it is,
        unless the client goes.
        """
        try:
            await self._send.send(lines)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ClientGone from None

    async def run(self) -> None:
        """Write what is sent, until `finish`, or until nobody reads any more.

        Cancellation: a line may stay unfinished; nothing follows it.
        """
        try:
            with self._receive:
                while True:
                    await self._stream.wait_send_all_might_not_block()
                    await self._stream.send_all(await self._receive.receive())
        except trio.EndOfChannel:
            pass
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self.give_up(f"nobody reads any more ({error})")
        finally:
            self.done.set()

    def give_up(self, reason: str) -> None:
        """Take it that nobody reads any more."""
        _log.info("stdout: %s", reason)
        self.gone.set()

    def finish(self) -> None:
        """Have `run` return once what was sent is written. Nothing more can be sent."""
        self._send.close()


class Voice:
    """What one request may write, until it is silenced. For one task at a time.

    Attributes:
        silent: whether it is.
    """

    def __init__(self, output: Output) -> None:
        self.silent = False
        self._output = output
        self._sending: trio.CancelScope | None = None

    def check(self) -> None:
        """Check that something may be written.

        Raises:
            ClientGone: it is silenced.
        """
        if self.silent:
            raise ClientGone

    async def send(self, lines: bytes) -> None:
        """Have whole lines written; see `Output.send`.

        Raises:
            ClientGone: it is silenced, or nobody reads any more; nothing of them is written.
        """
        # Whoever is cancelled as well is told that, and cleans up for it.
        await trio.lowlevel.checkpoint_if_cancelled()
        self.check()
        with trio.CancelScope() as self._sending:
            await self._output.send(lines)
            return
        raise ClientGone

    def silence(self) -> None:
        """Write nothing more, not even what waits for its turn. Repeatable."""
        self.silent = True
        if self._sending is not None:
            self._sending.cancel()
