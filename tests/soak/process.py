"""A soak of a real server: a process of its own, on a real socket, ended by a signal."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import attrs
import trio

from tests.fuzz.corpus import render_post
from tests.fuzz.target import Canary, Front
from tests.soak.load import Load, make_count

ROUNDS = 6
MAX_GROWTH_KIB = 12 * 1024
"""How much larger the process may be at the end than after the first round."""

GRACE_SECONDS = 5.0
_SUITE = Path(__file__).parent / "served.py"


@attrs.frozen
class Level:
    """What the process holds when nobody does anything; zeros where the system does not tell."""

    resident_kib: int
    descriptors: int


async def soak_process(
    front: Front,
    seconds: float,
    seed: int,
    rounds: int = ROUNDS,
    max_growth_kib: int = MAX_GROWTH_KIB,
) -> list[str]:
    """Load a server of its own; return what was wrong at the end."""
    wrong: list[str] = []
    levels: list[Level] = []
    async with _serving(front) as (process, port):
        load = Load(port, random.Random(seed), seed)  # noqa: S311 - repeatable
        at_first = read_level(process.pid)
        for _ in range(rounds):
            await load.run(seconds / rounds)
            levels.append(await _settle(process.pid, at_first))
            print(f"  {levels[-1]}")  # noqa: T201 - for whoever ran it
        print(f"  {dict(load.done)}")  # noqa: T201 - for whoever ran it
        wrong += await _end(process, port)
    if levels[-1].descriptors > at_first.descriptors:
        wrong.append(f"descriptors left behind: {levels[-1]}, and at first {at_first}")
    growth = levels[-1].resident_kib - levels[0].resident_kib
    if growth > max_growth_kib:
        wrong.append(f"the process grew by {growth} KiB in {rounds - 1} rounds")
    return wrong


@asynccontextmanager
async def _serving(front: Front) -> AsyncGenerator[tuple[trio.Process, int]]:
    command = [sys.executable, str(_SUITE), front, str(GRACE_SECONDS)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    async with trio.open_nursery() as nursery:
        run = partial(
            trio.run_process, command, env=environment, stdout=subprocess.PIPE, check=False
        )
        process: trio.Process = await nursery.start(run)
        assert process.stdout is not None
        told = b""
        while not (found := re.search(rb"http://[^:]+:(\d+)/mcp", told)):
            data = await process.stdout.receive_some()
            if not data:
                raise RuntimeError("the server did not start")
            told += data
        yield process, int(found[1])
        nursery.cancel_scope.cancel()


async def _settle(pid: int, bounds: Level) -> Level:
    with trio.move_on_after(20):
        while read_level(pid).descriptors > bounds.descriptors:  # noqa: ASYNC110 - counts
            await trio.sleep(0.1)
    return read_level(pid)


async def _end(process: trio.Process, port: int) -> list[str]:
    """Send SIGTERM while a stream is open; return what was wrong with the end."""
    wrong: list[str] = []
    client = await Canary.connect(port)
    async with client.stream, trio.open_nursery() as nursery:

        async def wait() -> None:
            await client.stream.send_all(render_post(make_count(steps=2, pause=3600)))
            async for message in client.read_events():
                waiting.set()
                last = message
            if last.get("error", {}).get("code") != -32603:
                wrong.append(f"an open call was told at the end: {last}")

        waiting = trio.Event()
        nursery.start_soon(wait)
        await waiting.wait()
        process.send_signal(signal.SIGTERM)
        with trio.move_on_after(GRACE_SECONDS + 5) as late:
            code = await process.wait()
            if code != 0:
                wrong.append(f"the server ended with {code}")
        if late.cancelled_caught:
            wrong.append("the server did not end within its grace time")
            nursery.cancel_scope.cancel()
    return wrong


def read_level(pid: int) -> Level:
    """Return what a process holds, where /proc tells."""
    folder = Path("/proc") / str(pid)
    if not folder.exists():
        return Level(0, 0)
    resident = re.search(r"VmRSS:\s+(\d+)", (folder / "status").read_text())
    return Level(int(resident[1]) if resident else 0, len(os.listdir(folder / "fd")))  # noqa: PTH208
