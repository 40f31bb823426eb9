"""Requests that are right, though few clients make them so."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from tests.e2e.raw_http import Streaming, connect, hello, read_all, read_status, running, say


async def tell(scope: Any, receive: Any, send: Any) -> None:
    """Answer what was asked for: path, query and hosts."""
    assert scope["type"] == "http"
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    body = b" ".join([scope["path"].encode(), scope["query_string"] or b"-", *hosts])
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def make_head(target: bytes, *, host: bytes = b"localhost", version: bytes = b"1.1") -> bytes:
    return b"POST %s HTTP/%s\r\nHost: %s\r\nContent-Length: 0\r\n\r\n" % (target, version, host)


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (b"/mcp", b"/mcp - localhost"),
        (b"http://other:1/mcp", b"/mcp - other:1"),
        (b"HTTP://[::1]:80/mcp/", b"/mcp/ - [::1]:80"),
        (b"http://other/mcp?a=http://x/y", b"/mcp a=http://x/y other"),
        (b"http://other", b"/ - other"),
        (b"http://other?a", b"/ a other"),
        (b"http://other//mcp", b"//mcp - other"),
        (b"/http://other/mcp", b"/http://other/mcp - localhost"),
    ],
)
async def test_a_whole_url_as_the_target_gives_path_and_host(target: bytes, told: bytes) -> None:
    async with running(tell) as server:
        assert told in (await say(server, make_head(target))).split(b"\r\n")


async def test_a_whole_url_gives_the_host_where_there_is_no_header() -> None:
    async with running(tell) as server:
        answer = await say(server, b"GET http://other/mcp HTTP/1.0\r\n\r\n")
    assert answer.endswith(b"/mcp - other")


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (b"http:///mcp", 400),
        (b"http://:80/mcp", 400),
        (b"http://user@localhost/mcp", 400),
        (b"http://localhost/mcp#part", 400),
        (b"http:/mcp", 400),
        (b"https://localhost/mcp", 421),
    ],
)
async def test_a_target_that_is_no_url_of_this_server_is_refused(
    target: bytes, status: int
) -> None:
    async with running(tell) as server:
        answer = await say(server, make_head(target))
    assert read_status(answer) == status
    assert b'"code":-32600' in answer


@pytest.mark.parametrize(
    "last",
    [
        b"GET / HTTP/1.0\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    ],
    ids=["1.0", "close"],
)
async def test_bytes_behind_the_last_request_change_nothing_of_its_answer(last: bytes) -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await trio.sleep(0.02)
        await hello(scope, receive, send)

    async with running(slow) as server, await connect(server) as stream:
        await stream.send_all(last + b"noise" * 100)
        told = await read_all(stream)
        assert (read_status(told), told.count(b"HTTP/1.1")) == (200, 1)
        assert told.endswith(b"\r\n\r\nhello")


@pytest.mark.usefixtures("unhurried_answers")
async def test_a_client_that_half_closes_gets_what_is_answered_quickly() -> None:
    async def brief(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await trio.sleep(0.02)  # so that the end of the request is seen first
        await hello(scope, receive, send)

    async with running(brief) as server:
        one = await say(server, make_head(b"/"))
        # Two at once: the second waits in the server while the first is answered.
        both = await say(server, make_head(b"/") * 2)
    assert one.endswith(b"\r\n\r\nhello")
    assert both.count(b"\r\n\r\nhello") == 2


async def test_a_client_that_half_closes_loses_what_takes_long() -> None:
    app = Streaming()
    async with running(app) as server, await connect(server) as stream:
        await stream.send_all(make_head(b"/"))
        await app.started.wait()
        await stream.send_eof()
        assert not (await read_all(stream)).endswith(b"0\r\n\r\n")
    assert app.told == "http.disconnect"


async def test_a_client_that_leaves_within_its_body_is_gone_at_once() -> None:
    told: list[str] = []
    gone = trio.Event()

    async def listen(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        while not told or told[-1] == "http.request":
            told.append((await receive())["type"])
        gone.set()

    async with running(listen) as server:
        stream = await connect(server)
        await stream.send_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf")
        await stream.aclose()
        await gone.wait()
    assert told == ["http.request", "http.disconnect"]
