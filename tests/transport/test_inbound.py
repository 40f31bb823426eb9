from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.mcp import v2607 as mcp
from genmcp.transport.headers import scan_headers
from genmcp.transport.inbound import (
    Inbound,
    Received,
    ReceivedNotification,
    ReceivedRequest,
    Refusal,
)
from genmcp.transport.sender import SenderRules

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
META: dict[str, Any] = {VERSION: "2026-07-28", CAPABILITIES: {}}
METHODS = {"server/discover", "tools/list", "tools/call", "resources/read", "prompts/get", "x/own"}

Headers = list[tuple[bytes, bytes]]

SENDERS = SenderRules()
INBOUND = Inbound(METHODS, max_body_bytes=4096, max_json_depth=32)


def receive(body: bytes, headers: Headers, verb: str = "POST") -> Received:
    scanned = scan_headers(headers)
    return (
        SENDERS.judge(verb, scanned).refusal
        or INBOUND.check_verb(verb)
        or INBOUND.check_head(scanned)
        or INBOUND.read_body(scanned, body)
    )


def message(method: str = "tools/call", **changes: Any) -> dict[str, Any]:
    """A good request; `params` and `_meta` are replaced whole, `...` removes a member."""
    params: dict[str, Any] = {"name": "add", "arguments": {"a": 1}, "_meta": META}
    if method != "tools/call":
        params = {"_meta": META}
    if "_meta" in changes:
        params["_meta"] = changes.pop("_meta")
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params, **changes}
    for members in (request, params):
        for name in [name for name, value in members.items() if value is ...]:
            del members[name]
    return request


def request(method: str = "tools/call", **changes: Any) -> bytes:
    return json.dumps(message(method, **changes)).encode()


def call(**params: Any) -> bytes:
    return request(params={"_meta": META, **params})


def headers(
    *extra: tuple[bytes, bytes], without: tuple[bytes, ...] = (), **changed: bytes
) -> Headers:
    """The headers that go with `request()`, changed, then more of them."""
    values = {
        b"host": b"localhost:8000",
        b"content-type": b"application/json",
        b"mcp-protocol-version": b"2026-07-28",
        b"mcp-method": b"tools/call",
        b"mcp-name": b"add",
    }
    for keyword, value in changed.items():
        values[keyword.replace("_", "-").encode()] = value
    return [*((name, values[name]) for name in values if name not in without), *extra]


# -- what is refused ---------------------------------------------------------------


@attrs.frozen
class Bad:
    name: str
    status: int
    code: int
    says: str
    body: bytes = b""
    headers: Headers = attrs.field(factory=headers)
    id: mcp.RequestId | None = None
    verb: str = "POST"


HEAD_ROWS = [
    # Origin and Host come first, for every verb.
    Bad(
        "foreign origin", 403, -32600, "allowed_origins", headers=headers(origin=b"http://evil.com")
    ),
    Bad("null origin", 403, -32600, "allowed_origins", headers=headers(origin=b"null")),
    Bad("empty origin", 403, -32600, "allowed_origins", headers=headers(origin=b"")),
    Bad("origin bytes", 403, -32600, "allowed_origins", headers=headers(origin=b"http://\xff")),
    Bad(
        "two origins",
        403,
        -32600,
        "Origin was sent more than once",
        headers=headers((b"origin", b"http://localhost"), origin=b"http://localhost"),
    ),
    Bad(
        "foreign origin on GET", 403, -32600, "Origin", verb="GET", headers=[(b"origin", b"a://b")]
    ),
    Bad(
        "foreign origin before bad body headers",
        403,
        -32600,
        "Origin",
        headers=headers(origin=b"http://evil.com", content_type=b"text/plain"),
    ),
    Bad("foreign host", 403, -32600, "allowed_hosts", headers=headers(host=b"evil.com")),
    Bad("foreign host on GET", 403, -32600, "Host", verb="GET", headers=[(b"host", b"evil.com")]),
    Bad("host bytes", 403, -32600, "allowed_hosts", headers=headers(host=b"local\x00host")),
    Bad("empty host", 403, -32600, "allowed_hosts", headers=headers(host=b"")),
    Bad("two hosts", 400, -32600, "Host was sent more", headers=headers((b"Host", b"localhost"))),
    # Verbs.
    Bad("GET", 405, -32600, "POST", verb="GET"),
    Bad("HEAD", 405, -32600, "POST", verb="HEAD"),
    Bad("DELETE", 405, -32600, "POST", verb="DELETE"),
    Bad("PUT", 405, -32600, "POST", verb="PUT"),
    Bad("OPTIONS", 405, -32600, "POST", verb="OPTIONS"),
    Bad("odd verb", 405, -32600, r"'\x1b'", verb="\x1b"),
    Bad("verb before type", 405, -32600, "POST", verb="PATCH", headers=[(b"content-type", b"x")]),
    # What the body is said to be.
    Bad("text", 415, -32600, "application/json", headers=headers(content_type=b"text/plain")),
    Bad("form", 415, -32600, "JSON", headers=headers(content_type=b"multipart/form-data; b=x")),
    Bad("no type", 415, -32600, "JSON", headers=headers(content_type=b"")),
    Bad(
        "type list",
        415,
        -32600,
        "JSON",
        headers=headers(content_type=b"text/html, application/json"),
    ),
    Bad("type bytes", 415, -32600, "JSON", headers=headers(content_type=b"application/json\xff")),
    Bad(
        "two types", 400, -32600, "Content-Type", headers=headers((b"content-type", b"text/plain"))
    ),
    Bad("gzip", 415, -32600, "Content-Encoding", headers=headers(content_encoding=b"gzip")),
    Bad("gzip list", 415, -32600, "Content-Enc", headers=headers(content_encoding=b"identity, br")),
    Bad("too long", 413, -32600, "max_body_bytes", headers=headers(content_length=b"4097")),
    Bad("far too long", 413, -32600, "max_body", headers=headers(content_length=b"9" * 5000)),
    Bad("length sign", 400, -32600, "Content-Length", headers=headers(content_length=b"+5")),
    Bad("negative length", 400, -32600, "Content-Length", headers=headers(content_length=b"-1")),
    Bad("length list", 400, -32600, "Content-Length", headers=headers(content_length=b"5, 5")),
    Bad("length word", 400, -32600, "Content-Length", headers=headers(content_length=b"five")),
    Bad("no length", 400, -32600, "Content-Length", headers=headers(content_length=b"")),
    Bad(
        "two lengths",
        400,
        -32600,
        "Content-Length was sent more than once",
        headers=headers((b"content-length", b"5"), content_length=b"5"),
    ),
]

JSON_ROWS = [
    Bad("nothing", 400, -32700, "empty", b""),
    Bad("spaces", 400, -32700, "empty", b" \n"),
    Bad("cut off", 400, -32700, "JSON", b'{"jsonrpc":"2.0","id":1'),
    Bad("words", 400, -32700, "JSON", b"hello"),
    Bad("trailing", 400, -32700, "JSON", request() + b"x"),
    Bad("two messages", 400, -32700, "JSON", request() + request()),
    Bad("comma", 400, -32700, "JSON", b'{"jsonrpc":"2.0",}'),
    Bad("byte order mark", 400, -32700, "byte order mark", b"\xef\xbb\xbf" + request()),
    Bad("not UTF-8", 400, -32700, "UTF-8", b'{"jsonrpc":"2.0","id":"\xff"}'),
    Bad("UTF-16", 400, -32700, "UTF-8", request().decode().encode("utf-16")),
    Bad("surrogate", 400, -32700, "surrogate", b'{"jsonrpc":"2.0","id":"\\ud800"}'),
    Bad("encoded surrogate", 400, -32700, "UTF-8", b'{"id":"\xed\xa0\x80"}'),
    Bad("NaN", 400, -32700, "NaN", call(arguments={"a": float("nan")})),
    Bad("infinity", 400, -32700, "Infinity", call(arguments={"a": float("inf")})),
    Bad("1e400", 400, -32700, "great", b'{"a":1e400}'),
    Bad("huge integer", 400, -32700, "64 bits", call(arguments={"a": 2**64})),
    Bad("huge id", 400, -32700, "64 bits", request(id=10**300)),
    Bad("member twice", 400, -32700, "twice", b'{"id":1,"id":2}'),
    Bad("member twice inside", 400, -32700, "twice", b'{"id":1,"params":{"_meta":{},"_meta":{}}}'),
    Bad("deep", 400, -32700, "32 levels", b'{"a":' + b"[" * 32 + b"]" * 32 + b"}"),
    Bad("very deep", 400, -32700, "deep", b"[" * 4096),
    Bad("too large", 413, -32600, "4096 bytes", b" " * 4097),
]

SHAPE_ROWS = [
    Bad("batch", 400, -32600, "one message", b"[" + request() + b"]"),
    Bad("empty batch", 400, -32600, "one message", b"[]"),
    Bad("string", 400, -32600, "object", b'"tools/call"'),
    Bad("null", 400, -32600, "object", b"null"),
    Bad("number", 400, -32600, "object", b"1"),
    Bad("empty object", 400, -32600, "jsonrpc", b"{}"),
    Bad("no jsonrpc", 400, -32600, "jsonrpc", request(jsonrpc=...), id=1),
    Bad("jsonrpc 1.0", 400, -32600, "jsonrpc", request(jsonrpc="1.0", id="a"), id="a"),
    Bad("jsonrpc number", 400, -32600, "jsonrpc", request(jsonrpc=2.0, id=0), id=0),
    Bad("null id", 400, -32600, "null", request(id=None)),
    Bad("true id", 400, -32600, "string or an integer", request(id=True)),
    Bad(
        "float id", 400, -32600, "string or an integer", b'{"jsonrpc":"2.0","id":1.0,"method":"x"}'
    ),
    Bad("list id", 400, -32600, "string or an integer", request(id=[1])),
    Bad("object id", 400, -32600, "string or an integer", request(id={})),
    Bad("no method", 400, -32600, "method", b'{"jsonrpc":"2.0","id":5,"params":{}}', id=5),
    Bad("method number", 400, -32600, "method", b'{"jsonrpc":"2.0","id":1,"method":1}', id=1),
    Bad("params list", 400, -32600, "params", request(params=[1, 2]), id=1),
    Bad("params null", 400, -32600, "params", request(params=None), id=1),
    Bad("posted result", 400, -32600, "responses", b'{"jsonrpc":"2.0","id":1,"result":{}}'),
    Bad("posted error", 400, -32600, "responses", b'{"jsonrpc":"2.0","id":1,"error":{}}'),
    Bad("bad notification", 400, -32600, "jsonrpc", b'{"method":"notifications/x"}'),
    Bad(
        "notification params", 400, -32600, "params", b'{"jsonrpc":"2.0","method":"n","params":[]}'
    ),
]

META_ROWS = [
    Bad("no params", 400, -32602, "_meta is missing", request(params=...), id=1),
    Bad("no _meta", 400, -32602, "_meta is missing", request(params={"name": "add"}), id=1),
    Bad("null _meta", 400, -32602, "_meta must be an object", request(_meta=None), id=1),
    Bad("list _meta", 400, -32602, "_meta must be an object", request(_meta=[]), id=1),
    Bad("empty _meta", 400, -32602, VERSION, request(_meta={}), id=1),
    Bad("no version", 400, -32602, VERSION, request(_meta={CAPABILITIES: {}}), id=1),
    Bad("null version", 400, -32602, VERSION, request(_meta={**META, VERSION: None}), id=1),
    Bad("version number", 400, -32602, VERSION, request(_meta={**META, VERSION: 2026}), id=1),
    Bad("no capabilities", 400, -32602, CAPABILITIES, request(_meta={VERSION: "2026-07-28"}), id=1),
    Bad(
        "null capabilities",
        400,
        -32602,
        CAPABILITIES,
        request(_meta={**META, CAPABILITIES: None}),
        id=1,
    ),
    Bad(
        "capability list",
        400,
        -32602,
        CAPABILITIES,
        request(_meta={**META, CAPABILITIES: []}),
        id=1,
    ),
    Bad(
        "_meta before headers",
        400,
        -32602,
        "_meta",
        request(_meta={}, id="x"),
        headers=headers(mcp_protocol_version=b"1999-01-01", mcp_method=b"other"),
        id="x",
    ),
    Bad(
        "_meta before no headers at all",
        400,
        -32602,
        "_meta",
        request(params={}),
        headers=[],
        id=1,
    ),
    Bad("_meta before unknown method", 400, -32602, "_meta", request("no/such", _meta=...), id=1),
]

HEADER_ROWS = [
    Bad(
        "no version header",
        400,
        -32020,
        "MCP-Protocol-Version is missing",
        request(),
        headers(without=(b"mcp-protocol-version",)),
        id=1,
    ),
    Bad(
        "version differs",
        400,
        -32020,
        "MCP-Protocol-Version is '2025-11-25', but the body says '2026-07-28'",
        request(),
        headers(mcp_protocol_version=b"2025-11-25"),
        id=1,
    ),
    Bad(
        "unserved version in the header only",
        400,
        -32020,
        "must be equal",
        request(),
        headers(mcp_protocol_version=b"v999"),
        id=1,
    ),
    Bad(
        "unserved version in the body only",
        400,
        -32020,
        "must be equal",
        request(_meta={**META, VERSION: "v999"}),
        id=1,
    ),
    Bad(
        "unserved version in both",
        400,
        -32022,
        "supported: 2026-07-28",
        request(_meta={**META, VERSION: "v999"}),
        headers(mcp_protocol_version=b"v999"),
        id=1,
    ),
    Bad(
        "unserved version before wrong method header",
        400,
        -32022,
        "v999",
        request(_meta={**META, VERSION: "v999"}),
        headers(mcp_protocol_version=b"v999", mcp_method=b"other"),
        id=1,
    ),
    Bad(
        "version twice",
        400,
        -32020,
        "more than once",
        request(),
        headers((b"mcp-protocol-version", b"2026-07-28")),
        id=1,
    ),
    Bad(
        "version bytes",
        400,
        -32020,
        "visible ASCII",
        request(),
        headers(mcp_protocol_version=b"2026-07-28\x00"),
        id=1,
    ),
    Bad(
        "wrapped version",
        400,
        -32020,
        "must be equal",
        request(),
        headers(mcp_protocol_version=b"=?base64?MjAyNi0wNy0yOA==?="),
        id=1,
    ),
    Bad(
        "no method header",
        400,
        -32020,
        "Mcp-Method is missing",
        request(),
        headers(without=(b"mcp-method",)),
        id=1,
    ),
    Bad(
        "method differs",
        400,
        -32020,
        "Mcp-Method is 'tools/list', but the body says 'tools/call'",
        request(id="é"),
        headers(mcp_method=b"tools/list"),
        id="é",
    ),
    Bad("method case", 400, -32020, "equal", request(), headers(mcp_method=b"TOOLS/CALL"), id=1),
    Bad("empty method", 400, -32020, "equal", request(), headers(mcp_method=b""), id=1),
    Bad(
        "wrapped method",
        400,
        -32020,
        "equal",
        request(),
        headers(mcp_method=b"=?base64?dG9vbHMvY2FsbA==?="),
        id=1,
    ),
    Bad("method bytes", 400, -32020, "ASCII", request(), headers(mcp_method=b"\xc3\xa9"), id=1),
    Bad(
        "method twice",
        400,
        -32020,
        "Mcp-Method was sent more than once",
        request(),
        headers((b"Mcp-Method", b"tools/call")),
        id=1,
    ),
    Bad(
        "no name header",
        400,
        -32020,
        "Mcp-Name is missing; it must repeat params.name",
        request(),
        headers(without=(b"mcp-name",)),
        id=1,
    ),
    Bad(
        "name differs", 400, -32020, "Mcp-Name is 'sub'", request(), headers(mcp_name=b"sub"), id=1
    ),
    Bad("name case", 400, -32020, "Mcp-Name is 'ADD'", request(), headers(mcp_name=b"ADD"), id=1),
    Bad("name bytes", 400, -32020, "=?base64?", request(), headers(mcp_name=b"\xc3\xa9"), id=1),
    Bad(
        "name badly padded",
        400,
        -32020,
        "Mcp-Name",
        request(),
        headers(mcp_name=b"=?base64?YWRk!?="),
        id=1,
    ),
    Bad(
        "name marker in upper case",
        400,
        -32020,
        "must be equal",
        request(),
        headers(mcp_name=b"=?BASE64?YWRk?="),
        id=1,
    ),
    Bad(
        "name twice",
        400,
        -32020,
        "Mcp-Name was sent more than once",
        request(),
        headers((b"mcp-name", b"add")),
        id=1,
    ),
    Bad(
        "no name header for a prompt",
        400,
        -32020,
        "params.name",
        request("prompts/get", params={"_meta": META, "name": "greet"}),
        headers(mcp_method=b"prompts/get", without=(b"mcp-name",)),
        id=1,
    ),
    Bad(
        "no name header for a resource",
        400,
        -32020,
        "params.uri",
        request("resources/read", params={"_meta": META, "uri": "file:///a"}),
        headers(mcp_method=b"resources/read", without=(b"mcp-name",)),
        id=1,
    ),
    Bad(
        "URI is not percent-decoded",
        400,
        -32020,
        "must be equal",
        request("resources/read", params={"_meta": META, "uri": "file:///a%20b"}),
        headers(mcp_method=b"resources/read", mcp_name=b"file:///a b"),
        id=1,
    ),
    Bad(
        "parameter header twice",
        400,
        -32020,
        "Mcp-Param-region was sent more than once",
        request(),
        headers((b"mcp-param-region", b"eu"), (b"Mcp-Param-Region", b"us")),
        id=1,
    ),
    Bad(
        "headers before unknown method",
        400,
        -32020,
        "Mcp-Method",
        request("no/such"),
        id=1,
    ),
]


def plain(method: str) -> Headers:
    return headers(mcp_method=method.encode(), without=(b"mcp-name",))


METHOD_ROWS = [
    Bad(f"unserved {method}", 404, -32601, says, request(method, id="q"), plain(method), id="q")
    for method, says in [
        ("no/such", "Method not found: 'no/such'"),
        ("", "Method not found"),
        ("ping", "ping"),
        ("logging/setLevel", "logging/setLevel"),
        ("resources/subscribe", "resources/subscribe"),
        ("initialize", "2026-07-28"),
        ("tools/List", "tools/List"),
        ("prompts/list", "prompts/list"),
        ("subscriptions/listen", "subscriptions/listen"),
    ]
]

PARAMS_ROWS = [
    Bad("no tool name", 400, -32602, "params.name", call(), id=1),
    Bad("tool name number", 400, -32602, "params.name", call(name=1), id=1),
    Bad("tool name null", 400, -32602, "params.name", call(name=None), id=1),
    Bad("arguments list", 400, -32602, "params.arguments", call(name="add", arguments=[]), id=1),
    Bad("arguments text", 400, -32602, "params.arguments", call(name="add", arguments="{}"), id=1),
    Bad("state number", 400, -32602, "params.requestState", call(name="add", requestState=1), id=1),
    Bad(
        "cursor number",
        400,
        -32602,
        "params.cursor",
        request("tools/list", params={"_meta": META, "cursor": 1}),
        plain("tools/list"),
        id=1,
    ),
    Bad("log level", 400, -32602, LOG_LEVEL, request(_meta={**META, LOG_LEVEL: "loud"}), id=1),
    Bad("log level type", 400, -32602, LOG_LEVEL, request(_meta={**META, LOG_LEVEL: 3}), id=1),
    Bad(
        "token", 400, -32602, "progressToken", request(_meta={**META, "progressToken": True}), id=1
    ),
    Bad(
        "token float",
        400,
        -32602,
        "progressToken",
        request(_meta={**META, "progressToken": 1.5}),
        id=1,
    ),
    Bad("client info", 400, -32602, CLIENT_INFO, request(_meta={**META, CLIENT_INFO: "me"}), id=1),
    Bad("client name", 400, -32602, "name", request(_meta={**META, CLIENT_INFO: {}}), id=1),
    Bad("roots", 400, -32602, "roots", request(_meta={**META, CAPABILITIES: {"roots": 1}}), id=1),
    Bad(
        "log level of a method outside the vocabulary",
        400,
        -32602,
        LOG_LEVEL,
        request("x/own", _meta={**META, LOG_LEVEL: "loud"}),
        plain("x/own"),
        id=1,
    ),
]

ROWS = HEAD_ROWS + JSON_ROWS + SHAPE_ROWS + META_ROWS + HEADER_ROWS + METHOD_ROWS + PARAMS_ROWS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_bad_input_is_refused(row: Bad) -> None:
    refusal = receive(row.body, row.headers, row.verb)
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.error.code) == (row.status, row.code), refusal.error
    assert row.says in refusal.error.message
    assert refusal.request_id == row.id
    assert type(refusal.request_id) is type(row.id)


def test_refused_verb_is_told_which_one_is_allowed() -> None:
    refusal = receive(b"", headers(), "GET")
    assert isinstance(refusal, Refusal)
    assert dict(refusal.headers) == {b"allow": b"POST"}


def test_unserved_version_is_answered_with_the_served_ones() -> None:
    refusal = receive(
        request(_meta={**META, VERSION: "v999"}), headers(mcp_protocol_version=b"v999")
    )
    assert isinstance(refusal, Refusal)
    assert refusal.error.data == {"supported": ["2026-07-28"], "requested": "v999"}


# -- the handshake of earlier versions ---------------------------------------------

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "old", "version": "1"},
}


@pytest.mark.parametrize(
    ("params", "requested"),
    [
        (INITIALIZE, "2025-11-25"),
        ({**INITIALIZE, "_meta": {"progressToken": 1}}, "2025-11-25"),
        ({}, ""),
        ({"protocolVersion": 1}, ""),
        (..., ""),
    ],
    ids=["usual", "bare _meta", "empty", "odd version", "no params"],
)
def test_initialize_is_refused_with_the_versions_served(params: Any, requested: str) -> None:
    refusal = receive(request("initialize", params=params, id=0), [(b"host", b"localhost")])
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.error.code, refusal.request_id) == (400, -32022, 0)
    assert refusal.error.data == {"supported": ["2026-07-28"], "requested": requested}
    assert "2026-07-28" in refusal.error.message


def test_initialize_of_a_client_that_names_this_version_merely_lacks_meta() -> None:
    refusal = receive(request("initialize", params=INITIALIZE), plain("initialize"))
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.error.code) == (400, -32602)
    assert "2026-07-28" in refusal.error.message


# -- what is accepted --------------------------------------------------------------


def accept(body: bytes, sent: Headers) -> ReceivedRequest:
    received = receive(body, sent)
    assert isinstance(received, ReceivedRequest), received
    return received


def test_request_becomes_the_class_of_its_method_and_its_caller() -> None:
    meta = {
        **META,
        CAPABILITIES: {"elicitation": {}},
        CLIENT_INFO: {"name": "c", "version": "1"},
        LOG_LEVEL: "warning",
        "progressToken": 0,
        "traceparent": "00-1",
    }
    received = accept(request(_meta=meta, id="a"), headers())
    assert isinstance(received.request, mcp.CallToolRequest)
    assert received.request.params.name == "add"
    assert received.request.params.arguments == {"a": 1}
    caller = received.caller
    assert caller.request_id == "a"
    assert caller.protocol_version == "2026-07-28"
    assert caller.client_capabilities.elicitation is not None
    assert caller.client_info == mcp.Implementation(name="c", version="1")
    assert caller.log_level == "warning"
    assert caller.progress_token == 0
    assert caller.meta == meta
    assert caller.assigns == {}
    assert caller.param_headers == {}


@pytest.mark.parametrize("request_id", [0, -1, 2**63, "", "1", "é", "x" * 500], ids=ascii)
def test_any_string_or_integer_is_an_id(request_id: mcp.RequestId) -> None:
    received = accept(request(id=request_id), headers())
    assert received.caller.request_id == request_id
    assert type(received.caller.request_id) is type(request_id)


@pytest.mark.parametrize(
    "sent",
    [
        headers(),
        headers(content_type=b"application/json; charset=utf-8"),
        headers(content_type=b"Application/JSON ;x"),
        headers(content_type=b"application/vnd.mcp+json"),
        headers(without=(b"content-type",)),
        headers(without=(b"host",)),
        headers(content_encoding=b"identity"),
        headers(content_length=b"4096"),
        headers(content_length=b"0" * 10 + b"9"),
        headers(origin=b"http://localhost:6274"),
        headers(mcp_name=b" \tadd\t "),
        headers(mcp_name=b"=?base64?YWRk?="),
        headers((b"accept", b"text/html"), (b"accept", b"x")),
        headers((b"mcp-session-id", b"1"), (b"mcp-session-id", b"2")),
        headers((b"last-event-id", b"\xff")),
        headers((b"mcp-param-unknown", b"\xff")),
        [(name.upper(), value) for name, value in headers()],
    ],
    ids=str,
)
def test_headers_that_change_nothing(sent: Headers) -> None:
    accept(request(), sent)


def test_name_outside_ascii_is_reached_through_its_wrapped_header() -> None:
    accept(call(name="über"), headers(mcp_name=b"=?base64?w7xiZXI=?="))


def test_name_that_looks_wrapped_is_reached_wrapped_twice() -> None:
    accept(
        call(name="=?base64?YWRk?="),
        headers(mcp_name=b"=?base64?PT9iYXNlNjQ/WVdSaz89?="),
    )


def test_stray_name_header_is_ignored() -> None:
    for stray in (b"whatever", b"\xff", b"=?base64?!?="):
        accept(request("tools/list"), headers(mcp_method=b"tools/list", mcp_name=stray))


def test_absent_and_null_arguments_are_empty() -> None:
    for body in (call(name="add"), call(name="add", arguments=None)):
        received = accept(body, headers())
        assert received.request.params.arguments == {}


def test_method_outside_the_vocabulary_is_served_if_the_server_says_so() -> None:
    params = {"_meta": {**META, "progressToken": "t"}, "a": 1}
    received = accept(request("x/own", params=params), plain("x/own"))
    assert received.request == mcp.UnknownRequest("x/own", params)
    assert received.caller.progress_token == "t"


def test_parameter_headers_are_the_callers_decoded() -> None:
    received = accept(
        request(), headers((b"mcp-param-Region", b"=?base64?w7w=?="), (b"mcp-param-n", b"\xff"))
    )
    assert received.caller.param_headers == {"region": "ü", "n": None}


# -- notifications -----------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [[], headers(mcp_method=b"other"), headers((b"mcp-method", b"x"), mcp_name=b"\xff")],
    ids=["none", "wrong", "broken"],
)
def test_notification_needs_no_headers(sent: Headers) -> None:
    body = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    assert receive(body, sent) == ReceivedNotification(
        mcp.UnknownNotification("notifications/initialized")
    )


def test_request_method_without_an_id_is_a_notification() -> None:
    received = receive(request(id=...), headers())
    assert isinstance(received, ReceivedNotification)
    assert received.notification.method == "tools/call"


def test_cancellation_is_read() -> None:
    body = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}'
    received = receive(body, [])
    assert isinstance(received, ReceivedNotification)
    assert received.notification == mcp.CancelledNotification(
        params=mcp.CancelledNotificationParams(request_id="1")
    )


@pytest.mark.parametrize("params", [None, {}, {"requestId": None}, {"requestId": True}], ids=str)
def test_malformed_cancellation_is_accepted_as_unknown(params: dict[str, Any] | None) -> None:
    sent: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    if params is not None:
        sent["params"] = params
    received = receive(json.dumps(sent).encode(), [])
    assert received == ReceivedNotification(
        mcp.UnknownNotification("notifications/cancelled", params or {})
    )


# -- whatever comes ----------------------------------------------------------------

NAMES = st.sampled_from(
    [
        b"host",
        b"origin",
        b"content-type",
        b"content-length",
        b"content-encoding",
        b"mcp-protocol-version",
        b"mcp-method",
        b"mcp-name",
        b"mcp-param-a",
    ]
)
VALUES = st.binary(max_size=40) | st.sampled_from(
    [b"localhost", b"application/json", b"2026-07-28", b"tools/call", b"add", b"=?base64?YWRk?="]
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=10,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON_VALUES,
        "id": JSON_VALUES,
        "method": st.sampled_from(sorted(METHODS)) | JSON_VALUES,
        "params": JSON_VALUES
        | st.fixed_dictionaries(
            {"_meta": JSON_VALUES | st.just(META)},
            optional={"name": JSON_VALUES, "uri": JSON_VALUES, "arguments": JSON_VALUES},
        ),
    },
).map(lambda value: json.dumps(value).encode("utf-8", "replace"))


@given(
    st.binary(max_size=60) | MESSAGES,
    st.lists(st.tuples(NAMES | st.binary(max_size=12), VALUES), max_size=12),
    st.sampled_from(["POST", "GET", ""]) | st.text(max_size=5),
)
def test_any_input_is_received_or_refused_with_4xx(body: bytes, sent: Headers, verb: str) -> None:
    received = receive(body, sent, verb)
    if isinstance(received, Refusal):
        assert 400 <= received.status < 500
        assert received.error.message


def keys_below(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(value, dict):
        return []
    return [
        below
        for key, item in value.items()
        for below in [(*path, key), *keys_below(item, (*path, key))]
    ]


@given(st.sampled_from(keys_below(message())), JSON_VALUES | st.just(...))
def test_any_member_may_be_anything_or_missing(path: tuple[str, ...], value: Any) -> None:
    changed: dict[str, Any] = json.loads(request())
    place = changed
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    received = receive(json.dumps(changed).encode("utf-8", "replace"), headers())
    assert not isinstance(received, Refusal) or 400 <= received.status < 500


# -- settings ----------------------------------------------------------------------


@pytest.mark.parametrize("setting", ["max_body_bytes", "max_json_depth"])
def test_limit_must_be_positive(setting: str) -> None:
    limits: dict[str, Any] = {setting: 0}
    with pytest.raises(ValueError, match=setting):
        Inbound(METHODS, **limits)


# -- headers that come again ------------------------------------------------------


def test_headers_that_agreed_once_are_still_compared() -> None:
    scanned = scan_headers(headers())
    for _ in range(2):
        assert isinstance(INBOUND.read_body(scanned, request()), ReceivedRequest)
        for body in (
            request("tools/list"),
            request(params={"name": "other", "arguments": {}, "_meta": META}),
            request(_meta={**META, VERSION: "2027-01-01"}),
        ):
            refused = INBOUND.read_body(scanned, body)
            assert isinstance(refused, Refusal)
            assert refused.error.code == mcp.HEADER_MISMATCH


def test_headers_that_disagreed_may_agree_with_the_next_body() -> None:
    scanned = scan_headers(headers())
    assert isinstance(INBOUND.read_body(scanned, request("tools/list")), Refusal)
    assert isinstance(INBOUND.read_body(scanned, request()), ReceivedRequest)


def test_headers_with_one_sent_twice_agree_with_nothing() -> None:
    scanned = scan_headers([*headers(), (b"mcp-name", b"add")])
    for _ in range(2):
        refused = INBOUND.read_body(scanned, request())
        assert isinstance(refused, Refusal)
        assert refused.error.code == mcp.HEADER_MISMATCH
