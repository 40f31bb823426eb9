"""One request of today from a stdio client, while it runs.

Layer: transport, shell. Made by `genmcp.transport.stdio.open_calls` for each request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trio

from genmcp.errors import describe_shutdown
from genmcp.events import Answered, Failed, Sink
from genmcp.mcp import v2607 as mcp
from genmcp.mux.patience import try_for
from genmcp.transport.stdio.line_reply import LineReply
from genmcp.transport.stdio.open_call import OpenCall
from genmcp.transport.stdio.output import Voice

if TYPE_CHECKING:
    from collections.abc import Callable

    from genmcp.events import Event
    from genmcp.mux import Call, Mux
    from genmcp.transport.stdio.output import Output

FAREWELL_SECONDS: Final = 0.05
"""How long after the result of a subscription its cancellation comes.

Clients take a result in one task and notifications in another. Coming together, the second
may be seen first, and then the subscription looks torn off.
"""

_LAST_FRAME_SECONDS: Final = 1.0


class LineCall(Sink, OpenCall):
    """Writes what a call says, until it has its answer or is not wanted any more.

    Args:
        mux: runs the call.
        request: what is asked.
        request_id: under which id.
        output: where the answer goes.
        on_end: called when nothing more can be written for the request. Whoever has read
            its answer may use its id again.

    Attributes:
        call: runs it; to be set before it runs.
    """

    call: Call

    def __init__(
        self,
        mux: Mux,
        request: mcp.Request,
        request_id: mcp.RequestId,
        output: Output,
        on_end: Callable[[OpenCall], None],
    ) -> None:
        self.request_id = request_id
        listens = request.method == mcp.SubscriptionsListenRequest.method
        self._mux = mux
        self._reply = LineReply(request_id, listens=listens)
        self._output = output
        self._voice = Voice(output)
        self._on_end = on_end

    @property
    def owed(self) -> bool:
        """See `OpenCall.owed`."""
        return not (self._voice.silent or self._reply.done or self._output.gone.is_set())

    async def run(self) -> None:
        """See `OpenCall.run`."""
        await self.call.run()
        if not self.owed:
            return
        # Cut off by the mux, which only a shutdown does; anything else is a fault.
        if not self._mux.draining:
            raise RuntimeError(f"{self.call.what} ended without an answer")
        await try_for(_LAST_FRAME_SECONDS, self.write, Failed(describe_shutdown()))

    async def write(self, event: Event) -> None:
        """See `Sink.write`."""
        self._voice.check()
        line = self._reply.render(event)
        if line:
            await self._voice.send(line)
        if not isinstance(event, Answered | Failed):
            return
        if self._reply.farewell:
            await trio.sleep(FAREWELL_SECONDS)
            await self._voice.send(self._reply.farewell)
        # Not before: an answer that waits for its turn can still be cancelled, and a
        # farewell must not meet another call under the same id.
        self._on_end(self)

    def cancel(self) -> None:
        """See `OpenCall.cancel`."""
        self._voice.silence()
        self._on_end(self)
        self.call.client_gone()
