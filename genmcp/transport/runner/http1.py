"""HTTP/1.1 as Hypercorn speaks it, made fit for an open port.

Layer: transport, shell. Knows the inside of Hypercorn's protocol class, which is why
the dependency is held to one minor version. `genmcp.transport.runner.connection` moves
the bytes.

What is added here to Hypercorn 0.18: no WebSocket, and no HTTP/2 unless asked for, not
even for a client that takes it for granted; targets that are a whole URL; a request
that two readers could cut differently is refused (both lengths, folded lines, a bare CR
or LF); one limit for the head, in however many pieces it arrives; and the end of the
connection is noticed behind bytes that were sent too early.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, cast

import h11
import trio
from hypercorn.events import Closed, Event
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.events import Request, Response
from hypercorn.protocol.h11 import STREAM_ID, H2ProtocolAssumedError, H11Protocol
from hypercorn.protocol.http_stream import HTTPStream

from genmcp.errors import InvalidRequest
from genmcp.mcp.unset import UNSET, Unset
from genmcp.setting import describe_setting
from genmcp.transport.request_target import read_target
from genmcp.wire.messages import write_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from genmcp.transport.runner.application import Parts
    from genmcp.transport.runner.config import RunnerConfig

_READ_AHEAD_BYTES: Final = 64 * 1024
_NOT_SERVED: Final = 405
_TOO_LARGE: Final = 431
_REFUSALS: Final = {
    _NOT_SERVED: "CONNECT is not served; send each message by POST",
    421: "The target is an https URL, and this connection is not secured",
    _TOO_LARGE: "The request line and headers are larger than max_header_bytes allows",
    501: "The Transfer-Encoding is not one this server reads",
    505: "This server speaks HTTP/1.1",
}
_TOO_MANY: Final = "The request has more headers than max_headers allows"
_MALFORMED: Final = "This is not well-formed HTTP"
# A line that is folded, or not ended by CR and LF together.
_LOOSE_LINE: Final = re.compile(rb"(?<!\r)\n|\r(?!\n)|\n[ \t]")


class Reader(Protocol):
    """The side of the connection that bytes come from."""

    ended: bool
    """Whether the server has said its last word."""

    async def receive(self) -> bytes:
        """Return the next bytes, or `b""` when there are no more."""
        ...


class NothingMoreToRead(Exception):
    """Unwinds a reader that waits for an answer nobody will get."""


class _Refused(Exception):
    def __init__(self, status: int, reason: str | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.reason = reason


class _Pause:
    """Where the reader waits for an answer while bytes sent after the request are in hand.

    Hypercorn has a plain event here, and while it waits nobody reads: the client could
    leave unnoticed. This one reads on, a little ahead.
    """

    def __init__(self, reader: Reader, push: Callable[[bytes], None]) -> None:
        self._event = trio.Event()
        self._reader = reader
        self._push = push
        self._client_left = False

    async def clear(self) -> None:
        self._event = trio.Event()

    async def set(self) -> None:
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    async def wait(self) -> None:
        event = self._event
        if not self._reader.ended:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read_ahead, event)
                await event.wait()
                nursery.cancel_scope.cancel()
        if self._client_left or self._reader.ended:
            raise NothingMoreToRead

    async def _read_ahead(self, event: trio.Event) -> None:
        room = _READ_AHEAD_BYTES
        while room > 0:
            data = await self._reader.receive()
            if not data:
                # Behind an answer that is complete by now, the next request is in hand.
                self._client_left = not event.is_set()
                event.set()
                return
            self._push(data)
            room -= len(data)


class _Requests(h11.Connection):
    """Takes the lines of a head, or of a trailer, only as they should be.

    h11 takes a bare LF for the end of a line, and joins lines that are folded. A proxy
    that does not, sees other headers than we do, and another next request.

    And it does not read what follows the last request that there can be: to h11 it is an
    error, which Hypercorn answers in the midst of the answer to the request that was right.
    """

    def next_event(self) -> Any:
        before = self.trailing_data[0]
        if self.their_state is h11.MUST_CLOSE and before:
            return h11.NEED_DATA
        event = super().next_event()
        if isinstance(event, h11.Request | h11.EndOfMessage):
            read = before[: len(before) - len(self.trailing_data[0])]
            if _LOOSE_LINE.search(read):
                raise h11.RemoteProtocolError("a line is folded, or does not end in CRLF")
        return event


class Http1(H11Protocol):
    """HTTP/1.0 and 1.1 on one connection."""

    def __init__(self, parts: Parts, reader: Reader, *, http2: bool) -> None:
        super().__init__(*parts)
        self.connection = _Requests(
            h11.SERVER, max_incomplete_event_size=self.config.h11_max_incomplete_size
        )
        self.can_read = _Pause(reader, self.connection.receive_data)
        self._http2 = http2
        self._method_head = False
        self._reason: str | None = None

    @property
    def unfinished(self) -> Literal["head", "body"] | None:
        """Which part of a request has begun to arrive, and is not complete."""
        state = self.connection.their_state
        if state is h11.SEND_BODY:
            return "body"
        return "head" if state is h11.IDLE and self.connection.trailing_data[0] else None

    @property
    def answering(self) -> bool:
        """Whether an answer has begun, and is not complete."""
        return self.connection.our_state is h11.SEND_BODY

    async def handle(self, event: Event) -> None:
        """Take what came from the client.

        Raises:
            NothingMoreToRead: the client left, or the server ended the connection,
                while the reader waited for an answer.
            H2ProtocolAssumedError: this is HTTP/2, and that may be spoken.
        """
        try:
            await super().handle(event)
        except _Refused as refusal:
            self._reason = refusal.reason
            await self._send_error_response(refusal.status)
            await self.send(Closed())

    async def stream_send(self, event: StreamEvent) -> None:
        """Send what the application answers; the last answer before a shutdown says so."""
        if isinstance(event, Response) and self.context.terminated.is_set():
            event = replace(event, headers=[*event.headers, (b"connection", b"close")])
        await super().stream_send(event)

    async def _check_protocol(self, event: h11.Request) -> None:
        self._method_head = event.method == b"HEAD"
        size = len(event.target)
        framings = 0
        for name, value in event.headers:
            size += len(name) + len(value) + 4
            framings += name in {b"content-length", b"transfer-encoding"}
        # h11 measures only a head that arrives in pieces.
        if size > self.config.h11_max_incomplete_size:
            raise _Refused(_TOO_LARGE)
        if len(event.headers) > cast("RunnerConfig", self.config).max_headers:
            raise _Refused(_TOO_LARGE, _TOO_MANY)
        # h11 goes by Transfer-Encoding; a proxy that goes by the other sees another
        # next request than we do (RFC 9112, 6.1).
        if framings > 1:
            raise _Refused(400)
        # To h11 an application that says yes has switched to another protocol.
        if event.method == b"CONNECT":
            raise _Refused(_NOT_SERVED)
        if event.http_version[:2] != b"1.":
            if self._http2 and event.method == b"PRI":
                raise H2ProtocolAssumedError(
                    b"PRI * HTTP/2.0\r\n\r\n" + self.connection.trailing_data[0]
                )
            raise _Refused(505)

    async def _create_stream(self, request: h11.Request) -> None:
        """Give the request to the application, an offer to upgrade ignored.

        Spec: RFC 9112, 3.2.2 for targets that are a whole URL.
        """
        try:
            path, authority, secure = read_target(request.target)
        except ValueError:
            raise _Refused(400) from None
        if secure and not self.ssl:
            raise _Refused(421)
        headers = list(request.headers)
        if authority is not None:
            headers = [(b"host", authority), *(one for one in headers if one[0] != b"host")]
        self.stream = HTTPStream(
            self.app,
            self.config,
            self.context,
            self.task_group,
            self.ssl,
            self.client,
            self.server,
            self.stream_send,
            STREAM_ID,
        )
        await self.stream.handle(
            Request(
                stream_id=STREAM_ID,
                headers=headers,
                http_version=request.http_version.decode("ascii"),
                method=request.method.decode("ascii").upper(),
                raw_path=path,
                state=self.connection_state,
            )
        )
        self.keep_alive_requests += 1

    async def _send_error_response(self, status_code: int) -> None:
        reason = self._reason or _REFUSALS.get(status_code, _MALFORMED)
        refusal = InvalidRequest(reason, data=self._find_setting(status_code))
        body = b"" if self._method_head else write_error(None, refusal)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
            *([(b"allow", b"POST")] if status_code == _NOT_SERVED else []),
            *self.config.response_headers("h11"),
        ]
        await self._send_h11_event(h11.Response(status_code=status_code, headers=headers))
        await self._send_h11_event(h11.Data(data=body))
        await self._send_h11_event(h11.EndOfMessage())

    def _find_setting(self, status_code: int) -> dict[str, Any] | Unset:
        """Return which setting would lift the refusal, if one does."""
        config = cast("RunnerConfig", self.config)
        if status_code != _TOO_LARGE:
            return UNSET
        if self._reason == _TOO_MANY:
            return describe_setting("max_headers", limit=config.max_headers)
        return describe_setting("max_header_bytes", limit=config.h11_max_incomplete_size)
