"""Streams by file descriptor, of every kind of thing there is behind one."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from genmcp.transport.stdio.descriptors import InputDescriptor, OutputDescriptor
from genmcp.transport.stdio.standard_streams import StandardStreams
from tests.e2e.raw_http import HANG_GUARD_SECONDS

BIG = os.urandom(1_000_000)


def open_pipe(nonblocking: bool) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, not nonblocking)
    return ends


def open_sockets(nonblocking: bool) -> tuple[int, int]:
    ends = [end.detach() for end in socket.socketpair()]
    for end in ends:
        os.set_blocking(end, not nonblocking)
    return ends[0], ends[1]


@pytest.fixture(params=[False, True], ids=["blocking", "non-blocking"])
def nonblocking(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.mark.parametrize("make", [open_pipe, open_sockets])
async def test_all_that_is_written_is_read(
    make: Callable[[bool], tuple[int, int]], nonblocking: bool
) -> None:
    reading, writing = make(nonblocking)
    read = bytearray()
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:

            async def write() -> None:
                async with OutputDescriptor(writing) as output:
                    await output.wait_send_all_might_not_block()
                    await output.send_all(BIG)

            nursery.start_soon(write)
            async with InputDescriptor(reading) as source:
                async for data in source:
                    read += data
    assert read == BIG


@pytest.mark.parametrize("make", [open_pipe, open_sockets])
async def test_flags_of_what_is_open_stay_as_they_are(
    make: Callable[[bool], tuple[int, int]],
) -> None:
    reading, writing = make(False)
    async with InputDescriptor(reading) as source, OutputDescriptor(writing) as output:
        await output.send_all(b"x")
        await source.receive_some()
        assert os.get_blocking(reading)
        assert os.get_blocking(writing)


@pytest.mark.parametrize("make", [open_pipe, open_sockets])
async def test_writing_what_nobody_reads_can_be_cancelled(
    make: Callable[[bool], tuple[int, int]], nonblocking: bool
) -> None:
    reading, writing = make(nonblocking)
    async with OutputDescriptor(writing) as output:
        with trio.move_on_after(0.05) as scope:
            await output.send_all(BIG)
        assert scope.cancelled_caught
        with trio.move_on_after(0.05) as scope:
            await output.wait_send_all_might_not_block()
        assert scope.cancelled_caught
    os.close(reading)


@pytest.mark.parametrize("make", [open_pipe, open_sockets])
async def test_nobody_at_the_other_end(make: Callable[[bool], tuple[int, int]]) -> None:
    reading, writing = make(False)
    os.close(reading)
    async with OutputDescriptor(writing) as output:
        with pytest.raises(trio.BrokenResourceError):
            await output.send_all(BIG)


@pytest.mark.parametrize("make", [open_pipe, open_sockets])
async def test_closing_wakes_who_waits(make: Callable[[bool], tuple[int, int]]) -> None:
    reading, writing = make(False)
    source = InputDescriptor(reading)
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:

            async def read() -> None:
                with pytest.raises(trio.ClosedResourceError):
                    await source.receive_some()

            nursery.start_soon(read)
            await trio.testing.wait_all_tasks_blocked()
            await source.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await source.receive_some()
    os.close(writing)


async def test_files_are_read_and_written_in_threads(tmp_path: Path) -> None:
    threads: set[str] = set()
    place = tmp_path / "file"
    write = OutputDescriptor._write

    def note(self: OutputDescriptor, rest: memoryview) -> None:
        threads.add(threading.current_thread().name)
        write(self, rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OutputDescriptor, "_write", note)
        async with OutputDescriptor(os.open(place, os.O_WRONLY | os.O_CREAT)) as output:
            await output.send_all(b"one\n")
            await output.send_all(b"two\n")
    assert threading.current_thread().name not in threads
    async with InputDescriptor(os.open(place, os.O_RDONLY)) as source:
        assert await source.receive_some() == b"one\ntwo\n"
        assert await source.receive_some() == b""


async def test_only_one_has_the_standard_streams(capfd: pytest.CaptureFixture[str]) -> None:
    streams = StandardStreams()
    try:
        with pytest.raises(RuntimeError, match="taken already"):
            StandardStreams()
        os.write(1, b"to the log")
        await streams.stdout.send_all(b"to the client")
    finally:
        await streams.aclose()
        streams.give_back()
    os.write(1, b", and back")
    out, err = capfd.readouterr()
    assert (out, err) == ("to the client, and back", "to the log")
