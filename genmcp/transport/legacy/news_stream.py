"""GET: the stream on which a session is told of changes.

Layer: transport, shell. Each message goes to one stream: the latest one of a session, as
its client may have lost the one before without anybody noticing here. What is told comes
from `listening`.

Spec: 2025-11-25 basic/transports#listening-for-messages-from-the-server
"""

from __future__ import annotations

import contextlib
import secrets
from functools import partial
from typing import TYPE_CHECKING

import trio

from genmcp.errors import InvalidRequest, McpError
from genmcp.events import ClientGone
from genmcp.legacy.store import StoreUnavailable, StreamOpened
from genmcp.transport.legacy.listening import Listening, News
from genmcp.transport.reply import OK, STREAM_HEADERS, Chunk, End, Head
from genmcp.transport.sse import KEEP_ALIVE, render_event

if TYPE_CHECKING:
    from genmcp.caller import Caller
    from genmcp.legacy.guard import GuardedSessionStore
    from genmcp.legacy.session import Session
    from genmcp.legacy.store import Signal
    from genmcp.mux import Mux
    from genmcp.transport.exchange import Exchange


class NewsStream(News):
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
        self._listening = Listening(mux, store, session, caller=caller, news=self)
        self._store = store
        self._session = session
        self._exchange = exchange
        self._keepalive_seconds = keepalive_seconds
        self._name = secrets.token_urlsafe(12)
        self._announced = False
        self._opening = False
        self._replaced = False
        self._writing = trio.Lock()

    async def run(self, seconds: float) -> McpError | None:
        """Serve the stream until either side ends it, for at most `seconds`.

        Returns:
            Why no stream was opened, if none was.

        Cancellation: ends it.
        """
        unavailable: StoreUnavailable | None = None
        try:
            serve = partial(self._serve, seconds)
            await self._store.run_attached(self._session.key, self._receive, serve)
        except StoreUnavailable as error:
            # Once open it just ends: its client opens another, and is told then.
            unavailable = error
        # Not whether changes were to be told: what would have begun it may have been cancelled.
        if not self._exchange.responded:
            unbegun = InvalidRequest("This stream ended before it began; open another")
            return unavailable or self._listening.error or unbegun
        if self._exchange.reachable:
            with contextlib.suppress(ClientGone):
                await self._exchange.send_parts((Chunk(KEEP_ALIVE), End()))
        return None

    async def _serve(self, seconds: float) -> None:
        """Serve the stream, and return when either side ends it.

        Raises:
            StoreUnavailable: it cannot be told to the stream before that this one is here.
        """
        await self._store.publish(self._session.key, StreamOpened(self._name))
        async with trio.open_nursery() as nursery:
            nursery.cancel_scope.deadline = trio.current_time() + seconds
            nursery.start_soon(self._end_when_gone)
            nursery.start_soon(self._keep_alive)
            await self._listening.run()
            nursery.cancel_scope.cancel()

    def _receive(self, signal: Signal) -> None:
        match signal:
            case StreamOpened(stream=stream) if stream == self._name:
                self._announced = True
            case StreamOpened() if self._announced:
                # Of two that open at once, the one that all hear of last stays.
                self._replaced = True
                # Cut off in the middle of its head, a response would be none at all.
                if not self._opening:
                    self._listening.end()
            case _:
                pass

    # -- for the listening -----------------------------------------------------------

    def begin(self) -> None:
        """See `News.begin`."""
        self._exchange.dispatched = True

    async def open(self) -> None:
        """See `News.open`."""
        self._opening = True
        await self._write(Head(OK, STREAM_HEADERS), Chunk(KEEP_ALIVE))
        self._opening = False
        if self._replaced:
            self._listening.end()

    async def write(self, message: bytes) -> None:
        """See `News.write`."""
        await self._write(Chunk(render_event(message)))

    # -- the connection --------------------------------------------------------------

    async def _write(self, *parts: Head | Chunk) -> None:
        async with self._writing:
            try:
                await self._exchange.send_parts(parts)
            except ClientGone:
                self._listening.end()
                raise

    async def _end_when_gone(self) -> None:
        await self._exchange.wait_until_gone()
        self._listening.end()

    async def _keep_alive(self) -> None:
        while True:
            await trio.sleep(self._keepalive_seconds)
            if self._exchange.responded:
                try:
                    await self._write(Chunk(KEEP_ALIVE))
                except ClientGone:
                    return
