"""The server of a soak, as a process: says where it listens, and serves until a signal."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import trio

from genmcp import EventBus
from genmcp.transport.serve import serve
from tests.fuzz.suite import make_suite


async def main(front: Any, grace_seconds: float) -> None:
    """Serve."""
    async with trio.open_nursery() as nursery:
        run = partial(
            serve,
            make_suite(EventBus()),
            port=0,
            http=front,
            grace_seconds=grace_seconds,
            handle_signals=True,
            read_timeout_seconds=1,
            idle_timeout_seconds=3,
            write_timeout_seconds=1,
        )
        print(*await nursery.start(run), flush=True)  # noqa: T201 - for whoever ran it


if __name__ == "__main__":
    trio.run(main, sys.argv[1], float(sys.argv[2]))
