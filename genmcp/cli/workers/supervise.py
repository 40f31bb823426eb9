"""The supervisor's side of `genmcp serve --workers N`, put together.

Layer: cli. Imports nothing of what is served: that is for the workers, and what fails
there fails there.
"""

from __future__ import annotations

import logging
import os
import secrets
from typing import TYPE_CHECKING, Final

import trio

from genmcp.cli.workers.holding import holding
from genmcp.cli.workers.orders import Orders
from genmcp.cli.workers.process import ProcessWorker
from genmcp.cli.workers.supervisor import Supervisor, Worker
from genmcp.transport.asgi import SECRET_KEY_VARIABLE
from genmcp.transport.signals import stopping_on_signals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from genmcp.cli.workers.holding import Held
    from genmcp.cli.workers.orders import Report
    from genmcp.transport.port_config import PortConfig

_log: Final = logging.getLogger("genmcp.cli")

# A worker ends by itself within its grace time, if it is anything but stopped.
_LATE_SECONDS: Final = 0.5


async def supervise(command: Sequence[str], count: int, config: PortConfig) -> int:
    """Run workers until a signal comes; return the exit status.

    Args:
        command: the command line that this process was started with.
        count: how many workers.
        config: where they listen, and how long they have to end in.

    Raises:
        OSError: the address cannot be bound.
        RuntimeError: this is not the main thread.
    """
    stop = trio.Event()
    supervisor: Supervisor | None = None

    def tell_workers() -> None:
        if supervisor is not None:
            supervisor.tell_workers_to_stop()

    def end_workers() -> None:
        # They do so by themselves once this process has gone, but not while C code that
        # they run lets none of their threads run.
        if supervisor is not None:
            supervisor.kill_workers()

    with stopping_on_signals(stop, heard=tell_workers, last=end_workers):
        async with holding(config) as held, trio.open_nursery() as nursery:
            nursery.start_soon(_close_when_told, held, stop)
            secret_key = _make_key(count)

            async def start(number: int) -> Worker:
                orders = Orders(
                    number=number,
                    secret_key=secret_key,
                    port=held.port,
                    descriptors=held.descriptors,
                )
                return await ProcessWorker.start(command, orders)

            def announce(report: Report) -> None:
                for level, line in report.lines:
                    _log.log(level, "%s", line)
                _log.info("%d workers answer; each has limits and connections of its own", count)

            supervisor = Supervisor(
                start, count, grace_seconds=config.grace_seconds + _LATE_SECONDS, announce=announce
            )
            status = await supervisor.run(stop)
            nursery.cancel_scope.cancel()
    return status


async def _close_when_told(held: Held, stop: trio.Event) -> None:
    await stop.wait()
    held.close()


def _make_key(count: int) -> str | None:
    """Return a key for workers that have none: what one seals, all must open."""
    if os.environ.get(SECRET_KEY_VARIABLE, "").split():
        return None
    _log.info(
        "%s is not set: the %d workers share a random key, which ends with this process, and "
        "so do the cursors and request states it sealed",
        SECRET_KEY_VARIABLE,
        count,
    )
    return secrets.token_urlsafe(32)
