"""The events of streams, kept for clients that lost their connection.

Layer: legacy, contract. In 2025 a lost connection cancels nothing: the call goes on, and its
client may come back and ask for what it missed, by the id of the last event it saw. Only
what was sent as a stream is kept, for a while, and within a bound.

`genmcp.legacy.memory_replay` has the one that serves one process. Who reads a stream, and
that the connection before is not written to any more, is told by signals: see
`genmcp.legacy.store`.

Spec: 2025-11-25 basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

import attrs
import trio

from genmcp.value import Value

KEPT_SECONDS: Final = 300.0
"""How long a stream is kept that has ended, or whose writer is not heard of any more."""

POLL_SECONDS: Final = 0.25
"""How often a store is asked that does not say when something follows."""


class StreamLost(Exception):
    """What followed that event is not known, or not any more.

    Wire form: HTTP 400 and -32600 for who comes back with `Last-Event-ID`. A response that
    has begun is cut off, so that what was sent does not pass for all there is.
    """


@attrs.frozen(eq=False, repr=False)
class Missed(Value):
    """What follows an event.

    Attributes:
        events: in order, each with its number.
        over: nothing will follow these: they are the last, and the stream has ended.
    """

    events: tuple[tuple[int, bytes], ...]
    over: bool


class ReplayStore(ABC):
    """Keeps what streams said, for clients that come back.

    Handed in as `StreamableHTTP(replay_store=...)`. Processes that hand in stores with one
    memory behind them let a client come back to any of them; they should share a
    `SessionStore`, too, by which the one that works hears that its client is there again.
    `MemoryReplayStore`, the default, is the memory of one process.

    A stream is named by at most 64 characters: letters, digits, `-`, `_` and one dot. No
    client can name a stream of another session. One process writes it, and numbers its
    events from 1; any number may read.

    **When a method is called.** On the event loop, by one task for what is written to one
    stream, one call after the other, and by any number of tasks that read.

    **Ordering.** What was appended is read by every `read` that comes after the return, in
    every process, in the order of the numbers and without gaps.

    **Bounds.** A stream has no end that is known before, so the store sets the bounds: of
    one stream, of all, and of the time a stream is kept after its end. What does not fit is
    forgotten, and read as `StreamLost`: of one stream the oldest events first, of all streams
    those first that have ended. A stream that has not ended is said to `keep` whenever it
    is silent for `keepalive_seconds`; one of which nothing is heard for some minutes is to
    be forgotten, as its writer has died.

    **Failing.** A method may raise any exception, and is given up after `timeout_seconds`.
    Either is logged once, until that method works again. A stream that cannot be kept goes
    on, and its events have no ids from then on: its client hears all, as long as it stays.
    One that comes back when the store fails gets HTTP 503 with `Retry-After` and -32603, or,
    later, is cut off.

    Cancellation: as usual, at any `await`; what was stored then is not said.

    `genmcp.testing.check_replay_store` tells whether a store keeps all this.

    Attributes:
        timeout_seconds: how long each of the methods but `wait` may take.
        reach: which stores this one reaches: those with the same text here; as
            `SessionStore.reach`. It is part of the ids of events, so that one who comes back
            to a process that cannot know the stream is told why.
    """

    timeout_seconds: float = 5.0
    reach: str = ""

    @abstractmethod
    async def keep(self, stream: str) -> None:
        """Keep a stream, from now on, or still.

        A stream that was forgotten may be begun again: the numbers of its events go on.
        """

    @abstractmethod
    async def append(self, stream: str, number: int, event: bytes) -> None:
        """Keep the next event of a stream; nothing happens if the stream was forgotten.

        Args:
            stream: the stream.
            number: one more than that of the event before.
            event: as it was sent, its id in it; as long as a result may be.
        """

    @abstractmethod
    async def end(self, stream: str) -> None:
        """Remember that nothing will follow. Repeatable, and for unknown streams too."""

    @abstractmethod
    async def read(self, stream: str, after: int) -> Missed:
        """Return at once what follows an event: all that is there, or a first part of it.

        Args:
            stream: the stream; not every name that is asked for was ever kept.
            after: the number of the event, 0 for the beginning.

        Raises:
            StreamLost: the stream is not known, there was no such event, or not all that
                followed it is kept.
        """

    async def wait(self, stream: str, after: int) -> None:
        """Return when something may follow an event, or the stream may have ended.

        Too early is not wrong; too late delays the client. It may be cancelled at any
        time, and then called again. Unless overridden, it sleeps a quarter of a second.
        """
        await trio.sleep(POLL_SECONDS)
