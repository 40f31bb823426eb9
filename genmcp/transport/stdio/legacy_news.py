"""What a stdio client of 2025 is told unasked: changes, between all its other messages.

Layer: transport, shell; of `genmcp.transport.stdio.legacy_session`. On HTTP a client that
loses its stream of changes opens another. Here there is none it could lose, so that when the
server's handler ends the listening, with or without a failure, it is begun again here.

Spec: 2025-11-25 basic/transports#stdio, server/resources#subscriptions
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import trio

from genmcp.errors import MethodNotFound
from genmcp.legacy.guard import GuardedSessionStore
from genmcp.legacy.memory_store import MemorySessionStore
from genmcp.transport.legacy.listening import Listening, News
from genmcp.transport.stdio.line_reply import render_line
from genmcp.transport.stdio.open_call import OpenCall
from genmcp.transport.stdio.output import Voice

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from genmcp.caller import Caller
    from genmcp.legacy.session import Session
    from genmcp.legacy.store import Signal
    from genmcp.mcp import v2607 as mcp
    from genmcp.mux import Mux
    from genmcp.transport.stdio.output import Output

_log: Final = logging.getLogger("genmcp.transport")

SETTLE_SECONDS: Final = 1.0
"""How long the answer to `resources/subscribe` waits at the most for the listening."""

_LEAST_PAUSE_SECONDS: Final = 1.0
_MOST_PAUSE_SECONDS: Final = 60.0


class LineNews(News):
    """Tells one session of changes.

    Args:
        mux: runs the listen calls.
        session: who is told.
        client: what is known of it besides.
        output: where it is told.

    Attributes:
        store: what is kept of the session.
        handshake_ended: to be set when the answer to its handshake has gone out; nothing is
            told before.
    """

    def __init__(self, mux: Mux, session: Session, client: Caller, output: Output) -> None:
        self.store = GuardedSessionStore(MemorySessionStore())
        self.handshake_ended = trio.Event()
        self._mux = mux
        self._session = session
        self._client = client
        self._output = output
        self._over = False
        self._listening = self._make_listening()

    def _make_listening(self) -> Listening:
        return Listening(self._mux, self.store, self._session, caller=self._client, news=self)

    async def run(self) -> None:
        """Tell of changes until there will never be any.

        Cancellation: ends it; this returns after the clean-ups of the server's handler.
        """
        try:
            await self.handshake_ended.wait()
            await self._listen()
        finally:
            self._over = True

    async def _listen(self) -> None:
        pause = _LEAST_PAUSE_SECONDS
        while not self._mux.draining:
            before = trio.current_time()
            await self._listening.run()
            error, self._listening = self._listening.error, self._make_listening()
            lasted = trio.current_time() - before
            if isinstance(error, MethodNotFound) or self._mux.draining:
                return
            if error is None:
                await self._rest(_LEAST_PAUSE_SECONDS - lasted)
                continue
            if lasted > _MOST_PAUSE_SECONDS:
                pause = _LEAST_PAUSE_SECONDS
            _log.warning("changes are told again in %g s: %s", pause, error.message)
            await self._rest(pause)
            pause = min(pause * 2, _MOST_PAUSE_SECONDS)

    async def _rest(self, seconds: float) -> None:
        """Wait before the next try; less if the client watches something else."""
        wanted = trio.Event()

        def receive(signal: Signal) -> None:
            wanted.set()

        with trio.move_on_after(max(seconds, 0)):
            await self.store.run_attached(self._session.key, receive, wanted.wait)

    async def wait_until_settled(self) -> None:
        """Wait until what the session watches is listened for, for at most a second."""
        with trio.move_on_after(SETTLE_SECONDS):
            if not self._over:
                await self._listening.wait_until_settled()

    # -- for the listening ---------------------------------------------------------

    def begin(self) -> None:
        """See `News.begin`."""

    async def open(self) -> None:
        """See `News.open`."""
        await trio.lowlevel.checkpoint()

    async def write(self, message: bytes) -> None:
        """See `News.write`."""
        await self._output.send(render_line(message))


class SettledAnswer(OpenCall):
    """The answer to a request that changes what is watched, when that has taken effect.

    Whoever has it, and changes the resource then, hears of that.

    Args:
        request_id: the request's.
        line: the answer.
        settle: waits until it has taken effect.
        output: where the answer goes.
        on_end: called when it has gone out, or is not wanted any more.
    """

    def __init__(
        self,
        request_id: mcp.RequestId,
        line: bytes,
        settle: Callable[[], Awaitable[None]],
        *,
        output: Output,
        on_end: Callable[[OpenCall], None],
    ) -> None:
        self.request_id = request_id
        self._line = line
        self._settle = settle
        self._output = output
        self._voice = Voice(output)
        self._on_end = on_end
        self._scope = trio.CancelScope()
        self._done = False

    @property
    def owed(self) -> bool:
        """See `OpenCall.owed`."""
        return not (self._done or self._voice.silent or self._output.gone.is_set())

    async def run(self) -> None:
        """See `OpenCall.run`."""
        with self._scope:
            await self._settle()
            await self._voice.send(self._line)
            self._done = True
            self._on_end(self)

    def cancel(self) -> None:
        """See `OpenCall.cancel`. What is watched stays as it was wanted."""
        self._voice.silence()
        self._on_end(self)
        self._scope.cancel()
