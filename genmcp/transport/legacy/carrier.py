"""What carries one request of 2025, and all that is said to it.

Layer: transport, contract; between `conversation`, `sink` and what they write to. On HTTP
it is `stream`, on stdio `genmcp.transport.stdio.legacy_call`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import trio

    from genmcp.errors import McpError
    from genmcp.legacy.questions import Question
    from genmcp.mux import Call

WriteError: TypeAlias = Callable[["McpError"], bytes]
"""Writes an error as the answer to the request."""


class Carrier(ABC):
    """Takes messages to the client of one request. For one task at a time.

    Where the methods write, they raise `ClientGone` if the client has gone and its request
    goes with it.

    Attributes:
        scope: the work for the request is done in it; cancelled when nobody wants it.
        done: whether the answer has gone out, or is on its way and cannot be taken back.
        keepalive_seconds: how long nothing may be written; `math.inf` for any time.
    """

    scope: trio.CancelScope
    done: bool
    keepalive_seconds: float

    @abstractmethod
    async def run_call(self, call: Call) -> None:
        """Run a call for the request to its end.

        Cancellation: the call is cancelled as if the client had gone; this returns after
        its clean-ups.
        """

    @abstractmethod
    async def open(self) -> None:
        """Begin to stream, where that is something to begin with. Repeatable."""

    @abstractmethod
    async def comment(self) -> None:
        """Show that the request lives."""

    @abstractmethod
    async def send(self, message: bytes) -> None:
        """Send a message, and go on."""

    @abstractmethod
    async def ask(self, question: Question) -> None:
        """Send a question."""

    @abstractmethod
    async def take_back(self, question: Question, reason: str) -> None:
        """Tell the client that the answer to a question is not wanted any more.

        Said of requests that are cancelled, too: the question is the server's own.
        """

    @abstractmethod
    async def finish(self, message: bytes) -> None:
        """Send the last message, the answer."""

    @abstractmethod
    async def fail(self, error: McpError, write: WriteError) -> None:
        """Send an error as the answer.

        Raises:
            EncodeError: it cannot be written; nothing was.
        """

    @abstractmethod
    async def end(self) -> None:
        """End without an answer, which is what follows a cancellation."""

    def note_reader(self, stream: str) -> None:
        """A client reads a stream on another connection. By default that means nothing.

        Args:
            stream: its name; not necessarily that of this one.
        """

    @abstractmethod
    async def forget(self) -> None:
        """Nothing follows, whatever became of the request.

        For whoever had the request run, when that has returned: an error may be told
        until then.

        Cancellation: it is forgotten all the same.
        """
