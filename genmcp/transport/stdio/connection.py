"""The one client of a process: its messages read, its calls run, and their end.

Layer: transport, shell; made by `genmcp.transport.stdio.serve`.

What must hold, whatever comes in:

* Reading goes on while calls run. Each has a task of its own; nothing that is read is
  waited for, and a line that makes no sense is refused and forgotten.
* A call that its client has cancelled writes nothing more, not even its end.
* Everything ends together: with the end of the input, when nobody reads the output any
  more, when the host is cancelled, and when it is told to stop. In the first three nobody
  waits for answers, and the calls are cancelled as if they had been one by one. Told to
  stop, they are drained, and get their last lines.

Spec: basic/transports/stdio
"""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING, Final

import attrs
import trio

from genmcp.errors import (
    InternalError,
    InvalidRequest,
    LimitExceeded,
    Overloaded,
    show,
    show_line,
)
from genmcp.events import ClientGone, Failed
from genmcp.mcp import v2607 as mcp
from genmcp.mux.failure import is_crash
from genmcp.telemetry import RefusalReason
from genmcp.transport.inbound import ReceivedNotification, ReceivedRequest, Refusal
from genmcp.transport.reply import find_status
from genmcp.transport.stdio.line_call import LineCall
from genmcp.transport.stdio.line_inbound import Unanswerable
from genmcp.transport.stdio.line_splitter import LineSplitter
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
_LAST_FRAME_SECONDS: Final = 1.0
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
        self._assigns = assigns
        self._grace_seconds = grace_seconds
        self._open: dict[tuple[type, mcp.RequestId], LineCall] = {}
        self._running = 0
        self._call_ended = trio.lowlevel.ParkingLot()
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
            async with trio.open_nursery() as calls:
                try:
                    await self._read_until_end(stop, calls)
                    if on_end is not None:
                        on_end()
                    until = trio.current_time() + self._grace_seconds
                    await self._end_calls(until, drain=stop.is_set())
                except BaseException:
                    # The tasks of calls end by their calls, and by nothing else.
                    self._cancel_calls()
                    self.mux.abort()
                    raise
            await self._flush(max(until, trio.current_time() + _LAST_LINES_SECONDS))
            writing.cancel_scope.cancel()

    # -- reading -----------------------------------------------------------------

    async def _read_until_end(self, stop: trio.Event, calls: trio.Nursery) -> None:
        async with trio.open_nursery() as reading:
            for event in (stop, self._output.gone, self._cancelled):
                reading.start_soon(_cancel_on, event, reading.cancel_scope)
            reading.start_soon(self._notify)
            await self._read(calls)
            reading.cancel_scope.cancel()

    async def _read(self, calls: trio.Nursery) -> None:
        splitter = LineSplitter(self.mux.limits.max_body_bytes)
        try:
            while data := await self._stdin.receive_some():
                for line in splitter.feed(bytes(data)):
                    await self._take_safely(line, calls)
                    # Calls begin in the order of their lines, and no line waits for all
                    # that came with it.
                    await trio.lowlevel.checkpoint()
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            _log.info("stdin %s", error)
        except ClientGone:
            return
        self._input_ended = True

    async def _take_safely(self, line: Line, calls: trio.Nursery) -> None:
        try:
            await self._take(line, calls)
        except ClientGone:
            raise
        except BaseException as error:
            if not is_crash(error):
                raise
            await self._answer_crash(error, None)

    async def _take(self, line: Line, calls: trio.Nursery) -> None:
        match self._inbound.read_line(line):
            case ReceivedRequest() as received:
                await self._open_call(received, calls)
            case ReceivedNotification(notification=mcp.CancelledNotification(params=params)):
                self._cancel_call(params)
            case ReceivedNotification(notification=notification):
                self._pass_on(notification)
            case Unanswerable(refusal=refusal):
                self._refusals.report(refusal)
            case refusal:
                await self._refusals.refuse(refusal)

    # -- notifications -----------------------------------------------------------

    def _cancel_call(self, params: mcp.CancelledNotificationParams) -> None:
        """Cancel a call. That it is unknown, or has its answer, is no fault of anybody's.

        Spec: basic/patterns/cancellation#timing-considerations
        """
        call = self._open.get(_key(params.request_id))
        shown = show(params.request_id)
        reason = "no reason given" if params.reason is None else show_line(params.reason)
        if call is None:
            _log.debug("request %s is not open, and was cancelled: %s", shown, reason)
            return
        _log.info("request %s is cancelled: %s", shown, reason)
        call.cancel()

    def _pass_on(self, notification: mcp.ClientNotification) -> None:
        try:
            self._note.send_nowait(notification)
        except trio.WouldBlock:
            _log.warning("%s is lost: too many wait", show_line(notification.method))

    async def _notify(self) -> None:
        """Hand notifications to the server, one after the other."""
        async for notification in self._notes:
            await self.mux.notify(notification)

    # -- calls -------------------------------------------------------------------

    async def _open_call(self, received: ReceivedRequest, calls: trio.Nursery) -> None:
        request_id = received.caller.request_id
        if _key(request_id) in self._open:
            # Under its id all the same: without, whoever sent it might take the answer to
            # the first one for the answer to both.
            busy = InvalidRequest(
                f'A request with the "id" {show(request_id)} is still open; take another id'
            )
            await self._refusals.refuse(Refusal(400, busy, request_id))
            return
        call = LineCall(received.request, request_id, self._output, self._forget)
        caller = attrs.evolve(received.caller, assigns=self._assigns)
        try:
            call.call = self.mux.open(received.request, caller, call)
        except (LimitExceeded, Overloaded) as error:
            await self._refusals.refuse(Refusal(find_status(error), error, request_id))
            return
        self._open[_key(request_id)] = call
        self._running += 1
        calls.start_soon(self._run_call, call)

    async def _run_call(self, call: LineCall) -> None:
        try:
            await call.call.run()
            if call.owed:
                await self._answer_for(call)
        except ClientGone:
            pass
        except BaseException as error:
            if not is_crash(error):
                raise
            await self._answer_crash(error, call)
        finally:
            self._forget(call)
            self._running -= 1
            if not self._running:
                self._call_ended.unpark_all()

    async def _answer_for(self, call: LineCall) -> None:
        # Cut off by the mux, which only a shutdown does; anything else is a fault.
        if not self.mux.draining:
            raise RuntimeError(f"{call.call.what} ended without an answer")
        with trio.move_on_after(_LAST_FRAME_SECONDS):
            await call.write(Failed(InternalError("The server is shutting down")))

    def _forget(self, call: LineCall) -> None:
        # Its id may be another call's by now.
        if self._open.get(_key(call.request_id)) is call:
            del self._open[_key(call.request_id)]

    async def _answer_crash(self, error: BaseException, call: LineCall | None) -> None:
        """Log what must not happen, and answer it all the same."""
        error_id = secrets.token_hex(8)
        _log.error(
            "serving a request failed, error id %s",
            error_id,
            exc_info=error,
            extra={"genmcp_error_id": error_id},
        )
        masked = InternalError("Internal server error", data={"errorId": error_id})
        if call is None:
            await self._refusals.refuse(Refusal(500, masked, reason=RefusalReason.CRASH))
        elif call.owed:
            await self._refusals.send(Refusal(500, masked, call.request_id))

    # -- the end -----------------------------------------------------------------

    async def _end_calls(self, until: float, *, drain: bool) -> None:
        if self._input_ended:
            # For whoever sends some requests, ends its output, and reads the answers.
            with trio.move_on_after(_LAST_ANSWERS_SECONDS):
                await self._wait_until_idle()
        elif drain:
            await self._drain()
        self._cancel_calls()
        with trio.move_on_at(until):
            await self._wait_until_idle()
        self.mux.abort()

    async def _drain(self) -> None:
        async with trio.open_nursery() as draining:
            for event in (self._output.gone, self._cancelled):
                draining.start_soon(_cancel_on, event, draining.cancel_scope)
            await self.mux.drain(self._grace_seconds * _DRAIN_SHARE)
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

    def _cancel_calls(self) -> None:
        for call in tuple(self._open.values()):
            call.cancel()

    async def _wait_until_idle(self) -> None:
        while self._running:
            await self._call_ended.park()


def _key(request_id: mcp.RequestId) -> tuple[type, mcp.RequestId]:
    return type(request_id), request_id


async def _cancel_on(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
