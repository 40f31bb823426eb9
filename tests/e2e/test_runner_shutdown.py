"""How the runner ends, whoever wants it to and whoever is in the way."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from genmcp.transport.port_config import PortConfig
from tests.e2e.raw_http import (
    GET,
    HANG_GUARD_SECONDS,
    Client,
    Running,
    Streaming,
    connect,
    hello,
    read_all,
    run_port,
    running,
)

UNBEARABLE_SECONDS = 3600


async def stall(server: Running, app: Streaming) -> trio.SocketStream:
    """Return a client that asks for an endless stream, and reads nothing of it."""
    stream = await connect(server)
    await stream.send_all(GET)
    await app.started.wait()
    return stream


def make_endless() -> Streaming:
    return Streaming(b"x" * 100_000, endless=True)


async def test_stopped_it_refuses_connections_and_returns() -> None:
    async with running(hello) as server:
        server.stop.set()
        await server.ended.wait()
        with pytest.raises(OSError, match="all attempts to connect"):
            await connect(server)


async def test_stopped_it_closes_idle_connections_at_once() -> None:
    async with running(hello, grace_seconds=UNBEARABLE_SECONDS) as server:
        used, unused = await connect(server), await connect(server)
        async with used, unused:
            assert (await Client(used).ask()).status == 200
            server.stop.set()
            assert await read_all(used) == b""
            assert await read_all(unused) == b""
        await server.ended.wait()


async def test_stopped_it_closes_a_connection_with_half_a_head() -> None:
    async with (
        running(hello, grace_seconds=UNBEARABLE_SECONDS) as server,
        await connect(server) as stream,
    ):
        assert (await Client(stream).ask()).status == 200
        await stream.send_all(GET[:10])
        server.stop.set()
        await server.ended.wait()


async def test_a_drained_stream_ends_whole_and_says_that_the_connection_closes() -> None:
    app = Streaming()
    async with running(app, drain=app.drain, grace_seconds=UNBEARABLE_SECONDS) as server:
        async with await connect(server) as stream:
            await stream.send_all(GET)
            await app.started.wait()
            server.stop.set()
            assert (await Client(stream).read_answer()).body == b"tick\nbye"
            assert await read_all(stream) == b""
        await server.ended.wait()


async def test_an_answer_that_begins_in_the_shutdown_announces_the_close() -> None:
    started, go = trio.Event(), trio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        started.set()
        await go.wait()
        await hello(scope, receive, send)

    async def drain(_grace_seconds: float) -> None:
        go.set()

    async with running(slow, drain=drain) as server, await connect(server) as stream:
        await stream.send_all(GET)
        await started.wait()
        server.stop.set()
        answer = await Client(stream).read_answer()
    assert answer.body == b"hello"
    assert answer.headers["connection"] == "close"


async def test_drain_is_told_its_time_after_the_port_is_closed() -> None:
    told: list[float] = []
    servers: list[Running] = []

    async def drain(seconds: float) -> None:
        told.append(seconds)
        with pytest.raises(OSError, match="all attempts to connect"):
            await connect(servers[0])

    async with running(hello, drain=drain, grace_seconds=UNBEARABLE_SECONDS) as server:
        servers.append(server)
        server.stop.set()
        await server.ended.wait()
    assert len(told) == 1
    # Some of it is for the last bytes.
    assert UNBEARABLE_SECONDS * 0.8 < told[0] < UNBEARABLE_SECONDS


async def test_a_drain_that_raises_does_not_stop_the_shutdown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def drain(_grace_seconds: float) -> None:
        raise RuntimeError("no drain")

    async with running(hello, drain=drain) as server:
        server.stop.set()
        await server.ended.wait()
    assert "no drain" in caplog.text


@pytest.mark.asgi_only
async def test_a_drain_that_does_not_return_in_time_is_awaited_with_no_time_left() -> None:
    told: list[float] = []
    ended: list[bool] = []

    async def drain(seconds: float) -> None:
        told.append(seconds)
        try:
            await trio.sleep_forever()
        finally:
            ended.append(True)

    async with running(hello, drain=drain, grace_seconds=0.1) as server:
        server.stop.set()
        await server.ended.wait()
    assert [seconds > 0 for seconds in told] == [True, False]
    assert ended == [True, True]


async def test_what_is_left_after_the_grace_time_is_cut() -> None:
    app = Streaming()  # and nobody drains it
    async with running(app, grace_seconds=0.1) as server, await connect(server) as stream:
        await stream.send_all(GET)
        await app.started.wait()
        server.stop.set()
        await server.ended.wait()
        assert not (await read_all(stream)).endswith(b"0\r\n\r\n")


async def test_a_client_that_stopped_reading_does_not_hold_up_the_shutdown() -> None:
    app = make_endless()
    async with running(app, grace_seconds=0.1) as server, await stall(server, app):
        server.stop.set()
        await server.ended.wait()
        assert app.open == 0


async def test_a_client_that_stopped_reading_does_not_hold_up_cancellation() -> None:
    app = make_endless()
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            config = PortConfig(port=0, grace_seconds=UNBEARABLE_SECONDS)
            urls = await nursery.start(run_port, app, config)
            server = Running(urls, trio.Event(), trio.Event())
            stream = await stall(server, app)
            nursery.cancel_scope.cancel()
        assert app.open == 0
        await stream.aclose()


async def test_a_client_that_stopped_reading_is_dropped_in_time() -> None:
    app = make_endless()
    async with running(app, write_timeout_seconds=0.1) as server, await stall(server, app):
        # Its write may fail first, or it may be told first.
        await app.left.wait()


async def test_a_write_that_is_cancelled_closes_the_connection() -> None:
    cancelled = trio.Event()

    async def impatient(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        with trio.move_on_after(0.1):
            while True:
                await send({"type": "http.response.body", "body": bytes(99_999), "more_body": True})
        cancelled.set()
        await send({"type": "http.response.body", "body": b"and on"})

    async with running(impatient) as server, await connect(server) as stream:
        await stream.send_all(GET)
        await cancelled.wait()
        assert b"and on" not in await read_all(stream)


async def test_cancelled_it_still_lets_streams_say_goodbye() -> None:
    app = Streaming()
    async with trio.open_nursery() as nursery:
        with trio.fail_after(HANG_GUARD_SECONDS):
            config = PortConfig(port=0, grace_seconds=UNBEARABLE_SECONDS)

            async def serve(task_status: trio.TaskStatus[list[str]]) -> None:
                with trio.CancelScope() as scope:
                    serving.append(scope)
                    await run_port(app, config, drain=app.drain, task_status=task_status)
                assert scope.cancelled_caught

            serving: list[trio.CancelScope] = []
            server = Running(await nursery.start(serve), trio.Event(), trio.Event())
            async with await connect(server) as stream:
                await stream.send_all(GET)
                await app.started.wait()
                serving[0].cancel()
                assert (await Client(stream).read_answer()).body == b"tick\nbye"


async def test_cancelled_within_a_long_grace_it_ends_soon() -> None:
    app = Streaming()  # and nobody drains it
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            stop = trio.Event()
            draining = trio.Event()

            async def drain(seconds: float) -> None:
                draining.set()
                await trio.sleep(max(seconds, 0))

            async def serve(task_status: trio.TaskStatus[list[str]]) -> None:
                config = PortConfig(port=0, grace_seconds=UNBEARABLE_SECONDS)
                await run_port(app, config, drain=drain, stop=stop, task_status=task_status)

            server = Running(await nursery.start(serve), stop, trio.Event())
            stream = await connect(server)
            await stream.send_all(GET)
            await app.started.wait()
            stop.set()
            await draining.wait()
            nursery.cancel_scope.cancel()
    assert app.open == 0
    await stream.aclose()


@pytest.mark.asgi_only
async def test_an_application_that_fails_in_its_lifespan_shutdown_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "lifespan"
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        raise RuntimeError("no goodbye")

    async with running(app) as server:
        server.stop.set()
        await server.ended.wait()
    assert "no goodbye" in caplog.text


@pytest.mark.asgi_only
async def test_a_lifespan_that_does_not_end_is_cancelled() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "lifespan"
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await trio.sleep_forever()

    async with running(app, grace_seconds=0) as server:
        server.stop.set()
        await server.ended.wait()
