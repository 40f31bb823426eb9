from __future__ import annotations

import json
from typing import Any

import pytest

from genmcp.limits import Limits
from genmcp.mcp import v2607 as mcp
from genmcp.transport.inbound import ReceivedNotification, ReceivedRequest, Refusal
from genmcp.transport.refused import read_reason
from genmcp.transport.stdio.line_inbound import (
    LineInbound,
    ReceivedLegacyRequest,
    Unanswerable,
    find_id,
)
from genmcp.transport.stdio.line_splitter import OverlongLine
from genmcp.wire.messages import RequestMessage
from tests.transport.stdio.peer import META, cancelled, request

INBOUND = LineInbound({"tools/call", "server/discover", "own/method"}, Limits(max_body_bytes=5_000))
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def read(message: Any) -> Any:
    return INBOUND.read_line(json.dumps(message).encode())


def with_meta(**meta: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}}


# -- what is taken -----------------------------------------------------------------


def test_request_says_all_of_itself_in_the_line() -> None:
    meta = {"progressToken": 0, "traceparent": "00-1"}
    received = read(request("a", name="add", arguments={"x": 1}, meta=meta))
    assert isinstance(received, ReceivedRequest)
    assert isinstance(received.request, mcp.CallToolRequest)
    caller = received.caller
    assert (caller.request_id, caller.progress_token) == ("a", 0)
    assert caller.meta["traceparent"] == "00-1"
    assert caller.protocol_version == "2026-07-28"


def test_there_are_no_headers_no_scopes_and_no_principal() -> None:
    caller = read(request(1, name="add")).caller
    assert caller.param_headers is None
    assert not caller.scopes_apply
    assert (caller.principal, caller.access, caller.client_address) == (None, None, None)


def test_notification_is_read() -> None:
    received = read(cancelled("5", reason="bored"))
    assert isinstance(received, ReceivedNotification)
    assert isinstance(received.notification, mcp.CancelledNotification)
    assert received.notification.params.request_id == "5"


# -- what is refused ---------------------------------------------------------------

LISTED = request(1, "server/discover")


@pytest.mark.parametrize(
    ("line", "code", "request_id", "reason"),
    [
        pytest.param(b"{", -32700, None, "parse", id="no JSON"),
        pytest.param(b"\x00", -32700, None, "parse", id="NUL"),
        pytest.param(b'"\xff"', -32700, None, "parse", id="no UTF-8"),
        pytest.param(b"\xef\xbb\xbf{}", -32700, None, "parse", id="a mark in the middle"),
        pytest.param(b"\xff\xfe{\x00", -32700, None, "parse", id="UTF-16"),
        pytest.param(b"{} {}", -32700, None, "parse", id="two messages"),
        pytest.param(b'{"id":1,"id":1}', -32700, None, "parse", id="a member twice"),
        pytest.param(b"[" * 200 + b"]" * 200, -32700, None, "parse", id="too deep"),
        pytest.param(b"[]", -32600, None, "invalid_request", id="empty batch"),
        pytest.param(json.dumps([LISTED]).encode(), -32600, None, "invalid_request", id="batch"),
        pytest.param(b"1", -32600, None, "invalid_request", id="a number"),
        pytest.param(b"{}", -32600, None, "invalid_request", id="an empty object"),
        pytest.param({**LISTED, "id": None}, -32600, None, "invalid_request", id="null id"),
        pytest.param({**LISTED, "id": True}, -32600, None, "invalid_request", id="true as id"),
        pytest.param({**LISTED, "id": 1.0}, -32600, None, "invalid_request", id="1.0 as id"),
        pytest.param({**LISTED, "jsonrpc": "1.0"}, -32600, 1, "invalid_request", id="jsonrpc"),
        pytest.param({**LISTED, "method": 5}, -32600, 1, "invalid_request", id="method"),
        pytest.param({**LISTED, "params": []}, -32600, 1, "invalid_request", id="params"),
        pytest.param(with_meta(), -32602, 1, "meta", id="empty _meta"),
        pytest.param(with_meta(**{VERSION: "2026-07-28"}), -32602, 1, "meta", id="no capabilities"),
        pytest.param(with_meta(**{CAPABILITIES: {}}), -32602, 1, "meta", id="no version"),
        pytest.param(with_meta(**{**META, VERSION: 7}), -32602, 1, "meta", id="version a number"),
        pytest.param(
            with_meta(**{**META, VERSION: "2025-11-25"}), -32022, 1, "version", id="other version"
        ),
        pytest.param(request(1, "ping"), -32601, 1, "method", id="not served"),
        pytest.param(request(1, "initialize"), -32601, 1, "method", id="initialize of now"),
        pytest.param(request(1), -32602, 1, "params", id="no name"),
        pytest.param(request(1, name="a", arguments=[]), -32602, 1, "params", id="arguments"),
        pytest.param(
            request(1, "own/method", meta={"io.modelcontextprotocol/logLevel": "loud"}),
            -32602,
            1,
            "meta",
            id="level of an own method",
        ),
    ],
)
def test_what_is_refused(line: Any, code: int, request_id: Any, reason: str) -> None:
    raw = line if isinstance(line, bytes) else json.dumps(line).encode()
    refusal = INBOUND.read_line(raw)
    assert isinstance(refusal, Refusal)
    assert (refusal.error.code, refusal.request_id) == (code, request_id)
    assert read_reason(refusal).value == reason


def test_other_versions_are_told_which_one_is_served() -> None:
    refusal = read(with_meta(**{**META, VERSION: "1900-01-01"}))
    assert refusal.error.data == {"supported": ["2026-07-28"], "requested": "1900-01-01"}


@pytest.mark.parametrize(
    ("params", "requested"),
    [
        ({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}, "2025-11-25"),
        ({"protocolVersion": "2025-11-25", "_meta": {"progressToken": 1}}, "2025-11-25"),
        ({"protocolVersion": 5}, ""),
        (None, ""),
    ],
)
def test_initialize_is_told_which_version_is_served(params: Any, requested: str) -> None:
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize"}
    refusal = read(message if params is None else {**message, "params": params})
    assert (refusal.error.code, refusal.request_id) == (-32022, 0)
    assert refusal.error.data == {"supported": ["2026-07-28"], "requested": requested}


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"jsonrpc": "2.0", "id": 1, "result": {}}, id="result"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "error": {}}, id="error"),
        pytest.param({"jsonrpc": "2.0", "error": {"code": -32700}}, id="error without an id"),
        pytest.param(cancelled(None), id="cancellation of null"),
        pytest.param(cancelled(True), id="cancellation of true"),
        pytest.param(cancelled(1.5), id="cancellation of a fraction"),
        pytest.param(cancelled([1]), id="cancellation of a list"),
        pytest.param(cancelled(1, reason=5), id="reason that is no text"),
        pytest.param(
            {"jsonrpc": "2.0", "method": "notifications/cancelled"}, id="cancellation of nothing"
        ),
    ],
)
def test_what_is_never_answered(message: Any) -> None:
    assert isinstance(read(message), Unanswerable)


# -- lines that are too long -------------------------------------------------------


def test_too_long_a_line_names_the_setting() -> None:
    refusal = INBOUND.read_line(OverlongLine(b'{"jsonrpc":"2.0","id":"a","method":"tools/call",'))
    assert isinstance(refusal, Refusal)
    assert (refusal.error.code, refusal.request_id) == (-32600, "a")
    assert refusal.error.data == {
        "setting": "max_body_bytes",
        "flag": "--max-body-bytes",
        "variable": "GENMCP_MAX_BODY_BYTES",
        "limit": 5_000,
    }
    assert read_reason(refusal).value == "too_large"


@pytest.mark.parametrize(
    ("start", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":17,"method":"a",', 17),
        (b'{ "jsonrpc" : "2.0" , "id" : "x y" , "method" : "a",', "x y"),
        (b'{"id":-1,"method":"tools/call","params":{"id":5', -1),
        ('{"id":"ü","method":"a"'.encode(), "ü"),
        (b'{"jsonrpc":"2.0","method":"tools/call","id":3,"params":{', 3),
        (b'{"method":"tools/call","id":"3","params":{', "3"),
        # Not where clients write it, or it could be something else.
        (b'{"method":"a","params":{"id":1,"method":"b"', None),
        (b'{"jsonrpc":"2.0","id":1,"result":{"text":"', None),
        (b'{"jsonrpc":"2.0","id":1,"params":{"text":"', None),
        (b'{"jsonrpc":"2.0","id":01,"method":"a"', None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"a"', None),
        (b'{"jsonrpc":"2.0","id":null,"method":"a"', None),
        (b'{"jsonrpc":"2.0","id":true,"method":"a"', None),
        (b'{"jsonrpc":"2.0","id":"a\\u0041","method":"a"', None),
        (b'{"id":"\xff","method":"a"', None),
        (b'[{"id":1,"method":"a"', None),
        (b'{"id":' + b"9" * 30 + b',"method":"a"', None),
        (b"", None),
    ],
)
def test_id_of_a_line_that_is_not_read(start: bytes, request_id: Any) -> None:
    found = find_id(start)
    assert found == request_id
    assert type(found) is type(request_id)


# -- clients of 2025 ---------------------------------------------------------------


def test_requests_without_a_version_are_of_2025_where_that_is_served() -> None:
    inbound = LineInbound({"server/discover"}, Limits(), legacy=True)
    line = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{}}}'
    message = RequestMessage(1, "initialize", {"_meta": {}})
    assert inbound.read_line(line) == ReceivedLegacyRequest(message)
    assert isinstance(inbound.read_line(json.dumps(LISTED).encode()), ReceivedRequest)
