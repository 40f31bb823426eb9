"""A call's events as messages of 2025.

Layer: transport, shell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from genmcp.events import Answered, Failed, KeptAlive, Notified, Opened, Sink
from genmcp.legacy.failures import find_tool_answer, write_legacy_error
from genmcp.legacy.results import write_legacy_notification, write_legacy_result
from genmcp.mcp import v2607 as mcp

if TYPE_CHECKING:
    from genmcp.errors import McpError
    from genmcp.events import Event
    from genmcp.transport.legacy.carrier import Carrier
    from genmcp.transport.legacy.session_requests import Translate


class CallSink(Sink):
    """Where the events of one call go.

    Args:
        carrier: carries the request.
        request_id: the request's.
        method: the request's.
        translate: for its result.

    Attributes:
        asked: what the client is to be asked, if the call ended with that.
    """

    def __init__(
        self, carrier: Carrier, request_id: mcp.RequestId, method: str, translate: Translate
    ) -> None:
        self.asked: mcp.InputRequiredResult | None = None
        self._carrier = carrier
        self._request_id = request_id
        self._method = method
        self._translate = translate

    async def write(self, event: Event) -> None:
        """See `Sink.write`."""
        match event:
            case Answered(result=mcp.InputRequiredResult() as asked):
                self.asked = asked
            case Answered(result=result):
                await self._finish(result)
            case Failed(error=error):
                await self.fail(error)
            case Notified(notification=notification):
                await self._carrier.send(write_legacy_notification(notification))
            case KeptAlive():
                await self._carrier.comment()
            case Opened():
                await self._carrier.open()

    async def fail(self, error: McpError) -> None:
        """End the request with an error, or with what a model can make of it.

        Raises:
            EncodeError: the error's data is not JSON; nothing was written.
        """
        answer = find_tool_answer(self._method, error)
        if answer is not None:
            await self._finish(answer)
        else:
            await self._carrier.fail(error, self._write_error)

    async def _finish(self, result: mcp.Result) -> None:
        await self._carrier.finish(write_legacy_result(self._request_id, self._translate(result)))

    def _write_error(self, error: McpError) -> bytes:
        return write_legacy_error(self._request_id, self._method, error)
