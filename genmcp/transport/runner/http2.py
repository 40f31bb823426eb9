"""HTTP/2 as Hypercorn speaks it, for whoever asks for it.

Layer: transport, shell. Knows the inside of Hypercorn's protocol class, as
`genmcp.transport.runner.http1` does.

What is added here to Hypercorn 0.18: no WebSocket; a request it cannot take, or data
for a stream that was answered, costs that stream and not the connection; the
application waits while the client opens no window; whoever waits is woken when the
client leaves; and a shutdown does not overtake the end of an answer.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import trio
from h2.errors import ErrorCodes
from hypercorn.events import Closed, Event, Updated
from hypercorn.protocol.events import EndBody
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h2 import BUFFER_LOW_WATER, H2Protocol, StreamBuffer
from priority.priority import MissingStreamError

if TYPE_CHECKING:
    import h2.events

    from genmcp.transport.runner.application import Parts
    from genmcp.transport.runner.config import RunnerConfig

# :method, :scheme, :authority and :path
_PSEUDO_HEADERS: Final = 4


class _EndedStream:
    """Takes what a client still sends for a stream whose answer is complete."""

    idle = True

    async def handle(self, _event: StreamEvent) -> None:
        pass


class _Streams(dict[int, Any]):
    def __missing__(self, _stream_id: int) -> _EndedStream:
        return _EndedStream()


class _Buffer(StreamBuffer):
    async def pop(self, max_length: int) -> bytes:
        """Take bytes to send; let the application go on only once there is room.

        Hypercorn lets it go on whenever little was taken, so also when the client
        takes nothing at all.
        """
        data = bytes(self.buffer[:max_length])
        del self.buffer[:max_length]
        if len(self.buffer) < BUFFER_LOW_WATER:
            await self._paused.set()
        if not self.buffer:
            await self._is_empty.set()
        return data


class Http2(H2Protocol):
    """HTTP/2 on one connection."""

    unfinished: Literal["head", "body"] | None = None
    answering = False

    def __init__(self, parts: Parts) -> None:
        super().__init__(*parts)
        self.streams = _Streams()
        self._awaiting_end = trio.lowlevel.ParkingLot()

    async def handle(self, event: Event) -> None:
        """Take what came from the client."""
        await super().handle(event)
        if isinstance(event, Closed):
            # Whoever waits for room in a buffer has nobody to wait for any more.
            for buffer in self.stream_buffers.values():
                await buffer.close()
            self._awaiting_end.unpark_all()
        elif self.idle:
            await self.send(Updated(idle=True))

    async def stream_send(self, event: StreamEvent) -> None:
        """Send what the application answers."""
        await super().stream_send(event)
        if isinstance(event, EndBody):
            # Hypercorn goes on when the last byte has been taken; in a shutdown it then
            # closes the connection before the end of the stream is out.
            while event.stream_id in self.stream_buffers and not self.closed:
                await self._awaiting_end.park()

    async def _create_stream(self, request: h2.events.RequestReceived) -> None:
        stream_id: int = request.stream_id
        fields = dict(request.headers)
        method, path = fields.get(b":method", b"CONNECT"), fields.get(b":path", b"\xff")
        if method == b"CONNECT" or not (method.isascii() and path.isascii()):
            self.connection.reset_stream(stream_id, error_code=ErrorCodes.PROTOCOL_ERROR)
            return
        if len(request.headers) > cast("RunnerConfig", self.config).max_headers + _PSEUDO_HEADERS:
            self.connection.reset_stream(stream_id, error_code=ErrorCodes.ENHANCE_YOUR_CALM)
            return
        await super()._create_stream(request)
        # Nothing has run since, so nothing is in the buffer this replaces.
        self.stream_buffers[stream_id] = _Buffer(self.context.event_class)

    async def _send_data(self, stream_id: int) -> None:
        try:
            await super()._send_data(stream_id)
        except KeyError:
            # The stream and its buffer are gone, the priority tree has not heard of it.
            with suppress(MissingStreamError):
                self.priority.remove_stream(stream_id)
        if stream_id not in self.stream_buffers:
            self._awaiting_end.unpark_all()
