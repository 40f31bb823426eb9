"""The calls that a stdio client has open, by their ids.

Layer: transport, shell; between `genmcp.transport.stdio.connection`, which reads what the
client wants, and `genmcp.mux`, which runs it.

An id is a call's own from its request to its answer, or to its cancellation: then the client
may use it again, whatever of the call still runs. `1` and `"1"` are two ids, and `true` and
`1.0`, which are both 1 for Python, are none: they are refused where messages are read.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

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
from genmcp.mux.failure import is_crash
from genmcp.transport.inbound import ReceivedRequest, Refusal
from genmcp.transport.reply import find_status
from genmcp.transport.stdio.line_call import LineCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from genmcp.mcp import v2607 as mcp
    from genmcp.mux import Mux
    from genmcp.transport.stdio.output import Output
    from genmcp.transport.stdio.refusals import Refusals

_log: Final = logging.getLogger("genmcp.transport")

_LAST_FRAME_SECONDS: Final = 1.0


class OpenCalls:
    """Opens calls, runs them, and cancels them.

    Args:
        mux: runs them.
        output: where their answers go.
        refusals: where it is said that a request cannot be a call.
        assigns: what handlers find in `channel.assigns`.
    """

    def __init__(
        self, mux: Mux, output: Output, refusals: Refusals, assigns: Mapping[str, Any]
    ) -> None:
        self._mux = mux
        self._output = output
        self._refusals = refusals
        self._assigns = assigns
        self._open: dict[mcp.RequestId, LineCall] = {}
        self._running = 0
        self._call_ended = trio.lowlevel.ParkingLot()

    # -- calls -------------------------------------------------------------------

    async def open(self, received: ReceivedRequest, nursery: trio.Nursery) -> None:
        """Run a request in `nursery`, or refuse it.

        Raises:
            ClientGone: it is refused, and nobody reads any more.
        """
        request_id = received.caller.request_id
        if request_id in self._open:
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
            call.call = self._mux.open(received.request, caller, call)
        except (LimitExceeded, Overloaded) as error:
            await self._refusals.refuse(Refusal(find_status(error), error, request_id))
            return
        self._open[request_id] = call
        self._running += 1
        nursery.start_soon(self._run_call, call)

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
            await self._refusals.answer_crash(error, call)
        finally:
            self._forget(call)
            self._running -= 1
            if not self._running:
                self._call_ended.unpark_all()

    async def _answer_for(self, call: LineCall) -> None:
        # Cut off by the mux, which only a shutdown does; anything else is a fault.
        if not self._mux.draining:
            raise RuntimeError(f"{call.call.what} ended without an answer")
        with trio.move_on_after(_LAST_FRAME_SECONDS):
            await call.write(Failed(InternalError("The server is shutting down")))

    def _forget(self, call: LineCall) -> None:
        # Its id may be another call's by now.
        if self._open.get(call.request_id) is call:
            del self._open[call.request_id]

    def cancel(self, params: mcp.CancelledNotificationParams) -> None:
        """Cancel a call. That it is unknown, or has its answer, is no fault of anybody's.

        Spec: basic/patterns/cancellation#timing-considerations
        """
        call = self._open.get(params.request_id)
        shown = show(params.request_id)
        reason = "no reason given" if params.reason is None else show_line(params.reason)
        if call is None:
            _log.debug("request %s is not open, and was cancelled: %s", shown, reason)
            return
        _log.info("request %s is cancelled: %s", shown, reason)
        call.cancel()

    def cancel_all(self) -> None:
        """Cancel all calls that are open."""
        for call in tuple(self._open.values()):
            call.cancel()

    async def wait_until_idle(self) -> None:
        """Wait until nothing of any call runs any more."""
        while self._running:
            await self._call_ended.park()
