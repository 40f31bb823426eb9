"""Pages in browsers: what they can read of every kind of answer, and the settings in it."""

from __future__ import annotations

import json
import logging
from typing import Any

import attrs
import pytest
import trio

from genmcp.channel import Channel
from genmcp.errors import LimitExceeded
from genmcp.mcp import v2607 as mcp
from genmcp.transport.asgi import StreamableHTTP
from tests.transport.asgi_server import CALL_HEADERS, Connection, HandlerServer, call_body

APP = b"https://app.example.com"
EVIL = b"https://evil.example"
SECRET = "0123456789abcdef0123456789abcdef"
PREFLIGHT = {
    b"host": b"localhost",
    b"access-control-request-method": b"POST",
    b"access-control-request-headers": b"authorization,content-type,mcp-method,mcp-param-region",
}


def make_app(handle: Any = None, **settings: Any) -> StreamableHTTP:
    settings = {"secret_key": SECRET, "allowed_origins": [APP.decode()], **settings}
    return StreamableHTTP(HandlerServer(handle), **settings)


async def stream(channel: Channel) -> mcp.Result:
    await channel.start_stream()
    return mcp.call_tool_result(text="done")


async def crash(_channel: Channel) -> mcp.Result:
    raise ValueError


async def fall_through(_scope: Any) -> dict[str, Any]:
    raise KeyboardInterruptLike


class KeyboardInterruptLike(Exception):
    pass


async def refuse_caller(_scope: Any) -> dict[str, Any]:
    raise LimitExceeded("slowly", setting="max_calls", retry_after_seconds=3)


@attrs.frozen
class Case:
    name: str
    status: int
    body: bytes = attrs.field(factory=call_body)
    headers: dict[bytes, bytes] = attrs.field(factory=dict)
    scope: dict[str, Any] = attrs.field(factory=dict)
    handle: Any = None
    settings: dict[str, Any] = attrs.field(factory=dict)
    ends: bool = True


CASES = [
    Case("plain", 200),
    Case("stream", 200, handle=stream),
    Case("notification", 202, b'{"jsonrpc":"2.0","method":"notifications/initialized"}'),
    Case("JSON", 400, b"{"),
    Case("host", 403, headers={b"host": b"mcp.example.com"}),
    Case("path", 404, scope={"path": "/other"}),
    Case("method", 404, call_body().replace(b"tools/call", b"x"), {b"mcp-method": b"x"}),
    Case("GET", 405, b"", scope={"method": "GET"}),
    Case("HEAD", 405, b"", scope={"method": "HEAD"}),
    Case("OPTIONS", 405, b"", scope={"method": "OPTIONS"}),
    Case("slow", 408, settings={"body_timeout_seconds": 5}, ends=False),
    Case("declared", 413, headers={b"content-length": b"99999999"}),
    Case("large", 413, settings={"max_body_bytes": 8}),
    Case("type", 415, headers={b"content-type": b"text/plain"}),
    Case("limit", 429, settings={"assigns": refuse_caller}),
    Case("crash", 500, handle=crash),
    Case("fault", 500, settings={"assigns": fall_through}),
    Case("no ASGI", 500, scope={"path": None}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("origin", [APP, b"http://localhost:5173", EVIL, None], ids=ascii)
async def test_a_page_reads_every_answer_if_it_may_call(
    case: Case, origin: bytes | None, autojump_clock: trio.testing.MockClock
) -> None:
    headers = {**CALL_HEADERS, **case.headers, **({} if origin is None else {b"origin": origin})}
    connection = Connection(case.body, headers, ends=case.ends, **case.scope)
    await connection.run(make_app(case.handle, **case.settings))
    assert connection.headers[b"vary"].split(b", ")[0] == b"Origin"
    readable = {name for name in connection.headers if name.startswith(b"access-control-")}
    if origin in (EVIL, None):
        assert readable == set()
    else:
        assert connection.status == case.status
        assert readable == {b"access-control-allow-origin", b"access-control-expose-headers"}
        assert connection.headers[b"access-control-allow-origin"] == origin
    if origin is None:
        assert connection.status == case.status


async def test_with_every_origin_allowed_every_page_reads() -> None:
    app = make_app(allowed_origins=["*"])
    for origin in ({b"origin": EVIL}, {b"origin": b"null"}, {}):
        connection = await Connection(call_body(), {**CALL_HEADERS, **origin}).run(app)
        assert connection.status == 200
        assert connection.headers[b"access-control-allow-origin"] == b"*"


async def test_what_a_browser_client_needs_is_exposed() -> None:
    app = make_app(assigns=refuse_caller)
    connection = await Connection(call_body(), {**CALL_HEADERS, b"origin": APP}).run(app)
    exposed = connection.headers[b"access-control-expose-headers"].lower().split(b", ")
    assert connection.headers[b"retry-after"] == b"3"
    assert {b"retry-after", b"www-authenticate", b"mcp-session-id"} <= set(exposed)


# -- preflights --------------------------------------------------------------------


async def ask(app: StreamableHTTP, **changes: bytes | None) -> Connection:
    headers = {**PREFLIGHT, b"origin": APP}
    for keyword, value in changes.items():
        name = keyword.replace("_", "-").encode()
        headers.pop(name, None)
        if value is not None:
            headers[name] = value
    return await Connection(b"", headers, method="OPTIONS").run(app)


@pytest.mark.parametrize("origin", [APP, b"http://localhost:5173"], ids=ascii)
async def test_a_preflight_is_answered_before_anything_that_could_refuse(origin: bytes) -> None:
    app = make_app(assigns=refuse_caller)
    app.mux.abort()
    connection = await ask(app, origin=origin)
    assert (connection.status, connection.body, connection.complete) == (204, b"", True)
    assert connection.headers == {
        b"vary": b"Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
        b"access-control-allow-origin": origin,
        b"access-control-expose-headers": b"WWW-Authenticate, Retry-After, Mcp-Session-Id",
        b"access-control-allow-methods": b"POST, GET, DELETE",
        b"access-control-allow-headers": b"authorization, content-type, mcp-method, "
        b"mcp-param-region",
        b"access-control-max-age": b"7200",
    }


async def test_a_preflight_for_what_is_not_served_says_what_is() -> None:
    connection = await ask(make_app(), access_control_request_method=b"PUT")
    assert connection.status == 204
    assert connection.headers[b"access-control-allow-methods"] == b"POST, GET, DELETE"
    connection = await ask(make_app(legacy=False), access_control_request_method=b"DELETE")
    assert connection.headers[b"access-control-allow-methods"] == b"POST"


async def test_a_preflight_without_headers_allows_none() -> None:
    connection = await ask(make_app(), access_control_request_headers=None)
    assert connection.status == 204
    assert b"access-control-allow-headers" not in connection.headers


@pytest.mark.parametrize("origin", [EVIL, b"null", b"", b"https://app.example.com.evil.example"])
async def test_a_preflight_of_a_foreign_page_is_refused_and_not_readable(origin: bytes) -> None:
    connection = await ask(make_app(), origin=origin)
    assert connection.status == 403
    assert not [name for name in connection.headers if name.startswith(b"access-control-")]
    assert connection.json["error"]["data"]["setting"] == "allowed_origins"


async def test_a_preflight_under_a_foreign_host_is_refused() -> None:
    connection = await ask(make_app(), host=b"evil.example")
    assert connection.status == 403
    assert b"access-control-allow-methods" not in connection.headers


async def test_a_preflight_elsewhere_is_404() -> None:
    headers = {**PREFLIGHT, b"origin": APP}
    connection = await Connection(b"", headers, method="OPTIONS", path="/x").run(make_app())
    assert connection.status == 404
    assert b"access-control-allow-methods" not in connection.headers


async def test_a_preflight_that_asks_for_no_header_names_is_refused_readably() -> None:
    connection = await ask(make_app(), access_control_request_headers=b"a\r\nset-cookie: x")
    assert connection.status == 400
    assert connection.headers[b"access-control-allow-origin"] == APP
    assert b"access-control-allow-headers" not in connection.headers
    assert not any(b"\n" in value for value in connection.headers.values())


async def test_a_preflight_whose_body_does_not_end_closes_the_connection(
    autojump_clock: trio.testing.MockClock,
) -> None:
    headers = {**PREFLIGHT, b"origin": APP, b"transfer-encoding": b"chunked"}
    connection = Connection(b"x", headers, ends=False, method="OPTIONS")
    await connection.run(make_app())
    assert connection.status == 204
    assert connection.headers[b"connection"] == b"close"


# -- the settings in refusals ------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "limit", "status", "sent"),
    [
        ("max_body_bytes", 8, 413, [call_body()]),
        ("body_timeout_seconds", 2.5, 408, [b"{", ...]),
        ("max_json_depth", 3, 400, [b'{"a":[[[]]]}']),
        ("max_json_depth", 3, 400, [b"[" * 5000]),
    ],
)
@pytest.mark.usefixtures("autojump_clock")
async def test_a_limit_that_refuses_is_named_as_data_and_in_one_line(
    setting: str,
    limit: float,
    status: int,
    sent: list[Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "genmcp.refusals")
    connection = Connection(sent[0], ends=... not in sent)
    await connection.run(make_app(**{setting: limit}))
    error = connection.json["error"]
    assert connection.status == status
    assert error["data"] == {
        "setting": setting,
        "flag": "--" + setting.replace("_", "-"),
        "variable": f"GENMCP_{setting.upper()}",
        "limit": limit,
    }
    assert setting in error["message"]
    assert [setting in record.getMessage() for record in caplog.records] == [True]


@pytest.mark.parametrize(
    ("name", "setting"), [(b"origin", "allowed_origins"), (b"host", "allowed_hosts")]
)
async def test_a_refused_sender_is_named_in_one_line(
    name: bytes, setting: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "genmcp.refusals")
    headers = {**CALL_HEADERS, name: b"https://x\x1b.example\r\nforged"}
    connection = await Connection(call_body(), headers).run(make_app())
    (record,) = caplog.records
    assert record.name == "genmcp.refusals"
    assert setting in record.getMessage()
    assert r"x\x1b.example\r\nforged" in record.getMessage()
    assert record.getMessage().isprintable()
    assert connection.json["error"]["data"]["setting"] == setting


# -- the public URL ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({}, "/mcp"),
        ({"public_url": "https://mcp.example.com/tools/mcp"}, "/tools/mcp"),
        ({"public_url": "https://mcp.example.com"}, ""),
        ({"public_url": "https://mcp.example.com/tools/mcp", "path": "/mcp"}, "/mcp"),
        ({"public_url": "https://mcp.example.com/tools", "path": "/"}, ""),
    ],
)
async def test_the_path_is_that_of_the_public_url_unless_it_is_said(
    settings: dict[str, Any], path: str
) -> None:
    app = make_app(**settings)
    headers = {**CALL_HEADERS}
    if "public_url" in settings:
        headers |= {b"host": b"mcp.example.com", b"origin": b"https://mcp.example.com"}
    assert app.path == path
    for spelling in (path, path + "/"):
        connection = await Connection(call_body(), headers, path=spelling).run(app)
        assert connection.status == 200
    assert (await Connection(call_body(), headers, path="/x").run(app)).status == 404


async def test_the_public_url_is_there_for_others_in_its_canonical_form() -> None:
    assert make_app().public_url is None
    url = make_app(public_url="HTTPS://MCP.example.com:443/mcp/").public_url
    assert url.url == "https://mcp.example.com/mcp"


@pytest.mark.parametrize(
    ("path", "root_path", "status"),
    [
        ("/api/mcp", "/api", 200),
        ("/mcp", "/api", 200),
        ("/api", "/api", 200),
        ("/api/mcp", "", 200),
        ("/mcp", "", 404),
        ("/other/mcp", "/other", 404),
    ],
)
async def test_mounted_it_is_found_under_its_public_path(
    path: str, root_path: str, status: int
) -> None:
    app = make_app(public_url="https://mcp.example.com/api/mcp")
    connection = await Connection(call_body(), path=path, root_path=root_path).run(app)
    assert connection.status == status


def test_a_public_url_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="public_url"):
        make_app(public_url="mcp.example.com")


async def test_what_is_refused_can_be_read_as_json_rpc() -> None:
    headers = {**CALL_HEADERS, b"origin": EVIL}
    connection = await Connection(call_body(), headers).run(make_app())
    assert set(json.loads(connection.body)) == {"jsonrpc", "error"}
