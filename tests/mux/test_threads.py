from __future__ import annotations

import threading

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from genmcp.limits import Limits
from genmcp.mux.threads import Threads


class Blocking:
    """A function that blocks its thread until it is released."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.running = 0
        self._lock = threading.Lock()

    def __call__(self) -> str:
        with self._lock:
            self.running += 1
        assert self.release.wait(60)
        return "done"


async def wait_until_running(blocking: Blocking, count: int) -> None:
    with trio.fail_after(60):
        while blocking.running < count:  # noqa: ASYNC110 - a thread cannot set a trio.Event
            await trio.sleep(0.001)


async def test_one_caller_that_blocks_leaves_threads_for_others() -> None:
    threads = Threads(4, 2)
    blocking = Blocking()
    answers: list[str] = []

    async def call() -> None:
        answers.append(await threads.run("ada", blocking))

    async with trio.open_nursery() as nursery:
        try:
            for _ in range(6):
                nursery.start_soon(call)
            await wait_until_running(blocking, 2)
            with trio.fail_after(60):
                assert await threads.run("bob", lambda: "at once") == "at once"
            assert blocking.running == 2
        finally:
            blocking.release.set()
    assert answers == ["done"] * 6
    assert threads.callers == 0


async def test_without_a_share_one_caller_may_have_all() -> None:
    threads = Threads(3)
    blocking = Blocking()
    async with trio.open_nursery() as nursery:
        try:
            for _ in range(3):
                nursery.start_soon(threads.run, "ada", blocking)
            await wait_until_running(blocking, 3)
        finally:
            blocking.release.set()


async def test_a_call_that_is_cancelled_while_it_waits_leaves_nothing_behind() -> None:
    threads = Threads(2, 1)
    blocking = Blocking()
    async with trio.open_nursery() as nursery:
        try:
            nursery.start_soon(threads.run, "ada", blocking)
            await wait_until_running(blocking, 1)
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as waiting:
                    waiting.start_soon(threads.run, "ada", blocking)
                    await wait_all_tasks_blocked()
                    scope.cancel()
            assert blocking.running == 1
        finally:
            blocking.release.set()
    assert threads.callers == 0
    assert await threads.run("ada", lambda: 1) == 1


async def test_what_is_raised_in_a_thread_is_raised_here() -> None:
    threads = Threads(1, 1)
    with pytest.raises(ZeroDivisionError):
        await threads.run("ada", lambda: 1 // 0)
    assert threads.callers == 0


def test_a_share_is_half_where_strangers_may_call() -> None:
    assert Limits().fill_in(limited_by_default=True).max_threads_per_caller == 20
    assert Limits(max_threads=1).fill_in(limited_by_default=True).max_threads_per_caller == 1
    assert Limits().fill_in(limited_by_default=False).max_threads_per_caller is None
    given = Limits(max_threads_per_caller=7).fill_in(limited_by_default=True)
    assert given.max_threads_per_caller == 7
