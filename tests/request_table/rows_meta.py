"""Rows: what a request says about itself in `_meta`, and its version."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

from tests.request_table.row import Answered, Refused, Row, each
from tests.request_table.rows_sender import ADD, ADDED
from tests.request_table.sending import (
    CAPABILITIES_KEY,
    LOG_LEVEL_KEY,
    META,
    VERSION,
    VERSION_KEY,
    Request,
    call,
)
from tests.request_table.served import data_result

OLD: Final = "2025-11-25"


def bad_params(path: str, *says: str) -> Refused:
    """-32602 while the request is being read."""
    return Refused(status=400, code=-32602, data={"path": path}, says=says)


def mismatch(*says: str) -> Refused:
    return Refused(status=400, code=-32020, says=says)


def unsupported(requested: str) -> Refused:
    data = {"supported": [VERSION], "requested": requested}
    return Refused(status=400, code=-32022, data=data, says=(VERSION,))


def wrap(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return b"=?base64?" + base64.b64encode(raw) + b"?="


def _set(key: str, value: Any) -> Request:
    message = json.loads(ADD.body)
    message["params"]["_meta"][key] = value
    return ADD.saying(json.dumps(message).encode())


def _without(key: str) -> Request:
    message = json.loads(ADD.body)
    del message["params"]["_meta"][key]
    return ADD.saying(json.dumps(message).encode())


def _typed(key: str) -> str:
    return f'params._meta["{key}"]'


_META = (
    Row("no params have no _meta", ADD.drop("params"), bad_params("params._meta", "missing")),
    Row(
        "empty params have no _meta",
        ADD.member("params", {}),
        bad_params("params._meta", VERSION_KEY, CAPABILITIES_KEY),
    ),
    Row("no _meta is refused", ADD.drop("params._meta"), bad_params("params._meta", "missing")),
    *(
        Row(
            f"_meta {value!r} is refused",
            ADD.member("params._meta", value),
            bad_params("params._meta", "must be an object"),
        )
        for value in each(None, [], "x", 1, True)
    ),
    Row(
        "no version in _meta is refused",
        _without(VERSION_KEY),
        bad_params("params._meta", VERSION_KEY),
    ),
    *(
        Row(
            f"version {value!r} in _meta is refused",
            _set(VERSION_KEY, value),
            bad_params("params._meta", VERSION_KEY),
        )
        for value in each(None, 20260728, [VERSION], {})
    ),
    Row(
        "no capabilities in _meta are refused",
        _without(CAPABILITIES_KEY),
        bad_params("params._meta", CAPABILITIES_KEY),
    ),
    *(
        Row(
            f"capabilities {value!r} are refused",
            _set(CAPABILITIES_KEY, value),
            bad_params("params._meta", CAPABILITIES_KEY),
        )
        for value in each(None, [], "elicitation", True)
    ),
    Row(
        "capability that is no object is refused",
        ADD.able(elicitation=True),
        bad_params(f"{_typed(CAPABILITIES_KEY)}.elicitation"),
    ),
    Row("unknown capabilities are taken", ADD.able(telepathy={"x": 1}, roots={"x": 2}), ADDED),
    Row("client that says who it is is answered", ADD.meta(
        clientInfo={"name": "c", "version": "1"}), ADDED),
    Row(
        "client info without a version is refused",
        ADD.meta(clientInfo={"name": "c"}),
        bad_params(f"{_typed('io.modelcontextprotocol/clientInfo')}.version"),
    ),
    *(
        Row(f"log level {value!r} is refused", ADD.meta(logLevel=value), bad_params(
            _typed(LOG_LEVEL_KEY)))
        for value in ("loud", "ERROR", "", 3, ["error"])
    ),
    *(
        Row(f"log level {level} is taken", ADD.meta(logLevel=level), ADDED)
        for level in ("debug", "info", "notice", "warning", "error", "critical", "alert",
                      "emergency")
    ),
    *(
        Row(f"progress token {value!r} is taken", ADD.meta(progressToken=value), ADDED)
        for value in ("", "t", 0, -1, 2**63)
    ),
    *(
        Row(f"progress token {value!r} is refused", ADD.meta(progressToken=value), bad_params(
            "params._meta.progressToken"))
        for value in each(True, 1.0, 1.5, [], {})
    ),
    Row("trace context is taken", ADD.meta(traceparent="00-0af7651916cd43dd8448eb211c80319c-"
        "b7ad6b7169203331-01"), ADDED),
    Row("bad trace context is ignored", ADD.meta(traceparent=["x"]), ADDED),
    Row("unknown keys of _meta are taken", ADD.meta(custom={"a": [None]}), ADDED),
    *(
        Row(f"{name} reaches the handler as it was sent",
            call("facts").meta(**members), Answered(result=data_result(
                {**META, **members})))
        for name, members in (
            ("no key of its own", {}),
            ("trace context", {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-"
                               "b7ad6b7169203331-01"}),
            ("unknown key", {"custom": {"a": [None, 1.0, 2**64 - 1, "\u2028"]}}),
            ("progress token", {"progressToken": 0}),
        )
    ),
    Row("server info in a request is ignored", ADD.meta(serverInfo=1, subscriptionId=[]), ADDED),
)  # fmt: skip

_VERSIONS = (
    Row("no version header is a mismatch", ADD.without(b"MCP-Protocol-Version"),
        mismatch("MCP-Protocol-Version", "missing", VERSION_KEY)),
    Row("version header names may be in any case", ADD.without(b"MCP-Protocol-Version").line(
        b"mcp-PROTOCOL-version: 2026-07-28"), ADDED),
    Row("space around the version is no part of it", ADD.instead(
        b"MCP-Protocol-Version: \t 2026-07-28 \t"), ADDED),
    *(
        Row(f"version header {value!a} is a mismatch",
            ADD.instead(b"MCP-Protocol-Version: " + value), mismatch("MCP-Protocol-Version"))
        for value in (b"2025-11-25", b"v999", b"", b"2026-07-28, 2026-07-28", b"2026-7-28",
                      b"2026-07-28\xff", wrap(VERSION))
    ),
    Row("two version headers are a mismatch", ADD.line(b"MCP-Protocol-Version: 2026-07-28"),
        mismatch("MCP-Protocol-Version", "more than once")),
    Row("unsupported version in _meta alone is a mismatch", _set(VERSION_KEY, OLD),
        mismatch("MCP-Protocol-Version", OLD)),
    *(
        Row(f"version {version!r} in both is unsupported", _set(VERSION_KEY, version).instead(
            b"MCP-Protocol-Version: " + version.encode()), unsupported(version))
        for version in (OLD, "2099-01-01", "v999", "", "DRAFT-2026-v1")
    ),
    Row("missing _meta wins over a missing version header",
        ADD.drop("params._meta").without(b"MCP-Protocol-Version"),
        bad_params("params._meta")),
    Row("missing capabilities win over a version header that differs",
        _without(CAPABILITIES_KEY).instead(b"MCP-Protocol-Version: v999"),
        bad_params("params._meta", CAPABILITIES_KEY)),
    Row("missing _meta wins over a version header that is unsupported",
        ADD.drop("params._meta").instead(b"MCP-Protocol-Version: v999"),
        bad_params("params._meta")),
    Row("missing version header wins over an unsupported version",
        _set(VERSION_KEY, OLD).without(b"MCP-Protocol-Version"), mismatch("missing")),
    Row("unsupported version wins over a missing Mcp-Method",
        _set(VERSION_KEY, OLD).instead(b"MCP-Protocol-Version: 2025-11-25").without(b"Mcp-Method"),
        unsupported(OLD)),
    Row("unsupported version wins over a log level that is none",
        _set(VERSION_KEY, OLD).instead(b"MCP-Protocol-Version: 2025-11-25").meta(logLevel="x"),
        unsupported(OLD)),
)  # fmt: skip

ROWS: Final = (*_META, *_VERSIONS)
