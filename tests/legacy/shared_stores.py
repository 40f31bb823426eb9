"""Stores of several processes, in one: a shared memory that takes its time; and a bad one."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import trio

from genmcp import MemoryReplayStore, MemorySessionStore, Missed, ReplayStore, SessionStore

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from genmcp import SessionState

DELAY_SECONDS = 0.01


class SharedSessionStore(SessionStore):
    """One process's way to a memory that is somewhere else."""

    def __init__(self, memory: MemorySessionStore) -> None:
        self._memory = memory

    async def find(self, key: str) -> SessionState:
        await trio.sleep(DELAY_SECONDS)
        return await self._memory.find(key)

    async def end(self, key: str, expires_at: float) -> None:
        await trio.sleep(DELAY_SECONDS)
        await self._memory.end(key, expires_at)

    async def set_log_level(self, key: str, level: Any, expires_at: float) -> None:
        await trio.sleep(DELAY_SECONDS)
        await self._memory.set_log_level(key, level, expires_at)

    async def watch(self, key: str, uri: str, expires_at: float) -> None:
        await trio.sleep(DELAY_SECONDS)
        await self._memory.watch(key, uri, expires_at)

    async def unwatch(self, key: str, uri: str, expires_at: float) -> None:
        await trio.sleep(DELAY_SECONDS)
        await self._memory.unwatch(key, uri, expires_at)

    async def publish(self, key: str, signal: bytes) -> None:
        await trio.sleep(DELAY_SECONDS)
        await self._memory.publish(key, signal)

    @asynccontextmanager
    async def attach(self, key: str, receive: Callable[[bytes], None]) -> AsyncGenerator[None]:
        await trio.sleep(DELAY_SECONDS)
        send, arriving = trio.open_memory_channel[bytes](math.inf)

        async def deliver() -> None:
            async for signal in arriving:
                await trio.sleep(DELAY_SECONDS)
                receive(signal)

        async with self._memory.attach(key, send.send_nowait), trio.open_nursery() as nursery:
            nursery.start_soon(deliver)
            yield
            nursery.cancel_scope.cancel()


class SharedReplayStore(ReplayStore):
    """One process's way to a memory that is somewhere else; it is asked for news."""

    def __init__(self, memory: MemoryReplayStore) -> None:
        self._memory = memory

    async def keep(self, stream: str) -> None:
        await trio.sleep(DELAY_SECONDS)
        await self._memory.keep(stream)

    async def append(self, stream: str, number: int, event: bytes) -> None:
        await trio.sleep(DELAY_SECONDS)
        await self._memory.append(stream, number, event)

    async def end(self, stream: str) -> None:
        await trio.sleep(DELAY_SECONDS)
        await self._memory.end(stream)

    async def read(self, stream: str, after: int) -> Missed:
        await trio.sleep(DELAY_SECONDS)
        missed = await self._memory.read(stream, after)
        # A first part is as good as all of it.
        return Missed(missed.events[:1], over=missed.over and len(missed.events) <= 1)


class Fault:
    """What is wrong with a store: which methods fail, and how.

    Attributes:
        methods: the names of those that do.
        hangs: whether they never return, or else raise.
    """

    def __init__(self, *, hangs: bool = False) -> None:
        self.methods: set[str] = set()
        self.hangs = hangs

    async def meet(self, method: str) -> None:
        if method in self.methods:
            if self.hangs:
                await trio.sleep_forever()
            raise ConnectionError("the database is away")


class FaultySessionStore(MemorySessionStore):
    """Fails as it is told to."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault
        self.broken_off = trio.Event()

    async def find(self, key: str) -> SessionState:
        await self.fault.meet("find")
        return await super().find(key)

    async def end(self, key: str, expires_at: float) -> None:
        await self.fault.meet("end")
        await super().end(key, expires_at)

    async def set_log_level(self, key: str, level: Any, expires_at: float) -> None:
        await self.fault.meet("set_log_level")
        await super().set_log_level(key, level, expires_at)

    async def watch(self, key: str, uri: str, expires_at: float) -> None:
        await self.fault.meet("watch")
        await super().watch(key, uri, expires_at)

    async def unwatch(self, key: str, uri: str, expires_at: float) -> None:
        await self.fault.meet("unwatch")
        await super().unwatch(key, uri, expires_at)

    async def publish(self, key: str, signal: bytes) -> None:
        await self.fault.meet("publish")
        await super().publish(key, signal)

    @asynccontextmanager
    async def attach(self, key: str, receive: Callable[[bytes], None]) -> AsyncGenerator[None]:
        await self.fault.meet("attach")
        async with super().attach(key, receive), trio.open_nursery() as nursery:
            nursery.start_soon(self._break_off)
            yield
            nursery.cancel_scope.cancel()
        await self.fault.meet("leave")

    async def _break_off(self) -> None:
        await self.broken_off.wait()
        raise ConnectionError("the signals broke off")


class FaultyReplayStore(MemoryReplayStore):
    """Fails as it is told to."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault

    async def keep(self, stream: str) -> None:
        await self.fault.meet("keep")
        await super().keep(stream)

    async def append(self, stream: str, number: int, event: bytes) -> None:
        await self.fault.meet("append")
        await super().append(stream, number, event)

    async def end(self, stream: str) -> None:
        await self.fault.meet("end")
        await super().end(stream)

    async def read(self, stream: str, after: int) -> Missed:
        await self.fault.meet("read")
        return await super().read(stream, after)

    async def wait(self, stream: str, after: int) -> None:
        await self.fault.meet("wait")
        await super().wait(stream, after)
