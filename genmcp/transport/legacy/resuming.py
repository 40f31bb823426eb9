"""GET with `Last-Event-ID`: what a client missed of a stream, and what follows on it.

Layer: transport, shell.

Spec: 2025-11-25 basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import attrs
import trio

from genmcp.errors import InvalidRequest
from genmcp.events import ClientGone
from genmcp.legacy.replay import StreamLost
from genmcp.transport.headers import show
from genmcp.transport.inbound import Refusal
from genmcp.transport.reply import OK, STREAM_HEADERS, Chunk, End, Head
from genmcp.transport.sse import KEEP_ALIVE
from genmcp.value import Value

if TYPE_CHECKING:
    from genmcp.legacy.replay import ReplayStore, StreamName
    from genmcp.transport.exchange import Exchange

_MAX_DIGITS = 12


def read_event_id(event_id: bytes, session_key: str) -> tuple[StreamName, int] | None:
    """Return the stream an event id names, and the number of the event."""
    name, separator, number = event_id.decode("latin-1").rpartition(".")
    if not (separator and number.isascii() and number.isdigit() and len(number) <= _MAX_DIGITS):
        return None
    # With the session's key: streams of others have other names, whatever is sent.
    return (session_key, name), int(number)


async def resume_stream(
    exchange: Exchange,
    replay: ReplayStore,
    session_key: str,
    event_id: bytes,
    keepalive_seconds: float,
) -> Refusal | None:
    """Send what followed an event on its stream, until the stream ends.

    Returns:
        A refusal to send, if that is not known.
    """
    found = read_event_id(event_id, session_key)
    if found is None:
        return _refuse(event_id)
    name, number = found
    try:
        reader = replay.claim(name, number)
    except StreamLost:
        return _refuse(event_id)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_when_gone, exchange, nursery.cancel_scope)
            following = _Following(exchange, replay, name, reader, keepalive_seconds)
            await following.run(number)
            nursery.cancel_scope.cancel()
    finally:
        replay.release(name, reader)
    return None


@attrs.frozen(eq=False, repr=False)
class _Following(Value):
    """One reader of a stream."""

    exchange: Exchange
    replay: ReplayStore
    name: StreamName
    reader: int
    keepalive_seconds: float

    async def run(self, after: int) -> None:
        """Send what follows until nothing does."""
        # A stream that was lost is cut off, so that its client does not take what it got
        # for all there is.
        with contextlib.suppress(ClientGone, StreamLost):
            await self.exchange.send_parts((Head(OK, STREAM_HEADERS), Chunk(KEEP_ALIVE)))
            while (after := await self._send_next(after)) >= 0:
                pass

    async def _send_next(self, after: int) -> int:
        """Send what comes next; return its number, or -1 after the last."""
        with trio.move_on_after(self.keepalive_seconds):
            missed = await self.replay.read(self.name, after, self.reader)
            chunk = Chunk(b"".join(event for _, event in missed.events) or KEEP_ALIVE)
            if missed.over:
                await self.exchange.send_parts((chunk, End()))
                return -1
            await self.exchange.send_parts((chunk,))
            return missed.events[-1][0]
        await self.exchange.send_parts((Chunk(KEEP_ALIVE),))
        return after


async def _cancel_when_gone(exchange: Exchange, scope: trio.CancelScope) -> None:
    await exchange.wait_until_gone()
    scope.cancel()


def _refuse(event_id: bytes) -> Refusal:
    return Refusal(
        400,
        InvalidRequest(
            f"Last-Event-ID {show(event_id)} is not known in this session, or not any more"
        ),
    )
