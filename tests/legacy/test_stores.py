from __future__ import annotations

import pytest
import trio
import trio.testing
from trio.testing import wait_all_tasks_blocked

from genmcp.legacy.memory_store import MemorySessionStore
from genmcp.legacy.replay import STREAM_BYTES, Missed, ReplayStore, StreamLost
from genmcp.legacy.store import UNTOUCHED, CancelWanted, SessionEnded, SessionState, Signal

NAME = ("session", "stream")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


# -- sessions --------------------------------------------------------------------


async def test_an_ended_session_stays_ended() -> None:
    store = MemorySessionStore(clock=Clock())
    assert await store.find("a") is UNTOUCHED
    await store.put("a", SessionState(log_level="error"), 10)
    assert (await store.find("a")).log_level == "error"
    await store.put("a", SessionState(ended=True), 10)
    await store.put("a", SessionState(log_level="info"), 10)
    assert (await store.find("a")).ended


async def test_what_has_expired_is_forgotten() -> None:
    clock = Clock()
    store = MemorySessionStore(clock=clock)
    await store.put("a", SessionState(ended=True), 10)
    await store.put("b", SessionState(watched=("u",)), 10)
    clock.now = 10
    await store.put("c", SessionState(ended=True), 20)
    assert len(store) == 1


async def test_what_is_back_as_it_began_takes_no_memory() -> None:
    store = MemorySessionStore()
    await store.put("a", SessionState(watched=("u",)), 1e12)
    await store.put("a", SessionState(), 1e12)
    assert len(store) == 0


async def test_memory_is_bounded_and_ended_sessions_are_forgotten_last() -> None:
    store = MemorySessionStore(max_ended=2, max_state_bytes=10_000)
    await store.put("ended", SessionState(ended=True), 1e12)
    for number in range(100):
        await store.put(f"s{number}", SessionState(watched=("u" * 100,)), 1e12)
    assert 5 < len(store) < 20
    assert (await store.find("ended")).ended
    assert (await store.find("s99")).watched
    for number in range(3):
        await store.put(f"e{number}", SessionState(ended=True), 1e12)
    assert [(await store.find(f"e{number}")).ended for number in range(3)] == [False, True, True]


async def test_signals_reach_who_is_attached_to_that_session() -> None:
    store = MemorySessionStore()
    heard: list[Signal] = []
    detach = store.attach("a", heard.append)
    await store.publish("a", SessionEnded())
    await store.publish("b", CancelWanted(1))
    detach()
    await store.publish("a", CancelWanted(2))
    assert heard == [SessionEnded()]
    assert store.attached == 0


# -- streams ---------------------------------------------------------------------


async def test_what_was_missed_is_replayed_once_and_in_order() -> None:
    replay = ReplayStore()
    replay.open(NAME)
    for number in range(1, 4):
        replay.append(NAME, b"%d" % number)
    reader = replay.claim(NAME, 1)
    assert await replay.read(NAME, 1, reader) == Missed(((2, b"2"), (3, b"3")), over=False)
    replay.append(NAME, b"4")
    replay.end(NAME)
    assert await replay.read(NAME, 3, reader) == Missed(((4, b"4"),), over=True)


async def test_a_reader_waits_for_what_follows() -> None:
    replay = ReplayStore()
    replay.open(NAME)
    found: list[Missed] = []

    async def read() -> None:
        found.append(await replay.read(NAME, 0, replay.claim(NAME, 0)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await wait_all_tasks_blocked()
        assert not found
        assert replay.is_read(NAME)
        replay.append(NAME, b"1")
    assert found == [Missed(((1, b"1"),), over=False)]


async def test_the_latest_reader_takes_a_stream_over() -> None:
    replay = ReplayStore()
    replay.open(NAME)
    first = replay.claim(NAME, 0)
    second = replay.claim(NAME, 0)
    assert await replay.read(NAME, 0, first) == Missed((), over=True)
    replay.release(NAME, first)
    assert replay.is_read(NAME)
    replay.release(NAME, second)
    assert not replay.is_read(NAME)


@pytest.mark.parametrize("after", [-1, 2, 99])
async def test_an_event_that_never_was_is_refused(after: int) -> None:
    replay = ReplayStore()
    replay.open(NAME)
    replay.append(NAME, b"1")
    with pytest.raises(StreamLost):
        replay.claim(NAME, after)
    with pytest.raises(StreamLost):
        replay.claim(("other session", "stream"), 0)


async def test_streams_are_bounded(autojump_clock: trio.testing.MockClock) -> None:
    replay = ReplayStore(max_bytes=10 * STREAM_BYTES, max_stream_bytes=300, kept_seconds=60)
    replay.open(NAME)
    for _ in range(10):
        replay.append(NAME, b"x" * 100)
    assert replay.size == STREAM_BYTES + 300
    with pytest.raises(StreamLost):
        replay.claim(NAME, 6)
    assert replay.claim(NAME, 7) == 1
    for number in range(20):
        name = ("session", str(number))
        replay.open(name)
        replay.append(name, b"x" * 100)
        replay.end(name)
    assert replay.size <= 10 * STREAM_BYTES
    # What has ended goes first, and the oldest of that.
    assert replay.claim(NAME, 10) == 2
    with pytest.raises(StreamLost):
        replay.claim(("session", "0"), 0)
    assert replay.claim(("session", "19"), 0) == 1
    for number in range(100):
        replay.open(("silent", str(number)))
    assert len(replay) == 10
    with pytest.raises(StreamLost):
        replay.claim(NAME, 10)
    replay.end(("silent", "99"))
    await trio.sleep(61)
    replay.open(NAME)
    with pytest.raises(StreamLost):
        replay.claim(("silent", "99"), 0)
