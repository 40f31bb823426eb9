"""Rows: pages in browsers, which ask first and may read what they are answered."""

from __future__ import annotations

from typing import Final

from tests.request_table.row import ABSENT, Answered, Bare, Refused, Row
from tests.request_table.rows_sender import ADD, foreign_host, foreign_origin
from tests.request_table.sending import Request, call, good, notify
from tests.request_table.served import text_result

PAGE: Final = b"Origin: https://app.example.com"
READABLE: Final = {
    "access-control-allow-origin": "https://app.example.com",
    "access-control-expose-headers": "WWW-Authenticate, Retry-After, Mcp-Session-Id",
    "vary": "Origin",
}
UNREADABLE: Final = {"access-control-allow-origin": None}
STRICT: Final = ADD.at(b"/strict").line(PAGE)


def _ask(*lines: bytes, origin: bytes = PAGE) -> Request:
    method = b"Access-Control-Request-Method: POST"
    return ADD.at(b"/strict").with_verb(b"OPTIONS").saying(b"").line(origin, method, *lines)


def _permitted(names: str | None) -> Bare:
    return Bare(
        status=204,
        headers={
            **READABLE,
            "vary": "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
            "access-control-allow-methods": "POST",
            "access-control-allow-headers": names,
            "access-control-max-age": "7200",
            "content-length": None,
        },
    )


def _refused_list(*says: str) -> Refused:
    headers = {"access-control-allow-origin": "https://app.example.com"}
    return Refused(status=400, code=-32600, id=ABSENT, says=says, headers=headers)


_WANTED = b"Access-Control-Request-Headers: "

_PREFLIGHTS = (
    Row("page may ask whether it may call", _ask(), _permitted(None)),
    Row(
        "headers a page asks for are allowed by name",
        _ask(_WANTED + b"authorization,content-type,mcp-method,mcp-param-city"),
        _permitted("authorization, content-type, mcp-method, mcp-param-city"),
    ),
    Row(
        "list of headers may have empty entries",
        _ask(_WANTED + b" mcp-name , , content-type,"),
        _permitted("mcp-name, content-type"),
    ),
    Row(
        "name that is none is refused, and not repeated",
        _ask(_WANTED + b"content-type, x y"),
        _refused_list("Access-Control-Request-Headers"),
    ),
    Row(
        "more names than anyone sends are refused",
        _ask(_WANTED + b"a," * 101),
        _refused_list("more than 100"),
    ),
    Row(
        "list without end is refused",
        _ask(_WANTED + b"a" * 9000),
        _refused_list("longer than 8192"),
    ),
    Row(
        "two methods asked for are refused",
        _ask(b"Access-Control-Request-Method: GET"),
        _refused_list("Access-Control-Request-Method", "more than once"),
    ),
    Row(
        "foreign page is refused",
        _ask(origin=b"Origin: https://evil.example"),
        foreign_origin(),
    ),
    Row(
        "sandboxed page is refused",
        _ask(origin=b"Origin: null"),
        foreign_origin(b"null"),
    ),
    Row(
        "page behind a foreign host is refused",
        _ask().instead(b"Host: evil.example"),
        foreign_host(),
    ),
    Row(
        "OPTIONS of a page that asks for no method is a verb like others",
        _ask().without(b"Access-Control-Request-Method"),
        Refused(status=405, code=-32600, id=ABSENT, headers={"allow": "POST"}),
    ),
)

_ANSWERS = (
    Row(
        "page may read a result",
        STRICT,
        Answered(result=text_result("3"), server_info=False, headers=READABLE),
    ),
    Row(
        "page may read that its notification was taken",
        notify("notifications/cancelled", {"requestId": 1}).at(b"/strict").line(PAGE),
        Bare(status=202, headers=READABLE),
    ),
    Row(
        "page may read that its body is no JSON",
        STRICT.saying(b"{"),
        Refused(status=400, code=-32700, id=ABSENT, headers=READABLE),
    ),
    Row(
        "page may read that a header differs",
        STRICT.instead(b"Mcp-Name: echo"),
        Refused(status=400, code=-32020, headers=READABLE),
    ),
    Row(
        "page may read that there is no such method",
        good("no/such").at(b"/strict").line(PAGE),
        Refused(status=404, code=-32601, headers=READABLE),
    ),
    Row(
        "page may read that its verb is not served",
        STRICT.with_verb(b"PUT"),
        Refused(status=405, code=-32600, id=ABSENT, headers=READABLE),
    ),
    Row(
        "page may read that its type is not taken",
        STRICT.instead(b"Content-Type: text/plain"),
        Refused(status=415, code=-32600, id=ABSENT, headers=READABLE),
    ),
    Row(
        "page may read that nothing is there",
        call("add", {"a": 1}).at(b"/other").line(b"Origin: http://localhost:3000"),
        Refused(
            status=404,
            code=-32600,
            id=ABSENT,
            headers={"access-control-allow-origin": "http://localhost:3000"},
        ),
    ),
    Row(
        "caches keep answers of pages apart",
        ADD.at(b"/strict"),
        Answered(
            result=text_result("3"), server_info=False, headers={"vary": "Origin", **UNREADABLE}
        ),
    ),
)

ROWS: Final = (*_PREFLIGHTS, *_ANSWERS)
