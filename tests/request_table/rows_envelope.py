"""Rows: ids, batches, responses, and the rest of a message's envelope; notifications."""

from __future__ import annotations

import json
from typing import Any, Final

import attrs

from tests.request_table.row import ABSENT, Bare, Refused, Row, each
from tests.request_table.rows_sender import ADD, ADDED
from tests.request_table.sending import META, Request, notify

ACCEPTED: Final = Bare(headers={"content-length": "0", "content-type": None})


def invalid(*says: str, id: Any = 1) -> Refused:  # noqa: A002 - the member's name
    return Refused(status=400, code=-32600, id=id, says=says)


def _no_id(*says: str) -> Refused:
    return invalid(*says, id=ABSENT)


def _id(text: bytes) -> Request:
    return ADD.swap(b'"id":1', b'"id":' + text)


def _posted(**message: Any) -> Request:
    return ADD.saying(json.dumps({"jsonrpc": "2.0", **message}).encode())


_IDS = (
    *(
        Row(f"id {text.decode()[:30]} comes back", _id(text), attrs.evolve(ADDED, id=value))
        for text, value in (
            (b"0", 0),
            (b"-1", -1),
            (b"9223372036854775807", 2**63 - 1),
            (b"18446744073709551615", 2**64 - 1),
            (b"-9223372036854775808", -(2**63)),
            (b'""', ""),
            (b'"1"', "1"),
            (b'" 1 "', " 1 "),
            (b'"null"', "null"),
            (b'"\xc3\xa9\xf0\x9f\x98\x80"', "é\U0001f600"),
            (rb'"\u2028\r\n\u0000"', "\u2028\r\n\0"),
            (b'"' + b"x" * 2000 + b'"', "x" * 2000),
        )
    ),
    *(
        Row(f"id {text.decode()} is refused under none", _id(text), _no_id('"id"'))
        for text in (b"1.0", b"1.5", b"1e0", b"-0.0", b"true", b"false", b"null", b"[1]", b"{}")
    ),
    Row(
        "id beyond 64 bits cannot be read",
        _id(b"18446744073709551616"),
        Refused(status=400, code=-32700, id=ABSENT, says=("64 bits",)),
    ),
    Row("id is echoed with an unknown method too", _id(b'"a"').member("method", "x").instead(
        b"Mcp-Method: x"), Refused(status=404, code=-32601, id="a")),
)  # fmt: skip

_SHAPES = (
    *(
        Row(f"message {text.decode()} is no object", ADD.saying(text), _no_id("object"))
        for text in (b"null", b"true", b"1", b'"tools/call"', b"1.5")
    ),
    Row("empty batch is refused", ADD.saying(b"[]"), _no_id("Batches")),
    Row("batch of one is refused", ADD.saying(b"[" + ADD.body + b"]"), _no_id("Batches")),
    Row(
        "batch of two is refused",
        ADD.saying(b"[" + ADD.body + b"," + ADD.body + b"]"),
        _no_id("Batches"),
    ),
    Row(
        "batch of notifications is refused",
        ADD.saying(b'[{"jsonrpc":"2.0","method":"notifications/cancelled"}]'),
        _no_id("Batches"),
    ),
    Row("empty object is refused", ADD.saying(b"{}"), _no_id("jsonrpc")),
    Row("posted result is refused", _posted(id=1, result={}), _no_id("no responses")),
    Row(
        "posted error is refused",
        _posted(id=1, error={"code": 1, "message": "x"}),
        _no_id("no responses"),
    ),
    Row("posted result without an id is refused", _posted(result={}), _no_id("no responses")),
    Row(
        "posted error with a null id is refused",
        _posted(id=None, error={"code": 1, "message": "x"}),
        _no_id("no responses"),
    ),
    Row("no jsonrpc is refused", ADD.drop("jsonrpc"), invalid('"jsonrpc"', '"2.0"')),
    *(
        Row(f"jsonrpc {value!r} is refused", ADD.member("jsonrpc", value), invalid('"jsonrpc"'))
        for value in ("1.0", "2", 2.0, 2, None, ["2.0"])
    ),
    Row("no method is refused", ADD.drop("method"), invalid('"method"', "required")),
    *(
        Row(f"method {value!r} is refused", ADD.member("method", value), invalid('"method"'))
        for value in each(None, 1, True, ["tools/call"], {})
    ),
    *(
        Row(f"params {value!r} are refused", ADD.member("params", value), invalid('"params"'))
        for value in (None, [], ["add"], "add", 1, False)
    ),
    Row("unknown members of a message are ignored", ADD.member("extra", {"id": 2}), ADDED),
    Row(
        "request with a result in it is a request",
        ADD.member("result", {"resultType": "complete"}),
        ADDED,
    ),
    Row(
        "bad jsonrpc and bad id have no id",
        ADD.member("jsonrpc", "1.0").member("id", None),
        _no_id('"jsonrpc"'),
    ),
    Row(
        "envelope wins over the headers",
        ADD.drop("jsonrpc").without(b"Mcp-Method", b"MCP-Protocol-Version"),
        invalid('"jsonrpc"'),
    ),
)

_NOTIFICATIONS = (
    Row("notification is accepted", notify("notifications/anything"), ACCEPTED),
    Row("notification may have params", notify("notifications/x", {"a": [1]}), ACCEPTED),
    Row(
        "cancellation is accepted and cancels nothing",
        notify("notifications/cancelled", {"requestId": 1, "reason": "x"}),
        ACCEPTED,
    ),
    Row("cancellation without an id is accepted", notify("notifications/cancelled", {}), ACCEPTED),
    Row("cancellation without params is accepted", notify("notifications/cancelled"), ACCEPTED),
    Row(
        "cancellation of an id that is none is accepted",
        notify("notifications/cancelled", {"requestId": [None]}),
        ACCEPTED,
    ),
    Row(
        "notification of earlier versions is accepted",
        notify("notifications/initialized"),
        ACCEPTED,
    ),
    Row("request without an id is a notification", ADD.drop("id"), ACCEPTED),
    Row(
        "notification is accepted whatever its headers",
        notify("notifications/x").line(b"Mcp-Method: tools/call", b"MCP-Protocol-Version: 1"),
        ACCEPTED,
    ),
    Row(
        "notification is accepted whatever its version",
        notify("notifications/x", {"_meta": {**META, next(iter(META)): "1999-01-01"}}),
        ACCEPTED,
    ),
    Row(
        "notification with a list as params is refused",
        notify("notifications/x").swap(b'/x"', b'/x","params":[]'),
        _no_id('"params"'),
    ),
    Row(
        "notification with a number as method is refused",
        notify("notifications/x").member("method", 1),
        _no_id('"method"'),
    ),
    Row(
        "notification without jsonrpc is refused",
        notify("notifications/x").drop("jsonrpc"),
        _no_id('"jsonrpc"'),
    ),
    Row(
        "notification with a null id is no notification",
        notify("notifications/x").member("id", None),
        _no_id('"id"'),
    ),
)

ROWS: Final = (*_IDS, *_SHAPES, *_NOTIFICATIONS)
