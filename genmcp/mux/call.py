"""One call: its scope, its tasks, its single ending.

Layer: mux. The transport opens a call with `Mux.open`, runs it, and tells it when
the client has gone; the server answers it, over messages where it streams
(`genmcp.mux.worker`); its `genmcp.mux.channel` is what handlers hold.

What must hold, whatever races:

* Exactly one ending. It is latched, under the lock that all writes take, before
  it is written; whoever comes later finds the call over.
* The ending is the last thing written. It waits for a write that is under way,
  and nothing can begin after it.
* Nothing is written once the client has gone.
* Everything the call started has ended when `run` returns.

Cancelling the host reaches none of it: a call ends by `client_gone`, `stop` or
`abort`, so that clean-ups get their time whoever wants the call to end.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import trio

from genmcp.errors import InternalError
from genmcp.events import Answered, ClientGone, EncodeError, Failed, KeptAlive
from genmcp.mux.call_record import CallRecord
from genmcp.mux.channel import CallChannel
from genmcp.mux.children import Children
from genmcp.mux.cleanup import HandlerScope
from genmcp.mux.failure import is_crash, is_interrupt, log_crash, log_late
from genmcp.mux.mailbox import Mailbox
from genmcp.mux.patience import try_for
from genmcp.mux.stage import Stage
from genmcp.mux.turns import Turns
from genmcp.mux.worker import read_ending, run_stream
from genmcp.outcome import Stream
from genmcp.telemetry import Outcome

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from genmcp.caller import Caller
    from genmcp.errors import McpError
    from genmcp.events import Ending, Event, Sink
    from genmcp.mcp import v2607 as mcp
    from genmcp.mux.admission import Place
    from genmcp.mux.mux import Mux

_log = logging.getLogger("genmcp.mux")

_LAST_FRAME_SECONDS = 1.0
"""How long a call that is stopped waits for its client to take the last frame."""


class Call:
    """One request on its way to its one ending."""

    def __init__(
        self, mux: Mux, request: mcp.Request, caller: Caller, sink: Sink, place: Place
    ) -> None:
        self.place = place
        """Its place among the open calls; the mux gives it back."""
        self._mux = mux
        self._request = request
        self._sink = sink
        channel = CallChannel(self, caller, mux, place.caller)
        self._channel: CallChannel | None = channel
        self._record = CallRecord(mux.reporter, request, caller, channel.notes)
        self.last_write = self._record.started_at
        """When something was last written, in trio's time; at first, when it began."""
        self._turns = Turns()
        self._mailbox: Mailbox | None = None
        self._over = False
        self._aborted = False
        self._stage: Stage | None = None
        self._closing: Ending | None = None
        self._closing_scope: trio.CancelScope | None = None
        self._children: Children | None = None

    @property
    def mailbox(self) -> Mailbox:
        """The messages posted to it."""
        if self._mailbox is None:
            self._mailbox = Mailbox(self._mux.limits.max_queued_messages)
        return self._mailbox

    @property
    def over(self) -> bool:
        """Whether the ending is decided, or the client has gone."""
        return self._over

    @property
    def running(self) -> bool:
        """Whether anything of it runs, clean-ups included."""
        return self._stage is not None

    @property
    def what(self) -> str:
        """Which call this is, for the log: method, target and id."""
        return self._record.what

    @property
    def writing(self) -> bool:
        """Whether a write waits for the client."""
        return self._turns.taken

    # -- for the transport -------------------------------------------------------

    async def run(self) -> None:
        """Run the call until all of it has ended; its events go to the sink.

        Never raises what handlers raise. Shielded from cancellation: whoever runs
        a call and is cancelled tells it `client_gone()`, and it ends after its
        clean-ups, within the mux's `cleanup_seconds`.
        """
        scope = HandlerScope(self._mux.limits.cleanup_seconds)
        with trio.CancelScope(shield=True):
            try:
                async with trio.open_nursery() as nursery:
                    # A task of its own: one that leaves a nursery of its own open (in a
                    # generator that nobody finishes) corrupts no scope but its own.
                    nursery.start_soon(self._run_alone, Stage(scope, nursery))
            except BaseException as error:
                # Nobody cancels this nursery: a cancellation that comes out of it is a
                # stray one, of scopes that the handler has torn apart.
                if scope.abandoned or is_interrupt(error):
                    raise
                self._over = True

    async def _run_alone(self, stage: Stage) -> None:
        with stage.scope.open():
            await self.run_on(stage)

    async def run_on(self, stage: Stage) -> None:
        """Run the call as `run` does, in the calling task, which has opened `stage`.

        The task must not be cancelled but through the call.

        Raises:
            RuntimeError: the handler left scopes of its own open. The call has its
                ending, but the task that ran it is of no more use.
        """
        self._mux.add(self)
        try:
            self._record.start()
            self._stage = stage
            if self._over:
                self.client_gone()
            if self._aborted:
                self.abort()
            try:
                await stage.scope.run(
                    self._answer(stage.scope),
                    on_late=self._log_late_cleanup,
                    on_block=stage.on_block,
                )
            except BaseException as error:
                # Beside a cancellation only: on its own a crash is an ending.
                if stage.scope.abandoned or not is_crash(error):
                    raise
                log_late(error, self.what)
            if stage.scope.torn or not self._over:
                await self._end_torn()
            if self._children is not None:
                await self._children.end()
        finally:
            self._over = True
            self._stage = None
            # The two hold each other, and with them the request: what it takes is given
            # back now, and not when the collector comes by.
            self._channel = None
            self._mux.discard(self)
            self._record.finish()

    def client_gone(self) -> None:
        """Cancel the call: nobody is listening. At any time, any number of times."""
        self._cut_off(Outcome.CANCELLED)
        if self._stage is not None:
            self._stage.scope.cancel()
        if self._children is not None:
            self._children.cancel()

    async def keep_alive(self) -> None:
        """Show the client that a silent call lives; opens the stream if need be."""
        await self.write(KeptAlive())

    async def stop(self, error: McpError) -> None:
        """End the call from the server's side, then cancel its handlers.

        Its last frame is the server's `closing_result`, or else `error`.
        """
        await self._stop(self._closing_ending(error), Outcome.SHUTDOWN)

    def closing_result(self) -> mcp.Result | None:
        """See `Server.closing_result`. A fault in it is logged, and gives `None`."""
        if self._channel is None:
            return None
        try:
            return self._mux.server.closing_result(self._request, self._channel)
        except BaseException as error:
            if not is_crash(error):
                raise
            log_crash(error, f"closing_result of {self.what}")
            return None

    def abort(self) -> None:
        """Cut the call off, clean-ups included."""
        self._aborted = True
        self._cut_off(Outcome.SHUTDOWN)
        if self._closing_scope is not None:
            self._closing_scope.cancel()
        if self._stage is not None:
            self._stage.scope.abort()
        if self._children is not None:
            self._children.abort()

    # -- for the channel ---------------------------------------------------------

    async def write(self, event: Event) -> bool:
        """Write `event` unless the call is over; return whether it went out.

        Raises:
            EncodeError: it is not JSON. Nothing was written.
        """
        if not self._turns.take_now():
            await self._turns.wait()
        try:
            if self._over:
                # A handler that only sends must still find out that it is over.
                await trio.lowlevel.checkpoint()
                return False
            try:
                await self._sink.write(event)
            except ClientGone:
                self.client_gone()
                return False
            self.last_write = trio.current_time()
            self._record.stream()
            return True
        finally:
            self._turns.pass_on()

    def close(self) -> None:
        """See `Channel.close`."""
        if self._over or self._closing is not None or self._stage is None:
            return
        # From here on a result of the handler comes too late.
        self._closing = self._closing_ending(
            InternalError("The server closed this call before it had a result")
        )
        self._stage.nursery.start_soon(self._stop, self._closing, Outcome.CLOSED)

    def start_soon(self, async_fn: Callable[..., Awaitable[object]], *args: Any) -> None:
        """See `Channel.start_soon`."""
        if self._over or self._stage is None:
            raise RuntimeError("start_soon: this call is over")
        # Registered here: the task may get its first turn when the call has ended.
        scope = HandlerScope(self._mux.limits.cleanup_seconds)
        if self._children is None:
            self._children = Children()
        self._children.add(scope)
        self._stage.nursery.start_soon(self._run_child, self._children, scope, async_fn, args)

    # -- inside ------------------------------------------------------------------

    async def _end_torn(self) -> None:
        torn = RuntimeError("the handler's scopes were torn apart: was a nursery left open?")
        await self._end(Failed(self._record.crash(torn)))
        raise torn

    async def _answer(self, scope: HandlerScope) -> None:
        channel = self._channel
        assert channel is not None, "until the call has ended"
        server = self._mux.server
        try:
            answer = await server.handle_request(self._request, channel)
            if isinstance(answer, Stream):
                ending = await run_stream(
                    server, answer.state, channel, self.mailbox, self._open_closing_scope
                )
            else:
                ending = read_ending(server, "handle_request", answer)
        except BaseException as error:
            # A cancellation that is not this call's is a stray one, raised again by
            # the handler's own code: a crash like any other.
            if scope.ending or is_interrupt(error):
                raise
            ending = Failed(self._record.crash(error))
        if self._closing is None:
            await self._end(ending)
        else:
            await self._end(self._closing, Outcome.CLOSED)

    def _open_closing_scope(self) -> trio.CancelScope:
        """Return where `handle_close` runs, once: shielded, its time beginning now."""
        deadline = trio.current_time() + self._mux.limits.cleanup_seconds
        self._closing_scope = trio.CancelScope(shield=True, deadline=deadline)
        if self._aborted:
            self._closing_scope.cancel()
        return self._closing_scope

    async def _run_child(
        self,
        children: Children,
        scope: HandlerScope,
        async_fn: Callable[..., Awaitable[object]],
        args: tuple[Any, ...],
    ) -> None:
        async def body() -> None:
            await async_fn(*args)

        try:
            with scope.open():
                await scope.run(body(), on_late=self._log_late_cleanup)
        except BaseException as error:
            if scope.abandoned or not is_crash(error):
                raise
            if self._over:
                log_late(error, self.what)
            else:
                await self._stop(Failed(self._record.crash(error)))
        finally:
            children.discard(scope)

    def _log_late_cleanup(self) -> None:
        seconds = self._mux.limits.cleanup_seconds
        _log.warning("%s still runs %g s after its client has gone", self.what, seconds)

    def _closing_ending(self, error: McpError) -> Ending:
        result = self.closing_result()
        return Failed(error) if result is None else Answered(result)

    async def _stop(self, ending: Ending, cause: Outcome | None = None) -> None:
        await try_for(_LAST_FRAME_SECONDS, self._end, ending, cause)
        self._record.cut_off(cause or Outcome.CANCELLED)
        self.client_gone()

    async def _end(self, ending: Ending, cause: Outcome | None = None) -> None:
        """Write the ending, unless the call is over; `cause`, if it is not the handler's."""
        if not self._turns.take_now():
            await self._turns.wait()
        try:
            if self._over:
                return
            self._over = True
            try:
                await self._sink.write(ending)
            except EncodeError as error:
                ending = Failed(self._record.crash(error))
                await self._sink.write(ending)
            self._record.settle(ending, cause)
        except ClientGone:
            self._record.cut_off(Outcome.CANCELLED)
        finally:
            self._turns.pass_on()

    def _cut_off(self, cause: Outcome) -> None:
        # Before that, an ending may be on its way, and is what counts if it arrives.
        self._record.cut_off(cause)
        self._over = True
