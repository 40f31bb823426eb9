"""Rows: which methods there are, of this version, of others, and of none; discovery."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.request_table.row import Answered, Refused, Row
from tests.request_table.rows_meta import OLD, bad_params, mismatch, unsupported
from tests.request_table.sending import DISCOVER, VERSION, Request, good

NO_METHOD: Final = Refused(status=404, code=-32601)

_INITIALIZE: Final[dict[str, Any]] = {
    "protocolVersion": OLD,
    "capabilities": {},
    "clientInfo": {"name": "old", "version": "1"},
}


def _legacy(method: str, params: Any = None, *lines: bytes) -> Request:
    """A request as clients of earlier versions send it: without `_meta` and its headers."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method}
    if params is not None:
        message["params"] = params
    bare = DISCOVER.without(b"Mcp-Method", b"MCP-Protocol-Version")
    return bare.line(*lines).saying(json.dumps(message).encode())


_PARAMS: Final[dict[str, dict[str, Any]]] = {
    "prompts/list": {},
    "prompts/get": {"name": "greet"},
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": "note://1"},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "name", "value": ""},
    },
    "subscriptions/listen": {"notifications": {"toolsListChanged": True}},
}

_UNKNOWN = (
    *(
        Row(f"method {method!r} is unknown", good(method), NO_METHOD)
        for method in (
            "no/such", "", "tools", "tools/", "Tools/Call", "tools/call ", "rpc.discover",
            "tasks/get", "notifications/cancelled", "elicitation/create",
            "sampling/createMessage", "roots/list", "x" * 2000,
        )
        # Outer space is no part of a header.
        if method == method.strip()
    ),
    *(
        Row(f"{method} of earlier versions is unknown", good(method), NO_METHOD)
        for method in (
            "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
        )
    ),
    Row("initialize with modern metadata is unknown", good("initialize", _INITIALIZE),
        Refused(status=404, code=-32601, says=(VERSION,))),
    *(
        Row(f"{method} is unknown where its capability is not offered",
            good(method, params).at(b"/bare"), NO_METHOD)
        for method, params in _PARAMS.items()
    ),
    Row("unknown method wins over params of the wrong type",
        good("no/such", {"name": 1}).meta(logLevel="loud"), NO_METHOD),
    Row("method that is not offered wins over its params",
        good("prompts/get", {"name": "greet"}).member("params.arguments", []).at(b"/bare"),
        NO_METHOD),
    Row("missing _meta wins over an unknown method", good("no/such").drop("params._meta"),
        bad_params("params._meta")),
    Row("missing version header wins over an unknown method",
        good("no/such").without(b"MCP-Protocol-Version"), mismatch("missing")),
)  # fmt: skip

_LEGACY = (
    Row("initialize of an earlier version learns which are served",
        _legacy("initialize", _INITIALIZE), unsupported(OLD)),
    Row("initialize with the header of an earlier version learns it too",
        _legacy("initialize", _INITIALIZE, b"MCP-Protocol-Version: 2025-11-25"), unsupported(OLD)),
    Row("initialize that names no version learns it too",
        _legacy("initialize", {}), unsupported("")),
    Row("initialize without params learns it too", _legacy("initialize"), unsupported("")),
    Row("initialize with a version that is no text learns it too",
        _legacy("initialize", {"protocolVersion": 1}), unsupported("")),
    Row("initialize with an empty _meta learns it too",
        _legacy("initialize", {**_INITIALIZE, "_meta": {}}), unsupported(OLD)),
    Row("initialize that asks for the served version learns it too",
        _legacy("initialize", {**_INITIALIZE, "protocolVersion": VERSION}), unsupported(VERSION)),
    Row("initialize with the header of the served version lacks _meta",
        _legacy("initialize", _INITIALIZE, b"MCP-Protocol-Version: 2026-07-28"),
        bad_params("params._meta", VERSION)),
    *(
        Row(f"{method} of an earlier version lacks _meta",
            _legacy(method, {}, b"MCP-Protocol-Version: 2025-11-25", b"Mcp-Session-Id: abc"),
            bad_params("params._meta"))
        for method in ("ping", "tools/list", "logging/setLevel", "resources/subscribe")
    ),
)  # fmt: skip


def _discovered(instructions: str | None, **capabilities: Any) -> Answered:
    result: dict[str, Any] = {
        "resultType": "complete",
        "supportedVersions": [VERSION],
        "capabilities": {"logging": {}, **capabilities},
        "ttlMs": 0,
        "cacheScope": "private",
    }
    if instructions is not None:
        result["instructions"] = instructions
    return Answered(result=result)


FULL: Final = _discovered(
    "Look it up.",
    tools={"listChanged": True},
    prompts={"listChanged": True},
    resources={"listChanged": True, "subscribe": True},
    completions={},
)

_DISCOVERY = (
    Row("discovery says what there is", DISCOVER, FULL),
    Row("discovery says what there is not", DISCOVER.at(b"/bare"), _discovered(None, tools={})),
    Row("discovery has no params of its own", DISCOVER.member("params.extra", 1), FULL),
    Row("discovery ignores Mcp-Name", DISCOVER.line(b"Mcp-Name: x\xff"), FULL),
    Row("discovery ignores Mcp-Param headers", DISCOVER.line(b"Mcp-Param-Region: \xff"), FULL),
    Row("discovery needs its _meta", DISCOVER.drop("params"), bad_params("params._meta")),
)

ROWS: Final = (*_UNKNOWN, *_LEGACY, *_DISCOVERY)
