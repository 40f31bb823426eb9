"""Heads of requests that were read before on the same connection.

Layer: transport, pure; a part of `genmcp.transport.http1.request_reader`. A client that
keeps its connection sends the same head again and again: of a tool that is called in a
loop, all that differs is how long the arguments are. What the parser has once accepted,
byte for byte, it would accept again with the same meaning, so it need not be asked.

Only the digits of `Content-Length` may differ, and only a whole request that arrived by
itself is taken: whatever else it is, the parser reads it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from genmcp.transport.headers import CONTENT_LENGTH
from genmcp.transport.request_target import split_target

if TYPE_CHECKING:
    from genmcp.transport.headers import RequestHeaders

    HeaderPair = tuple[bytes, bytes]

_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,9})\r\n", re.IGNORECASE)
_END: Final = b"\r\n\r\n"
# Of one connection, 8 KiB at the most: there are thousands, and few tools called in a loop.
_MOST_HEADS: Final = 4
_MOST_BYTES: Final = 2048
_MOST_DIGITS: Final = 9
_MOST_IN_VAIN: Final = 16


@attrs.define(eq=False)
class KnownHead:
    """A head without the digits of its `Content-Length`, and what it says.

    Attributes:
        before: its bytes before the digits.
        after: its bytes after them, the empty line included.
        target: the request target, which is a path.
        parts: its path, decoded; the same as sent; the query.
        headers: lower-case names and values, in order.
        length_at: which of them is `Content-Length`.
        scanned: those that matter.
    """

    before: bytes
    after: bytes
    target: bytes
    parts: tuple[str, bytes, bytes]
    headers: list[HeaderPair]
    length_at: int
    scanned: RequestHeaders

    def find_body(self, data: bytes) -> bytes | None:
        """Return the body, if `data` is one request with this head and nothing else.

        Another length is taken over into `headers` and `scanned`.
        """
        if not data.startswith(self.before):
            return None
        start = len(self.before)
        end = data.find(b"\r", start, start + _MOST_DIGITS + 1)
        digits = data[start:end]
        # Not `isdigit` alone: an end that was not found is -1.
        if end < 0 or not digits.isdigit() or not data.startswith(self.after, end):
            return None
        body = data[end + len(self.after) :]
        if len(body) != int(digits):
            return None
        if digits != self.headers[self.length_at][1]:
            self._change_length(digits)
        return body

    def _change_length(self, digits: bytes) -> None:
        # Copies: a request that is still being answered has the others.
        self.headers = self.headers.copy()
        self.headers[self.length_at] = (CONTENT_LENGTH, digits)
        self.scanned = self.scanned.with_length(digits)


class KnownHeads:
    """The heads that one connection had last.

    The first is not kept: what opens a stream is often alone on its connection. And of a
    client that never sends one twice (a trace in each of them), none are after a while.
    """

    __slots__ = ("_heads", "_in_vain", "_kept_alive")

    def __init__(self) -> None:
        self._heads: list[KnownHead] = []
        self._in_vain = 0
        self._kept_alive = False

    def find(self, data: bytes) -> tuple[KnownHead, bytes] | None:
        """Return the head and the body, if `data` is one request with a head that is known."""
        for head in self._heads:
            body = head.find_body(data)
            if body is not None:
                self._in_vain = 0
                return head, body
        return None

    def remember(
        self,
        data: bytes,
        size: int,
        target: bytes,
        headers: list[HeaderPair],
        scanned: RequestHeaders,
    ) -> None:
        """Take down the head of a plain request that the parser has read.

        Args:
            data: all of the request, and nothing after it.
            size: the length of its body.
            target: what the parser read.
            headers: likewise.
            scanned: those of them that matter.
        """
        if not self._kept_alive:
            self._kept_alive = True
            return
        head = data[: len(data) - size]
        if len(head) > _MOST_BYTES or self._in_vain >= _MOST_IN_VAIN:
            return
        found = _LENGTH.search(head)
        at = [index for index, (name, _) in enumerate(headers) if name == CONTENT_LENGTH]
        # The empty line, once: the parser also reads away empty lines around a request.
        ends = head.find(_END) == len(head) - len(_END)
        # A target that is a whole URL has its host in it, and changes the headers.
        if found is None or len(at) != 1 or int(found[1]) != size or not ends or target[:1] != b"/":
            return
        start, end = found.span(1)
        parts = split_target(target)
        known = KnownHead(head[:start], head[end:], target, parts, headers, at[0], scanned)
        self._heads.insert(0, known)
        del self._heads[_MOST_HEADS:]
        self._in_vain += 1

    def forget(self) -> None:
        """Give the memory back; a head that comes again is read again."""
        self._heads.clear()
