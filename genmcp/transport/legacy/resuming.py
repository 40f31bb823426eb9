"""GET with `Last-Event-ID`: what a client missed of a stream, and what follows on it.

Layer: transport, shell. The stream is written by the task of the call, which may be at work
in another process; both meet in the replay store. That the client is here now is told by a
signal, so that the task writes to no other connection, and waits for the client as long
as it stays.

Spec: 2025-11-25 basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

import contextlib
import re
import secrets
from functools import partial
from typing import TYPE_CHECKING, Final

import attrs
import trio

from genmcp.errors import InvalidRequest
from genmcp.events import ClientGone
from genmcp.legacy.replay import StreamLost
from genmcp.legacy.store import SessionEnded, StoreUnavailable, StreamRead, StreamResumed
from genmcp.telemetry import RefusalReason
from genmcp.transport.headers import show
from genmcp.transport.inbound import Refusal
from genmcp.transport.legacy.admission import refuse_for_now
from genmcp.transport.legacy.stream import find_kept_name
from genmcp.transport.reply import OK, STREAM_HEADERS, Chunk, End, Head
from genmcp.transport.sse import KEEP_ALIVE
from genmcp.value import Value

if TYPE_CHECKING:
    from genmcp.legacy.guard import GuardedReplayStore, GuardedSessionStore
    from genmcp.legacy.replay import Missed
    from genmcp.legacy.store import Signal
    from genmcp.transport.exchange import Exchange

_EVENT_ID: Final = re.compile(
    rb"(?:(?P<reach>[A-Za-z0-9_-]{1,32})\.)?(?P<name>[A-Za-z0-9_-]{16})\.(?P<number>[0-9]{1,12})"
)

TELL_SECONDS: Final = 60.0
"""How often it is told that the client is still here; see `stream.ORPHAN_SECONDS`."""


@attrs.frozen(eq=False, repr=False)
class EventId(Value):
    """The id of an event, taken apart.

    Attributes:
        stream: the name of its stream.
        reach: where the stream is kept; see `ReplayStore.reach`.
        number: which of its events it is.
    """

    stream: str
    reach: str
    number: int


def read_event_id(event_id: bytes) -> EventId | None:
    """Return the stream an event id names, and the number of the event."""
    found = _EVENT_ID.fullmatch(event_id)
    if found is None:
        return None
    stream, _, number = event_id.decode("ascii").rpartition(".")
    return EventId(stream, (found["reach"] or b"").decode("ascii"), int(number))


@attrs.frozen(eq=False, repr=False)
class Resuming(Value):
    """Sends what followed an event on its stream, until the stream ends.

    Attributes:
        exchange: carries the request for it.
        store: tells who else reads the stream.
        replay: has the events.
        session_key: whose stream it is.
        keepalive_seconds: how long nothing may be written.
    """

    exchange: Exchange
    store: GuardedSessionStore
    replay: GuardedReplayStore
    session_key: str
    keepalive_seconds: float

    async def run(self, last_event_id: bytes) -> Refusal | None:
        """Send it, or return a refusal to send, if it is not known.

        Raises:
            StoreUnavailable: nothing was sent yet.
        """
        event_id = read_event_id(last_event_id)
        if event_id is None:
            return _refuse_unknown(last_event_id)
        if event_id.reach != self.replay.reach:
            return _refuse_foreign(last_event_id)
        following = _Following(self, event_id)
        try:
            missed = await self.replay.read(following.kept_name, event_id.number)
        except StreamLost:
            return _refuse_unknown(last_event_id)
        try:
            work = partial(following.run, missed)
            await self.store.run_attached(self.session_key, following.receive, work)
        except StoreUnavailable as error:
            return None if self.exchange.responded else refuse_for_now(error)
        return None


class _Following:
    """One reader of a stream."""

    def __init__(self, resuming: Resuming, event_id: EventId) -> None:
        self.kept_name = find_kept_name(resuming.session_key, event_id.stream)
        self._exchange = resuming.exchange
        self._store = resuming.store
        self._replay = resuming.replay
        self._session_key = resuming.session_key
        self._keepalive_seconds = resuming.keepalive_seconds
        self._stream = event_id.stream
        self._after = event_id.number
        self._reader = secrets.token_urlsafe(12)
        self._announced = False
        self._scope = trio.CancelScope()

    def receive(self, signal: Signal) -> None:
        """Take a signal of the session. Never raises."""
        match signal:
            case StreamResumed(stream=stream, reader=reader) if stream == self._stream:
                # Of two that begin at once, the one that all hear of last goes on.
                if reader == self._reader:
                    self._announced = True
                elif self._announced:
                    self._scope.cancel()
            case SessionEnded():
                self._scope.cancel()
            case _:
                pass

    async def run(self, missed: Missed) -> None:
        """Send what was missed, and what follows, until nothing does.

        Raises:
            StoreUnavailable: nothing was sent yet.
        """
        resumed = StreamResumed(self._stream, self._reader)
        await self._store.publish(self._session_key, resumed)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._cancel_when_gone, nursery.cancel_scope)
            await self._send(missed)
            nursery.cancel_scope.cancel()

    async def _send(self, missed: Missed) -> None:
        # What is lost from here on is cut off, so that its client does not take what it got
        # for all there is.
        with contextlib.suppress(ClientGone, StreamLost, StoreUnavailable):
            await self._exchange.send_parts((Head(OK, STREAM_HEADERS), Chunk(KEEP_ALIVE)))
            with self._scope:
                await self._follow(missed)
            if self._scope.cancelled_caught:
                await self._exchange.send_parts((Chunk(KEEP_ALIVE), End()))

    async def _follow(self, missed: Missed) -> None:
        said = told = trio.current_time()
        while True:
            now = trio.current_time()
            if missed.over or missed.events or now >= said + self._keepalive_seconds:
                said = now
                chunk = Chunk(b"".join(event for _, event in missed.events) or KEEP_ALIVE)
                await self._exchange.send_parts((chunk, End()) if missed.over else (chunk,))
            if missed.over:
                return
            if missed.events:
                self._after = missed.events[-1][0]
            if now >= told + TELL_SECONDS:
                told = now
                await self._store.publish(self._session_key, StreamRead(self._stream))
            due = min(said + self._keepalive_seconds, told + TELL_SECONDS)
            await self._replay.wait(self.kept_name, self._after, due - trio.current_time())
            missed = await self._replay.read(self.kept_name, self._after)

    async def _cancel_when_gone(self, scope: trio.CancelScope) -> None:
        await self._exchange.wait_until_gone()
        scope.cancel()


def _refuse_unknown(event_id: bytes) -> Refusal:
    return Refusal(
        400,
        InvalidRequest(
            f"Last-Event-ID {show(event_id)} is not known in this session, or not any more"
        ),
    )


def _refuse_foreign(event_id: bytes) -> Refusal:
    problem = (
        f"Last-Event-ID {show(event_id)} names a stream of another process of this server, or "
        "of one that has ended: they share no replay_store. Route by the header "
        "Mcp-Session-Id, or give them one"
    )
    return Refusal(400, InvalidRequest(problem), reason=RefusalReason.SESSION)
