"""Responses as HTTP/1.1 writes them: parts to bytes.

Layer: transport, pure. `genmcp.transport.reply` makes the parts; `genmcp.transport.http1.
exchange` sends what this renders. What can go out together comes as one piece of bytes,
so that it leaves in one segment.

Spec: RFC 9112 sections 6 and 7
"""

from __future__ import annotations

import functools
import time
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, assert_never

from genmcp.transport.reply import Chunk, End, Head, Whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from genmcp.transport.reply import HeaderPairs, Part

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"

_STATUS_LINES: Final = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode("ascii")
    for status in HTTPStatus
}
_LAST_CHUNK: Final = b"0\r\n\r\n"
_MOST_KNOWN: Final = 64


class _Clock:
    """The `date` line, written anew once a second."""

    def __init__(self) -> None:
        self._second = -1
        self._line = b""

    def read(self) -> bytes:
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._line = f"date: {formatdate(second, usegmt=True)}\r\n".encode("ascii")
        return self._line


_clock: Final = _Clock()


@functools.lru_cache(_MOST_KNOWN)
def _render_lines(
    status: int, headers: HeaderPairs, more_headers: HeaderPairs
) -> tuple[bytes, bool]:
    """Return the head as far as it depends on these, and whether it ends the connection."""
    lines = [_STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status]
    kept = [pair for pair in headers if pair[0] != b"connection"]
    lines += [b"%s: %s\r\n" % pair for pair in (*kept, *more_headers)]
    # Nothing else is ever said with `connection` than that it closes.
    return b"".join(lines), len(kept) < len(headers)


class ResponseWriter:
    """Renders the one response to a request.

    Args:
        head_only: the request was HEAD: the response has no body.
        chunked: whether a body of unknown length is sent in chunks; without, as in
            HTTP/1.0, it ends with the connection.

    Attributes:
        closes: whether the connection ends with this response. May be set until the
            head is rendered; becomes true when only that can end the body.
    """

    __slots__ = ("_chunked", "_head_only", "closes")

    def __init__(self, *, head_only: bool, chunked: bool) -> None:
        self.closes = False
        self._head_only = head_only
        self._chunked = chunked

    def render(self, parts: Iterable[Part], more_headers: HeaderPairs = ()) -> bytes:
        """Return the bytes of `parts`.

        Args:
            parts: what a `Reply` gave, in order.
            more_headers: what the head says besides its own headers.
        """
        pieces: list[bytes] = []
        for part in parts:
            match part:
                case Whole(status=status, headers=headers, body=body):
                    self._render_head(pieces, status, headers, more_headers)
                    if body and not self._head_only:
                        pieces.append(body)
                case Head(status=status, headers=headers):
                    if self._chunked:
                        headers = (*headers, (b"transfer-encoding", b"chunked"))
                    else:
                        self.closes = True
                    self._render_head(pieces, status, headers, more_headers)
                case Chunk(body=body):
                    self._render_chunk(pieces, body)
                case End():
                    if self._chunked and not self._head_only:
                        pieces.append(_LAST_CHUNK)
                case _:
                    assert_never(part)
        return b"".join(pieces)

    def _render_head(
        self, pieces: list[bytes], status: int, headers: HeaderPairs, more_headers: HeaderPairs
    ) -> None:
        lines, closes = _render_lines(status, headers, more_headers)
        self.closes = self.closes or closes
        pieces += (lines, _clock.read())
        if self.closes:
            pieces.append(b"connection: close\r\n")
        elif not self._chunked:
            # A client of HTTP/1.0 takes the connection for closing unless it is told.
            pieces.append(b"connection: keep-alive\r\n")
        pieces.append(b"\r\n")

    def _render_chunk(self, pieces: list[bytes], body: bytes) -> None:
        if self._head_only or not body:
            return
        if self._chunked:
            pieces += (b"%x\r\n" % len(body), body, b"\r\n")
        else:
            pieces.append(body)
