"""What a session's id cannot hold, since it comes after the id was given out.

Layer: legacy, contract. Two things: a little state (the session was ended, a log level was
set, resources are watched), and signals between the requests of one session, which may be
served by different tasks and, one day, by different processes: an answer looks for the
call that asked, a cancellation for the call it means.

`genmcp.legacy.memory_store` has the one that serves one process. One for several keeps
the state where all can reach it, and hands signals to all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from genmcp.value import Value

if TYPE_CHECKING:
    from genmcp.mcp import v2607 as mcp


@attrs.frozen(eq=False, repr=False)
class SessionState(Value):
    """What is remembered of a session.

    Attributes:
        ended: it was ended by its client, and is not served any more.
        log_level: what was set by `logging/setLevel`.
        watched: the URIs of the resources that are watched, in order.
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
class SessionEnded(Value):
    """The session was ended."""


Signal: TypeAlias = AnswerCame | CancelWanted | WatchedChanged | StreamOpened | SessionEnded

Detach: TypeAlias = Callable[[], None]


class SessionStore(ABC):
    """State and signals of sessions, by `Session.key`.

    What is stored of a session may be forgotten when it expires, and not before. A store
    that is full forgets of others than ended sessions first: an ended session must not
    come back to life.

    The methods may wait, and are cancelled as usual; what was stored then is not said.
    """

    @abstractmethod
    async def find(self, key: str) -> SessionState:
        """Return the state of a session; `UNTOUCHED`, if nothing is stored."""

    @abstractmethod
    async def put(self, key: str, state: SessionState, expires_at: float) -> None:
        """Store the state of a session.

        Args:
            key: the session's.
            state: all of it.
            expires_at: when it may be forgotten, in seconds since the epoch.
        """

    @abstractmethod
    async def publish(self, key: str, signal: Signal) -> None:
        """Hand `signal` to whoever is attached to the session, in whatever process."""

    @abstractmethod
    def attach(self, key: str, receive: Callable[[Signal], None]) -> Detach:
        """Have the session's signals handed to `receive`, until the result is called.

        `receive` is called on the event loop; it must neither block nor raise.
        """
