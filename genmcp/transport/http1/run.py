"""From an open port to a shutdown in good order.

Layer: transport, shell. `genmcp.transport.serving` calls it; `door` lets the connections in.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Final

import trio

from genmcp.mux.failure import is_crash
from genmcp.transport.http1.door import Door
from genmcp.transport.http1.service import Service
from genmcp.transport.listeners import listening, name_url
from genmcp.transport.port_config import PortConfig, load_ssl_context

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Awaitable, Callable, Sequence

    from genmcp.transport.http1.service import Answer

_log = logging.getLogger("genmcp.transport")

_CANCELLED_GRACE_SECONDS: Final = 1.0
# The rest of the grace time is for what draining ended to leave.
_DRAIN_SHARE: Final = 0.9


async def run_http1(
    answer: Answer,
    config: PortConfig,
    *,
    cleanup_seconds: float,
    drain: Callable[[float], Awaitable[None]],
    stop: trio.Event,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until `stop` is set, then shut down in good order and return.

    `nursery.start` returns once the port is open, with the base URLs that were bound.

    A shutdown stops accepting, closes the connections that idle, awaits `drain` and
    waits until every answer is complete; what is left when the grace time is over is
    cut off.

    Args:
        answer: answers one request; raises nothing but cancellation.
        config: where to listen, and the limits.
        cleanup_seconds: how long a call may clean up once its client has gone.
        drain: told when a shutdown begins, with the seconds it has. It should end what
            would not end by itself, and return when that has ended. Cancelled and
            awaited anew, with less time, if this is cancelled meanwhile.
        stop: begins the shutdown when it is set.
        task_status: for `nursery.start`.

    Raises:
        OSError: the address cannot be bound, or a TLS file cannot be read.

    Cancellation: begins the same shutdown, but with a second of grace at most.
    """
    secure = load_ssl_context(config)
    async with listening(config) as listeners:
        await _Run(answer, config, cleanup_seconds, drain, secure).run(listeners, stop, task_status)


class _Run:
    def __init__(
        self,
        answer: Answer,
        config: PortConfig,
        cleanup_seconds: float,
        drain: Callable[[float], Awaitable[None]],
        secure: ssl.SSLContext | None,
    ) -> None:
        self._answer = answer
        self._config = config
        self._cleanup_seconds = cleanup_seconds
        self._drain = drain
        self._secure = secure
        self._grace_seconds = config.grace_seconds
        self._until = math.inf
        self._draining = trio.CancelScope()

    async def run(
        self,
        listeners: Sequence[socket.socket],
        stop: trio.Event,
        task_status: trio.TaskStatus[list[str]],
    ) -> None:
        """Serve until `stop` is set or the caller is cancelled."""
        async with trio.open_nursery() as outside:
            outside.start_soon(self._notice_cancel, stop)
            # Cancellation is a wish to end, not to cut answers in the middle of a word:
            # the server is shielded, and told of it by a task that is not.
            with trio.CancelScope(shield=True):
                async with trio.open_nursery() as connections:
                    service = Service(self._answer, self._config, self._cleanup_seconds)
                    door = Door(service, self._secure, connections)
                    try:
                        await self._serve(listeners, door, stop, task_status)
                    finally:
                        # Connections do not mind cancellation, but the end of theirs.
                        door.abort()
                        connections.cancel_scope.cancel()
            outside.cancel_scope.cancel()

    async def _notice_cancel(self, stop: trio.Event) -> None:
        try:
            await trio.sleep_forever()
        finally:
            self._grace_seconds = min(self._grace_seconds, _CANCELLED_GRACE_SECONDS)
            if self._until < math.inf:
                self._until = min(self._until, trio.current_time() + self._grace_seconds)
                self._draining.cancel()
            stop.set()

    async def _serve(
        self,
        listeners: Sequence[socket.socket],
        door: Door,
        stop: trio.Event,
        task_status: trio.TaskStatus[list[str]],
    ) -> None:
        async with trio.open_nursery() as looking:
            looking.start_soon(door.look_around)
            async with trio.open_nursery() as accepting:
                for listener in listeners:
                    accepting.start_soon(door.accept, listener)
                task_status.started(
                    [name_url(self._config.scheme, one.getsockname()) for one in listeners]
                )
                await stop.wait()
                accepting.cancel_scope.cancel()
            for listener in listeners:
                listener.close()
            self._until = trio.current_time() + self._grace_seconds
            door.close_idle()
            await self._end(door)
            looking.cancel_scope.cancel()

    async def _end(self, door: Door) -> None:
        while True:
            with trio.CancelScope() as self._draining:
                await self._run_drain()
                with trio.move_on_at(self._until):
                    await door.wait_until_empty()
            if not self._draining.cancelled_caught:
                return

    async def _run_drain(self) -> None:
        try:
            await self._drain((self._until - trio.current_time()) * _DRAIN_SHARE)
        except BaseException as error:
            # A shutdown is the last thing to fail at.
            if not is_crash(error):
                raise
            _log.exception("Draining failed; the shutdown goes on")
