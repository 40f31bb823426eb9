"""The events of streams, kept for clients that lost their connection.

Layer: legacy. In 2025 a lost connection cancels nothing: the call goes on, and its client
may come back and ask for what it missed, by the id of the last event it saw. Only what
was sent as a stream is kept, for a while, and within a fixed amount of memory.

Spec: 2025-11-25 basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final, TypeAlias

import attrs
import trio

from genmcp.value import Value

MAX_BYTES: Final = 16 * 1024 * 1024
"""How much of all streams together is kept. The first to be forgotten are those that have
ended, and of those the oldest."""

STREAM_BYTES: Final = 1024
"""What a stream takes that has said nothing yet."""

MAX_STREAM_BYTES: Final = 1024 * 1024
"""How much of one stream is kept; of its oldest events, nothing."""

KEPT_SECONDS: Final = 300.0
"""How long a stream is kept that has ended."""

StreamName: TypeAlias = tuple[str, str]
"""The key of a session, and the name of a stream of it."""


class StreamLost(Exception):
    """What followed that event is not known, or not any more."""


@attrs.frozen(eq=False, repr=False)
class Missed(Value):
    """What follows an event.

    Attributes:
        events: in order, each with its number.
        over: nothing will follow: the stream has ended, or another reader took it over.
    """

    events: tuple[tuple[int, bytes], ...]
    over: bool


@attrs.define(eq=False)
class _Stream:
    events: deque[tuple[int, bytes]] = attrs.field(factory=deque[tuple[int, bytes]])
    size: int = 0
    first: int = 1
    last: int = 0
    ended_at: float | None = None
    reader: int = 0
    reading: bool = False
    news: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)


class ReplayStore:
    """Keeps what streams said, in the memory of one process.

    One reader follows a stream at a time: each message goes out on one connection.

    Args:
        max_bytes: of all streams together.
        max_stream_bytes: of one stream.
        kept_seconds: how long a stream is kept after its end.
    """

    def __init__(
        self,
        *,
        max_bytes: int = MAX_BYTES,
        max_stream_bytes: int = MAX_STREAM_BYTES,
        kept_seconds: float = KEPT_SECONDS,
    ) -> None:
        self._max_bytes = max_bytes
        self._max_stream_bytes = max_stream_bytes
        self._kept_seconds = kept_seconds
        self._streams: OrderedDict[StreamName, _Stream] = OrderedDict()
        self._ended: deque[tuple[float, StreamName]] = deque()
        self._size = 0

    def __len__(self) -> int:
        """How many streams are kept."""
        return len(self._streams)

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return self._size

    # -- for whoever sends -------------------------------------------------------

    def open(self, name: StreamName) -> None:
        """Begin to keep a stream."""
        self._forget_old()
        self._streams[name] = _Stream()
        self._size += STREAM_BYTES
        self._make_room()

    def append(self, name: StreamName, event: bytes) -> bool:
        """Keep the next event; return whether somebody came back to read the stream."""
        stream = self._streams.get(name)
        if stream is None:
            return False
        stream.last += 1
        stream.events.append((stream.last, event))
        self._grow(stream, len(event))
        while stream.size > self._max_stream_bytes:
            self._shorten(stream)
        self._make_room()
        stream.news.unpark_all()
        return stream.reader > 0

    def end(self, name: StreamName) -> None:
        """Say that nothing will follow."""
        stream = self._streams.get(name)
        if stream is not None and stream.ended_at is None:
            stream.ended_at = trio.current_time()
            self._ended.append((stream.ended_at, name))
            stream.news.unpark_all()

    def is_read(self, name: StreamName) -> bool:
        """Tell whether somebody came back, and is reading the stream now."""
        stream = self._streams.get(name)
        return stream is not None and stream.reading

    def was_claimed(self, name: StreamName) -> bool:
        """Tell whether somebody ever came back."""
        stream = self._streams.get(name)
        return stream is not None and stream.reader > 0

    # -- for whoever comes back --------------------------------------------------

    def claim(self, name: StreamName, after: int) -> int:
        """Take a stream over, to `read` what follows the event of that number.

        Raises:
            StreamLost: there is no such stream, or not all of it.
        """
        self._forget_old()
        stream = self._streams.get(name)
        if stream is None or not stream.first - 1 <= after <= stream.last:
            raise StreamLost
        stream.reader += 1
        stream.reading = True
        stream.news.unpark_all()
        return stream.reader

    async def read(self, name: StreamName, after: int, reader: int) -> Missed:
        """Wait for what follows an event.

        Raises:
            StreamLost: it was forgotten meanwhile.

        Cancellation: loses nothing.
        """
        while True:
            stream = self._streams.get(name)
            if stream is None or after < stream.first - 1:
                raise StreamLost
            if stream.reader != reader:
                return Missed((), over=True)
            events = tuple(event for event in stream.events if event[0] > after)
            if events or stream.ended_at is not None:
                return Missed(events, over=stream.ended_at is not None)
            await stream.news.park()

    def release(self, name: StreamName, reader: int) -> None:
        """Say that a reader has gone."""
        stream = self._streams.get(name)
        if stream is not None and stream.reader == reader:
            stream.reading = False

    # -- inside ------------------------------------------------------------------

    def _grow(self, stream: _Stream, size: int) -> None:
        stream.size += size
        self._size += size

    def _shorten(self, stream: _Stream) -> None:
        number, event = stream.events.popleft()
        stream.first = number + 1
        self._grow(stream, -len(event))

    def _drop(self, name: StreamName) -> None:
        stream = self._streams.pop(name, None)
        if stream is not None:
            self._size -= stream.size + STREAM_BYTES
            stream.news.unpark_all()

    def _make_room(self) -> None:
        while self._size > self._max_bytes and len(self._streams) > 1:
            self._drop(self._ended.popleft()[1] if self._ended else next(iter(self._streams)))

    def _forget_old(self) -> None:
        horizon = trio.current_time() - self._kept_seconds
        while self._ended and self._ended[0][0] <= horizon:
            self._drop(self._ended.popleft()[1])
