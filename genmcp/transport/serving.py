"""How a server is served: its endpoint, on a port, until a shutdown in good order.

Layer: transport, shell. Puts `genmcp.transport.asgi` (the endpoint) on
`genmcp.transport.http1` or `genmcp.transport.runner` (the port). `genmcp.transport.serve`
says what it takes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import trio

from genmcp.errors import show
from genmcp.server import Server
from genmcp.transport.announcement import Announcer, find_host_name
from genmcp.transport.asgi import StreamableHTTP
from genmcp.transport.listeners import find_bound_host
from genmcp.transport.port_config import PortConfig
from genmcp.transport.signals import stopping_on_signals

if TYPE_CHECKING:
    from genmcp.transport.serve import Http

RunPort: TypeAlias = Callable[[StreamableHTTP, PortConfig, trio.Event, Announcer], Awaitable[None]]


async def run_server(
    server: Server | StreamableHTTP,
    *,
    path: str | None,
    endpoint: dict[str, Any],
    at_port: dict[str, Any],
    http: Http | None,
    stop: trio.Event | None,
    task_status: trio.TaskStatus[list[str]],
    handle_signals: bool,
) -> None:
    """Serve: see `genmcp.transport.serve.serve`, as for what is raised.

    Args:
        server: who answers.
        path: `None` for the default.
        endpoint: those of `EndpointOptions` that were given.
        at_port: what a `PortConfig` is made of.
        http: which server speaks HTTP.
        stop: stops it when set.
        task_status: told the URLs.
        handle_signals: stop on signals as well.
    """
    config = PortConfig(**at_port)
    run = choose_port(http, config)
    bound = find_bound_host(config)
    app = make_endpoint(server, bound, path, endpoint)
    if app.mux.draining:
        raise RuntimeError("this StreamableHTTP was stopped, which is for good; make a new one")
    stop = trio.Event() if stop is None else stop
    announcer = Announcer(app, bound, task_status)
    with stopping_on_signals(stop) if handle_signals else nullcontext():
        await run(app, config, stop, announcer)


def choose_port(http: Http | None, config: PortConfig) -> RunPort:
    """Return what runs the port.

    Raises:
        ValueError: there is no such server, or it does not speak what it should.
    """
    if http not in {None, "native", "hypercorn"}:
        raise ValueError(f'http must be "native" or "hypercorn", got {http!r}')
    if http == "native" and config.http2:
        raise ValueError('http2 needs http="hypercorn": the native server speaks HTTP/1.1')
    return _run_hypercorn if http == "hypercorn" or config.http2 else _run_native


async def _run_native(
    app: StreamableHTTP, config: PortConfig, stop: trio.Event, announcer: Announcer
) -> None:
    from genmcp.transport.http1 import run_http1  # noqa: PLC0415 - one of the two is enough

    await run_http1(
        app.serve_exchange,
        config,
        cleanup_seconds=app.mux.limits.cleanup_seconds,
        drain=app.drain,
        stop=stop,
        task_status=announcer,
    )


async def _run_hypercorn(
    app: StreamableHTTP, config: PortConfig, stop: trio.Event, announcer: Announcer
) -> None:
    from genmcp.transport.runner import run_asgi  # noqa: PLC0415 - one of the two is enough

    await run_asgi(app, config, drain=app.drain, stop=stop, task_status=announcer)


def make_endpoint(
    server: Server | StreamableHTTP, host: str | None, path: str | None, options: dict[str, Any]
) -> StreamableHTTP:
    """Return the endpoint for `server`, which answers to the host it is bound to.

    Args:
        server: see `serve`, as for `path`.
        host: what will be bound; `None` for a Unix socket.
        path: `None` for the default.
        options: those of `EndpointOptions` that were given.

    Raises:
        TypeError: see `serve`.
        ValueError: see `serve`.
    """
    if isinstance(server, StreamableHTTP):
        given = [*options, *([] if path is None else ["path"])]
        if given:
            raise TypeError(f"{given[0]} belongs to the StreamableHTTP; give it there")
        return server
    # The type says so, but what is served is often looked up by name.
    if not isinstance(server, Server):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"serve() takes a Server, such as a Suite, or a StreamableHTTP: {show(server)}"
        )
    options = dict(options)
    names = options.pop("allowed_hosts", ())
    # A single string is for the endpoint to refuse.
    names = names if isinstance(names, str) else list(names)
    bound = None if host is None else find_host_name(host)
    return StreamableHTTP(
        server,
        path=path,
        allowed_hosts=names if isinstance(names, str) or bound is None else [*names, bound],
        **options,
    )
