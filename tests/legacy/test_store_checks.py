"""The checks for stores: they pass what keeps the contract, and name what does not."""

from __future__ import annotations

import importlib.util
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from genmcp import (
    MemoryReplayStore,
    MemorySessionStore,
    Missed,
    SessionState,
    StreamLost,
)
from genmcp.testing import check_replay_store, check_session_store
from tests.legacy.shared_stores import SharedReplayStore, SharedSessionStore

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from types import ModuleType

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "sessions" / "server.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sessions_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_the_stores_of_one_process_keep_the_contract(
    autojump_clock: trio.testing.MockClock,
) -> None:
    await check_session_store(MemorySessionStore())
    await check_replay_store(MemoryReplayStore())


async def test_shared_stores_keep_the_contract(autojump_clock: trio.testing.MockClock) -> None:
    sessions, streams = MemorySessionStore(), MemoryReplayStore()
    await check_session_store(SharedSessionStore(sessions), SharedSessionStore(sessions))
    await check_replay_store(SharedReplayStore(streams), SharedReplayStore(streams))


async def test_the_example_keeps_the_contract(tmp_path: Path, example: Any) -> None:
    path = tmp_path / "sessions.sqlite3"
    sessions = [example.SqliteSessionStore(path) for _ in range(2)]
    await check_session_store(*sessions)
    streams = [example.SqliteReplayStore(path) for _ in range(2)]
    await check_replay_store(*streams)


async def test_stores_that_share_nothing_are_told_apart(
    autojump_clock: trio.testing.MockClock,
) -> None:
    with pytest.raises(AssertionError, match="set_log_level"):
        await check_session_store(MemorySessionStore(), MemorySessionStore())
    with pytest.raises(AssertionError, match="must not raise StreamLost"):
        await check_replay_store(MemoryReplayStore(), MemoryReplayStore())


class Reviving(MemorySessionStore):
    async def end(self, key: str, expires_at: float) -> None:
        pass


class Overwriting(MemorySessionStore):
    """Reads a state and puts it back whole, as two processes must not."""

    async def watch(self, key: str, uri: str, expires_at: float) -> None:
        state = await self.find(key)
        await trio.sleep(0.01)
        self._put(key, SessionState(watched=(*state.watched, uri)), expires_at)


class Deaf(MemorySessionStore):
    async def publish(self, key: str, signal: bytes) -> None:
        pass


class Twice(MemorySessionStore):
    async def publish(self, key: str, signal: bytes) -> None:
        await super().publish(key, signal)
        await super().publish(key, signal)


class Everybody(MemorySessionStore):
    async def publish(self, key: str, signal: bytes) -> None:
        for one in tuple(self._receivers):
            await super().publish(one, signal)


class Staying(MemorySessionStore):
    @asynccontextmanager
    async def attach(self, key: str, receive: Callable[[bytes], None]) -> AsyncGenerator[None]:
        self._receivers.setdefault(key, []).append(receive)
        yield


@pytest.mark.parametrize(
    ("store", "problem"),
    [
        (Reviving(), "was ended must stay so"),
        (Overwriting(), "after"),
        (Deaf(), "must hear"),
        (Twice(), "must hear"),
        (Everybody(), "must hear"),
        (Staying(), "must not be called"),
    ],
)
async def test_what_a_store_of_sessions_does_wrong_is_named(
    autojump_clock: trio.testing.MockClock, store: Any, problem: str
) -> None:
    with pytest.raises(AssertionError, match=f"{type(store).__name__}.*{problem}"):
        await check_session_store(store)


class Hiding(MemoryReplayStore):
    """Does not say that something is missing."""

    async def read(self, stream: str, after: int) -> Missed:
        try:
            return await super().read(stream, after)
        except StreamLost:
            if stream not in self._streams:
                raise
            return Missed(tuple(self._streams[stream].events), over=False)


class Endless(MemoryReplayStore):
    async def end(self, stream: str) -> None:
        pass


class Sleepy(MemoryReplayStore):
    async def wait(self, stream: str, after: int) -> None:
        if stream in self._streams:
            await trio.sleep_forever()


class Cutting(MemoryReplayStore):
    async def append(self, stream: str, number: int, event: bytes) -> None:
        await super().append(stream, number, event[:1_000])


class Careless(MemoryReplayStore):
    async def append(self, stream: str, number: int, event: bytes) -> None:
        await super().append(stream, number, event.decode("latin-1").strip().encode("latin-1"))


@pytest.mark.parametrize(
    ("store", "problem"),
    [
        (Hiding(), "StreamLost"),
        (Endless(), "over=True"),
        (Sleepy(), "wait must return"),
        (Cutting(), "as they were appended"),
        (Careless(), "as they were appended"),
    ],
)
async def test_what_a_store_of_streams_does_wrong_is_named(
    autojump_clock: trio.testing.MockClock, store: Any, problem: str
) -> None:
    with pytest.raises(AssertionError, match=f"{type(store).__name__}.*{problem}"):
        await check_replay_store(store)
