from __future__ import annotations

import math

import trio
from trio.testing import wait_all_tasks_blocked

from genmcp.transport.http1.inflow import Inflow
from genmcp.transport.http1.wire import Wire


class MemoryWire(Wire):
    """Bytes that a test puts on it; as with a socket, one task at a time may wait for them."""

    def __init__(self) -> None:
        self.closed = False
        self.feed, self._arriving = trio.open_memory_channel[bytes](math.inf)
        self._receiving = trio.Lock()

    async def receive(self) -> bytes:
        self._receiving.acquire_nowait()
        try:
            return await self._arriving.receive()
        except trio.EndOfChannel:
            return b""
        finally:
            self._receiving.release()

    async def send(self, data: bytes) -> None:
        raise NotImplementedError

    async def finish_sending(self) -> None:
        raise NotImplementedError


class Reading:
    """An inflow, and what its second task has noticed."""

    def __init__(self) -> None:
        self.wire = MemoryWire()
        self.inflow = Inflow(self.wire, self._notice)
        self.noticed = 0

    async def _notice(self) -> None:
        self.noticed += 1


async def test_whoever_reads_next_gets_what_was_read_ahead() -> None:
    reading = Reading()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reading.inflow.attend)
        reading.wire.feed.send_nowait(b"one")
        assert await reading.inflow.receive() == b"one"
        reading.inflow.read_ahead()
        reading.wire.feed.send_nowait(b"two")
        reading.wire.feed.send_nowait(b"three")
        await wait_all_tasks_blocked()
        assert await reading.inflow.receive() == b"twothree"
        nursery.cancel_scope.cancel()


async def test_whoever_reads_before_the_second_task_has_woken_leaves_it_the_wire() -> None:
    """A call may be over in the very moment in which somebody begins to watch its client."""
    reading = Reading()

    async def send_late() -> None:
        await wait_all_tasks_blocked()
        reading.wire.feed.send_nowait(b"one")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(reading.inflow.attend)
        await wait_all_tasks_blocked()
        nursery.start_soon(send_late)
        # Without a checkpoint in between, this would be the first to ask the wire.
        reading.inflow.read_ahead()
        assert await reading.inflow.receive() == b"one"
        nursery.cancel_scope.cancel()


async def test_the_end_is_noticed_once_for_each_time_it_is_asked_for() -> None:
    reading = Reading()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reading.inflow.attend)
        reading.inflow.read_ahead()
        reading.wire.feed.close()
        await wait_all_tasks_blocked()
        assert reading.noticed == 1
        assert await reading.inflow.receive() == b""
        reading.inflow.read_ahead()
        await wait_all_tasks_blocked()
        assert reading.noticed == 2
        reading.inflow.end()
