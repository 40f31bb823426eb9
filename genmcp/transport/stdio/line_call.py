"""One request of a stdio client, while it runs.

Layer: transport, shell. Made by `genmcp.transport.stdio.connection` for each request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trio

from genmcp.events import Answered, ClientGone, Failed, Sink
from genmcp.mcp import v2607 as mcp
from genmcp.transport.stdio.line_reply import LineReply

if TYPE_CHECKING:
    from collections.abc import Callable

    from genmcp.events import Event
    from genmcp.mux import Call
    from genmcp.transport.stdio.output import Output


FAREWELL_SECONDS: Final = 0.05
"""How long after the result of a subscription its cancellation comes.

Clients take a result in one task and notifications in another. Coming together, the second
may be seen first, and then the subscription looks torn off.
"""


class LineCall(Sink):
    """Writes what a call says, until it has its answer or is not wanted any more.

    Args:
        request: what is asked.
        request_id: under which id.
        output: where the answer goes.
        on_end: called when nothing more can be written for the request. Whoever has read
            its answer may use its id again.

    Attributes:
        request_id: as given.
        call: runs it; to be set before it runs.
        cancelled: whether the client has cancelled it.
    """

    call: Call

    def __init__(
        self,
        request: mcp.Request,
        request_id: mcp.RequestId,
        output: Output,
        on_end: Callable[[LineCall], None],
    ) -> None:
        self.request_id = request_id
        self.cancelled = False
        listens = request.method == mcp.SubscriptionsListenRequest.method
        self._reply = LineReply(request_id, listens=listens)
        self._output = output
        self._on_end = on_end

    @property
    def owed(self) -> bool:
        """Whether the client waits for an answer to it."""
        return not (self.cancelled or self._reply.done or self._output.gone.is_set())

    async def write(self, event: Event) -> None:
        """See `Sink.write`."""
        if self.cancelled:
            raise ClientGone
        line = self._reply.render(event)
        if line:
            await self._output.send(line)
        if not isinstance(event, Answered | Failed):
            return
        if self._reply.farewell:
            await trio.sleep(FAREWELL_SECONDS)
            await self._output.send(self._reply.farewell)
        # Not before: an answer that waits for its turn can still be cancelled, and a
        # farewell must not meet another call under the same id.
        self._on_end(self)

    def cancel(self) -> None:
        """Stop it: the client does not want it any more. Nothing more is written for it."""
        self.cancelled = True
        self._on_end(self)
        self.call.client_gone()
