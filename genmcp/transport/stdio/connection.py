"""The one client of a process: its messages read, its calls run, and their end.

Layer: transport, shell; made by `genmcp.transport.stdio.serve`.

What must hold, whatever comes in:

* Reading goes on while calls run. Each has a task of its own; nothing that is read is
  waited for, and a line that makes no sense is refused and forgotten.
* A call that its client has cancelled writes nothing more, not even its end.
* Whether a request is of today or of 2025 is told by the request alone. Both kinds share
  the ids, the output, the limits and the end.
* Everything ends together: with the end of the input, when nobody reads the output any
  more, when the host is cancelled, and when it is told to stop. In the first three nobody
  waits for answers, and the calls are cancelled as if they had been one by one. Told to
  stop, they are drained, and get their last lines.

Spec: basic/transports/stdio
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import trio

from genmcp.errors import show_line
from genmcp.events import ClientGone
from genmcp.legacy.messages import ResponseMessage
from genmcp.mcp import v2607 as mcp
from genmcp.mux.failure import is_crash
from genmcp.mux.patience import try_for
from genmcp.transport.inbound import ReceivedNotification, ReceivedRequest
from genmcp.transport.stdio.legacy_session import LegacySession
from genmcp.transport.stdio.line_inbound import ReceivedLegacyRequest, Unanswerable
from genmcp.transport.stdio.line_splitter import LineSplitter
from genmcp.transport.stdio.open_calls import OpenCalls
from genmcp.transport.stdio.output import Output
from genmcp.transport.stdio.refusals import Refusals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from trio.abc import ReceiveStream, SendStream

    from genmcp.mux import Mux
    from genmcp.transport.stdio.line_inbound import LineInbound
    from genmcp.transport.stdio.line_splitter import Line

_log: Final = logging.getLogger("genmcp.transport")

_LAST_ANSWERS_SECONDS: Final = 0.1
_LAST_LINES_SECONDS: Final = 0.25
# The rest of the grace time is for what draining ended to leave.
_DRAIN_SHARE: Final = 0.9
_MOST_NOTIFICATIONS: Final = 1_000


class Connection:
    """Serves one client, once.

    Args:
        mux: runs the calls; for this client only.
        inbound: reads the lines.
        stdin: where messages come from.
        stdout: where messages go.
        assigns: what handlers find in `channel.assigns`.
        grace_seconds: how long the end may take.

    Attributes:
        mux: as given.
    """

    def __init__(
        self,
        mux: Mux,
        inbound: LineInbound,
        stdin: ReceiveStream,
        stdout: SendStream,
        *,
        assigns: Mapping[str, Any],
        grace_seconds: float,
    ) -> None:
        self.mux = mux
        self._inbound = inbound
        self._stdin = stdin
        self._output = Output(stdout)
        self._refusals = Refusals(self._output, mux.reporter)
        self._calls = OpenCalls(mux, self._output, self._refusals, assigns, inbound.supported)
        self._legacy = LegacySession(
            mux,
            frozenset(mux.server.methods()),
            calls=self._calls,
            refusals=self._refusals,
            output=self._output,
            assigns=assigns,
        )
        self._grace_seconds = grace_seconds
        self._input_ended = False
        self._cancelled = trio.Event()
        self._note, self._notes = trio.open_memory_channel[mcp.ClientNotification](
            _MOST_NOTIFICATIONS
        )

    async def run(self, stop: trio.Event, *, on_end: Callable[[], None] | None = None) -> None:
        """Serve until the input ends, or nobody reads the output, or `stop` is set.

        Args:
            stop: has the calls drained when it is set.
            on_end: called when the end begins, whatever began it.

        Cancellation: the calls are cancelled; this returns after their clean-ups.
        """
        _log.info("Serving MCP over stdio")
        async with trio.open_nursery() as outside:
            outside.start_soon(self._notice_cancel)
            with trio.CancelScope(shield=True):
                await self._serve(stop, on_end)
            outside.cancel_scope.cancel()

    async def _notice_cancel(self) -> None:
        try:
            await trio.sleep_forever()
        finally:
            self._cancelled.set()

    async def _serve(self, stop: trio.Event, on_end: Callable[[], None] | None) -> None:
        async with trio.open_nursery() as writing:
            writing.start_soon(self._output.run)
            writing.start_soon(self._refusals.run)
            async with trio.open_nursery() as nursery:
                try:
                    await self._read_until_end(stop, nursery)
                    if on_end is not None:
                        on_end()
                    until = trio.current_time() + self._grace_seconds
                    await self._end_calls(until, drain=stop.is_set())
                except BaseException:
                    # Ctrl-C, say. The tasks of calls end by their calls, and by nothing else.
                    self._calls.abandon_all()
                    raise
            await self._flush(max(until, trio.current_time() + _LAST_LINES_SECONDS))
            writing.cancel_scope.cancel()

    # -- reading -----------------------------------------------------------------

    async def _read_until_end(self, stop: trio.Event, nursery: trio.Nursery) -> None:
        async with trio.open_nursery() as reading:
            for event in (stop, self._output.gone, self._cancelled):
                reading.start_soon(_cancel_on, event, reading.cancel_scope)
            reading.start_soon(self._notify)
            await self._read(nursery)
            reading.cancel_scope.cancel()

    async def _read(self, nursery: trio.Nursery) -> None:
        splitter = LineSplitter(self.mux.limits.max_body_bytes)
        try:
            while data := await self._stdin.receive_some():
                for line in splitter.feed(bytes(data)):
                    await self._take_safely(line, nursery)
                    # Calls begin in the order of their lines, and no line waits for all
                    # that came with it.
                    await trio.lowlevel.checkpoint()
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            _log.info("stdin %s", error)
        except ClientGone:
            return
        self._input_ended = True

    async def _take_safely(self, line: Line, nursery: trio.Nursery) -> None:
        try:
            await self._take(line, nursery)
        except ClientGone:
            raise
        except BaseException as error:
            if not is_crash(error):
                raise
            await self._refusals.answer_crash(error)

    async def _take(self, line: Line, nursery: trio.Nursery) -> None:
        match self._inbound.read_line(line):
            case ReceivedRequest() as received:
                await self._calls.open(received, nursery)
            case ReceivedLegacyRequest(message=message):
                await self._legacy.take(message, nursery)
            case ResponseMessage() as response:
                self._legacy.take_answer(response)
            case ReceivedNotification(notification=mcp.CancelledNotification(params=params)):
                self._calls.cancel(params)
            case ReceivedNotification(notification=notification):
                # Of 2025, if there is a session at all: those of today have no others.
                self._legacy.begin_news(nursery)
                self._pass_on(notification)
            case Unanswerable(refusal=refusal):
                self._refusals.report(refusal)
            case refusal:
                await self._refusals.refuse(refusal)

    # -- notifications -----------------------------------------------------------

    def _pass_on(self, notification: mcp.ClientNotification) -> None:
        try:
            self._note.send_nowait(notification)
        except trio.WouldBlock:
            _log.warning("%s is lost: too many wait", show_line(notification.method))

    async def _notify(self) -> None:
        """Hand notifications to the server, one after the other."""
        async for notification in self._notes:
            await self.mux.notify(notification)

    # -- the end -----------------------------------------------------------------

    async def _end_calls(self, until: float, *, drain: bool) -> None:
        if self._input_ended:
            # For whoever sends some requests, ends its output, and reads the answers.
            await try_for(_LAST_ANSWERS_SECONDS, self._calls.wait_until_answered)
        elif drain:
            await self._drain()
        self._calls.abandon_all()
        with trio.move_on_at(until):
            await self._calls.wait_until_idle()
        self.mux.abort()

    async def _drain(self) -> None:
        async with trio.open_nursery() as draining:
            for event in (self._output.gone, self._cancelled):
                draining.start_soon(_cancel_on, event, draining.cancel_scope)
            grace_seconds = self._grace_seconds * _DRAIN_SHARE
            until = trio.current_time() + grace_seconds
            self._calls.stop()
            await self.mux.drain(grace_seconds)
            # Requests of 2025 have something to say when their calls have ended.
            with trio.move_on_at(until):
                await self._calls.wait_until_answered()
            draining.cancel_scope.cancel()

    async def _flush(self, until: float) -> None:
        """Wait until all that was said is written, or nobody reads it."""
        if self._output.gone.is_set():
            return
        async with trio.open_nursery() as flushing:
            flushing.cancel_scope.deadline = until
            flushing.start_soon(self._hurry, flushing.cancel_scope)
            self._refusals.finish()
            await self._refusals.done.wait()
            self._output.finish()
            await self._output.done.wait()
            flushing.cancel_scope.cancel()

    async def _hurry(self, scope: trio.CancelScope) -> None:
        await self._cancelled.wait()
        scope.deadline = min(scope.deadline, trio.current_time() + _LAST_LINES_SECONDS)


async def _cancel_on(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
