"""What a session's id cannot hold, since it comes after the id was given out.

Layer: legacy, contract; pure. Two things: a little state (the session was ended, a log level
was set, resources are watched), and signals between the requests of one session, which are
served by different tasks and, behind one address, by different processes: an answer looks
for the call that asked, a cancellation for the call it means.

`genmcp.legacy.memory_store` has the one that serves one process. One for several keeps
the state where all can reach it, and hands signals to all of them.
`genmcp.legacy.guard` stands between a store and whoever uses it, so that one that fails
or hangs does no more than it must. `genmcp.legacy.replay` is the store for streams.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from genmcp.errors import InternalError
from genmcp.value import Value

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from genmcp.mcp import v2607 as mcp


class StoreUnavailable(InternalError):
    """A store failed, or did not answer in time. The log has the reason.

    Wire form: -32603, HTTP 503 with `Retry-After`, `data: {"retryAfterSeconds": n}`; on a
    stream that is open, its last event.
    """

    def __init__(self, *, retry_after_seconds: int = 1) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(
            "What the server remembers of this session cannot be reached right now; try again",
            data={"retryAfterSeconds": retry_after_seconds},
        )


@attrs.frozen(eq=False, repr=False)
class SessionState(Value):
    """What is remembered of a session.

    Attributes:
        ended: it was ended by its client, and is not served any more.
        log_level: what was set by `logging/setLevel`.
        watched: the URIs of the resources that are watched, each once, in any order.
    """

    ended: bool = False
    log_level: mcp.LoggingLevel | None = None
    watched: tuple[str, ...] = ()


UNTOUCHED = SessionState()
"""The state of a session of which nothing is stored."""


@attrs.frozen(eq=False, repr=False)
class AnswerCame(Value):
    """The client answered a question of the server: the id of it, and the response."""

    question_id: mcp.RequestId
    response: Mapping[str, Any]


@attrs.frozen(eq=False, repr=False)
class CancelWanted(Value):
    """The client wants one of its requests cancelled."""

    request_id: mcp.RequestId


@attrs.frozen(eq=False, repr=False)
class WatchedChanged(Value):
    """Other resources are watched than before."""


@attrs.frozen(eq=False, repr=False)
class StreamOpened(Value):
    """A new stream takes the server's notifications; the one before ends."""

    stream: str


@attrs.frozen(eq=False, repr=False)
class StreamResumed(Value):
    """A client came back for a stream, which goes on at `reader` and nowhere else."""

    stream: str
    reader: str


@attrs.frozen(eq=False, repr=False)
class StreamRead(Value):
    """The client that came back for a stream is still there."""

    stream: str


@attrs.frozen(eq=False, repr=False)
class SessionEnded(Value):
    """The session was ended."""


Signal: TypeAlias = (
    AnswerCame
    | CancelWanted
    | WatchedChanged
    | StreamOpened
    | StreamResumed
    | StreamRead
    | SessionEnded
)
"""What the requests of one session tell each other; `genmcp.legacy.signals` writes them."""

Receive: TypeAlias = Callable[[bytes], None]
"""Takes one signal. Called on the event loop; neither blocks nor raises."""


class SessionStore(ABC):
    """What is remembered of the sessions of 2025, and how their requests find each other.

    Handed in as `StreamableHTTP(session_store=...)`. Processes that hand in stores with one
    memory behind them serve each other's sessions in full; `MemorySessionStore`, the
    default, is the memory of one process. Most sessions never set anything, and a store
    never hears of them but to be asked.

    A session is named by its `key`: 22 characters of the alphabet of URL-safe base64, which
    no client knows or can guess.

    **When a method is called.** On the event loop, in the task of a client's request, by any
    number of tasks at once; calls about one session may overlap, and come from several
    processes. So each change is one step of its own, and must not undo another that
    happens at the same time.

    **Ordering.** What a method has done is seen by every `find` and every signal that comes
    after its return, in every process.

    **Bounds.** `expires_at` is when a session ends by itself, at most a day from its
    opening: what is stored of it may be forgotten then, and should be. Of one session there
    is at most one log level and 1,000 URIs of 2,048 characters. A store that is full
    forgets of others than ended sessions first: an ended session must not come back to life.

    **Failing.** A method may raise any exception, and is given up after `timeout_seconds`.
    Either is logged once, until that method works again. The client whose request it was
    gets HTTP 503 with `Retry-After` and -32603, or that error as the last event of its
    stream; nobody else notices. What was stored then is not said: a client may try again.

    Cancellation: as usual, at any `await`; what was stored then is not said.

    `genmcp.testing.check_session_store` tells whether a store keeps all this.

    Attributes:
        timeout_seconds: how long each of the methods may take.
        reach: which stores this one reaches: those with the same text here, of at most 32
            letters, digits, `-` and `_`. It is part of the ids of questions, so that the
            answer to a question asked beyond reach is refused with words, and not taken and
            lost. Shared stores leave it empty.
    """

    timeout_seconds: float = 5.0
    reach: str = ""

    # -- state -------------------------------------------------------------------

    @abstractmethod
    async def find(self, key: str) -> SessionState:
        """Return the state of a session; `SessionState()`, if nothing is stored.

        Asked once by every request of a session, and by its GET stream again whenever
        other resources are watched.
        """

    @abstractmethod
    async def end(self, key: str, expires_at: float) -> None:
        """Remember that a session was ended, and forget the rest of it. For good.

        Args:
            key: the session's.
            expires_at: when it may be forgotten, in seconds since the epoch.
        """

    @abstractmethod
    async def set_log_level(self, key: str, level: mcp.LoggingLevel, expires_at: float) -> None:
        """Remember the log level of a session, unless it was ended. Args: as for `end`."""

    @abstractmethod
    async def watch(self, key: str, uri: str, expires_at: float) -> None:
        """Remember that a session watches `uri`, unless it was ended. Repeatable."""

    @abstractmethod
    async def unwatch(self, key: str, uri: str, expires_at: float) -> None:
        """Forget that a session watches `uri`. Repeatable."""

    # -- signals -----------------------------------------------------------------

    @abstractmethod
    async def publish(self, key: str, signal: bytes) -> None:
        """Hand `signal` to everybody who is attached to the session, in every process.

        Whoever was attached before this was called gets it once, and soon: a person may be
        waiting. The signals of one session come to all in one order, their publisher
        among them. Nothing is kept for those who come later.

        Args:
            key: the session's.
            signal: JSON in UTF-8; a few bytes, or the answer that a client posted, which is
                as long as a request may be (`max_body_bytes`).
        """

    @abstractmethod
    def attach(self, key: str, receive: Receive) -> AbstractAsyncContextManager[object]:
        """Return a block in which `receive` is called with each signal of the session.

        Inside the block all is heard that is published from then on. It lasts as long as a
        request of the session, which may be hours. A nursery may be open around it: if the
        signals break off, raise; the request is then ended with an error, where it would
        otherwise wait for what cannot come. After the block, `receive` is not called.

        Args:
            key: the session's.
            receive: takes a signal, on the event loop; it neither blocks nor raises.
        """
