"""Telling a session of changes unasked.

Layer: transport, shell. Today a client asks what it wants to hear of, in a call that
stays open. Here the rim makes that call on behalf of a session: for all lists, and for
the resources that are watched. When others are watched than before, a new call takes the
place of the old one, once it is acknowledged; a change between the two may be told twice,
and is never lost.

On HTTP the news go out on the stream of a GET (`news_stream`), on stdio between the other
messages (`genmcp.transport.stdio.legacy_session`).

Spec: 2025-11-25 server/resources#subscriptions, server/tools#list-changed-notification
"""

from __future__ import annotations

import math
import secrets
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

import trio

from genmcp.errors import LimitExceeded, McpError, MethodNotFound, Overloaded
from genmcp.events import ClientGone, Failed, Notified, Sink
from genmcp.legacy.requests import make_request
from genmcp.legacy.results import write_legacy_notification
from genmcp.legacy.store import SessionEnded, StoreUnavailable, WatchedChanged
from genmcp.mcp import v2607 as mcp
from genmcp.transport.legacy.session_requests import complete_caller
from genmcp.transport.watch import NeverGone, run_watched

if TYPE_CHECKING:
    from genmcp.caller import Caller
    from genmcp.events import Event
    from genmcp.legacy.guard import GuardedSessionStore
    from genmcp.legacy.session import Session
    from genmcp.legacy.store import Signal
    from genmcp.mux import Call, Mux

LISTEN: Final = mcp.SubscriptionsListenRequest.method

_LISTS: Final = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")


class News(ABC):
    """Where a session is told of changes."""

    @abstractmethod
    def begin(self) -> None:
        """The first call is open. Repeatable."""

    @abstractmethod
    async def open(self) -> None:
        """From now on changes are told.

        Raises:
            ClientGone: nobody is there to hear of them.
        """

    @abstractmethod
    async def write(self, message: bytes) -> None:
        """Tell of a change.

        Raises:
            ClientGone: nobody is there to hear of it.
        """


class _ListenSink(Sink):
    """Where the events of one listen call go.

    Attributes:
        number: of the call, in the order they were opened.
        error: how it failed, if it did.
        replaced: whether another one has taken its place.
    """

    def __init__(self, listening: Listening, number: int) -> None:
        self.number = number
        self.error: McpError | None = None
        self.replaced = False
        self._listening = listening

    async def write(self, event: Event) -> None:
        """See `Sink.write`."""
        match event:
            case Notified(notification=mcp.SubscriptionsAcknowledgedNotification()):
                await self._listening.take_over(self)
            case Notified(notification=notification):
                await self._listening.send(self, write_legacy_notification(notification))
            case Failed(error=error):
                self.error = error
            case _:
                pass


class Listening:
    """Listens on behalf of one session, once.

    Args:
        mux: runs the listen calls.
        store: tells of what happens to the session.
        session: whose news these are.
        caller: who gets them.
        news: takes them to the client.

    Attributes:
        opened: whether changes were ever told.
        error: why they are not told any more, or never were; `None` where the server's
            handler has ended it, or `end` has.
    """

    def __init__(
        self,
        mux: Mux,
        store: GuardedSessionStore,
        session: Session,
        *,
        caller: Caller,
        news: News,
    ) -> None:
        self.opened = False
        self.error: McpError | None = None
        self._mux = mux
        self._store = store
        self._session = session
        self._caller = caller
        self._news = news
        self._name = secrets.token_urlsafe(12)
        # Counts what was wanted, so that it can be told which of it is listened for.
        self._wanted = 1
        self._settled = 0
        self._news_of_wanted = trio.lowlevel.ParkingLot()
        self._news_of_settled = trio.lowlevel.ParkingLot()
        self._ended = trio.lowlevel.ParkingLot()
        self._current: _ListenSink | None = None
        self._calls: dict[_ListenSink, Call] = {}
        self._scope = trio.CancelScope()

    async def run(self) -> None:
        """Tell of changes until `end`, or until there are none to tell of.

        A store that fails ends it as well, with `error`.

        Cancellation: ends it.
        """
        try:
            await self._store.run_attached(self._session.key, self._receive, self._run_calls)
        except StoreUnavailable as error:
            self.error = error
        finally:
            self._settle(self._wanted)

    def end(self) -> None:
        """Tell of nothing any more. Repeatable."""
        self._scope.cancel()

    async def wait_until_settled(self) -> None:
        """Wait until all that is watched now is listened for, or nothing ever will be."""
        wanted = self._wanted
        while self._settled < wanted:
            await self._news_of_settled.park()

    def _receive(self, signal: Signal) -> None:
        match signal:
            case SessionEnded():
                self.end()
            case WatchedChanged():
                self._wanted += 1
                self._news_of_wanted.unpark_all()
            case _:
                pass

    def _settle(self, number: int) -> None:
        self._settled = max(self._settled, number)
        self._news_of_settled.unpark_all()

    # -- listen calls --------------------------------------------------------------

    async def _run_calls(self) -> None:
        with self._scope:
            async with trio.open_nursery() as nursery:
                await self._listen(nursery)

    async def _listen(self, nursery: trio.Nursery) -> None:
        while True:
            number = self._wanted
            try:
                state = await self._store.find(self._session.key)
            except StoreUnavailable as unavailable:
                self._give_up(unavailable)
                return
            if state.ended:
                self.end()
            error = self._open_call(nursery, state.watched, number)
            if isinstance(error, LimitExceeded | Overloaded) and self._current in self._calls:
                # Rather a gap than no news of what is watched now.
                await self._retire(self._current)
                error = self._open_call(nursery, state.watched, number)
            if error is not None:
                self._give_up(error)
            while self._wanted == number:
                await self._news_of_wanted.park()

    async def _retire(self, sink: _ListenSink | None) -> None:
        """End the call of `sink`, whose place the next one needs."""
        assert sink is not None
        sink.replaced = True
        self._calls[sink].client_gone()
        while sink in self._calls:
            await self._ended.park()

    def _open_call(
        self, nursery: trio.Nursery, watched: tuple[str, ...], number: int
    ) -> LimitExceeded | Overloaded | None:
        """Open a call that listens; return why it cannot be, if so."""
        wanted: dict[str, Any] = dict.fromkeys(_LISTS, True)
        wanted["resourceSubscriptions"] = list(watched)
        request, caller = make_request(
            LISTEN, {"notifications": wanted}, f"stream-{self._name}", self._session
        )
        sink = _ListenSink(self, number)
        try:
            call = self._mux.open(request, complete_caller(caller, self._caller), sink)
        except (LimitExceeded, Overloaded) as error:
            return error
        self._news.begin()
        self._calls[sink] = call
        nursery.start_soon(self._run_call, sink, call)
        return None

    async def _run_call(self, sink: _ListenSink, call: Call) -> None:
        try:
            await run_watched(call, NeverGone(), math.inf)
        finally:
            del self._calls[sink]
            self._ended.unpark_all()
            self._settle(sink.number)
        # One that is refused beside a living one leaves that where it is.
        if not sink.replaced and (sink is self._current or self._current is None):
            self._give_up(sink.error)

    def _give_up(self, error: McpError | None) -> None:
        if error is None and not self.opened:
            error = MethodNotFound("There are no changes to listen for")
        self.error = error
        self._scope.cancel()

    # -- for the sinks -------------------------------------------------------------

    async def take_over(self, sink: _ListenSink) -> None:
        """The call of `sink` is acknowledged: from now on its changes are told.

        Raises:
            ClientGone: one that was opened later has been acknowledged sooner, or nothing is
                to be told any more.
        """
        if self._scope.cancel_called:
            # What is begun now would be cut off as soon as the call hears of it.
            raise ClientGone
        before = self._current
        if before is not None and before.number > sink.number:
            sink.replaced = True
            raise ClientGone
        self._current = sink
        if before is not None:
            before.replaced = True
            if before in self._calls:
                self._calls[before].client_gone()
        self._settle(sink.number)
        if not self.opened:
            self.opened = True
            await self._news.open()

    async def send(self, sink: _ListenSink, message: bytes) -> None:
        """Tell of a change."""
        if sink is self._current:
            await self._news.write(message)
