"""Contract checks for the author's own stores.

Layer: testing. Run against the real thing, the database or broker, as a store is what it
does to processes that know nothing of each other: two objects stand for two of them here.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from genmcp.legacy.replay import Missed, ReplayStore, StreamLost
from genmcp.legacy.store import SessionState, SessionStore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from genmcp.legacy.store import Receive

_SECONDS: Final = 5.0
"""How long a signal may take to arrive, and `wait` to end."""

_SETTLE_SECONDS: Final = 0.5
"""How long is listened for what must not come."""

_BYTES: Final = bytes(range(256))
"""What an event may hold, or more: ids, line ends, and any text."""


async def check_session_store(store: SessionStore, replica: SessionStore | None = None) -> None:
    """Check that a store of sessions keeps its contract. It writes to sessions of its own.

    What one process changes, the other finds; changes at the same time do not undo each
    other; an ended session stays ended. Signals reach everybody who is attached, once, in
    one order, and nobody else.

    Args:
        store: the store of one process.
        replica: that of another process, with the same memory behind it. Without one, the
            store is only checked by itself.

    Raises:
        AssertionError: naming the class, and what it should have done.
        Exception: what the store raised.

    Cancellation: as usual; what was written then is left behind.
    """
    check = _SessionCheck(store, store if replica is None else replica)
    await check.check_state()
    await check.check_changes_at_once()
    await check.check_ended()
    await check.check_signals()
    await check.check_silence()


async def check_replay_store(store: ReplayStore, replica: ReplayStore | None = None) -> None:
    """Check that a store of streams keeps its contract. It writes streams of its own.

    What one process appends, the other reads, byte by byte and in order; what is not known
    is `StreamLost`; waiting ends when something follows, or nothing will.

    Args:
        store: the store of one process.
        replica: that of another process, with the same memory behind it. Without one, the
            store is only checked by itself.

    Raises:
        AssertionError: naming the class, and what it should have done.
        Exception: what the store raised.

    Cancellation: as usual; what was written then is left behind.
    """
    check = _ReplayCheck(store, store if replica is None else replica)
    await check.check_unknown()
    await check.check_events()
    await check.check_gap()
    await check.check_waiting()


class _SessionCheck:
    def __init__(self, store: SessionStore, replica: SessionStore) -> None:
        self._store = store
        self._replica = replica
        self._owner = type(store).__qualname__
        # Unlike those of any run before, in a database that has them still.
        self._expires_at = time.time() + 600

    async def check_state(self) -> None:
        key = _make_key()
        await self._expect(key, SessionState(), "nothing is stored")
        await self._store.set_log_level(key, "error", self._expires_at)
        await self._expect(key, SessionState(log_level="error"), "set_log_level")
        await self._replica.set_log_level(key, "debug", self._expires_at)
        await self._expect(key, SessionState(log_level="debug"), "set_log_level again")
        for uri in ("note:a", "note:é", "note:a"):
            await self._store.watch(key, uri, self._expires_at)
        watched = SessionState(log_level="debug", watched=("note:a", "note:é"))
        await self._expect(key, watched, "watch, twice for one of two URIs")
        for uri in ("note:a", "note:never"):
            await self._replica.unwatch(key, uri, self._expires_at)
        left = SessionState(log_level="debug", watched=("note:é",))
        await self._expect(key, left, "unwatch")
        await self._expect(_make_key(), SessionState(), "nothing is stored of another session")

    async def check_changes_at_once(self) -> None:
        key = _make_key()
        uris = [f"note:{number}" for number in range(10)]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._store.set_log_level, key, "error", self._expires_at)
            for number, uri in enumerate(uris):
                store = self._replica if number % 2 else self._store
                nursery.start_soon(store.watch, key, uri, self._expires_at)
        whole = SessionState(log_level="error", watched=tuple(uris))
        await self._expect(key, whole, "a log level and ten URIs are stored at the same time")

    async def check_ended(self) -> None:
        key = _make_key()
        await self._store.watch(key, "note:a", self._expires_at)
        await self._replica.end(key, self._expires_at)
        await self._store.set_log_level(key, "error", self._expires_at)
        await self._replica.watch(key, "note:b", self._expires_at)
        await self._store.unwatch(key, "note:a", self._expires_at)
        for store in (self._store, self._replica):
            found = await store.find(key)
            assert found.ended, f"{self._owner}: a session that was ended must stay so: {found!r}"

    async def check_signals(self) -> None:
        key = _make_key()
        here, there = _Heard(), _Heard()
        signals = [b'["%d"]' % number for number in range(10)]
        large = b'["' + b"x" * 1_000_000 + b'"]'
        async with self._store.attach(key, here.take), self._replica.attach(key, there.take):
            await self._store.publish(_make_key(), b'["of another session"]')
            async with trio.open_nursery() as nursery:
                for number, signal in enumerate(signals):
                    store = self._replica if number % 2 else self._store
                    nursery.start_soon(store.publish, key, signal)
            await self._store.publish(key, large)
            for heard in (here, there):
                await heard.wait_for(len(signals) + 1)
        told = f"{self._owner}: everybody who is attached must hear"
        assert here.signals[-1:] == [large], f"{told} a signal of 1 MB, after those before it"
        assert sorted(here.signals[:-1]) == signals, f"{told} each signal once: {here.signals!r}"
        assert here.signals == there.signals, f"{told} all signals in one order"

    async def check_silence(self) -> None:
        key = _make_key()
        left, late = _Heard(), _Heard()
        async with self._store.attach(key, left.take):
            pass
        await self._replica.publish(key, b'["early"]')
        async with self._store.attach(key, late.take):
            await self._replica.publish(key, b'["now"]')
            await late.wait_for(1)
            await trio.sleep(_SETTLE_SECONDS)
        assert late.signals == [b'["now"]'], (
            f"{self._owner}: attached, one hears what is published from then on: {late.signals!r}"
        )
        assert left.signals == [], f"{self._owner}: after its block, `receive` must not be called"

    async def _expect(self, key: str, expected: SessionState, after: str) -> None:
        for store in (self._store, self._replica):
            found = await store.find(key)
            assert isinstance(found, SessionState), (
                f"{self._owner}.find must return a SessionState, got {found!r}"
            )
            in_order = attrs.evolve(found, watched=tuple(sorted(found.watched)))
            assert in_order == attrs.evolve(expected, watched=tuple(sorted(expected.watched))), (
                f"{self._owner}.find, after {after}, must return {expected!r}, got {found!r}"
            )


class _ReplayCheck:
    def __init__(self, store: ReplayStore, replica: ReplayStore) -> None:
        self._store = store
        self._replica = replica
        self._owner = type(store).__qualname__

    async def check_unknown(self) -> None:
        stream = _make_stream()
        await self._expect_lost(stream, 0, "never kept")
        await self._store.end(stream)
        await self._store.append(stream, 1, b"x")
        await self._store.wait(stream, 0)
        await self._expect_lost(stream, 1_000, "without that many events")

    async def check_events(self) -> None:
        stream = _make_stream()
        await self._store.keep(stream)
        await self._expect(stream, 0, [], over=False)
        events = [(1, b"id: 1\n\n"), (2, _BYTES), (3, b"x" * 100_000)]
        for number, event in events:
            await self._store.append(stream, number, event)
            await self._store.keep(stream)
        for after in range(4):
            await self._expect(stream, after, events[after:], over=False)
        await self._expect_lost(stream, 4, "without that many events")
        await self._expect_lost(_make_stream(), 0, "of another name")
        await self._store.append(stream, 4, b"last")
        for _ in range(2):
            await self._store.end(stream)
            await self._expect(stream, 2, [*events[2:], (4, b"last")], over=True)
        await self._expect(stream, 4, [], over=True)

    async def check_gap(self) -> None:
        stream = _make_stream()
        await self._store.keep(stream)
        await self._store.append(stream, 3, b"3")
        # What was forgotten, and begun again, must not pass for all there is.
        await self._expect_lost(stream, 1, "that has event 3, and not event 2")
        await self._expect(stream, 2, [(3, b"3")], over=False)

    async def check_waiting(self) -> None:
        stream = _make_stream()
        await self._store.keep(stream)
        await self._expect_news(stream, 0, self._store.append, stream, 1, b"1")
        await self._expect_news(stream, 1, self._store.end, stream)

    async def _expect_news(self, stream: str, after: int, change: Any, *args: Any) -> None:
        with trio.move_on_after(_SECONDS) as waiting:
            async with trio.open_nursery() as nursery:
                await nursery.start(self._follow, stream, after)
                await change(*args)
        assert not waiting.cancelled_caught, (
            f"{self._owner}.wait must return when something follows, or the stream has ended"
        )

    async def _follow(self, stream: str, after: int, *, task_status: trio.TaskStatus[None]) -> None:
        missed = await self._replica.read(stream, after)
        task_status.started()
        while missed == Missed((), over=False):
            await self._replica.wait(stream, after)
            missed = await self._replica.read(stream, after)

    async def _expect(
        self, stream: str, after: int, expected: Iterable[tuple[int, bytes]], *, over: bool
    ) -> None:
        for store in (self._store, self._replica):
            try:
                found, is_over = await _read_all(store, stream, after)
            except StreamLost:
                raise AssertionError(
                    f"{self._owner}.read after event {after} of a stream that is kept, "
                    "whole from there on, must not raise StreamLost"
                ) from None
            assert found == list(expected), (
                f"{self._owner}.read after event {after} must return "
                f"{[number for number, _ in expected]}, as they were appended; "
                f"got {[number for number, _ in found]}"
            )
            assert is_over is over, f"{self._owner}.read must say over={over} then"

    async def _expect_lost(self, stream: str, after: int, what: str) -> None:
        for store in (self._store, self._replica):
            try:
                found = await store.read(stream, after)
            except StreamLost:
                continue
            raise AssertionError(
                f"{self._owner}.read must raise StreamLost for a stream {what}, got {found!r}"
            )


async def _read_all(
    store: ReplayStore, stream: str, after: int
) -> tuple[list[tuple[int, bytes]], bool]:
    """Return what follows an event, in however many parts, and whether that is the end."""
    found: list[tuple[int, bytes]] = []
    missed = await store.read(stream, after)
    while missed.events and not missed.over:
        found += missed.events
        missed = await store.read(stream, found[-1][0])
    return [*found, *missed.events], missed.over


class _Heard:
    """What somebody who is attached has heard."""

    def __init__(self) -> None:
        self.signals: list[bytes] = []
        self._news = trio.lowlevel.ParkingLot()
        self.take: Receive = self._take

    def _take(self, signal: bytes) -> None:
        self.signals.append(signal)
        self._news.unpark_all()

    async def wait_for(self, count: int) -> None:
        """Wait until so many have come, or long enough."""
        with trio.move_on_after(_SECONDS):
            while len(self.signals) < count:
                await self._news.park()


def _make_key() -> str:
    return secrets.token_urlsafe(16)


def _make_stream() -> str:
    return f"{_make_key()}.{secrets.token_urlsafe(12)}"
