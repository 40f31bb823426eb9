"""What a handler may still await once its call is cancelled, case by case."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from contextlib import aclosing
from typing import Any, TypeVar

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from genmcp.mux.cleanup import HandlerScope

T = TypeVar("T")
Step = Callable[[], Awaitable[object]]


async def run_in(scope: HandlerScope, body: Coroutine[Any, Any, T]) -> T | None:
    with scope.open():
        return await scope.run(body, on_late=lambda: None)


async def cancel_while(
    body: Step, *, cleanup_seconds: float = 5
) -> tuple[HandlerScope, trio.Event]:
    """Run `body` in a scope and cancel it once everything is blocked."""
    scope = HandlerScope(cleanup_seconds)
    ended = trio.Event()

    async def run() -> None:
        async def as_coroutine() -> None:
            await body()

        await run_in(scope, as_coroutine())
        ended.set()

    trio.lowlevel.spawn_system_task(run)
    await wait_all_tasks_blocked()
    scope.cancel()
    return scope, ended


async def lock_and_release() -> None:
    async with trio.Lock():
        await trio.lowlevel.checkpoint()


async def through_a_channel() -> None:
    send, receive = trio.open_memory_channel[int](1)
    await send.send(1)
    assert await receive.receive() == 1


async def in_a_nursery() -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 1)
        await trio.sleep(1)


async def in_a_thread() -> None:
    assert await trio.to_thread.run_sync(threading.get_ident) != threading.get_ident()


async def with_a_timeout() -> None:
    with trio.move_on_after(1) as scope:
        await trio.sleep_forever()
    assert scope.cancelled_caught


async def sleep_two_seconds() -> None:
    await trio.sleep(2)


CLEANUPS: list[Step] = [
    trio.lowlevel.checkpoint,
    trio.lowlevel.checkpoint_if_cancelled,
    sleep_two_seconds,
    lock_and_release,
    through_a_channel,
    in_a_nursery,
    with_a_timeout,
]


async def blocked_in_sleep() -> None:
    await trio.sleep_forever()


async def blocked_under_a_timeout() -> None:
    with trio.move_on_after(1_000):
        await trio.sleep_forever()


async def blocked_in_a_nursery_body() -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        await trio.sleep_forever()


async def blocked_on_a_lock() -> None:
    lock = trio.Lock()

    async def hold() -> None:
        await lock.acquire()
        await trio.sleep_forever()

    trio.lowlevel.spawn_system_task(hold)
    await wait_all_tasks_blocked()
    async with lock:
        pass


@pytest.mark.parametrize("cleanup", CLEANUPS)
@pytest.mark.parametrize("blocked", [blocked_in_sleep, blocked_under_a_timeout, blocked_on_a_lock])
async def test_finally_may_await_anything(
    blocked: Step, cleanup: Step, autojump_clock: trio.testing.MockClock
) -> None:
    steps: list[str] = []

    async def body() -> None:
        try:
            await blocked()
            steps.append("not cancelled")
        finally:
            await cleanup()
            await cleanup()
            steps.append("cleaned")
        steps.append("went on")

    _, ended = await cancel_while(body)
    await ended.wait()
    assert steps == ["cleaned"]


async def test_finally_may_use_threads() -> None:
    steps: list[str] = []

    async def body() -> None:
        try:
            await trio.sleep_forever()
        finally:
            await in_a_thread()
            steps.append("cleaned")

    _, ended = await cancel_while(body)
    await ended.wait()
    assert steps == ["cleaned"]


@pytest.mark.parametrize("where", ["body", "exit"])
async def test_cancellation_passes_through_the_handlers_own_nursery(
    where: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Never taken for the nursery's own: what follows the block must not run."""
    steps: list[str] = []

    async def child() -> None:
        try:
            await trio.sleep_forever()
        finally:
            steps.append("child")

    async def body() -> None:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(child)
                if where == "body":
                    await trio.sleep_forever()
            steps.append("went on")
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1)
            steps.append("cleaned")

    _, ended = await cancel_while(body)
    await ended.wait()
    assert steps == ["child", "cleaned"]


async def test_handler_that_only_passes_checkpoints_is_cancelled() -> None:
    scope = HandlerScope(5)
    steps: list[str] = []

    async def body() -> None:
        try:
            while True:
                await trio.lowlevel.checkpoint()
        finally:
            await trio.lowlevel.checkpoint()
            steps.append("cleaned")

    async def run() -> None:
        await run_in(scope, body())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        for _ in range(5):
            await trio.lowlevel.checkpoint()
        scope.cancel()
    assert steps == ["cleaned"]


async def test_cancellation_waits_for_the_end_of_an_inner_shield(
    autojump_clock: trio.testing.MockClock,
) -> None:
    steps: list[str] = []

    async def body() -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(2)
        steps.append("critical part done")
        try:
            await trio.sleep_forever()
        finally:
            await trio.sleep(1)
            steps.append("cleaned")

    _, ended = await cancel_while(body)
    await ended.wait()
    assert steps == ["critical part done", "cleaned"]


async def test_cancellation_waits_for_a_thread() -> None:
    steps: list[str] = []
    release = threading.Event()

    async def body() -> None:
        await trio.to_thread.run_sync(release.wait)
        steps.append("thread done")
        try:
            await trio.sleep_forever()
        finally:
            await trio.lowlevel.checkpoint()
            steps.append("cleaned")

    scope = HandlerScope(60)
    ended = trio.Event()

    async def run() -> None:
        await run_in(scope, body())
        ended.set()

    trio.lowlevel.spawn_system_task(run)
    for _ in range(10):
        await trio.lowlevel.checkpoint()
    scope.cancel()
    assert not ended.is_set()
    release.set()
    await ended.wait()
    assert steps == ["thread done", "cleaned"]


async def test_authors_timeout_that_ends_with_the_call_does_not_hide_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The inner deadline and the cancellation come in the same instant."""
    scope = HandlerScope(5)
    steps: list[str] = []

    async def body() -> None:
        with trio.CancelScope() as inner:
            inners.append(inner)
            await trio.sleep_forever()
        steps.append("inner taken")
        try:
            await trio.sleep_forever()
        finally:
            await trio.sleep(1)
            steps.append("cleaned")

    inners: list[trio.CancelScope] = []
    ended = trio.Event()

    async def run() -> None:
        await run_in(scope, body())
        ended.set()

    trio.lowlevel.spawn_system_task(run)
    await wait_all_tasks_blocked()
    inners[0].cancel()
    scope.cancel()
    started = trio.current_time()
    await ended.wait()
    assert steps == ["inner taken", "cleaned"]
    assert trio.current_time() - started == pytest.approx(1)


async def test_after_the_cleanup_time_everything_is_cancelled(
    autojump_clock: trio.testing.MockClock,
) -> None:
    times: list[float] = []

    async def body() -> None:
        try:
            await trio.sleep_forever()
        finally:
            try:
                await trio.sleep(100)
            finally:
                times.append(trio.current_time())

    _, ended = await cancel_while(body, cleanup_seconds=7)
    started = trio.current_time()
    await ended.wait()
    assert times == [pytest.approx(started + 7)]


async def test_abort_cuts_cleanups_short(autojump_clock: trio.testing.MockClock) -> None:
    async def body() -> None:
        try:
            await trio.sleep_forever()
        finally:
            await trio.sleep_forever()

    scope, ended = await cancel_while(body, cleanup_seconds=1_000)
    await wait_all_tasks_blocked()
    assert not ended.is_set()
    started = trio.current_time()
    scope.abort()
    await ended.wait()
    assert trio.current_time() == started


async def test_result_passes_through_and_errors_do_too() -> None:
    async def give() -> int:
        await trio.lowlevel.checkpoint()
        return 5

    async def fail() -> None:
        await trio.lowlevel.checkpoint()
        raise KeyError("x")

    assert await run_in(HandlerScope(5), give()) == 5
    with pytest.raises(KeyError):
        await run_in(HandlerScope(5), fail())


@pytest.mark.parametrize("pause", [trio.lowlevel.checkpoint, lock_and_release, through_a_channel])
async def test_checkpoint_inside_an_inner_shield_is_passed(
    pause: Step, autojump_clock: trio.testing.MockClock
) -> None:
    """The cancellation cannot get in there: it waits, and the handler goes on."""
    steps: list[str] = []

    async def body() -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(1)
            await pause()
            steps.append("through")
        try:
            await trio.sleep_forever()
        finally:
            await pause()
            steps.append("cleaned")

    _, ended = await cancel_while(body)
    await ended.wait()
    assert steps == ["through", "cleaned"]


class Foreign:
    """Awaits something that is not trio's, as asyncio's futures do."""

    def __await__(self) -> Generator[object]:
        yield self


async def test_awaiting_what_is_not_trios_raises_where_it_is_awaited() -> None:
    steps: list[str] = []

    async def body() -> str:
        with pytest.raises(TypeError, match="handlers run on trio") as caught:
            await Foreign()
        assert "asyncio.run" in str(caught.value)
        await trio.lowlevel.checkpoint()
        steps.append("went on")
        return "done"

    assert await run_in(HandlerScope(5), body()) == "done"
    assert steps == ["went on"]


async def only_a_free_lock() -> None:
    lock = trio.Lock()
    while True:
        async with lock:
            pass


async def only_a_channel_with_room() -> None:
    send, receive = trio.open_memory_channel[int](1)
    while True:
        await send.send(1)
        await receive.receive()


async def only_checkpoints() -> None:
    while True:
        await trio.lowlevel.checkpoint()


async def endless() -> AsyncGenerator[int]:
    while True:
        await trio.lowlevel.checkpoint()
        yield 1


async def only_a_generator() -> None:
    async with aclosing(endless()) as numbers:
        async for _ in numbers:
            pass


BUSY: list[Step] = [only_a_free_lock, only_a_channel_with_room, only_checkpoints, only_a_generator]


@pytest.mark.parametrize("cleanup", CLEANUPS)
@pytest.mark.parametrize("busy", BUSY)
async def test_handler_that_never_blocks_is_cancelled_at_once(
    busy: Step, cleanup: Step, autojump_clock: trio.testing.MockClock
) -> None:
    scope = HandlerScope(5)
    steps: list[str] = []

    async def body() -> None:
        try:
            await busy()
        finally:
            steps.append(f"cancelled at {trio.current_time()}")
            await cleanup()
            steps.append("cleaned")

    async def run() -> None:
        await run_in(scope, body())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        for _ in range(20):
            await trio.lowlevel.checkpoint()
        now = trio.current_time()
        scope.cancel()
    assert steps == [f"cancelled at {now}", "cleaned"]


@pytest.mark.parametrize("where", ["body", "exit"])
async def test_finally_around_the_handlers_own_nursery_may_block(
    where: str, autojump_clock: trio.testing.MockClock
) -> None:
    steps: list[str] = []

    async def body() -> None:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                if where == "body":
                    await trio.sleep_forever()
            steps.append("went on")
        finally:
            await trio.sleep(2)
            async with trio.Lock():
                await in_a_nursery()
            steps.append("cleaned")

    _, ended = await cancel_while(body)
    await ended.wait()
    assert steps == ["cleaned"]


@pytest.mark.parametrize("cleanup", CLEANUPS)
async def test_first_await_after_the_own_nursery_works_or_is_cancelled(
    cleanup: Step, autojump_clock: trio.testing.MockClock
) -> None:
    """Never anything else: trio's own checks must not be told two things."""
    raised: list[BaseException] = []

    async def body() -> None:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
        finally:
            try:
                await cleanup()
            except BaseException as error:
                raised.append(error)
                raise

    _, ended = await cancel_while(body)
    await ended.wait()
    for error in raised:
        group = BaseExceptionGroup("", [error])
        assert group.split(trio.Cancelled)[1] is None, error
