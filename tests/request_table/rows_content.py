"""Rows: what the headers say about the body, how large it is, what is ignored."""

from __future__ import annotations

from typing import Final

import attrs

from genmcp.limits import Limits
from tests.request_table.row import ABSENT, Refused, Row, limit_data, no_http
from tests.request_table.rows_sender import ADD, ADDED, ADDED_UNSIGNED
from tests.request_table.sending import Request
from tests.request_table.served import STRICT_BODY_BYTES

NOT_JSON: Final = Refused(
    status=415,
    code=-32600,
    id=ABSENT,
    says=("Content-Type", "application/json"),
    headers={"accept": "application/json"},
)
NOT_ENCODED: Final = Refused(
    status=415,
    code=-32600,
    id=ABSENT,
    says=("Content-Encoding",),
    headers={"accept-encoding": "identity"},
)
TOO_LARGE: Final = Refused(
    status=413,
    code=-32600,
    id=ABSENT,
    data=limit_data("max_body_bytes", STRICT_BODY_BYTES),
    says=(str(STRICT_BODY_BYTES), "max_body_bytes"),
)


def _repeated(name: str) -> Refused:
    return Refused(status=400, code=-32600, id=ABSENT, says=(name, "more than once"))


def _type(value: bytes) -> Request:
    return ADD.instead(b"Content-Type: " + value)


def _sized(size: int, request: Request = ADD) -> Request:
    """`request` with a body of this many bytes, of which the last are spaces."""
    return request.at(b"/strict").saying(request.body.ljust(size))


def _chunked(request: Request, *pieces: bytes) -> Request:
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    return request.line(b"Transfer-Encoding: chunked").saying(body)


_TYPES = (
    Row("no content type is taken for JSON", ADD.without(b"Content-Type"), ADDED),
    *(
        Row(f"content type {value.decode()} is JSON", _type(value), ADDED)
        for value in (
            b"application/json; charset=utf-8",
            b"APPLICATION/JSON",
            b"application/json;",
            b"application/json ;charset=UTF-8",
            b"application/vnd.example+json",
        )
    ),
    *(
        Row(f"content type {value!a} is not JSON", _type(value), NOT_JSON)
        for value in (
            b"text/plain",
            b"application/x-www-form-urlencoded",
            b"multipart/form-data; boundary=x",
            b"text/json",
            b"application/jsonp",
            b"application/json, text/plain",
            b"",
            b"\xff",
        )
    ),
    Row(
        "two content types are refused",
        ADD.line(b"Content-Type: application/json"),
        _repeated("Content-Type"),
    ),
    Row("content type wins over the body", _type(b"text/plain").saying(b"{"), NOT_JSON),
    Row(
        "content type wins over the size",
        _sized(STRICT_BODY_BYTES + 1, _type(b"text/plain")),
        NOT_JSON,
    ),
)

_ENCODINGS = (
    Row("encoding identity is none", ADD.line(b"Content-Encoding: Identity"), ADDED),
    *(
        Row(
            f"encoding {value.decode()} is not understood",
            ADD.line(b"Content-Encoding: " + value),
            NOT_ENCODED,
        )
        for value in (b"gzip", b"br", b"deflate, gzip", b"identity, gzip")
    ),
    Row(
        "two encodings are refused",
        ADD.line(b"Content-Encoding: identity", b"Content-Encoding: identity"),
        _repeated("Content-Encoding"),
    ),
    Row(
        "encoding wins over the body",
        ADD.line(b"Content-Encoding: gzip").saying(b"\x1f\x8b"),
        NOT_ENCODED,
    ),
)

_SIZES = (
    Row("body as large as is allowed is read", _sized(STRICT_BODY_BYTES), ADDED_UNSIGNED),
    Row("body larger than is allowed is refused", _sized(STRICT_BODY_BYTES + 1), TOO_LARGE),
    Row(
        "size wins over what the body says",
        ADD.at(b"/strict").saying(b"[" * 700),
        TOO_LARGE,
    ),
    Row(
        "body that is announced larger than any is refused unread",
        attrs.evolve(ADD, lines=(*ADD.lines, b"Content-Length: 18446744073709551616"), body=b""),
        Refused(
            status=413,
            code=-32600,
            id=ABSENT,
            data=limit_data("max_body_bytes", Limits().max_body_bytes),
            says=("max_body_bytes",),
            headers={"connection": "close"},
        ),
        native=no_http("Content-Length overflow"),
    ),
    Row("body may come in chunks", _chunked(ADD, ADD.body[:50], ADD.body[50:]), ADDED),
    Row(
        "body in chunks is measured as well",
        _chunked(ADD.at(b"/strict"), ADD.body, b" " * 300, b" " * 300),
        TOO_LARGE,
    ),
    Row(
        "one encoding may be named in capitals",
        _chunked(ADD, ADD.body).without(b"Transfer-Encoding").line(b"TRANSFER-ENCODING: CHUNKED"),
        ADDED,
    ),
)

_IGNORED = (
    Row("no accept is taken for any", ADD.without(b"Accept"), ADDED),
    *(
        Row(f"accept {value.decode()} changes nothing", ADD.instead(b"Accept: " + value), ADDED)
        for value in (b"text/html", b"application/json", b"text/event-stream", b"*/*;q=0")
    ),
    *(
        Row(f"header {line.decode()} is ignored", ADD.line(line), ADDED)
        for line in (
            b"Mcp-Session-Id: abc",
            b"Last-Event-ID: 7",
            b"Cookie: a=b",
            b"X-Forwarded-Host: evil.example",
            b"Forwarded: host=evil.example",
            b"X-HTTP-Method-Override: DELETE",
            b"Upgrade: websocket",
            b"Accept-Encoding: gzip",
        )
    ),
    Row("ninety other headers are ignored", ADD.line(*[b"X-%d: y" % n for n in range(90)]), ADDED),
    Row("HTTP/1.0 is answered", attrs.evolve(ADD, version=b"HTTP/1.0"), ADDED),
    Row(
        "HTTP/1.0 needs no host",
        attrs.evolve(ADD, version=b"HTTP/1.0").without(b"Host"),
        ADDED,
    ),
)

ROWS: Final = (*_TYPES, *_ENCODINGS, *_SIZES, *_IGNORED)
