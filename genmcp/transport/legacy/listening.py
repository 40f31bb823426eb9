"""GET: the stream on which the server tells of changes unasked.

Layer: transport, shell. Today a client asks what it wants to hear of, in a call that
stays open. Here the rim makes that call on behalf of a session: for all lists, and for
the resources that are watched. When others are watched than before, a new call takes the
place of the old one, once it is acknowledged; a change between the two may be told twice,
and is never lost.

Each message goes to one stream: the latest one of a session, as its client may have lost
the one before without anybody noticing here.

Spec: 2025-11-25 basic/transports#listening-for-messages-from-the-server
"""

from __future__ import annotations

import contextlib
import math
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from genmcp.errors import InvalidRequest, LimitExceeded, McpError, MethodNotFound, Overloaded
from genmcp.events import ClientGone, Failed, Notified, Sink
from genmcp.legacy.requests import make_request
from genmcp.legacy.results import write_legacy_notification
from genmcp.legacy.store import SessionEnded, StoreUnavailable, StreamOpened, WatchedChanged
from genmcp.mcp import v2607 as mcp
from genmcp.transport.reply import OK, STREAM_HEADERS, Chunk, End, Head
from genmcp.transport.sse import KEEP_ALIVE, render_event
from genmcp.transport.watch import run_watched

if TYPE_CHECKING:
    from genmcp.caller import Caller
    from genmcp.events import Event
    from genmcp.legacy.guard import GuardedSessionStore
    from genmcp.legacy.session import Session
    from genmcp.legacy.store import Signal
    from genmcp.mux import Call, Mux
    from genmcp.transport.exchange import Exchange

LISTEN: Final = mcp.SubscriptionsListenRequest.method

_LISTS: Final = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")


class _Nobody:
    """A client that is looked after elsewhere."""

    async def wait_until_gone(self) -> None:
        """Wait for ever."""
        await trio.sleep_forever()


class _ListenSink(Sink):
    """Where the events of one listen call go."""

    def __init__(self, listening: Listening) -> None:
        self.error: McpError | None = None
        self.replaced = False
        self._listening = listening

    async def write(self, event: Event) -> None:
        """See `Sink.write`."""
        match event:
            case Notified(notification=mcp.SubscriptionsAcknowledgedNotification()):
                await self._listening.take_over(self)
            case Notified(notification=notification):
                message = write_legacy_notification(notification)
                await self._listening.send(self, render_event(message))
            case Failed(error=error):
                self.error = error
            case _:
                pass


class Listening:
    """The stream of one session.

    Args:
        mux: runs the listen calls.
        store: tells of what happens to the session.
        session: whose stream it is.
        caller: who opened it.
        exchange: carries it.
        keepalive_seconds: how often a silent client is shown that it lives.
    """

    def __init__(
        self,
        mux: Mux,
        store: GuardedSessionStore,
        session: Session,
        *,
        caller: Caller,
        exchange: Exchange,
        keepalive_seconds: float,
    ) -> None:
        self._mux = mux
        self._store = store
        self._session = session
        self._caller = caller
        self._exchange = exchange
        self._keepalive_seconds = keepalive_seconds
        self._name = secrets.token_urlsafe(12)
        self._writing = trio.Lock()
        self._changed = trio.lowlevel.ParkingLot()
        self._ended = trio.lowlevel.ParkingLot()
        self._dirty = False
        self._opened = False
        self._announced = False
        self._refused: McpError | None = None
        self._current: _ListenSink | None = None
        self._calls: dict[_ListenSink, Call] = {}
        self._scope = trio.CancelScope()

    async def run(self, seconds: float) -> McpError | None:
        """Serve the stream until either side ends it, for at most `seconds`.

        Returns:
            Why no stream was opened, if none was.

        Cancellation: ends it.
        """
        try:
            work = partial(self._serve, seconds)
            await self._store.run_attached(self._session.key, self._receive, work)
        except StoreUnavailable as error:
            # Once open it just ends: its client opens another, and is told then.
            self._refused = error
        if self._opened and self._exchange.reachable:
            with contextlib.suppress(ClientGone):
                await self._exchange.send_parts((Chunk(KEEP_ALIVE), End()))
        if self._opened:
            return None
        return self._refused or InvalidRequest("This stream ended before it began; open another")

    async def _serve(self, seconds: float) -> None:
        """Serve the stream, and return when either side ends it.

        Raises:
            StoreUnavailable: it cannot be told to the stream before that this one is here.
        """
        await self._store.publish(self._session.key, StreamOpened(self._name))
        with self._scope:
            self._scope.deadline = trio.current_time() + seconds
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._cancel_when_gone)
                nursery.start_soon(self._keep_alive)
                await self._listen(nursery)

    def _receive(self, signal: Signal) -> None:
        match signal:
            case SessionEnded():
                self._scope.cancel()
            case StreamOpened(stream=stream):
                # Of two that open at once, the one that all hear of last stays.
                if stream == self._name:
                    self._announced = True
                elif self._announced:
                    self._scope.cancel()
            case WatchedChanged():
                self._dirty = True
                self._changed.unpark_all()
            case _:
                pass

    # -- listen calls --------------------------------------------------------------

    async def _listen(self, nursery: trio.Nursery) -> None:
        while True:
            self._dirty = False
            try:
                state = await self._store.find(self._session.key)
            except StoreUnavailable as unavailable:
                self._give_up(unavailable)
                return
            if state.ended:
                self._scope.cancel()
            error = self._open_call(nursery, state.watched)
            if isinstance(error, LimitExceeded | Overloaded) and self._current in self._calls:
                # Rather a gap than no news of what is watched now.
                await self._retire(self._current)
                error = self._open_call(nursery, state.watched)
            if error is not None:
                self._give_up(error)
            while not self._dirty:
                await self._changed.park()

    async def _retire(self, sink: _ListenSink | None) -> None:
        """End the call of `sink`, whose place the next one needs."""
        assert sink is not None
        sink.replaced = True
        self._calls[sink].client_gone()
        while sink in self._calls:
            await self._ended.park()

    def _open_call(
        self, nursery: trio.Nursery, watched: tuple[str, ...]
    ) -> LimitExceeded | Overloaded | None:
        """Open a call that listens; return why it cannot be, if so."""
        wanted: dict[str, Any] = dict.fromkeys(_LISTS, True)
        wanted["resourceSubscriptions"] = list(watched)
        request, caller = make_request(
            LISTEN, {"notifications": wanted}, f"stream-{self._name}", self._session
        )
        caller = attrs.evolve(
            caller,
            assigns=self._caller.assigns,
            principal=self._caller.principal,
            access=self._caller.access,
            client_address=self._caller.client_address,
        )
        sink = _ListenSink(self)
        try:
            call = self._mux.open(request, caller, sink)
        except (LimitExceeded, Overloaded) as error:
            return error
        self._exchange.dispatched = True
        self._calls[sink] = call
        nursery.start_soon(self._run_call, sink, call)
        return None

    async def _run_call(self, sink: _ListenSink, call: Call) -> None:
        try:
            await run_watched(call, _Nobody(), math.inf)
        finally:
            del self._calls[sink]
            self._ended.unpark_all()
        # One that is refused beside a living one leaves that where it is.
        if not sink.replaced and (sink is self._current or self._current is None):
            self._give_up(sink.error)

    def _give_up(self, error: McpError | None) -> None:
        self._refused = error or MethodNotFound("There are no changes to listen for")
        self._scope.cancel()

    # -- for the sinks -------------------------------------------------------------

    async def take_over(self, sink: _ListenSink) -> None:
        """The call of `sink` is acknowledged: from now on its changes are told."""
        before, self._current = self._current, sink
        if before is not None:
            before.replaced = True
            if before in self._calls:
                self._calls[before].client_gone()
        if not self._opened:
            self._opened = True
            await self._write(Head(OK, STREAM_HEADERS), Chunk(KEEP_ALIVE))

    async def send(self, sink: _ListenSink, event: bytes) -> None:
        """Tell of a change."""
        if sink is self._current:
            await self._write(Chunk(event))

    # -- the connection --------------------------------------------------------------

    async def _write(self, *parts: Head | Chunk) -> None:
        async with self._writing:
            try:
                await self._exchange.send_parts(parts)
            except ClientGone:
                self._scope.cancel()
                raise

    async def _cancel_when_gone(self) -> None:
        await self._exchange.wait_until_gone()
        self._scope.cancel()

    async def _keep_alive(self) -> None:
        while True:
            await trio.sleep(self._keepalive_seconds)
            if self._opened:
                try:
                    await self._write(Chunk(KEEP_ALIVE))
                except ClientGone:
                    return
