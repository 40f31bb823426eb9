"""The refusals of a stdio client's messages, and other prompt answers, on their way out.

Layer: transport, shell. Whoever reads must go on reading, above all to hear of
cancellations, while the client does not read its answers. So what is answered without a
call (refusals, and pings of 2025) waits here for its turn, as answers wait with their
calls, but not any number of it: where there is as much as may wait, nothing more is read.
A client that takes none of it for half a minute then is gone.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

import trio

from genmcp.events import ClientGone
from genmcp.telemetry import RefusalReason
from genmcp.transport.fault import mask_fault
from genmcp.transport.inbound import Refusal
from genmcp.transport.refused import describe_refusal
from genmcp.transport.stdio.line_reply import render_error

if TYPE_CHECKING:
    from genmcp.mux.reporter import Reporter
    from genmcp.transport.stdio.open_call import OpenCall
    from genmcp.transport.stdio.output import Output

MOST_WAITING: Final = 256
PATIENCE_SECONDS: Final = 30.0


class Refusals:
    """Tells of refusals, and has them and other prompt answers written.

    Args:
        output: where they go.
        reporter: is told of them.

    Attributes:
        done: set when all are handed on, or nobody reads any more.
    """

    def __init__(self, output: Output, reporter: Reporter) -> None:
        self.done = trio.Event()
        self._output = output
        self._reporter = reporter
        self._send, self._receive = trio.open_memory_channel[bytes](MOST_WAITING)

    def report(self, refusal: Refusal) -> None:
        """Tell of a refusal, and nothing else."""
        self._reporter.refuse(describe_refusal(refusal), refusal.error)

    async def refuse(self, refusal: Refusal) -> None:
        """Tell of a refusal and have it written, in its turn."""
        self.report(refusal)
        await self.send(refusal)

    async def send(self, refusal: Refusal) -> None:
        """Have a refusal written, in its turn; see `answer`."""
        await self.answer(render_error(refusal.error, refusal.request_id))

    async def answer(self, line: bytes) -> None:
        """Have a line written, in its turn.

        Raises:
            ClientGone: nobody reads any more, or not at all.
        """
        try:
            with trio.fail_after(PATIENCE_SECONDS):
                await self._send.send(line)
        except trio.TooSlowError:
            self._output.give_up(f"the client has read nothing for {PATIENCE_SECONDS:g} s")
            raise ClientGone from None
        except trio.BrokenResourceError:
            raise ClientGone from None

    async def answer_crash(self, error: BaseException, call: OpenCall | None = None) -> None:
        """Log what must not happen, and answer it all the same.

        Args:
            error: what happened.
            call: the call it happened to, if it was one already.
        """
        masked = mask_fault(error)
        with contextlib.suppress(ClientGone):
            if call is None:
                await self.refuse(Refusal(500, masked, reason=RefusalReason.CRASH))
            elif call.owed:
                await self.send(Refusal(500, masked, call.request_id))

    async def run(self) -> None:
        """Hand on what waits, until `finish`, or until nobody reads any more."""
        try:
            with self._receive:
                async for line in self._receive:
                    await self._output.send(line)
        except ClientGone:
            pass
        finally:
            self.done.set()

    def finish(self) -> None:
        """Have `run` return when what waits is handed on. Nothing more can be refused."""
        self._send.close()
