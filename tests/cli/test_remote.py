"""Servers elsewhere, which write in ways of their own, or are none."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import h11
import pytest
import trio

from genmcp.cli import main
from tests.e2e.raw_http import HANG_GUARD_SECONDS
from tests.e2e.tls import write_certificate

RESULT = {"resultType": "complete", "content": [{"type": "text", "text": "done\u2028so"}]}
PROGRESS = {
    "jsonrpc": "2.0",
    "method": "notifications/progress",
    "params": {"progressToken": "work", "progress": 1, "total": 2},
}
UNASKED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
EVENTS = "text/event-stream"

Write = Callable[[int], bytes]
"""Makes the body from the id of the request."""


def respond(request_id: int, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, **(members or {"result": RESULT})}


def write_events(request_id: int, *, end: str, indent: int | None = None) -> bytes:
    """Write an event for each message, with the line ends of one's choice."""
    stream = f": hello{end}{end}id: 0{end}data:{end}{end}"
    for message in (PROGRESS, UNASKED, respond(request_id)):
        lines = json.dumps(message, indent=indent, ensure_ascii=False).split("\n")
        data = end.join(f"data: {line}" for line in lines)
        stream += f"event: message{end}{data}{end}{end}"
    return b"\xef\xbb\xbf" + stream.encode()


@asynccontextmanager
async def serve_connections(
    handle: Callable[[trio.SocketStream], Awaitable[None]],
) -> AsyncIterator[str]:
    """Let `handle` have each connection; give where it listens."""

    async def accept(stream: trio.SocketStream) -> None:
        async with stream:
            await handle(stream)

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
            nursery.start_soon(trio.serve_listeners, accept, [listener])
            yield f"127.0.0.1:{listener.socket.getsockname()[1]}/mcp"
            nursery.cancel_scope.cancel()


@asynccontextmanager
async def serve_answer(write: Write, *, content_type: str, status: int = 200) -> AsyncIterator[str]:
    """Serve the same answer to every request; give the URL."""

    async def answer(stream: trio.SocketStream) -> None:
        connection = h11.Connection(h11.SERVER)
        body = b""
        while not isinstance(event := connection.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                connection.receive_data(await stream.receive_some())
            elif isinstance(event, h11.Data):
                body += event.data
        head = h11.Response(status_code=status, headers=[("Content-Type", content_type)])
        parts = (head, h11.Data(data=write(json.loads(body)["id"])), h11.EndOfMessage())
        await stream.send_all(b"".join(connection.send(part) or b"" for part in parts))

    async with serve_connections(answer) as place:
        yield f"http://{place}"


async def call(url: str) -> int:
    # The command runs a loop of its own, in a thread that has none.
    return await trio.to_thread.run_sync(main, ["call", url, "work"])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("content_type", [EVENTS, "Text/Event-Stream; charset=utf-8"])
async def test_events_are_read_however_they_are_written(
    end: str, indent: int | None, content_type: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write = partial(write_events, end=end, indent=indent)
    async with serve_answer(write, content_type=content_type) as url:
        assert await call(url) == 0
    captured = capsys.readouterr()
    assert captured.out == "done\u2028so\n"
    assert captured.err == "1/2\n"


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8"])
async def test_one_message_is_read(content_type: str, capsys: pytest.CaptureFixture[str]) -> None:
    def write(request_id: int) -> bytes:
        return json.dumps(respond(request_id), indent=1).encode()

    async with serve_answer(write, content_type=content_type) as url:
        assert await call(url) == 0
    assert capsys.readouterr().out == "done\u2028so\n"


ODD = {
    "a page": ("text/html", b"<h1>Bad gateway</h1>", "answered 502, and no JSON-RPC: <h1>Bad"),
    "nothing": ("text/plain", b"", "answered 502, and no JSON-RPC: nothing"),
    "other JSON": ("application/json", b'{"detail": "no"}', 'no JSON-RPC: {"detail": "no"}'),
    "a list": ("application/json", b"[]", "no JSON-RPC: []"),
    "an event that is no JSON": (EVENTS, b"data: hello\n\n", "no JSON-RPC: hello"),
    "no response": (EVENTS, b": hello\n\n", "the stream ended without a response"),
    "for another": (
        "application/json",
        b'{"jsonrpc": "2.0", "id": "other", "result": {}}',
        "this answers another request",
    ),
    "half a response": ("application/json", b'{"jsonrpc": "2.0"}', "this is no response"),
    "half an error": (
        "application/json",
        b'{"jsonrpc": "2.0", "error": "no"}',
        "this is no error of JSON-RPC",
    ),
    "a request": (
        EVENTS,
        b'data: {"jsonrpc": "2.0", "id": 1, "method": "ping"}\n\n',
        "a server must not send requests",
    ),
}


@pytest.mark.parametrize("name", ODD)
async def test_what_is_no_answer_is_one_line_with_status_1(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content_type, body, says = ODD[name]
    async with serve_answer(lambda _: body, content_type=content_type, status=502) as url:
        assert await call(url) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert url in line
    assert says in line


async def test_a_result_that_is_none_of_a_tool_is_one_line_with_status_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def write(request_id: int) -> bytes:
        return json.dumps(respond(request_id, result={"content": 5})).encode()

    async with serve_answer(write, content_type="application/json") as url:
        assert await call(url) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{url} does not keep to MCP 2026-07-28: " in line


async def hang_up(stream: trio.SocketStream) -> None:
    await stream.receive_some()
    await stream.send_eof()
    while await stream.receive_some():
        pass


async def speak_plainly(stream: trio.SocketStream) -> None:
    await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await hang_up(stream)


@pytest.mark.parametrize(
    ("scheme", "handle", "says"),
    [
        ("http", hang_up, "closed the connection without an answer; is it one for https?"),
        ("https", speak_plainly, "broke: no TLS is spoken there; is it one for http?"),
    ],
)
async def test_other_scheme_is_suggested(
    scheme: str,
    handle: Callable[[trio.SocketStream], Awaitable[None]],
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with serve_connections(handle) as place:
        assert await call(f"{scheme}://{place}") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{scheme}://{place}" in line
    assert says in line


async def test_certificate_that_is_not_trusted_is_named_with_the_way_to_trust_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    write_certificate(tmp_path / "server.pem")
    context.load_cert_chain(tmp_path / "server.pem")

    async def shake_hands(stream: trio.SocketStream) -> None:
        with pytest.raises(trio.BrokenResourceError):
            await trio.SSLStream(stream, context, server_side=True).do_handshake()

    async with serve_connections(shake_hands) as place:
        assert await call(f"https://{place}") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "its certificate is not trusted: self-signed certificate" in line
    assert "SSL_CERT_FILE" in line
