"""The runner with clients that mean well."""

from __future__ import annotations

import re
from typing import Any

import pytest
import trio

from genmcp.errors import find_sole_leaf
from genmcp.transport.port_config import PortConfig
from genmcp.transport.runner import run_asgi
from tests.e2e.raw_http import (
    GET,
    HANG_GUARD_SECONDS,
    Client,
    Streaming,
    ask_anew,
    connect,
    hello,
    measure,
    read_all,
    read_status,
    read_until,
    run_port,
    running,
)


async def test_port_0_binds_a_free_port_and_reports_it() -> None:
    async with running(hello) as one, running(hello) as other:
        assert one.urls == [f"http://127.0.0.1:{one.port}"]
        assert one.port not in {0, other.port}
        assert (await ask_anew(one)).body == b"hello"


async def test_an_ipv6_address_is_bracketed_in_its_url() -> None:
    try:
        async with running(hello, host="::1") as server:
            assert server.urls == [f"http://[::1]:{server.port}"]
    except* OSError:
        pytest.skip("no IPv6 here")


async def test_a_port_in_use_raises_the_bare_os_error() -> None:
    async with running(hello) as server:
        with pytest.raises(OSError, match="in use"):
            await run_port(hello, PortConfig(port=server.port))


async def test_a_connection_is_kept_for_the_next_request() -> None:
    async with running(measure) as server, await connect(server) as stream:
        client = Client(stream)
        answers = [await client.ask("POST", b"x" * size) for size in (0, 1, 1_000_000)]
    assert [answer.body for answer in answers] == [b"0", b"1", b"1000000"]


async def test_a_connection_is_kept_for_more_than_a_thousand_requests() -> None:
    async with running(hello) as server, await connect(server) as stream:
        client = Client(stream)
        for _ in range(1001):
            answer = await client.ask()
            assert (answer.body, "connection" in answer.headers) == (b"hello", False)


async def test_the_server_does_not_name_itself() -> None:
    async with running(hello) as server:
        assert set((await ask_anew(server)).headers) == {"content-length", "date"}


async def test_pipelined_requests_are_answered_in_order() -> None:
    async def count(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await trio.lowlevel.checkpoint()
        await send({"type": "http.response.body", "body": scope["raw_path"]})

    async with running(count) as server, await connect(server) as stream:
        await stream.send_all(b"".join(GET.replace(b"/ ", b"/%d " % n, 1) for n in range(5)))
        received = b""
        while b"\n/4" not in received:
            received += await stream.receive_some()
    assert re.findall(rb"\n/[0-4]", received) == [b"\n/0", b"\n/1", b"\n/2", b"\n/3", b"\n/4"]


@pytest.mark.parametrize(
    "last",
    [b"GET / HTTP/1.0\r\n\r\n", GET[:-2] + b"Connection: close\r\n\r\n"],
    ids=["1.0", "close"],
)
async def test_the_last_request_is_answered_told_so_and_closed(last: bytes) -> None:
    async with running(hello) as server, await connect(server) as stream:
        await stream.send_all(last)
        head, _, body = (await read_all(stream)).partition(b"\r\n\r\n")
    assert body == b"hello"
    assert [line.lower() for line in head.split(b"\r\n") if line[:10].lower() == b"connection"] == [
        b"connection: close"
    ]


async def test_an_offer_to_upgrade_is_answered_as_if_it_were_not_there() -> None:
    upgrade = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n"
    async with running(hello) as server:
        for protocol in (b"websocket", b"h2c"):
            async with await connect(server) as stream:
                client = Client(stream)
                assert (await client.ask_raw(upgrade % protocol)).body == b"hello"
                assert (await client.ask()).body == b"hello"


async def test_an_expected_continue_is_given() -> None:
    async with running(measure) as server, await connect(server) as stream:
        await stream.send_all(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n"
            b"Connection: close\r\n\r\n"
        )
        assert read_status(await read_until(stream, b"\r\n\r\n")) == 100
        await stream.send_all(b"ab")
        answer = await read_all(stream)
    assert read_status(answer) == 200
    assert re.search(rb"\r\n2(\r\n0\r\n\r\n)?$", answer)


async def test_a_connection_that_idles_too_long_is_closed() -> None:
    async with running(hello, idle_timeout_seconds=1) as server, await connect(server) as stream:
        assert (await Client(stream).ask()).body == b"hello"
        assert await read_all(stream) == b""


async def test_the_idle_time_does_not_run_during_an_answer() -> None:
    app = Streaming()
    async with running(app, idle_timeout_seconds=1) as server, await connect(server) as stream:
        await stream.send_all(GET)
        await app.started.wait()
        with trio.move_on_after(2.2):
            await app.left.wait()
        assert app.open == 1


async def test_many_short_connections_leave_nothing_behind() -> None:
    async with running(hello, max_connections=5) as server:
        for _ in range(50):
            assert (await ask_anew(server)).status == 200


@pytest.mark.asgi_only
async def test_an_application_that_raises_is_answered_500_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            raise RuntimeError("no luck")

    async with running(broken) as server:
        assert (await ask_anew(server)).status == 500
    (record,) = [one for one in caplog.records if one.levelname == "ERROR"]
    assert record.name == "genmcp.transport"
    assert "no luck" in caplog.text


@pytest.mark.asgi_only
async def test_an_application_that_raises_within_its_answer_cuts_it_visibly() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})
            raise RuntimeError("no luck")

    async with running(broken) as server:
        for _ in range(2):
            async with await connect(server) as stream:
                await stream.send_all(GET)
                received = await read_all(stream)
            assert received.endswith(b"4\r\nhalf\r\n")  # and no last chunk


async def test_a_response_larger_than_all_buffers_arrives_whole() -> None:
    whole = bytes(range(256)) * 40_000

    async def large(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": whole})

    async with running(large) as server:
        assert (await ask_anew(server)).body == whole


async def test_an_early_answer_survives_a_body_nobody_reads() -> None:
    async with running(hello) as server, await connect(server) as stream:
        async with trio.open_nursery() as nursery:

            async def send_much() -> None:
                head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n"
                try:
                    await stream.send_all(head + bytes(2_000_000))
                except trio.BrokenResourceError:
                    pytest.fail("reset while sending")

            nursery.start_soon(send_much)
            received = b""
            while not received.endswith(b"hello"):
                received += await stream.receive_some()
        assert received.startswith(b"HTTP/1.1 200")


class Lifespan:
    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.heard: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await hello(scope, receive, send)
            return
        for reply in self.replies:
            self.heard.append((await receive())["type"])
            await send({"type": f"lifespan.{reply}", "message": "told you"})


@pytest.mark.asgi_only
async def test_a_lifespan_is_started_before_and_shut_down_after_the_requests() -> None:
    app = Lifespan("startup.complete", "shutdown.complete")
    async with running(app) as server:
        assert app.heard == ["lifespan.startup"]
        assert (await ask_anew(server)).body == b"hello"
        server.stop.set()
        await server.ended.wait()
    assert app.heard == ["lifespan.startup", "lifespan.shutdown"]


@pytest.mark.asgi_only
async def test_a_lifespan_that_returns_without_a_word_is_none() -> None:
    async with running(Lifespan()) as server:
        assert (await ask_anew(server)).body == b"hello"
        server.stop.set()
        await server.ended.wait()


@pytest.mark.asgi_only
async def test_a_failed_startup_is_raised_and_frees_the_port() -> None:
    config = PortConfig(port=0)
    with trio.fail_after(HANG_GUARD_SECONDS), pytest.raises(ExceptionGroup) as caught:
        await run_asgi(Lifespan("startup.failed"), config)
    assert "told you" in str(find_sole_leaf(caught.value))


@pytest.mark.asgi_only
async def test_cancelled_in_the_startup_it_ends() -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await trio.sleep_forever()

    with trio.fail_after(HANG_GUARD_SECONDS), trio.move_on_after(0.05) as scope:
        await run_asgi(slow, PortConfig(port=0))
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    "options",
    [
        {"port": -1},
        {"port": 65536},
        {"grace_seconds": -1},
        {"max_connections": 0},
        {"backlog": 0},
        {"max_header_bytes": 0},
        {"idle_timeout_seconds": 0},
        {"read_timeout_seconds": 0},
        {"write_timeout_seconds": -0.5},
        {"certfile": "cert.pem"},
        {"keyfile": "key.pem"},
    ],
    ids=str,
)
def test_an_option_out_of_range_is_named(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        PortConfig(**options)
