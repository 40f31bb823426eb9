"""What clients say, well formed: the seeds of all that is not."""

from __future__ import annotations

import json
from typing import Any, Final

import h2.config
import h2.connection

VERSION: Final = "2026-07-28"
META: Final = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
Pairs = list[tuple[bytes, bytes]]


def make_message(method: str, params: dict[str, Any], request_id: object = 1) -> dict[str, Any]:
    """Return a JSON-RPC request; a notification if its id is `None`."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if request_id is not None:
        message["id"] = request_id
        message["params"] = {**params, "_meta": {**META, **params.get("_meta", {})}}
    return message


def make_headers(message: dict[str, Any]) -> Pairs:
    """Return the headers of its POST, without those that say how long it is."""
    params = message["params"]
    pairs: Pairs = [
        (b"Host", b"localhost"),
        (b"Content-Type", b"application/json"),
        (b"Accept", b"application/json, text/event-stream"),
        (b"MCP-Protocol-Version", VERSION.encode()),
        (b"Mcp-Method", message["method"].encode()),
    ]
    name = params.get("name", params.get("uri"))
    return pairs if name is None else [*pairs, (b"Mcp-Name", str(name).encode())]


def render_post(message: dict[str, Any], *more: tuple[bytes, bytes], chunks: int = 0) -> bytes:
    """Return the whole request; its body in so many chunks, if in any."""
    body = json.dumps(message).encode()
    size = (b"Transfer-Encoding", b"chunked") if chunks else (b"Content-Length", b"%d" % len(body))
    lines = [b"%s: %s" % pair for pair in [*make_headers(message), *more, size]]
    head = b"\r\n".join([b"POST /mcp HTTP/1.1", *lines, b"", b""])
    if not chunks:
        return head + body
    step = max(1, len(body) // chunks)
    pieces = [body[at : at + step] for at in range(0, len(body), step)]
    return head + b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in pieces) + b"0\r\n\r\n"


def make_call(name: str, request_id: object = 1, /, **arguments: Any) -> dict[str, Any]:
    """Return a call of a tool."""
    return make_message("tools/call", {"name": name, "arguments": arguments}, request_id)


def list_messages() -> list[dict[str, Any]]:
    """Return one message of each kind."""
    progress = {"_meta": {"progressToken": "t"}}
    listen = {"notifications": {"toolsListChanged": True}}
    reference = {"type": "ref/prompt", "name": "greet"}
    asked = {"ref": reference, "argument": {"name": "who", "value": "a"}}
    return [
        make_message("server/discover", {}),
        make_message("tools/list", {}),
        make_message("prompts/list", {}),
        make_message("prompts/get", {"name": "greet", "arguments": {"who": "you"}}),
        make_message("resources/list", {}),
        make_message("resources/read", {"uri": "memo://1"}),
        make_message("completion/complete", asked),
        make_message("subscriptions/listen", listen),
        make_call("add", a=1, b=2),
        make_call("add", a="no", b=[]),
        make_call("wait", seconds=0.02),
        make_call("wait", seconds=30),
        make_call("ask"),
        make_call("fail"),
        make_call("large", size=300_000),
        make_message("tools/call", {"name": "count", "arguments": {"steps": 20}, **progress}),
        make_message("notifications/cancelled", {"requestId": 1}, None),
        make_message("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}}),
    ]


def make_http2() -> list[bytes]:
    """Return what clients of HTTP/2 begin with, and go on with."""
    config = h2.config.H2Configuration(
        validate_outbound_headers=False, normalize_outbound_headers=False
    )
    message = make_call("add", a=1, b=2)
    pseudo = [(b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"localhost")]
    headers = [*pseudo, (b":path", b"/mcp")]
    headers += [(name.lower(), value) for name, value in make_headers(message)[1:]]
    connection = h2.connection.H2Connection(config)
    connection.initiate_connection()
    preface = connection.data_to_send()
    connection.send_headers(1, headers)
    connection.send_data(1, json.dumps(message).encode(), end_stream=True)
    connection.ping(b"12345678")
    connection.send_headers(3, headers)
    connection.reset_stream(3)
    connection.send_headers(5, [*headers, (b"x", b"y" * 9000)])
    connection.increment_flow_control_window(1000)
    connection.close_connection()
    frames = connection.data_to_send()
    return [preface, preface + frames, frames, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", preface[:20]]


_TLS_HELLO: Final = bytes.fromhex(
    "16030100a5010000a10303" + "ab" * 32 + "20" + "cd" * 32 + "0008130113021303c02b0100"
)


def make_corpus() -> list[bytes]:
    """Return all seeds."""
    posts = list_messages()
    add = make_call("add", a=1, b=2)
    websocket = [
        (b"Upgrade", b"websocket"),
        (b"Connection", b"Upgrade"),
        (b"Sec-WebSocket-Version", b"13"),
        (b"Sec-WebSocket-Key", b"dGhlIHNhbXBsZSBub25jZQ=="),
    ]
    h2c = [
        (b"Upgrade", b"h2c"),
        (b"Connection", b"Upgrade, HTTP2-Settings"),
        (b"HTTP2-Settings", b"AAMAAABkAAQAAP__"),
    ]
    get = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return [
        *(render_post(one) for one in posts),
        *(render_post(one, chunks=4) for one in posts[:6]),
        render_post(add, chunks=1000),
        b"".join(render_post(one) for one in posts[:9]),
        render_post(add) * 20,
        render_post(make_call("wait", seconds=0.05)) + render_post(add) * 5,
        render_post(make_call("wait", seconds=5)) + get * 500,
        render_post(add, (b"Expect", b"100-continue")),
        render_post(add, (b"Connection", b"close")) + render_post(add),
        render_post(add, *websocket) + b"\x81\x85\x00\x00\x00\x00hello",
        render_post(add, *h2c) + make_http2()[0] + render_post(add),
        render_post(add, (b"Origin", b"https://evil.example")),
        render_post(add).replace(b"HTTP/1.1", b"HTTP/1.0"),
        render_post(add, (b"Connection", b"keep-alive")).replace(b"HTTP/1.1", b"HTTP/1.0") * 2,
        render_post({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"a": [[[]]] * 50}}),
        get,
        get * 100,
        get.replace(b"GET", b"HEAD"),
        get.replace(b"GET", b"OPTIONS"),
        get.replace(b"GET", b"BREW") + get,
        get.replace(b"/mcp", b"http://localhost/mcp"),
        b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n" + get,
        b"\r\n" * 50 + get,
        *make_http2(),
        _TLS_HELLO,
    ]
