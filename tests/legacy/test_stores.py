from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import wait_all_tasks_blocked

from genmcp import (
    MemoryReplayStore,
    MemorySessionStore,
    Missed,
    SessionState,
    StreamLost,
)
from genmcp.legacy.memory_replay import STREAM_BYTES
from genmcp.legacy.signals import read_signal, write_signal
from genmcp.legacy.store import (
    UNTOUCHED,
    AnswerCame,
    CancelWanted,
    SessionEnded,
    Signal,
    StreamOpened,
    StreamRead,
    StreamResumed,
    WatchedChanged,
)
from genmcp.wire.json_faults import MAX_WRITE_DEPTH
from genmcp.wire.json_text import read_json, write_json

NAME = "session.stream"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


# -- sessions --------------------------------------------------------------------


async def test_an_ended_session_stays_ended() -> None:
    store = MemorySessionStore(clock=Clock())
    assert await store.find("a") is UNTOUCHED
    await store.set_log_level("a", "error", 10)
    assert await store.find("a") == SessionState(log_level="error")
    await store.end("a", 10)
    await store.set_log_level("a", "info", 10)
    await store.watch("a", "u", 10)
    assert await store.find("a") == SessionState(ended=True)


async def test_what_has_expired_is_forgotten() -> None:
    clock = Clock()
    store = MemorySessionStore(clock=clock)
    await store.end("a", 10)
    await store.watch("b", "u", 10)
    clock.now = 10
    await store.end("c", 20)
    assert len(store) == 1


async def test_what_is_back_as_it_began_takes_no_memory() -> None:
    store = MemorySessionStore()
    await store.watch("a", "u", 1e12)
    await store.unwatch("a", "u", 1e12)
    assert len(store) == 0


async def test_memory_is_bounded_and_ended_sessions_are_forgotten_last() -> None:
    store = MemorySessionStore(max_ended=2, max_state_bytes=10_000)
    await store.end("ended", 1e12)
    for number in range(100):
        await store.watch(f"s{number}", "u" * 100, 1e12)
    assert 5 < len(store) < 20
    assert (await store.find("ended")).ended
    assert (await store.find("s99")).watched
    for number in range(3):
        await store.end(f"e{number}", 1e12)
    assert [(await store.find(f"e{number}")).ended for number in range(3)] == [False, True, True]


async def test_signals_reach_who_is_attached_to_that_session() -> None:
    store = MemorySessionStore()
    heard: list[bytes] = []
    async with store.attach("a", heard.append):
        await store.publish("a", b"1")
        await store.publish("b", b"2")
    await store.publish("a", b"3")
    assert heard == [b"1"]
    assert store.attached == 0


@pytest.mark.parametrize("kind", [MemorySessionStore, MemoryReplayStore])
def test_bounds_are_positive(kind: Any) -> None:
    bound = "max_ended" if kind is MemorySessionStore else "kept_seconds"
    with pytest.raises(ValueError, match=bound):
        kind(**{bound: 0})


SIGNALS: list[Signal] = [
    AnswerCame("q", {"jsonrpc": "2.0", "id": "q", "result": {"é": [1, None]}}),
    AnswerCame(1, {"error": {}}),
    CancelWanted("1"),
    CancelWanted(1),
    WatchedChanged(),
    StreamOpened("s"),
    StreamResumed("s", "r"),
    StreamRead("s"),
    SessionEnded(),
]


def test_an_answer_may_be_nested_as_deep_as_a_message() -> None:
    deep: Any = 1
    for _ in range(MAX_WRITE_DEPTH - 1):
        deep = [deep]
    signal = AnswerCame("q", {"result": deep})
    assert read_json(write_json(signal.response), max_depth=MAX_WRITE_DEPTH) == signal.response
    assert read_signal(write_signal(signal)) == signal


@pytest.mark.parametrize("signal", SIGNALS)
def test_a_signal_comes_back_as_it_was_written(signal: Signal) -> None:
    assert read_signal(write_signal(signal)) == signal


@pytest.mark.parametrize(
    "written", [b"", b"\xff", b"{}", b"[]", b'["of tomorrow"]', b'["read"]', b"[[]]", b"1"]
)
def test_a_signal_of_another_version_is_nothing(written: bytes) -> None:
    assert read_signal(written) is None


# -- streams ---------------------------------------------------------------------


async def test_what_was_missed_is_replayed_in_order() -> None:
    replay = MemoryReplayStore()
    await replay.keep(NAME)
    for number in range(1, 4):
        await replay.append(NAME, number, b"%d" % number)
    assert await replay.read(NAME, 1) == Missed(((2, b"2"), (3, b"3")), over=False)
    await replay.append(NAME, 4, b"4")
    await replay.end(NAME)
    assert await replay.read(NAME, 3) == Missed(((4, b"4"),), over=True)


async def test_a_reader_waits_for_what_follows() -> None:
    replay = MemoryReplayStore()
    await replay.keep(NAME)
    woken: list[int] = []

    async def wait(after: int) -> None:
        await replay.wait(NAME, after)
        woken.append(after)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait, 0)
        nursery.start_soon(wait, 1)
        await wait_all_tasks_blocked()
        assert not woken
        await replay.append(NAME, 1, b"1")
        await wait_all_tasks_blocked()
        assert 0 in woken
        nursery.start_soon(wait, 1)
        await wait_all_tasks_blocked()
        await replay.end(NAME)


@pytest.mark.parametrize("after", [-1, 2, 99])
async def test_an_event_that_never_was_is_refused(after: int) -> None:
    replay = MemoryReplayStore()
    await replay.keep(NAME)
    await replay.append(NAME, 1, b"1")
    with pytest.raises(StreamLost):
        await replay.read(NAME, after)
    with pytest.raises(StreamLost):
        await replay.read("other.stream", 0)


async def test_a_stream_that_is_begun_again_has_no_gap() -> None:
    replay = MemoryReplayStore()
    await replay.keep(NAME)
    await replay.append(NAME, 3, b"3")
    with pytest.raises(StreamLost):
        await replay.read(NAME, 1)
    assert await replay.read(NAME, 2) == Missed(((3, b"3"),), over=False)


async def test_streams_are_bounded(autojump_clock: trio.testing.MockClock) -> None:
    replay = MemoryReplayStore(max_bytes=10 * STREAM_BYTES, max_stream_bytes=300, kept_seconds=60)
    await replay.keep(NAME)
    for number in range(1, 11):
        await replay.append(NAME, number, b"x" * 100)
    assert replay.size == STREAM_BYTES + 300
    with pytest.raises(StreamLost):
        await replay.read(NAME, 6)
    assert len((await replay.read(NAME, 7)).events) == 3
    for index in range(20):
        name = f"session.{index}"
        await replay.keep(name)
        await replay.append(name, 1, b"x" * 100)
        await replay.end(name)
    assert replay.size <= 10 * STREAM_BYTES
    # What has ended goes first, and the oldest of that.
    assert await replay.read(NAME, 10) == Missed((), over=False)
    with pytest.raises(StreamLost):
        await replay.read("session.0", 0)
    assert (await replay.read("session.19", 0)).over
    for index in range(100):
        await replay.keep(f"silent.{index}")
    assert len(replay) == 10
    with pytest.raises(StreamLost):
        await replay.read(NAME, 10)
    await replay.end("silent.99")
    await trio.sleep(61)
    with pytest.raises(StreamLost):
        await replay.read("silent.99", 0)
