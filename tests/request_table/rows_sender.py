"""Rows: where a request comes from, where it goes, and with which verb."""

from __future__ import annotations

from typing import Final

from tests.request_table.row import ABSENT, Answered, Bare, Refused, Row
from tests.request_table.sending import Request, call, notify
from tests.request_table.served import text_result

ADD: Final = call("add", {"a": 1, "b": 2})
ADDED: Final = Answered(result=text_result("3"))
ADDED_UNSIGNED: Final = Answered(result=text_result("3"), server_info=False)


def refused_sender(header: str, value: bytes, setting: str, flag: str) -> Refused:
    """What a foreign `Origin` or `Host` is answered: what it was, and what would allow it."""
    variable = f"GENMCP_{setting.upper()}"
    return Refused(
        status=403,
        code=-32600,
        id=ABSENT,
        data={
            "setting": setting,
            "flag": flag,
            "variable": variable,
            "header": header,
            "refused": value.decode("latin-1"),
        },
        says=(setting, flag, variable),
    )


def foreign_origin(value: bytes = b"https://evil.example") -> Refused:
    return refused_sender("Origin", value, "allowed_origins", "--allowed-origin")


def foreign_host(value: bytes = b"evil.example") -> Refused:
    return refused_sender("Host", value, "allowed_hosts", "--allowed-host")


REFUSED_VERB: Final = Refused(
    status=405, code=-32600, id=ABSENT, says=("POST",), headers={"allow": "POST"}
)
NOT_FOUND: Final = Refused(status=404, code=-32600, id=ABSENT, says=("/mcp",))


def _origin(value: bytes, request: Request = ADD) -> Request:
    return request.instead(b"Origin: " + value)


def _host(value: bytes, request: Request = ADD) -> Request:
    return request.instead(b"Host: " + value)


def _strict(request: Request) -> Request:
    return request.at(b"/strict")


_ORIGINS = (
    Row("no origin is a client that is no browser", ADD, ADDED),
    *(
        Row(f"origin {value.decode()} is this machine", _origin(value), ADDED)
        for value in (
            b"http://localhost",
            b"http://localhost:3000",
            b"https://localhost:8443",
            b"http://127.0.0.1:5173",
            b"http://[::1]:8000",
            b"HTTP://LocalHost:3000",
        )
    ),
    *(
        Row(f"origin {value!a} is foreign", _origin(value), foreign_origin(value))
        for value in (
            b"null",
            b"",
            b"https://evil.example",
            b"http://localhost.evil.example",
            b"http://evil.example/localhost",
            b"http://127.0.0.1.evil.example",
            b"http://user@localhost",
            b"http://localhost/",
            b"file://localhost",
            b"localhost",
            b"http://localhost http://localhost",
            b"http://localhost\xff",
        )
    ),
    Row(
        "two origins are refused even if each is allowed",
        ADD.line(b"Origin: http://localhost", b"origin: http://localhost"),
        Refused(status=403, code=-32600, id=ABSENT, says=("Origin", "more than once")),
    ),
    Row(
        "configured origin is allowed",
        _strict(_origin(b"https://app.example.com")),
        ADDED_UNSIGNED,
    ),
    Row(
        "configured origin may name the port its scheme has",
        _strict(_origin(b"https://app.example.com:443")),
        ADDED_UNSIGNED,
    ),
    Row(
        "configured origin is of its own scheme only",
        _strict(_origin(b"http://app.example.com")),
        foreign_origin(b"http://app.example.com"),
    ),
    Row(
        "configured origin is of its own port only",
        _strict(_origin(b"https://app.example.com:8443")),
        foreign_origin(b"https://app.example.com:8443"),
    ),
    Row(
        "foreign origin wins over the verb",
        _origin(b"https://evil.example", ADD.with_verb(b"GET")),
        foreign_origin(),
    ),
    Row(
        "foreign origin wins over DELETE",
        _origin(b"https://evil.example", ADD.with_verb(b"DELETE")),
        foreign_origin(),
    ),
    Row(
        "foreign origin wins over a content type that is not JSON",
        _origin(b"https://evil.example", ADD.instead(b"Content-Type: text/plain")),
        foreign_origin(),
    ),
    Row(
        "foreign origin wins over a body that is not JSON",
        _origin(b"https://evil.example", ADD.saying(b"{")),
        foreign_origin(),
    ),
    Row(
        "foreign origin is refused for notifications too",
        _origin(b"https://evil.example", notify("notifications/cancelled")),
        foreign_origin(),
    ),
    Row(
        "foreign origin wins over a foreign host",
        _origin(b"https://evil.example", _host(b"evil.example")),
        foreign_origin(),
    ),
)

_HOSTS = (
    *(
        Row(f"host {value.decode()} is this machine", _host(value), ADDED)
        for value in (b"localhost:8000", b"127.0.0.1", b"[::1]:80", b"LOCALHOST.", b"127.9.9.9:1")
    ),
    *(
        Row(f"host {value!a} is foreign", _host(value), foreign_host(value))
        for value in (
            b"evil.example",
            b"127.0.0.1.nip.io",
            b"localhost.evil.example",
            b"mcp.example.com",
            b"localhost:99999",
            b"user@localhost",
            b"",
        )
    ),
    Row("configured host is answered", _strict(_host(b"mcp.example.com")), ADDED_UNSIGNED),
    Row(
        "host configured without a port is answered on any",
        _strict(_host(b"mcp.example.com:9999")),
        ADDED_UNSIGNED,
    ),
    Row(
        "host configured with a port is answered on that one",
        _strict(_host(b"other.example.com:8443")),
        ADDED_UNSIGNED,
    ),
    Row(
        "host configured with a port is foreign on another",
        _strict(_host(b"other.example.com")),
        foreign_host(b"other.example.com"),
    ),
    Row(
        "foreign host wins over the verb", _host(b"evil.example").with_verb(b"GET"), foreign_host()
    ),
    Row("foreign host wins over the body", _host(b"evil.example").saying(b"["), foreign_host()),
)

_VERBS = (
    *(
        Row(f"{verb.decode()} is not served", ADD.with_verb(verb).saying(b""), REFUSED_VERB)
        for verb in (b"GET", b"DELETE", b"PUT", b"PATCH", b"OPTIONS", b"TRACE", b"QUERY")
    ),
    Row(
        "HEAD is not served, and says so without a body",
        ADD.with_verb(b"HEAD").saying(b""),
        Bare(status=405, headers={"allow": "POST"}),
    ),
    Row(
        "GET to resume a stream is not served",
        ADD.with_verb(b"GET")
        .saying(b"")
        .line(b"Last-Event-ID: 7")
        .instead(b"Accept: text/event-stream"),
        REFUSED_VERB,
    ),
    Row(
        "DELETE of a session is not served",
        ADD.with_verb(b"DELETE").saying(b"").line(b"Mcp-Session-Id: abc"),
        REFUSED_VERB,
    ),
    Row("verb wins over the body", ADD.with_verb(b"PUT").saying(b"{"), REFUSED_VERB),
    Row(
        "verb wins over the content type",
        ADD.with_verb(b"PUT").instead(b"Content-Type: text/plain"),
        REFUSED_VERB,
    ),
)

_PATHS = (
    Row("trailing slash is the same endpoint", ADD.at(b"/mcp/"), ADDED),
    Row("query is ignored", ADD.at(b"/mcp?token=abc&x"), ADDED),
    Row("escaped path is the same endpoint", ADD.at(b"/%6dcp"), ADDED),
    *(
        Row(f"nothing is at {path.decode()}", ADD.at(path), NOT_FOUND)
        for path in (b"/", b"/MCP", b"/mcp/x", b"/mcp//", b"//mcp", b"/sse", b"/mcp%2f%2f")
    ),
    Row(
        "path wins over the origin",
        _origin(b"https://evil.example", ADD.at(b"/other")),
        NOT_FOUND,
    ),
    Row("path wins over the verb", ADD.with_verb(b"GET").at(b"/other"), NOT_FOUND),
)

ROWS: Final = (*_ORIGINS, *_HOSTS, *_VERBS, *_PATHS)
