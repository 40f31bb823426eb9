"""The application's side of the runner: its tasks, its inbox, its lifespan.

Layer: transport, shell. The HTTP versions beside this module ask for a task per request
and feed its inbox.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import trio
from hypercorn.trio.lifespan import Lifespan
from hypercorn.trio.task_group import TaskGroup
from hypercorn.utils import LifespanFailureError

from genmcp.mux.failure import split_crash
from genmcp.transport.runner.config import logger

if TYPE_CHECKING:
    from hypercorn.config import Config
    from hypercorn.events import Event
    from hypercorn.typing import (
        AppWrapper,
        ASGIReceiveEvent,
        ASGISendEvent,
        ConnectionState,
        Scope,
        WorkerContext,
    )

Address = tuple[str, int]
ASGIApp = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI 3 application: called with `scope`, `receive` and `send`."""


class Parts(NamedTuple):
    """What every protocol class of Hypercorn is made from, in its order."""

    app: AppWrapper
    config: Config
    context: WorkerContext
    task_group: TaskGroup
    state: ConnectionState
    ssl: bool
    client: Address | None
    server: Address | None
    send: Callable[[Event], Awaitable[None]]


Send = Callable[["ASGISendEvent | None"], Awaitable[None]]
"""Hypercorn's way to send; `None` says that the application has returned."""


class ClientDisconnectedError(OSError):
    """What `send` raises once the client has left, as ASGI asks of servers."""


class AppTasks(TaskGroup):
    """Runs the application for one connection, a task per request, in its nursery.

    Hypercorn's inbox has two faults that are mended here: once ten pieces of a body
    wait unread, a disconnect finds no room in it; and the reader that waits to put in
    an eleventh is not woken when the application returns.
    """

    def __init__(self, nursery: trio.Nursery) -> None:
        super().__init__()
        self._nursery = nursery  # what the base class opens itself, entered
        self._requests = nursery

    async def spawn_app(
        self, app: AppWrapper, config: Config, scope: Scope, send: Send
    ) -> Callable[[ASGIReceiveEvent], Awaitable[None]]:
        """Run the application for one request; return what puts into its inbox."""
        inbox = _Inbox(config.max_app_queue_size)
        self._requests.start_soon(_run_app, app, scope, inbox, send)
        return inbox.put


async def _run_app(app: AppWrapper, scope: Scope, inbox: _Inbox, send: Send) -> None:
    async def send_checked(message: ASGISendEvent) -> None:
        if inbox.client_left:
            raise ClientDisconnectedError("the client has left")
        await send(message)
        # After the last message, the inbox is closed because all is said.
        if inbox.client_left and message.get("more_body"):
            raise ClientDisconnectedError("the client has left")

    try:
        await app(scope, inbox.receive, send_checked, trio.to_thread.run_sync, trio.from_thread.run)
    except BaseException as error:  # noqa: BLE001 - see what is raised again
        # Whatever it is, it must cost this request only.
        crash, rest = split_crash(error)
        _log_crash(crash, cast("dict[str, Any]", scope)["path"])
        if rest is not None:
            raise rest from None
    finally:
        inbox.close()
    await send(None)


def _log_crash(crash: BaseException | None, path: str) -> None:
    if isinstance(crash, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", crash)
        crash = group.split(ClientDisconnectedError)[1]
    if crash is not None and not isinstance(crash, ClientDisconnectedError):
        logger.error("The ASGI application failed at %r", path, exc_info=crash)


class _Inbox:
    """What the client sends for one request, and the news that it has left."""

    def __init__(self, max_messages: int) -> None:
        self._put_end, self._take_end = trio.open_memory_channel["ASGIReceiveEvent"](max_messages)
        self._told = False
        self.client_left = False

    async def put(self, message: ASGIReceiveEvent) -> None:
        """Put a message in, waiting for room; drop it when there is nobody to read it."""
        if message["type"] == "http.disconnect":
            # Not a message in a queue that may be full, but the end of the queue.
            self.client_left = True
            self._put_end.close()
            return
        try:
            await self._put_end.send(message)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return

    async def receive(self) -> ASGIReceiveEvent:
        """Take the next message; after the client has left, a disconnect every time."""
        try:
            try:
                # Without a checkpoint: some frameworks look for a disconnect by calling
                # this inside a scope that is cancelled already.
                return self._take_end.receive_nowait()
            except trio.WouldBlock:
                return await self._take_end.receive()
        except trio.EndOfChannel:
            if self._told:
                await trio.lowlevel.checkpoint()
            self._told = True
            return {"type": "http.disconnect"}

    def close(self) -> None:
        """Note that the application takes nothing any more."""
        self._take_end.close()


class AppLifespan(Lifespan):
    """The application's start-up and shutdown, as ASGI has it."""

    _started = False

    async def handle_lifespan(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Run the application's lifespan; once it has started, its crash costs nothing else.

        Raises:
            hypercorn.utils.LifespanFailureError: the application said so.
        """
        try:
            await super().handle_lifespan(task_status=task_status)
        except BaseException as error:
            crash, rest = split_crash(error)
            if rest is not None or not self._started or _has_failed(crash):
                raise
            self.supported = False
            logger.error("The application's lifespan failed", exc_info=crash)

    async def asgi_send(self, message: ASGISendEvent) -> None:
        """Take what the application says."""
        await super().asgi_send(message)
        if message["type"] == "lifespan.startup.complete":
            self._started = True

    async def wait_for_startup(self) -> None:
        """Wait until the application is ready.

        Raises:
            hypercorn.utils.LifespanTimeoutError: it is not, after a minute.
        """
        try:
            await super().wait_for_startup()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # It returned without a word: it has no lifespan, and says so that way.
            self.supported = False

    async def wait_for_shutdown(self) -> None:
        """Wait until the application has cleaned up.

        Raises:
            hypercorn.utils.LifespanTimeoutError: it has not, within the grace time.
        """
        try:
            await super().wait_for_shutdown()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.supported = False


def _has_failed(crash: BaseException | None) -> bool:
    """Tell whether it was the application's own word that its lifespan failed."""
    if isinstance(crash, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", crash)
        return group.subgroup(LifespanFailureError) is not None
    return isinstance(crash, LifespanFailureError)
