"""Serving beside other workers.

Layer: cli, shell. What `genmcp.transport.serve` does for a process that is alone, with the
start told to the supervisor, and the stop told by it.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import trio

from genmcp.legacy.memory_store import MemorySessionStore
from genmcp.providers import EventSubscriptions
from genmcp.suite import Suite
from genmcp.transport.announcement import Announcer
from genmcp.transport.port_config import PortConfig
from genmcp.transport.serving import choose_port

if TYPE_CHECKING:
    from collections.abc import Callable

    from genmcp.cli.workers.seat import Seat
    from genmcp.server import Server
    from genmcp.transport.asgi import StreamableHTTP

_OWN_BUS: Final = (
    "An EventBus reaches the clients of its own process: with several workers, a change has to "
    "be published in each of them, out of a message broker for example, or most clients miss it"
)

_OWN_SESSIONS: Final = (
    "Sessions of 2025 are remembered by each worker for itself: log levels, watched resources, "
    "ended sessions, cancellations and answers of users reach the worker that a request came "
    "to. Give StreamableHTTP a session_store and a replay_store that all of them share, or "
    "route by the header Mcp-Session-Id"
)


async def serve_beside(
    seat: Seat,
    app: StreamableHTTP,
    bound: str | None,
    heard: Callable[[], None],
    *,
    stop: trio.Event,
    **options: Any,
) -> None:
    """Serve as one of several workers until `stop` is set, or the supervisor says so.

    Args:
        seat: of this worker.
        app: what is served.
        bound: the host that is bound; `None` for a Unix socket.
        heard: called when the supervisor says stop, even if the event loop is stuck.
        stop: see `genmcp.transport.serve.serve`.
        options: those of `PortConfig`, as all workers have them.

    Raises:
        OSError: the address cannot be bound, or a TLS file cannot be read.
        ValueError: an option makes no sense.
    """
    seat.apply(options)
    config = PortConfig(**options)
    token = trio.lowlevel.current_trio_token()

    def stop_soon() -> None:
        heard()
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(stop.set)

    seat.on_stop(stop_soon)
    report = _Reporter(seat, app)
    announcer = Announcer(app, bound, report, say=report.say)
    await choose_port(None, config)(app, config, stop, announcer)


class _Reporter(trio.TaskStatus[list[str]]):
    """Collects what is said of a start, and reports it."""

    def __init__(self, seat: Seat, app: StreamableHTTP) -> None:
        self._seat = seat
        self._lines: list[tuple[int, str]] = []
        self._app = app

    def say(self, level: int, line: str) -> None:
        self._lines.append((level, line))

    def started(self, value: list[str] | None = None) -> None:
        if has_own_bus(self._app.mux.server):
            self.say(logging.WARNING, _OWN_BUS)
        if isinstance(self._app.session_store, MemorySessionStore):
            self.say(logging.WARNING, _OWN_SESSIONS)
        with suppress(OSError):  # it has gone, which the seat notices
            self._seat.report(self._lines)


def has_own_bus(server: Server) -> bool:
    """Tell whether what a server tells its listeners is known in this process only."""
    handler = server.subscription_handler if isinstance(server, Suite) else None
    kind = handler if isinstance(handler, type) else type(handler)
    return issubclass(kind, EventSubscriptions)
