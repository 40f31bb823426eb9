"""Whatever an application raises is the crash of one request, or of one connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState

from genmcp.transport.port_config import PortConfig
from genmcp.transport.runner import run_asgi
from genmcp.transport.runner.connection import Service
from genmcp.transport.runner.door import Door
from tests.e2e.raw_http import (
    GET,
    HANG_GUARD_SECONDS,
    Streaming,
    ask_anew,
    connect,
    hello,
    read_all,
    running,
)


class Panic(BaseException):
    """As native libraries have it: no `Exception`, and known to nobody."""


def make_group(*errors: BaseException) -> BaseException:
    return BaseExceptionGroup("several", [BaseExceptionGroup("inside", list(errors))])


CRASHES: dict[str, Callable[[], BaseException]] = {
    "Exception": ValueError,
    "BaseException": Panic,
    "asyncio's cancellation": asyncio.CancelledError,
    "GeneratorExit": GeneratorExit,
    "SystemExit": lambda: SystemExit(3),
    "group of Panic": lambda: make_group(Panic()),
    "group of asyncio's cancellation": lambda: make_group(asyncio.CancelledError()),
    "group of GeneratorExit": lambda: make_group(GeneratorExit()),
    "group of SystemExit": lambda: make_group(SystemExit(3)),
    "group of several": lambda: make_group(ValueError(), Panic(), SystemExit(3)),
}
crashes = pytest.mark.parametrize("make", CRASHES.values(), ids=CRASHES.keys())


async def catch_cancellation() -> trio.Cancelled:
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.sleep_forever()
        except trio.Cancelled as error:
            return error
    raise AssertionError


@crashes
async def test_what_an_application_raises_costs_its_request_only(
    make: Callable[[], BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    stream_app = Streaming()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["raw_path"] == b"/stream":
            await stream_app(scope, receive, send)
        elif scope["type"] == "http":
            raise make()

    async with running(app) as server, await connect(server) as other:
        await other.send_all(GET.replace(b"/", b"/stream", 1))
        await stream_app.started.wait()
        assert [(await ask_anew(server)).status for _ in range(2)] == [500, 500]
        assert stream_app.open == 1
    errors = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert errors == ["The ASGI application failed at '/'"] * 2


@pytest.mark.parametrize("grouped", [False, True], ids=["bare", "in a group"])
async def test_a_cancellation_out_of_its_scope_is_a_crash(*, grouped: bool) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            error = await catch_cancellation()
            raise make_group(error) if grouped else error

    async with running(app) as server:
        assert [(await ask_anew(server)).status for _ in range(2)] == [500, 500]


async def test_a_crash_beside_a_cancellation_is_logged_and_the_cancellation_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    started = trio.Event()

    async def crash_late() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise Panic

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(crash_late)
            nursery.start_soon(trio.sleep_forever)
            started.set()

    async with running(app, grace_seconds=0.1) as server, await connect(server) as stream:
        await stream.send_all(GET)
        await started.wait()
        server.stop.set()
        await server.ended.wait()
    assert "The ASGI application failed at '/'" in caplog.text


@pytest.mark.parametrize("grouped", [False, True], ids=["bare", "in a group"])
async def test_a_keyboard_interrupt_ends_the_server(*, grouped: bool) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            raise make_group(KeyboardInterrupt(), Panic()) if grouped else KeyboardInterrupt

    async def ask() -> None:
        async with running(app) as server, await connect(server) as stream:
            await stream.send_all(GET)
            await server.ended.wait()

    with pytest.raises(BaseExceptionGroup) as caught:
        await ask()
    assert caught.value.subgroup(KeyboardInterrupt) is not None
    assert caught.value.subgroup(Panic) is None


@crashes
async def test_what_a_lifespan_raises_while_it_serves_costs_nothing_else(
    make: Callable[[], BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    go, gone = trio.Event(), trio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await hello(scope, receive, send)
            return
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await go.wait()
        gone.set()
        raise make()

    async with running(app) as server:
        go.set()
        await gone.wait()
        assert (await ask_anew(server)).status == 200
        server.stop.set()
        await server.ended.wait()
    assert sum(record.levelname == "ERROR" for record in caplog.records) == 1


async def test_a_process_may_be_ended_by_the_start_of_its_lifespan() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise SystemExit(3)

    with trio.fail_after(HANG_GUARD_SECONDS), pytest.raises(BaseExceptionGroup) as caught:
        await run_asgi(app, PortConfig(port=0))
    assert caught.value.subgroup(SystemExit) is not None


@crashes
async def test_what_fails_in_a_connection_costs_that_connection_only(
    make: Callable[[], BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Config):
        @property
        def h11_max_incomplete_size(self) -> int:  # type: ignore[override]
            raise make()

    service = Service(
        app=ASGIWrapper(hello),
        config=PortConfig(),
        hypercorn=Broken(),
        context=WorkerContext(None),
        state=ConnectionState({}),
    )
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Door(service, None, nursery).accept, listener)
            for _ in range(2):
                async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                    assert await read_all(stream) == b""
            nursery.cancel_scope.cancel()
    errors = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert errors == ["A connection failed and is closed; the others go on"] * 2
