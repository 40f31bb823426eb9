"""The lines of stdin, out of whatever pieces it comes in.

Layer: transport, pure. `genmcp.transport.stdio.line_inbound` reads what is in them.

Only a line feed ends a line, whatever the platform; a carriage return before it belongs
to the line end. Lines with nothing in them are none. A byte order mark is skipped at the
very beginning, where some shells and editors put one, and nowhere else.

Spec: basic/transports/stdio
"""

from __future__ import annotations

from typing import Final, TypeAlias

import attrs

from genmcp.value import Value

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r"
_START_BYTES: Final = 512


@attrs.frozen(eq=False, repr=False)
class OverlongLine(Value):
    """A line with more in it than is read. The rest of it is skipped.

    Attributes:
        start: the first few bytes of it.
    """

    start: bytes


Line: TypeAlias = bytes | OverlongLine


class LineSplitter:
    """Cuts a stream of bytes into lines. Holds at most one of them.

    Args:
        max_line_bytes: how long a line may be, its end not counted.
    """

    def __init__(self, max_line_bytes: int) -> None:
        self._max_line_bytes = max_line_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self._skipping = False
        self._at_start = True

    def feed(self, data: bytes) -> list[Line]:
        """Return the lines that are complete with `data`, and the one that is too long."""
        *ends, rest = data.split(b"\n")
        lines: list[Line] = []
        for piece in ends:
            self._add(piece, lines)
            self._end_line(lines)
        self._add(rest, lines)
        return lines

    def _add(self, piece: bytes, lines: list[Line]) -> None:
        if self._skipping or not piece:
            return
        self._pieces.append(piece)
        self._size += len(piece)
        # One more, which may turn out to be the carriage return of the line end. What is
        # too long is told at once: its end may never come.
        if self._size > self._max_line_bytes + len(b"\r"):
            lines.append(OverlongLine(self._take()[:_START_BYTES]))
            self._skipping = True

    def _end_line(self, lines: list[Line]) -> None:
        if self._skipping:
            self._skipping = False
            return
        line = self._take().removesuffix(b"\r")
        if len(line) > self._max_line_bytes:
            lines.append(OverlongLine(line[:_START_BYTES]))
        elif line.strip(_BLANK):
            lines.append(line)

    def _take(self) -> bytes:
        line = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        return line
