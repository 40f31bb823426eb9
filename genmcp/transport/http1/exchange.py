"""One HTTP/1.1 request on a connection of our own.

Layer: transport, shell; a carrier of `genmcp.transport.exchange`, made by
`genmcp.transport.http1.connection` for each request it reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

from genmcp.events import ClientGone
from genmcp.transport.exchange import Exchange
from genmcp.transport.headers import NO_HEADERS, scan_headers
from genmcp.transport.http1.response_writer import ResponseWriter
from genmcp.transport.reply import Chunk, Head

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from genmcp.mux import Call
    from genmcp.transport.exchange import Scope
    from genmcp.transport.http1.connection import Connection
    from genmcp.transport.http1.request_reader import IncomingRequest
    from genmcp.transport.reply import Part

_EVENTS_PER_CHECKPOINT = 16


class Http1Exchange(Exchange):
    """See `Exchange`.

    Attributes:
        request: what came.
        finished: whether the response is complete.
    """

    def __init__(self, connection: Connection, request: IncomingRequest) -> None:
        headers = request.scanned or scan_headers(request.headers)
        super().__init__(request.verb, headers, connection.client_address, http1=True)
        self.request = request
        self.finished = False
        self._connection = connection
        self._writer = ResponseWriter(head_only=request.verb == "HEAD", chunked=not request.http10)
        self._writer.closes = not request.keep_alive
        self._events = 0

    @property
    def path(self) -> str:
        """See `Exchange`."""
        return self.request.path

    @property
    def closes(self) -> bool:
        """Whether the connection ends with this response."""
        return self._writer.closes or not (self.finished and self.request.complete)

    def rest(self) -> None:
        """Give back the headers of a request whose call goes on for long."""
        self.request.headers = []
        self.request.scanned = None
        self.headers = NO_HEADERS

    def _describe(self) -> Scope:
        """See `Exchange`."""
        return self._connection.describe(self.request)

    def take_body(self, max_bytes: int) -> bytes | None:
        """See `Exchange`."""
        request = self.request
        if self._body_read or not request.complete or request.size > max_bytes:
            return None
        self._body_read = True
        return request.take()

    async def _drain(self) -> bool:
        """See `Exchange`; a body that waits for a word is not asked for."""
        if self.request.expects_continue and not self.request.size:
            return False
        return await super()._drain()

    async def _receive_piece(self) -> bytes:
        """See `Exchange`."""
        request = self.request
        while not request.pieces and not request.complete:
            if not await self._connection.read_body_on(request):
                self.client_left = True
                raise ClientGone
        self._body_read = request.complete
        return request.take()

    async def _send(self, parts: Sequence[Part]) -> None:
        """See `Exchange`."""
        if not self.responded:
            self._writer.closes |= self._connection.closing
        data = self._writer.render(parts, self.response_headers)
        self.responded = True
        try:
            await self._connection.send(data)
        except (OSError, trio.ClosedResourceError) as error:
            raise ClientGone from error
        # A tuple: a union would be made anew each time.
        if not isinstance(parts[-1], (Head, Chunk)):
            self.finished = True
            return
        # A send that goes out at once passes through no checkpoint. One that is followed
        # by others must, now and then, for the sake of the other connections.
        self._events += 1
        if self._events % _EVENTS_PER_CHECKPOINT == 0:
            await trio.lowlevel.cancel_shielded_checkpoint()

    def run_call(self, call: Call, keepalive_seconds: float) -> Coroutine[Any, Any, None]:
        """See `Exchange`."""
        return self._connection.run_call(call, keepalive_seconds)

    async def wait_until_gone(self) -> None:
        """See `Exchange`."""
        await self._connection.wait_until_gone(self)
