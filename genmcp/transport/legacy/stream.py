"""The response to one request of 2025: JSON, or a stream that outlives its connection.

Layer: transport, shell. A connection that is lost cancels nothing in 2025. So nothing
here raises because the client has gone: what is sent is kept in the replay store, from
where `genmcp.transport.legacy.resuming` hands it out. Nor does anything raise because that
store fails: the stream goes on then, without ids to come back to.

Spec: 2025-11-25 basic/transports#sending-messages-to-the-server
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final

import trio

from genmcp.errors import InsufficientScope, LimitExceeded, Overloaded
from genmcp.events import ClientGone
from genmcp.legacy.store import StoreUnavailable
from genmcp.legacy.versions import JUNE
from genmcp.transport.legacy.carrier import Carrier
from genmcp.transport.reply import (
    OK,
    STREAM_HEADERS,
    Chunk,
    End,
    Head,
    find_delay,
    find_status,
    render_json,
)
from genmcp.transport.sse import KEEP_ALIVE, render_event
from genmcp.transport.watch import run_watched

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from genmcp.errors import McpError
    from genmcp.legacy.guard import GuardedReplayStore
    from genmcp.legacy.questions import Question
    from genmcp.mux import Call
    from genmcp.transport.exchange import Exchange
    from genmcp.transport.legacy.carrier import WriteError
    from genmcp.transport.reply import Challenge, HeaderPairs, Part

RETRY_MS: Final = 1_000
"""How soon a client that lost its connection should come back."""

ORPHAN_SECONDS: Final = 600.0
"""How long a request goes on whose client has gone and does not come back."""

_FORGET_SECONDS: Final = 1.0


def name_stream(reach: str) -> str:
    """Return the name of a new stream, which clients see in the ids of its events.

    Args:
        reach: where it is kept; see `ReplayStore.reach`.
    """
    name = secrets.token_urlsafe(12)
    return f"{reach}.{name}" if reach else name


def find_kept_name(session_key: str, stream: str) -> str:
    """Return what the store knows a stream by.

    With the session's key: streams of others have other names, whatever a client sends.
    """
    return f"{session_key}.{stream.rpartition('.')[2]}"


def render_numbered(name: str, number: int, message: bytes) -> bytes:
    """Return the event that carries `message`, with its id."""
    return b"id: %s.%d\n%s" % (name.encode("ascii"), number, render_event(message))


class ResumableStream(Carrier):
    """What one request is answered with. A client that has gone is no reason to stop.

    Args:
        exchange: the request's.
        replay: keeps what is sent.
        session_key: whose stream it is.
        version: the protocol version of the session.
        keepalive_seconds: how long nothing may be written.
        headers: what the response says besides.
        challenge: completes the error of a call that ends for want of a scope.
    """

    def __init__(
        self,
        exchange: Exchange,
        replay: GuardedReplayStore,
        session_key: str,
        version: str,
        *,
        keepalive_seconds: float,
        headers: HeaderPairs = (),
        challenge: Challenge | None = None,
    ) -> None:
        self.scope = trio.CancelScope()
        self.done = False
        self.keepalive_seconds = keepalive_seconds
        self._challenge = challenge
        self._exchange = exchange
        self._replay = replay
        self._id = name_stream(replay.reach)
        self._name = find_kept_name(session_key, self._id)
        self._version = version
        self._headers = headers
        self._idle = True
        self._gone = False
        self._kept = False
        self._number = 0
        self._opened = trio.Event()
        self._writing = trio.Lock()

    async def run_call(self, call: Call) -> None:
        """See `Carrier.run_call`."""
        self._exchange.dispatched = True
        await run_watched(call, self, self.keepalive_seconds)

    async def wait_until_gone(self) -> None:
        """Wait for ever, and remember when the connection is lost: the client may come back."""
        await self._exchange.wait_until_gone()
        self.lose_client()
        await trio.sleep_forever()

    async def open(self) -> None:
        """Make the response a stream, if it is none yet."""
        if not self._idle:
            return
        self._idle = False
        self._opened.set()
        self._kept = True
        await self._try(self._replay.keep)
        # Clients of June take an event without data for a broken message.
        start = KEEP_ALIVE
        if self._kept and self._version != JUNE:
            start = b"id: %s.0\nretry: %d\ndata: \n\n" % (self._id.encode("ascii"), RETRY_MS)
        await self._write((Head(OK, (*STREAM_HEADERS, *self._headers)), Chunk(start)))

    async def comment(self) -> None:
        """See `Carrier.comment`."""
        if self._idle:
            await self.open()
        else:
            await self._try(self._replay.keep)
            await self._write((Chunk(KEEP_ALIVE),))

    async def send(self, message: bytes) -> None:
        """See `Carrier.send`."""
        await self.open()
        await self._write((Chunk(await self._keep(message)),))

    async def ask(self, question: Question) -> None:
        """See `Carrier.ask`."""
        await self.send(question.write())

    async def take_back(self, question: Question, reason: str) -> None:
        """See `Carrier.take_back`."""
        await self.send(question.write_cancellation(reason))

    async def finish(self, message: bytes) -> None:
        """See `Carrier.finish`."""
        await self._finish(message, OK)

    async def fail(self, error: McpError, write: WriteError) -> None:
        """Send an error as the answer.

        The errors of an accepted request come with 200: clients of 2025 take a 404 for
        the end of their session. What the request may not do at all keeps its status.

        Raises:
            EncodeError: it cannot be written; nothing was.
        """
        status, headers = OK, find_delay(error)
        if isinstance(error, InsufficientScope | LimitExceeded | Overloaded | StoreUnavailable):
            status = find_status(error)
        if isinstance(error, InsufficientScope) and self._challenge is not None:
            error, headers = self._challenge(error)
        message = write(error)
        # The id of a session comes with the result that opens it, or not at all.
        self._headers = ()
        await self._finish(message, status, headers)

    async def _finish(self, message: bytes, status: int, headers: HeaderPairs = ()) -> None:
        # The status counts only if nothing was sent before.
        self.done = True
        if self._idle:
            whole = render_json(status, message, (*self._headers, *headers))
            await self._write((whole,))
            return
        event = await self._keep(message)
        await self._try(self._replay.end)
        await self._write((Chunk(event), End()))

    async def end(self) -> None:
        """See `Carrier.end`."""
        await self.open()
        self.done = True
        await self._try(self._replay.end)
        await self._write((Chunk(KEEP_ALIVE), End()))

    async def run_limited(self, seconds: float, run: Callable[[], Awaitable[None]]) -> None:
        """Run what writes here; close the connection once it has streamed for so long.

        The client comes back for the rest, if it got an event to come back to.

        Spec: 2025-11-25 basic/transports#sending-messages-to-the-server
        """
        if self._exchange.http1:
            # Nobody may wait on this connection for what is still being worked on.
            self._headers = (*self._headers, (b"connection", b"close"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hand_over_after, seconds)
            await run()
            nursery.cancel_scope.cancel()

    async def _hand_over_after(self, seconds: float) -> None:
        await self._opened.wait()
        await trio.sleep(seconds)
        if self._version == JUNE:
            return
        async with self._writing:
            # Only now is it known what the last to write has written.
            if self._kept and not (self.done or self._gone):
                await self._write_alone((Chunk(KEEP_ALIVE), End()))
                self.lose_client()

    def lose_client(self) -> None:
        """The connection is lost; what is sent from now on waits for the client. Repeatable."""
        if not self._gone:
            self._gone = True
            self.scope.deadline = trio.current_time() + ORPHAN_SECONDS

    def note_reader(self, stream: str) -> None:
        """See `Carrier.note_reader`: each message goes out on that other connection then."""
        if stream == self._id and not self.done:
            # Not ended: on a connection that is whole, the next request would wait for us.
            self._gone = True
            self.scope.deadline = trio.current_time() + ORPHAN_SECONDS

    async def forget(self) -> None:
        """See `Carrier.forget`.

        Cancellation: comes a second later.
        """
        if self._kept:
            with trio.move_on_after(_FORGET_SECONDS, shield=True):
                await self._try(self._replay.end)

    async def _keep(self, message: bytes) -> bytes:
        """Return the event that carries `message`, with an id if it is kept."""
        self._number += 1
        event = render_numbered(self._id, self._number, message)
        await self._try(self._replay.append, self._number, event)
        return event if self._kept else render_event(message)

    async def _try(self, call: Callable[..., Awaitable[None]], *args: Any) -> None:
        """Have the store do something, unless it has failed already."""
        if self._kept:
            try:
                await call(self._name, *args)
            except StoreUnavailable:
                # With a gap, what is kept would pass for all there is.
                self._kept = False

    async def _write(self, parts: Sequence[Part]) -> None:
        async with self._writing:
            await self._write_alone(parts)

    async def _write_alone(self, parts: Sequence[Part]) -> None:
        if self._gone:
            await trio.lowlevel.checkpoint()
            return
        try:
            await self._exchange.send_parts(parts)
        except ClientGone:
            self.lose_client()
