"""Which HTTP a connection speaks.

Layer: transport, shell; between `genmcp.transport.runner.connection` and the versions,
`genmcp.transport.runner.http1` and `genmcp.transport.runner.http2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hypercorn.events import Event, RawData
from hypercorn.protocol.h11 import H2ProtocolAssumedError

from genmcp.transport.runner.http1 import Http1, Reader
from genmcp.transport.runner.http2 import Http2

if TYPE_CHECKING:
    from genmcp.transport.runner.application import Parts


class Http:
    """Whatever the connection speaks; it may begin as HTTP/1.1 and go on as HTTP/2.

    Args:
        parts: what the protocol classes are made from.
        reader: where the bytes come from.
        alpn: what TLS negotiated, if it did.
        http2: whether HTTP/2 may be spoken.
    """

    def __init__(self, parts: Parts, reader: Reader, *, alpn: str | None, http2: bool) -> None:
        self._parts = parts
        self._version: Http1 | Http2 = (
            Http2(parts) if http2 and alpn == "h2" else Http1(parts, reader, http2=http2)
        )

    @property
    def unfinished(self) -> Literal["head", "body"] | None:
        """Which part of a request has begun to arrive, and is not complete."""
        return self._version.unfinished

    @property
    def answering(self) -> bool:
        """Whether an answer has begun, and is not complete."""
        return self._version.answering

    @property
    def shared(self) -> bool:
        """Whether several requests at a time are answered on the connection."""
        return isinstance(self._version, Http2)

    async def initiate(self) -> None:
        """Say what the server says first."""
        await self._version.initiate()

    async def handle(self, event: Event) -> None:
        """Take what came from the client.

        Raises:
            NothingMoreToRead: see `Http1.handle`.
        """
        try:
            await self._version.handle(event)
        except H2ProtocolAssumedError as switch:
            self._version = Http2(self._parts)
            await self._version.initiate()
            await self._version.handle(RawData(switch.data))
