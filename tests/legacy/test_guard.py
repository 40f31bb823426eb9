"""Between a store and who uses it: whose fault is whose."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from genmcp import MemoryReplayStore, MemorySessionStore, Missed, StreamLost
from genmcp.legacy.guard import GuardedReplayStore, GuardedSessionStore
from genmcp.legacy.store import SessionEnded, Signal, StoreUnavailable
from tests.legacy.shared_stores import Fault, FaultySessionStore, SharedSessionStore

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


def ignore(signal: Signal) -> None:
    """Hear, and do nothing."""


class OurFault(Exception):
    """What the work raises."""


async def test_what_the_work_raises_is_raised_as_it_is() -> None:
    store = FaultySessionStore(Fault())
    guarded = GuardedSessionStore(store)

    async def work() -> None:
        raise OurFault

    # The store has a nursery around it, which would put it in a group.
    with pytest.raises(OurFault):
        await guarded.run_attached("key", ignore, work)
    assert store.attached == 0


async def test_of_two_faults_the_works_is_raised_and_the_stores_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fault = Fault()
    guarded = GuardedSessionStore(FaultySessionStore(fault))

    async def work() -> None:
        fault.methods.add("leave")
        raise OurFault

    with pytest.raises(OurFault):
        await guarded.run_attached("key", ignore, work)
    assert "the database is away" in caplog.text


async def test_a_cancellation_reaches_the_work_and_is_no_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = FaultySessionStore(Fault())
    guarded = GuardedSessionStore(store)
    reached: list[str] = []

    async def work() -> None:
        try:
            await trio.sleep_forever()
        finally:
            reached.append("work")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(guarded.run_attached, "key", ignore, work)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert reached == ["work"]
    assert store.attached == 0
    assert not caplog.records


async def test_work_may_take_longer_than_the_store(autojump_clock: trio.testing.MockClock) -> None:
    guarded = GuardedSessionStore(SharedSessionStore(MemorySessionStore()))
    heard: list[Signal] = []

    async def work() -> None:
        await trio.sleep(3_600)
        await guarded.publish("key", SessionEnded())
        await trio.sleep(3_600)

    await guarded.run_attached("key", heard.append, work)
    assert heard == [SessionEnded()]


async def test_a_store_that_does_not_let_in_is_given_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    class Slow(MemorySessionStore):
        timeout_seconds = 2.0

        @asynccontextmanager
        async def attach(self, key: str, receive: Any) -> AsyncGenerator[None]:
            # Cancelled with the nursery open, which must end before the time-out does.
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                await trio.sleep_forever()
                yield

    async def work() -> None:
        raise AssertionError("nobody let it in")

    with pytest.raises(StoreUnavailable):
        await GuardedSessionStore(Slow()).run_attached("key", ignore, work)
    assert trio.current_time() == pytest.approx(2)


async def test_a_method_that_is_not_async_is_the_stores_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Plain(MemorySessionStore):
        def find(self, key: str) -> Any:
            raise LookupError("no such table")

    with pytest.raises(StoreUnavailable):
        await GuardedSessionStore(Plain()).find("key")
    assert "no such table" in caplog.text


async def test_a_lost_stream_is_none_of_the_stores_faults(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Nested(MemoryReplayStore):
        async def read(self, stream: str, after: int) -> Missed:
            async with trio.open_nursery():
                raise StreamLost

    for store in (MemoryReplayStore(), Nested()):
        with pytest.raises(StreamLost):
            await GuardedReplayStore(store).read("a.b", 0)
    assert not caplog.records


async def test_a_failure_is_logged_again_after_it_worked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fault = Fault()
    guarded = GuardedSessionStore(FaultySessionStore(fault))
    for _ in range(2):
        fault.methods = {"find"}
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                await guarded.find("key")
        fault.methods = set()
        await guarded.find("key")
    assert len([one for one in caplog.records if one.levelname == "ERROR"]) == 2


async def test_one_who_waits_for_a_store_that_never_waits_lets_others_have_their_turn() -> None:
    class Eager(MemoryReplayStore):
        async def wait(self, stream: str, after: int) -> None:
            """Too early is not wrong."""

    guarded = GuardedReplayStore(Eager())
    for seconds in (10.0, 0.0):
        with trio.testing.assert_checkpoints():
            await guarded.wait("stream", 0, seconds)
