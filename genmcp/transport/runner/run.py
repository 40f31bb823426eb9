"""Runs an ASGI application on trio, built from Hypercorn's parts.

Layer: transport, shell; from start to shutdown. `genmcp.transport.serving` calls it for a
server of this library, `genmcp.transport.runner.door` lets the connections in.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState

from genmcp.mux.failure import is_crash
from genmcp.transport.listeners import listening, name_url
from genmcp.transport.port_config import PortConfig, load_ssl_context
from genmcp.transport.runner.application import AppLifespan
from genmcp.transport.runner.config import logger, make_hypercorn_config
from genmcp.transport.runner.connection import Service
from genmcp.transport.runner.door import Door

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Sequence

    from genmcp.transport.runner.application import ASGIApp

_CANCELLED_GRACE_SECONDS: Final = 1.0
# The rest of the grace time is for the lifespan; and of that share, for what draining ended
# to leave.
_CONNECTIONS_SHARE: Final = 0.95
_DRAIN_SHARE: Final = 0.95
# However little is left, for a lifespan that needs no more than a turn.
_LEAST_LIFESPAN_SECONDS: Final = 0.1


async def run_asgi(
    app: ASGIApp,
    config: PortConfig,
    *,
    drain: Callable[[float], Awaitable[None]] | None = None,
    stop: trio.Event | None = None,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve `app` until `stop` is set, then shut down in good order and return.

    `nursery.start(run_asgi, app, config)` returns once the port is open, with the base
    URLs that were bound, such as `["http://127.0.0.1:43173"]`; more than one where the
    host has several addresses.

    A shutdown stops accepting, closes the connections that idle, awaits `drain` and
    waits until every answer is complete; what is left shortly before the grace time is
    over is cancelled and cut, and the lifespan ends. Only what cannot be cancelled holds
    it up longer: a thread, or code that shields itself or swallows cancellations.

    Args:
        app: an ASGI 3 application; with or without a lifespan.
        config: where to listen, and the limits.
        drain: told when a shutdown begins, with the seconds it has: most of the grace
            time. It should end what would not end by itself, and return when that has
            ended. Cancelled and awaited anew, with less time, if this is cancelled
            meanwhile; and with none, to cut off what is left, if it does not return in time.
        stop: begins the shutdown when it is set.
        task_status: for `nursery.start`.

    Raises:
        OSError: the address cannot be bound, or a TLS file cannot be read.
        ExceptionGroup: the application's start-up failed (with a
            `hypercorn.utils.LifespanFailureError` inside).

    Cancellation: begins the same shutdown, but with a second of grace at most.
    """
    secure = load_ssl_context(config)
    async with listening(config) as sockets:
        listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(one)) for one in sockets]
        runner = _Runner(app, config, drain, secure)
        await runner.run(listeners, trio.Event() if stop is None else stop, task_status)


class _Runner:
    def __init__(
        self,
        app: ASGIApp,
        config: PortConfig,
        drain: Callable[[float], Awaitable[None]] | None,
        secure: ssl.SSLContext | None,
    ) -> None:
        self._config = config
        self._drain = drain
        self._secure = secure
        self._grace_seconds = config.grace_seconds
        self._until = math.inf
        self._draining = trio.CancelScope()
        self._answering = trio.CancelScope()
        self._context = WorkerContext(None)
        state = ConnectionState({})
        hypercorn = make_hypercorn_config(config)
        wrapped = ASGIWrapper(app)
        self._lifespan = AppLifespan(wrapped, hypercorn, state)
        self._service = Service(
            app=wrapped, config=config, hypercorn=hypercorn, context=self._context, state=state
        )

    async def run(
        self,
        listeners: Sequence[trio.SocketListener],
        stop: trio.Event,
        task_status: trio.TaskStatus[list[str]],
    ) -> None:
        """Serve until `stop` is set or the caller is cancelled."""
        async with trio.open_nursery() as outside:
            with trio.CancelScope() as inside:
                async with trio.open_nursery() as lifespan:
                    await lifespan.start(self._lifespan.handle_lifespan)
                    await self._lifespan.wait_for_startup()
                    # Cancellation is a wish to end, not to cut answers in the middle of
                    # a word: the server is shielded from here on, and told of it by a
                    # task that is not.
                    inside.shield = True
                    outside.start_soon(self._notice_cancel, stop)
                    with self._answering:
                        async with trio.open_nursery() as connections:
                            await self._serve(listeners, connections, stop, task_status)
                    await self._end_lifespan()
                    lifespan.cancel_scope.cancel()
            outside.cancel_scope.cancel()

    async def _notice_cancel(self, stop: trio.Event) -> None:
        try:
            await trio.sleep_forever()
        finally:
            self._grace_seconds = min(self._grace_seconds, _CANCELLED_GRACE_SECONDS)
            if self._until < math.inf:
                self._limit_shutdown()
                self._draining.cancel()
            stop.set()

    def _limit_shutdown(self) -> None:
        """Let the shutdown take the grace time from now on, if it had longer."""
        now = trio.current_time()
        self._until = min(self._until, now + self._grace_seconds)
        self._answering.deadline = now + (self._until - now) * _CONNECTIONS_SHARE

    async def _serve(
        self,
        listeners: Sequence[trio.SocketListener],
        connections: trio.Nursery,
        stop: trio.Event,
        task_status: trio.TaskStatus[list[str]],
    ) -> None:
        door = Door(self._service, self._secure, connections)
        async with trio.open_nursery() as accepting:
            for listener in listeners:
                accepting.start_soon(door.accept, listener)
            addresses = [one.socket.getsockname() for one in listeners]
            task_status.started([name_url(self._config.scheme, one) for one in addresses])
            await stop.wait()
            accepting.cancel_scope.cancel()
        self._limit_shutdown()
        await self._context.terminated.set()
        door.close_idle()
        if self._drain is not None:
            await self._run_drain(self._drain)

    async def _run_drain(self, drain: Callable[[float], Awaitable[None]]) -> None:
        while True:
            until = self._answering.deadline
            seconds = (until - trio.current_time()) * _DRAIN_SHARE
            # Shielded from the end of the answers, which on a busy machine is seen together
            # with that of the drain: what nobody cut off would have its clean-up time then.
            with trio.CancelScope(shield=True, deadline=until) as self._draining:
                try:
                    await drain(seconds)
                except BaseException as error:
                    # A shutdown is the last thing to fail at.
                    if not is_crash(error):
                        raise
                    logger.exception("Draining failed; the shutdown goes on")
            if not self._draining.cancelled_caught or seconds <= 0:
                return

    async def _end_lifespan(self) -> None:
        left = self._until - trio.current_time()
        with trio.move_on_after(max(left, _LEAST_LIFESPAN_SECONDS)) as scope:
            await self._lifespan.wait_for_shutdown()
        if scope.cancelled_caught:
            logger.error("The application's lifespan did not end in time and is cancelled")
