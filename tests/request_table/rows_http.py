"""Rows: what is no HTTP, or none that two readers understand alike.

The HTTP server answers these itself, before the application is called.
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from tests.request_table.row import ABSENT, Refused, Row, limit_data, no_http
from tests.request_table.rows_sender import ADD
from tests.request_table.sending import Request

_CLOSED: Final = {"connection": "close"}
_TOO_LARGE: Final = limit_data("max_header_bytes", 32 * 1024)


def _row(name: str, request: Request, status: int = 400, *says: str, data: Any = ABSENT) -> Row:
    refused = Refused(status=status, code=-32600, id=ABSENT, data=data, says=says, headers=_CLOSED)
    return Row(name, request, refused, answered_by="http")


def _version(version: bytes) -> Request:
    return attrs.evolve(ADD, version=version)


def _framed(*lines: bytes, body: bytes = ADD.body) -> Request:
    return ADD.line(*lines).saying(body)


_LENGTH: Final = b"Content-Length: %d" % len(ADD.body)
_CHUNKED: Final = b"Transfer-Encoding: chunked"
_NO_HTTP: Final[tuple[tuple[str, Any], ...]] = (
    ("no host", ADD.without(b"Host")),
    ("two hosts", ADD.line(b"Host: localhost")),
    ("two lengths that differ", _framed(_LENGTH, b"Content-Length: 1")),
    ("length and chunks", _framed(_LENGTH, _CHUNKED)),
    ("chunks and length", _framed(_CHUNKED, _LENGTH)),
    ("length that is no number", _framed(b"Content-Length: abc")),
    ("negative length", _framed(b"Content-Length: -1")),
    ("length with a sign", _framed(b"Content-Length: +1")),
    ("length in hexadecimal", _framed(b"Content-Length: 0x10")),
    ("length that is two", _framed(b"Content-Length: 1, 2")),
    ("chunk whose size is no number", _framed(_CHUNKED, body=b"zz\r\n{}\r\n0\r\n\r\n")),
    ("space before the colon", ADD.line(b"X-A : b")),
    ("header without a colon", ADD.line(b"X-A")),
    ("header without a name", ADD.line(b": b")),
    ("name with a space in it", ADD.line(b"X A: b")),
    ("name that is not ASCII", ADD.line(b"X-\xe4: b")),
    ("NUL in a header", ADD.line(b"X-A: b\x00c")),
    ("carriage return in a header", ADD.line(b"X-A: b\rX-C: d")),
    ("line feed in a header", ADD.line(b"X-A: b\nX-C: d")),
    ("folded header", ADD.instead(b"Mcp-Method: tools/\r\n call")),
    ("verb that is none", ADD.with_verb(b"PO ST")),
    ("verb with a colon", ADD.with_verb(b"GET:")),
    ("no verb", ADD.with_verb(b"")),
    ("no version", _version(b"")),
    ("version that is none", _version(b"HTTP/one")),
    ("another protocol", _version(b"SIP/2.0")),
    ("space in the path", ADD.at(b"/mcp /x")),
    ("control character in the path", ADD.at(b"/mcp\x01")),
    ("URL without a host", ADD.at(b"http:///mcp")),
    ("URL with a user", ADD.at(b"http://user@localhost/mcp")),
)

ROWS: Final = (
    *(_row(f"no HTTP: {name}", request) for name, request in _NO_HTTP),
    _row("encoding that is not chunked is not read", _framed(b"Transfer-Encoding: gzip"), 501),
    _row("encoding beside chunked is not read", _framed(b"Transfer-Encoding: gzip, chunked"), 501),
    attrs.evolve(
        _row("chunks twice are not read", _framed(_CHUNKED, _CHUNKED), 501),
        native=no_http("Transfer-Encoding"),
    ),
    _row("HTTP/2 without its preface is not spoken", _version(b"HTTP/2.0"), 505, "HTTP/1.1"),
    _row("head larger than is allowed is refused", ADD.line(b"X-A: " + b"b" * 40_000), 431,
         "max_header_bytes", data=_TOO_LARGE),
    _row("thousands of headers are refused", ADD.line(*[b"X-%d: y" % n for n in range(5000)]), 431,
         "max_header_bytes", data=_TOO_LARGE),
    _row("headers over the limit are refused", ADD.line(*[b"X-%d: y" % n for n in range(100)]),
         431, "max_headers", data=limit_data("max_headers", 100)),
    _row("target longer than is allowed is refused", ADD.at(b"/mcp?" + b"x" * 40_000), 431,
         "max_header_bytes", data=_TOO_LARGE),
    _row("secure URL on an open connection is misdirected", ADD.at(b"https://localhost/mcp"), 421),
)  # fmt: skip
