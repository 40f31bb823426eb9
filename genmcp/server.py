"""The server: whoever answers whole requests.

Layer: contract. `genmcp.suite.Suite` is the ready-made one and what most
applications use; subclass `Server` to own every request yourself. The mux calls
these hooks, and is the only one that does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

    from genmcp.channel import Channel
    from genmcp.mcp import v2607 as mcp
    from genmcp.outcome import Error, Stream


class Server(ABC):
    """Answers requests, each in a task and scope of its own.

    Hooks run concurrently, one call per request; what they share is theirs to
    guard. A hook that raises `McpError` answers with that error; any other
    exception is masked as -32603 and logged under an error id.
    """

    @abstractmethod
    def methods(self) -> Collection[str]:
        """Return the methods this server answers, such as `{"tools/call"}`.

        Asked when the server is mounted. A request for another method is refused
        with 404 and -32601 before any hook runs, so list only methods whose
        capability `server/discover` advertises. `server/discover` itself is
        mandatory.
        """

    def scopes(self) -> Collection[str]:
        """Return the scopes that something here requires, as far as they are known.

        Asked when the server is mounted. Where the endpoint takes no access tokens, the
        log warns that whatever requires one of these is refused. None, by default.
        """
        return ()

    @abstractmethod
    async def handle_request(
        self, request: mcp.Request, channel: Channel
    ) -> mcp.Result | Stream[Any] | Error:
        """Answer one request.

        `request` is the class of its method (`mcp.CallToolRequest`), or
        `mcp.UnknownRequest` for a method the vocabulary does not have.

        Cancellation: the task is cancelled when the client goes away; its
        `finally` blocks then run shielded, for a limited time.
        """

    def closing_result(self, request: mcp.Request, channel: Channel) -> mcp.Result | None:
        """Return what a call is answered with when the server ends it, if not an error.

        Asked when the channel is closed, or the server shuts down while the call
        is open; a call with such a result is not waited for. `None`, the default,
        ends the call with -32603.
        """
        return None

    async def handle_notification(self, notification: mcp.ClientNotification) -> None:
        """Take one notification from a client. Nothing can be answered."""

    async def handle_message(
        self, message: object, channel: Channel, state: Any
    ) -> mcp.Result | Stream[Any] | Error:
        """Take one message posted to a call that answered `Stream(state)`.

        Messages of one call come one at a time, in order. Return
        `Stream(new_state)` to stay open.
        """
        raise NotImplementedError(
            f"{type(self).__qualname__} returned Stream but has no handle_message"
        )

    async def handle_close(self, channel: Channel, state: Any) -> None:
        """Clean up after a streaming call that did not end by its own return.

        Runs when the client went away, the channel was closed, the server shuts
        down, or `handle_message` raised. Shielded from cancellation, and given a
        few seconds.
        """
