"""The replay store of one process.

Layer: legacy. Bounded in bytes, where a stream that says nothing has its weight, too.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict, deque
from typing import Final

import attrs
import trio

from genmcp.legacy.replay import KEPT_SECONDS, Missed, ReplayStore, StreamLost

MAX_BYTES: Final = 16 * 1024 * 1024
"""How much of all streams together is kept. The first to be forgotten are those that have
ended, and of those the oldest."""

STREAM_BYTES: Final = 1024
"""What a stream takes that has said nothing yet."""

MAX_STREAM_BYTES: Final = 1024 * 1024
"""How much of one stream is kept; of its oldest events, nothing."""


@attrs.define(eq=False)
class _Stream:
    events: deque[tuple[int, bytes]] = attrs.field(factory=deque[tuple[int, bytes]])
    size: int = 0
    first: int = 1
    last: int = 0
    ended_at: float | None = None
    news: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)


class MemoryReplayStore(ReplayStore):
    """Keeps what streams said in the memory of one process. See `ReplayStore`.

    A stream whose writer lives is never forgotten for its silence: the two die together.

    Args:
        max_bytes: of all streams together.
        max_stream_bytes: of one stream.
        kept_seconds: how long a stream is kept after its end.

    Raises:
        ValueError: a bound is not positive.
    """

    def __init__(
        self,
        *,
        max_bytes: int = MAX_BYTES,
        max_stream_bytes: int = MAX_STREAM_BYTES,
        kept_seconds: float = KEPT_SECONDS,
    ) -> None:
        bounds = {
            "max_bytes": max_bytes,
            "max_stream_bytes": max_stream_bytes,
            "kept_seconds": kept_seconds,
        }
        for name, bound in bounds.items():
            if bound <= 0:
                raise ValueError(f"{name} must be positive, got {bound!r}")
        # Nobody else has this memory.
        self.reach = secrets.token_hex(4)
        self._max_bytes = max_bytes
        self._max_stream_bytes = max_stream_bytes
        self._kept_seconds = kept_seconds
        self._streams: OrderedDict[str, _Stream] = OrderedDict()
        self._ended: deque[tuple[float, str]] = deque()
        self._size = 0

    def __len__(self) -> int:
        """How many streams are kept."""
        return len(self._streams)

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return self._size

    async def keep(self, stream: str) -> None:
        """See `ReplayStore.keep`."""
        self._forget_old()
        if stream not in self._streams:
            self._streams[stream] = _Stream()
            self._size += STREAM_BYTES
            self._make_room()

    async def append(self, stream: str, number: int, event: bytes) -> None:
        """See `ReplayStore.append`."""
        found = self._streams.get(stream)
        if found is None:
            return
        if not found.events:
            # What was begun again does not know of what came before.
            found.first = number
        found.last = number
        found.events.append((number, event))
        self._grow(found, len(event))
        while found.size > self._max_stream_bytes:
            self._shorten(found)
        self._make_room()
        found.news.unpark_all()

    async def end(self, stream: str) -> None:
        """See `ReplayStore.end`."""
        found = self._streams.get(stream)
        if found is not None and found.ended_at is None:
            found.ended_at = trio.current_time()
            self._ended.append((found.ended_at, stream))
            found.news.unpark_all()

    async def read(self, stream: str, after: int) -> Missed:
        """See `ReplayStore.read`."""
        self._forget_old()
        found = self._streams.get(stream)
        if found is None or not found.first - 1 <= after <= found.last:
            raise StreamLost
        events = tuple(event for event in found.events if event[0] > after)
        return Missed(events, over=found.ended_at is not None)

    async def wait(self, stream: str, after: int) -> None:
        """See `ReplayStore.wait`."""
        found = self._streams.get(stream)
        if found is not None and found.last <= after and found.ended_at is None:
            await found.news.park()

    # -- inside ------------------------------------------------------------------

    def _grow(self, stream: _Stream, size: int) -> None:
        stream.size += size
        self._size += size

    def _shorten(self, stream: _Stream) -> None:
        number, event = stream.events.popleft()
        stream.first = number + 1
        self._grow(stream, -len(event))

    def _drop(self, name: str) -> None:
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
