"""A call's events as messages of 2025.

Layer: transport, shell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from genmcp.errors import InsufficientScope, LimitExceeded, Overloaded
from genmcp.events import Answered, Failed, KeptAlive, Notified, Opened, Sink
from genmcp.legacy.failures import find_tool_answer, write_legacy_error
from genmcp.legacy.results import write_legacy_notification, write_legacy_result
from genmcp.legacy.store import StoreUnavailable
from genmcp.mcp import v2607 as mcp
from genmcp.transport.reply import OK, find_delay, find_status

if TYPE_CHECKING:
    from genmcp.errors import McpError
    from genmcp.events import Event
    from genmcp.transport.legacy.stream import ResumableStream
    from genmcp.transport.reply import Challenge

Translate: TypeAlias = Callable[[mcp.Result], dict[str, Any]]
"""Returns a result in the wire form of the session's version."""


class CallSink(Sink):
    """Where the events of one call go.

    Args:
        stream: the response to the request.
        request_id: the request's.
        method: the request's.
        translate: for its result.
        challenge: completes the error of a call that ends for want of a scope.

    Attributes:
        asked: what the client is to be asked, if the call ended with that.
    """

    def __init__(
        self,
        stream: ResumableStream,
        request_id: mcp.RequestId,
        method: str,
        translate: Translate,
        challenge: Challenge | None,
    ) -> None:
        self.asked: mcp.InputRequiredResult | None = None
        self._stream = stream
        self._request_id = request_id
        self._method = method
        self._translate = translate
        self._challenge = challenge

    async def write(self, event: Event) -> None:
        """See `Sink.write`. A client that has gone is no reason to stop."""
        match event:
            case Answered(result=mcp.InputRequiredResult() as asked):
                self.asked = asked
            case Answered(result=result):
                message = write_legacy_result(self._request_id, self._translate(result))
                await self._stream.finish(message)
            case Failed(error=error):
                await self.fail(error)
            case Notified(notification=notification):
                await self._stream.send(write_legacy_notification(notification))
            case KeptAlive():
                await self._stream.comment()
            case Opened():
                await self._stream.open()

    async def fail(self, error: McpError) -> None:
        """End the request with an error, or with what a model can make of it.

        The errors of an accepted request come with 200: clients of 2025 take a 404 for
        the end of their session. What the request may not do at all keeps its status.

        Raises:
            EncodeError: the error's data is not JSON; nothing was written.
        """
        answer = find_tool_answer(self._method, error)
        if answer is not None:
            message = write_legacy_result(self._request_id, self._translate(answer))
            await self._stream.finish(message)
            return
        status, headers = OK, find_delay(error)
        if isinstance(error, InsufficientScope | LimitExceeded | Overloaded | StoreUnavailable):
            status = find_status(error)
        if isinstance(error, InsufficientScope) and self._challenge is not None:
            error, headers = self._challenge(error)
        message = write_legacy_error(self._request_id, self._method, error)
        # The id of a session comes with the result that opens it, or not at all.
        self._stream.drop_headers()
        await self._stream.finish(message, status, headers)
