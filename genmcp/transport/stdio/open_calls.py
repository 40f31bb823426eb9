"""The requests that a stdio client has open, by their ids, whichever era they are of.

Layer: transport, shell; between `genmcp.transport.stdio.connection` and `legacy_session`,
which read what the client wants, and what answers it.

An id is a request's own from its line to its answer, or to its cancellation: then the client
may use it again, whatever of the request still runs. `1` and `"1"` are two ids, and `true` and
`1.0`, which are both 1 for Python, are none: they are refused where messages are read.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from genmcp.errors import InvalidRequest, LimitExceeded, Overloaded, show, show_line
from genmcp.events import ClientGone
from genmcp.mcp import v2607 as mcp
from genmcp.mux.failure import is_crash
from genmcp.transport.discovery_sink import DiscoverySink
from genmcp.transport.inbound import ReceivedRequest, Refusal
from genmcp.transport.reply import find_status
from genmcp.transport.stdio.line_call import LineCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from genmcp.mux import Mux
    from genmcp.transport.stdio.open_call import OpenCall
    from genmcp.transport.stdio.output import Output
    from genmcp.transport.stdio.refusals import Refusals

_log: Final = logging.getLogger("genmcp.transport")


class OpenCalls:
    """Opens calls, runs them, and cancels them.

    Args:
        mux: runs them.
        output: where their answers go.
        refusals: where it is said that a request cannot be a call.
        assigns: what handlers find in `channel.assigns`.
        supported: the protocol versions that are served, as `server/discover` tells them.
    """

    def __init__(
        self,
        mux: Mux,
        output: Output,
        refusals: Refusals,
        assigns: Mapping[str, Any],
        supported: Sequence[str],
    ) -> None:
        self._mux = mux
        self._output = output
        self._refusals = refusals
        self._assigns = assigns
        self._supported = supported
        self._open: dict[mcp.RequestId, OpenCall] = {}
        self._running: set[OpenCall] = set()
        self._beside: set[trio.CancelScope] = set()
        self._something_ended = trio.lowlevel.ParkingLot()

    # -- calls -------------------------------------------------------------------

    async def open(self, received: ReceivedRequest, nursery: trio.Nursery) -> None:
        """Run a request of today in `nursery`, or refuse it.

        Raises:
            ClientGone: it is refused, and nobody reads any more.
        """
        request, request_id = received.request, received.caller.request_id

        def make() -> OpenCall:
            call = LineCall(self._mux, request, request_id, self._output, self.forget)
            caller = attrs.evolve(received.caller, assigns=self._assigns)
            discovers = isinstance(request, mcp.DiscoverRequest)
            sink = DiscoverySink(call, self._supported) if discovers else call
            call.call = self._mux.open(request, caller, sink)
            return call

        await self.begin(request_id, make, nursery)

    async def begin(
        self, request_id: mcp.RequestId, make: Callable[[], OpenCall], nursery: trio.Nursery
    ) -> None:
        """Run what `make` returns in `nursery`, or refuse the request.

        Args:
            request_id: the request's.
            make: makes the call, unless the id is taken; may raise `LimitExceeded` and
                `Overloaded`.
            nursery: where it runs.

        Raises:
            ClientGone: it is refused, and nobody reads any more.
        """
        if request_id in self._open:
            # Under its id all the same: without, whoever sent it might take the answer to
            # the first one for the answer to both.
            busy = InvalidRequest(
                f'A request with the "id" {show(request_id)} is still open; take another id'
            )
            await self._refusals.refuse(Refusal(400, busy, request_id))
            return
        try:
            call = make()
        except (LimitExceeded, Overloaded) as error:
            await self._refusals.refuse(Refusal(find_status(error), error, request_id))
            return
        self._open[request_id] = call
        self._running.add(call)
        nursery.start_soon(self._run_call, call)

    async def _run_call(self, call: OpenCall) -> None:
        try:
            await call.run()
        except ClientGone:
            pass
        except BaseException as error:
            if not is_crash(error):
                raise
            await self._refusals.answer_crash(error, call)
        finally:
            self.forget(call)
            self._running.discard(call)
            self._something_ended.unpark_all()

    def forget(self, call: OpenCall) -> None:
        """Let the id of `call` be another one's. Repeatable."""
        # It may be by now.
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

    # -- what runs beside them ---------------------------------------------------

    def run_beside(
        self, run: Callable[[], Awaitable[None]], nursery: trio.Nursery
    ) -> trio.CancelScope:
        """Run in `nursery` what belongs to no request; return what ends it.

        Args:
            run: is cancelled with all calls, and may clean up as long as they may. A crash
                of it is logged, and touches nobody else.
            nursery: where it runs.
        """
        scope = trio.CancelScope()
        self._beside.add(scope)
        nursery.start_soon(self._run_beside, run, scope)
        return scope

    async def _run_beside(
        self, run: Callable[[], Awaitable[None]], scope: trio.CancelScope
    ) -> None:
        try:
            with scope:
                await run()
        except ClientGone:
            pass
        except BaseException as error:
            if not is_crash(error):
                raise
            _log.error("what runs beside the calls of a client failed", exc_info=error)
        finally:
            self._beside.discard(scope)
            self._something_ended.unpark_all()

    # -- the end -----------------------------------------------------------------

    def stop(self) -> None:
        """The server shuts down: no call waits for anything the client might say."""
        for call in tuple(self._running):
            call.stop()

    def abandon_all(self) -> None:
        """End everything that runs, without a word."""
        for call in tuple(self._running):
            call.abandon()
        for scope in tuple(self._beside):
            scope.cancel()

    async def wait_until_answered(self) -> None:
        """Wait until nothing of any call runs any more."""
        while self._running:
            await self._something_ended.park()

    async def wait_until_idle(self) -> None:
        """Wait until nothing runs any more."""
        while self._running or self._beside:
            await self._something_ended.park()
