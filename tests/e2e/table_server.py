"""The servers of the table of requests, on a port, in a thread of their own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import attrs
import trio

from genmcp.transport.http1 import run_http1
from genmcp.transport.port_config import PortConfig
from genmcp.transport.runner import run_asgi
from tests.e2e.raw_http import HANG_GUARD_SECONDS
from tests.request_table.served import Endpoints


@attrs.frozen
class Server:
    front: str
    port: int
    app: Endpoints


FRONTS: Final = ("native", "hypercorn")
"""The HTTP servers, by the names that `serve` has for them."""


@contextmanager
def serving_table(front: str) -> Generator[Server]:
    """Serve for the time of the block; nothing is open when it has ended."""
    app = Endpoints()
    found: queue.SimpleQueue[Any] = queue.SimpleQueue()
    thread = threading.Thread(target=trio.run, args=[_serve, app, front, found])
    thread.start()
    port, stop, token = found.get(timeout=HANG_GUARD_SECONDS)
    try:
        yield Server(front, port, app)
    finally:
        token.run_sync_soon(stop.set)
        thread.join(HANG_GUARD_SECONDS)
    assert not thread.is_alive()
    assert app.open_calls == 0


async def _serve(app: Endpoints, front: str, found: queue.SimpleQueue[Any]) -> None:
    stop = trio.Event()
    config = PortConfig(port=0, grace_seconds=0.1)

    async def run(task_status: trio.TaskStatus[list[str]]) -> None:
        if front == "hypercorn":
            await run_asgi(app, config, stop=stop, task_status=task_status)
        else:
            await run_http1(
                app.serve_exchange,
                config,
                cleanup_seconds=5,
                drain=app.drain,
                stop=stop,
                task_status=task_status,
            )

    async with trio.open_nursery() as nursery:
        (url,) = await nursery.start(run)
        found.put((int(url.rpartition(":")[2]), stop, trio.lowlevel.current_trio_token()))
