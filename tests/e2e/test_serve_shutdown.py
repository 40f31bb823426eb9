"""Handlers that do not want to end, against a `serve` that is told to."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from genmcp.channel import Channel
from genmcp.cli.remote import RemoteEndpoint
from genmcp.providers import Tool
from genmcp.suite import Suite
from genmcp.testing import Client
from genmcp.transport.asgi import StreamableHTTP
from genmcp.transport.serve import serve
from tests.e2e.raw_http import HANG_GUARD_SECONDS

KEY = "k" * 32
UNBEARABLE_SECONDS = 3600
"""Far beyond the guard: whoever waits for this fails the test."""

Body = Callable[[Channel], Awaitable[None]]


async def clean_up_for_ever(_channel: Channel) -> None:
    try:
        await trio.sleep_forever()
    finally:
        await trio.sleep_forever()


async def swallow_the_cancellation(_channel: Channel) -> None:
    with suppress(trio.Cancelled):
        await trio.sleep_forever()
    await trio.sleep_forever()


async def clean_up_for_ever_in_a_nursery(channel: Channel) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clean_up_for_ever, channel)
        nursery.start_soon(swallow_the_cancellation, channel)


async def clean_up_for_ever_in_a_child(channel: Channel) -> None:
    channel.start_soon(clean_up_for_ever, channel)
    await trio.sleep_forever()


class Stubborn(Tool[dict[str, Any]], name="stubborn", description="Does not want to end."):
    def __init__(self, body: Body) -> None:
        self.started = trio.Event()
        self.ended = trio.Event()
        self._body = body

    async def call(self, request: Any, channel: Channel) -> str:
        await channel.start_stream()
        self.started.set()
        try:
            await self._body(channel)
        finally:
            self.ended.set()
        return "never"


def make_suite(*tools: Tool[Any, Any]) -> Suite:
    return Suite(server_name="test", server_version="1", tools=tools)


async def listen(url: str, name: str) -> None:
    """Call a tool, and read until its stream ends.

    On a machine so busy that the short grace time is over at once, it is cut instead.
    """
    try:
        async with Client(RemoteEndpoint(url)).open("tools/call", {"name": name}) as answer:
            codes = [message["error"]["code"] async for message in answer]
    except* OSError:
        pass
    else:
        assert codes == [-32603]


async def can_be_asked(url: str) -> bool:
    async with Client(RemoteEndpoint(url)).open("server/discover") as answer:
        return answer.response.status == 200


bodies = pytest.mark.parametrize(
    "body",
    [
        clean_up_for_ever,
        swallow_the_cancellation,
        clean_up_for_ever_in_a_nursery,
        clean_up_for_ever_in_a_child,
    ],
    ids=lambda body: body.__name__,
)


@bodies
async def test_stopped_it_waits_for_nobody_beyond_the_grace_time(body: Body) -> None:
    tool, stop = Stubborn(body), trio.Event()
    start = partial(
        serve,
        make_suite(tool),
        port=0,
        secret_key=KEY,
        stop=stop,
        grace_seconds=0.5,
        cleanup_seconds=UNBEARABLE_SECONDS,
    )
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            (url,) = await nursery.start(start)
            nursery.start_soon(listen, url, "stubborn")
            await tool.started.wait()
            stop.set()
    assert tool.ended.is_set()


@bodies
@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
async def test_cancelled_it_waits_for_nobody(body: Body, *, stopped: bool) -> None:
    tool, stop = Stubborn(body), trio.Event()
    start = partial(
        serve,
        make_suite(tool),
        port=0,
        secret_key=KEY,
        stop=stop,
        grace_seconds=UNBEARABLE_SECONDS,
        cleanup_seconds=UNBEARABLE_SECONDS,
    )
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as clients, trio.open_nursery() as nursery:
            (url,) = await nursery.start(start)
            clients.start_soon(listen, url, "stubborn")
            await tool.started.wait()
            if stopped:
                stop.set()
                await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
    assert tool.ended.is_set()


async def test_stopped_before_it_began_it_returns() -> None:
    stop = trio.Event()
    stop.set()
    with trio.fail_after(HANG_GUARD_SECONDS):
        await serve(make_suite(), port=0, secret_key=KEY, stop=stop)


async def test_an_endpoint_that_was_stopped_is_not_served_again() -> None:
    app = StreamableHTTP(make_suite(), secret_key=KEY)
    stop = trio.Event()
    stop.set()
    with trio.fail_after(HANG_GUARD_SECONDS):
        await serve(app, port=0, stop=stop)
        with pytest.raises(RuntimeError, match="make a new one"):
            await serve(app, port=0)


async def test_a_server_that_was_stopped_is_served_again() -> None:
    suite, stop = make_suite(), trio.Event()
    stop.set()
    with trio.fail_after(HANG_GUARD_SECONDS):
        await serve(suite, port=0, secret_key=KEY, stop=stop)
        async with trio.open_nursery() as nursery:
            (url,) = await nursery.start(partial(serve, suite, port=0, secret_key=KEY))
            assert await can_be_asked(url)
            nursery.cancel_scope.cancel()


async def test_one_server_at_two_ports_ends_at_each_by_itself() -> None:
    suite, stop, ended = make_suite(), trio.Event(), trio.Event()

    async def run(task_status: trio.TaskStatus[list[str]]) -> None:
        await serve(suite, port=0, secret_key=KEY, stop=stop, task_status=task_status)
        ended.set()

    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            await nursery.start(run)
            (url,) = await nursery.start(partial(serve, suite, port=0, secret_key=KEY))
            stop.set()
            await ended.wait()
            assert await can_be_asked(url)
            nursery.cancel_scope.cancel()


async def test_a_signal_stops_all_who_listen_and_the_handlers_are_given_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    first_stop = trio.Event()
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            start = partial(serve, make_suite(), port=0, secret_key=KEY, handle_signals=True)
            async with trio.open_nursery() as first:
                await first.start(partial(start, stop=first_stop))
                await nursery.start(start)
                await nursery.start(start)
                # Whoever came first leaves first: its handler is not the one to put back.
                first_stop.set()
            assert signal.getsignal(signal.SIGTERM) is not before[1]
            signal.raise_signal(signal.SIGTERM)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
