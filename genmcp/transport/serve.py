"""Serving a server: a port, an endpoint, and a shutdown in good order.

Layer: transport, shell. What it takes and promises; `genmcp.transport.serving` does it.
`genmcp.cli` calls it for the command line.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

import trio
from typing_extensions import Unpack

from genmcp.limits import LimitOptions
from genmcp.setting import explain_unknown

if TYPE_CHECKING:
    import os
    import socket
    import ssl
    from collections.abc import Iterable, Sequence

    from genmcp.authorization import Authorization
    from genmcp.legacy.replay import ReplayStore
    from genmcp.legacy.store import SessionStore
    from genmcp.server import Server
    from genmcp.telemetry import Observer
    from genmcp.transport.asgi import StreamableHTTP
    from genmcp.transport.identify import Assigns, Principal
    from genmcp.transport.proxies import ProxyHeaders


Http: TypeAlias = Literal["native", "hypercorn"]
"""Which server speaks HTTP at a port."""


class EndpointOptions(LimitOptions, total=False):
    """What `serve` hands on to `StreamableHTTP`, which says what each one means."""

    public_url: str | None
    allowed_hosts: Iterable[str]
    allowed_origins: Iterable[str]
    trusted_proxies: Iterable[str]
    proxy_headers: ProxyHeaders
    authorization: Authorization | None
    assigns: Assigns | None
    principal: Principal | None
    secret_key: str | bytes | Sequence[str | bytes] | None
    keepalive_seconds: float
    observers: Iterable[Observer]
    legacy: bool
    legacy_stream_seconds: float | None
    session_store: SessionStore | None
    replay_store: ReplayStore | None


class ListenOptions(TypedDict, total=False):
    """Where `serve` listens, if not at `host` and `port`; see `PortConfig`."""

    unix_socket: str | os.PathLike[str] | None
    unix_socket_mode: int
    sockets: Sequence[socket.socket | int] | None
    reuse_port: bool


class PortOptions(TypedDict, total=False):
    """What `serve` hands on to `PortConfig`, which says what each one means."""

    http2: bool
    certfile: str | os.PathLike[str] | None
    keyfile: str | os.PathLike[str] | None
    ssl_context: ssl.SSLContext | None
    backlog: int
    max_connections: int
    max_connections_per_address: int | None
    max_header_bytes: int
    max_headers: int
    idle_timeout_seconds: float
    read_timeout_seconds: float
    write_timeout_seconds: float


class ServeOptions(EndpointOptions, ListenOptions, PortOptions, total=False):
    """The keyword arguments of `serve` that are somebody else's."""


async def serve(
    server: Server | StreamableHTTP,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    path: str | None = None,
    grace_seconds: float = 10.0,
    http: Http | None = None,
    handle_signals: bool = False,
    stop: trio.Event | None = None,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
    **options: Unpack[ServeOptions],
) -> None:
    """Serve `server` over Streamable HTTP until told to stop.

        async with trio.open_nursery() as nursery:
            urls = await nursery.start(partial(serve, suite, port=0))

    `nursery.start` returns once the port is open, with the URLs of the endpoint, such
    as `["http://127.0.0.1:43173/mcp"]`; more than one where the host has several
    addresses. With `await serve(...)` alone it runs until it is stopped or cancelled.

    Stopped, it accepts nothing more, gives every open call its last frame, waits for
    that at most `grace_seconds`, cuts off what is left, and returns. A client that has
    stopped reading holds up nothing. What trio has no way to cut off does, for as long as
    it takes: a plain `def` handler, whose thread has to return, and an `async def` one
    that shields itself, or swallows one cancellation after the other. (`genmcp serve`
    ends the process without them.)

    Besides loopback and the host of `public_url`, the host it is bound to is allowed as
    `Host`, unless that is a wildcard. The log says who is answered, and because of what.
    Of a Unix socket the URL is `http+unix://`, its path percent-encoded, and the endpoint's.

    Args:
        server: a `Server`, usually a `Suite`; or a ready `StreamableHTTP`, which keeps
            the path and the options it has. Stopping drains it, at every port it is
            served at, and for good.
        host: the name or address to bind; `"0.0.0.0"` or `"::"` for every interface.
        port: the port; 0 for a free one.
        path: where the endpoint is; the path of `public_url`, or `/mcp`, unless said
            otherwise.
        grace_seconds: how long a shutdown may take.
        http: which server speaks HTTP: `"native"`, written for this and several times as
            fast, or `"hypercorn"`, which also speaks HTTP/2. The first, unless `http2`.
        handle_signals: stop on SIGINT and SIGTERM, with whoever else does; a second one
            ends the process at once. For a program whose main thread runs this and little else.
        stop: an event that stops it when set. With `handle_signals`, a signal sets it.
        task_status: for `nursery.start`.
        options: any of `StreamableHTTP` (`public_url`, `allowed_hosts`, `allowed_origins`,
            `assigns`, `secret_key`, `observers`, ...); instead of `host` and `port`,
            `unix_socket` (with `unix_socket_mode`, 0o600) or `sockets`, which were opened
            by others and are taken over; `reuse_port=True` to share the port with other
            processes; `certfile` and `keyfile`, or an `ssl_context`, for TLS; `http2=True` to
            speak HTTP/2 as well; and the limits `max_connections` (1000),
            `max_connections_per_address` (none), `max_header_bytes` (32 KiB), `max_headers`
            (100), `idle_timeout_seconds` (75), `read_timeout_seconds` and
            `write_timeout_seconds` (30 each).

    Raises:
        OSError: the address cannot be bound, a socket that was given cannot be used, or a
            TLS file cannot be read.
        TypeError: `server` is not a server, or an option is unknown, or belongs to the
            `StreamableHTTP` that was given ready made.
        ValueError: an option makes no sense; the message names it.
        RuntimeError: `handle_signals` outside of the main thread; `server` is a
            `StreamableHTTP` that was stopped before; or the event loop is not trio's.

    Cancellation: stops it as well, but with a second of grace at most.
    """
    check_loop("serve")
    # At the top, it would bring all that answers and all that listens into every program
    # that imports `serve`, long before it serves, if it does.
    from genmcp.transport.serving import run_server  # noqa: PLC0415

    endpoint = _take(options, EndpointOptions)
    at_port = _take(options, ListenOptions) | _take(options, PortOptions)
    if options:
        raise TypeError(explain_unknown("serve()", next(iter(options)), _find_options()))
    at_port |= {"host": host, "port": port, "grace_seconds": grace_seconds}
    await run_server(
        server,
        path=path,
        endpoint=endpoint,
        at_port=at_port,
        http=http,
        stop=stop,
        task_status=task_status,
        handle_signals=handle_signals,
    )


def check_loop(function: str) -> None:
    """Refuse an event loop that is not trio's.

    Raises:
        RuntimeError: it is not; the message says how to start it.
    """
    if not trio.lowlevel.in_trio_task():
        raise RuntimeError(
            f"{function}() runs on trio, and this is another event loop, such as asyncio's; "
            f"start it with trio.run({function}, suite)"
        )


def _find_options() -> list[str]:
    own = [name for name in inspect.signature(serve).parameters if name != "options"]
    return [*own, *ServeOptions.__optional_keys__]


def _take(options: Any, kind: type[Any]) -> dict[str, Any]:
    """Take out of `options` those that are of this kind."""
    names = kind.__required_keys__ | kind.__optional_keys__
    return {name: options.pop(name) for name in names if name in options}
