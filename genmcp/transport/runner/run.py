"""Runs an ASGI application on trio, built from Hypercorn's parts.

Layer: transport, shell; from start to shutdown. `genmcp.transport.serve` calls it for a
server of this library, `genmcp.transport.runner.door` lets the connections in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState

from genmcp.transport.runner.application import AppLifespan
from genmcp.transport.runner.config import (
    RunnerConfig,
    load_ssl_context,
    logger,
    make_hypercorn_config,
)
from genmcp.transport.runner.connection import Service
from genmcp.transport.runner.door import Door

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Sequence

    from genmcp.transport.runner.application import ASGIApp

_CANCELLED_GRACE_SECONDS: Final = 1.0
# The rest of the grace time is for what draining ended to leave.
_DRAIN_SHARE: Final = 0.9


async def run_asgi(
    app: ASGIApp,
    config: RunnerConfig,
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
    waits until every answer is complete; what is left after the grace time is cancelled
    and cut.

    Args:
        app: an ASGI 3 application; with or without a lifespan.
        config: where to listen, and the limits.
        drain: told when a shutdown begins, with the seconds it has: most of the grace
            time. It should end what would not end by itself, and return when that has
            ended.
        stop: begins the shutdown when it is set.
        task_status: for `nursery.start`.

    Raises:
        OSError: the address cannot be bound, or a TLS file cannot be read.
        ExceptionGroup: the application's start-up failed (with a
            `hypercorn.utils.LifespanFailureError` inside).

    Cancellation: begins the same shutdown, but with a second of grace at most.
    """
    secure = load_ssl_context(config)
    listeners = await trio.open_tcp_listeners(config.port, host=config.host, backlog=config.backlog)
    try:
        runner = _Runner(app, config, drain, secure)
        await runner.run(listeners, trio.Event() if stop is None else stop, task_status)
    finally:
        for listener in listeners:
            listener.socket.close()


class _Runner:
    def __init__(
        self,
        app: ASGIApp,
        config: RunnerConfig,
        drain: Callable[[float], Awaitable[None]] | None,
        secure: ssl.SSLContext | None,
    ) -> None:
        self._config = config
        self._drain = drain
        self._secure = secure
        self._grace_seconds = config.grace_seconds
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
                    async with trio.open_nursery() as connections:
                        outside.start_soon(self._notice_cancel, stop, connections.cancel_scope)
                        await self._serve(listeners, connections, stop, task_status)
                    await self._end_lifespan()
                    lifespan.cancel_scope.cancel()
            outside.cancel_scope.cancel()

    async def _notice_cancel(self, stop: trio.Event, connections: trio.CancelScope) -> None:
        try:
            await trio.sleep_forever()
        finally:
            self._grace_seconds = min(self._grace_seconds, _CANCELLED_GRACE_SECONDS)
            if stop.is_set():
                soon = trio.current_time() + self._grace_seconds
                connections.deadline = min(connections.deadline, soon)
            stop.set()

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
            task_status.started([_name_url(self._config.scheme, one) for one in listeners])
            await stop.wait()
            accepting.cancel_scope.cancel()
        connections.cancel_scope.deadline = trio.current_time() + self._grace_seconds
        await self._context.terminated.set()
        door.close_idle()
        if self._drain is not None:
            try:
                await self._drain(self._grace_seconds * _DRAIN_SHARE)
            except Exception:  # noqa: BLE001 - a shutdown is the last thing to fail at
                logger.exception("Draining failed; the shutdown goes on")

    async def _end_lifespan(self) -> None:
        with trio.move_on_after(max(self._grace_seconds, _CANCELLED_GRACE_SECONDS)) as scope:
            await self._lifespan.wait_for_shutdown()
        if scope.cancelled_caught:
            logger.error("The application's lifespan did not end in time and is cancelled")


def _name_url(scheme: str, listener: trio.SocketListener) -> str:
    host, port, *_ = listener.socket.getsockname()
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
