"""Reads answers: just enough HTTP/1.1 for what the servers under test send."""

from __future__ import annotations

import socket
from typing import Final

import attrs

OK: Final = b"HTTP/1.1 200 "
HEAD_END: Final = b"\r\n\r\n"
_READ_BYTES: Final = 256 * 1024
_SHOWN: Final = 300


class LoadError(Exception):
    """A server did not answer as it should. The message shows what came."""


@attrs.frozen
class Response:
    """A whole response.

    Attributes:
        raw: what followed the head, as it came: chunks and all.
        body: the same, decoded.
    """

    raw: bytes
    body: bytes


def read_response(connection: socket.socket) -> Response:
    """Read one response with status 200 from a connection that blocks.

    Raises:
        LoadError: it has another status, or the connection ended or fell silent.
    """
    received = bytearray()
    while (response := parse_response(received)) is None:
        try:
            data = connection.recv(_READ_BYTES)
        except OSError as error:
            raise LoadError(f"{error}, after {bytes(received[:_SHOWN])!r}") from error
        if not data:
            raise LoadError(f"the server closed after {bytes(received[:_SHOWN])!r}")
        received += data
    return response


def parse_response(received: bytes | bytearray) -> Response | None:
    """Return the response that was received, or `None` while it is incomplete.

    Raises:
        LoadError: its status is not 200, or it has no length.
    """
    head, found, raw = bytes(received).partition(HEAD_END)
    if not found:
        return None
    if not head.startswith(OK):
        raise LoadError(f"answered {bytes(received[:_SHOWN])!r}")
    headers = head.lower() + b"\r\n"
    if b"\r\ntransfer-encoding: chunked\r\n" in headers:
        body = _decode_chunks(raw)
        return None if body is None else Response(raw, body)
    _, found, rest = headers.partition(b"\r\ncontent-length: ")
    if not found:
        raise LoadError(f"no length in {head!r}")
    length = int(rest.partition(b"\r\n")[0])
    return Response(raw, raw) if len(raw) >= length else None


def _decode_chunks(raw: bytes) -> bytes | None:
    """Return the body in these chunks, or `None` while the last one is missing."""
    # Looked for first, as this is tried again with each piece that comes.
    if not raw.endswith(b"0\r\n\r\n"):
        return None
    pieces: list[bytes] = []
    position = 0
    while True:
        line_end = raw.find(b"\r\n", position)
        if line_end < 0:
            return None
        size = int(raw[position:line_end], 16)
        if size == 0:
            return b"".join(pieces)
        start = line_end + 2
        if len(raw) < start + size + 2:
            return None
        pieces.append(raw[start : start + size])
        position = start + size + 2


def find_last_event(body: bytes) -> bytes:
    """Return the data of the last event in an event stream."""
    lines = body.replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")
    return lines[-1].removeprefix(b"data:").strip()
