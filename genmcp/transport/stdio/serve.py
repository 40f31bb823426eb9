"""Serving a server to the one client that has started this process.

Layer: transport, shell. Puts `genmcp.transport.stdio.connection` on the process's own
streams, or on others. `genmcp.cli` calls it for the command line.
"""

from __future__ import annotations

import inspect
import math
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

import trio
from typing_extensions import Unpack

from genmcp.deferred import load
from genmcp.errors import show
from genmcp.limits import LimitOptions, Limits
from genmcp.mcp import v2607 as mcp
from genmcp.mux import Mux
from genmcp.server import Server
from genmcp.setting import explain_unknown
from genmcp.transport.asgi import make_keyring
from genmcp.transport.serve import check_loop
from genmcp.transport.stdio.connection import Connection
from genmcp.transport.stdio.line_inbound import LineInbound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from trio.abc import ReceiveStream, SendStream

    from genmcp.telemetry import Observer

GRACE_SECONDS: Final = 1.5
"""What an end may take by default: clients wait two seconds before they kill."""

NOT_FOR_STDIO: Final = ("body_timeout_seconds",)
"""The limits that say nothing here: a line may take as long as the client likes."""


async def serve_stdio(
    server: Server,
    *,
    stdin: ReceiveStream | None = None,
    stdout: SendStream | None = None,
    assigns: Mapping[str, Any] | None = None,
    secret_key: str | bytes | Sequence[str | bytes] | None = None,
    observers: Iterable[Observer] = (),
    grace_seconds: float = GRACE_SECONDS,
    handle_signals: bool = False,
    stop: trio.Event | None = None,
    legacy: bool = True,
    **limits: Unpack[LimitOptions],
) -> None:
    """Serve `server` to the client at this process's stdin and stdout, until it leaves.

        trio.run(partial(serve_stdio, suite, handle_signals=True))

    Meanwhile stdout is for messages alone: what is printed goes to stderr, in child
    processes too, and nobody else can read stdin. Afterwards both are as they were.

    At the end of its input it cancels what is running, gives clean-ups `grace_seconds`,
    and returns. Stopped, it gives every open call its last line first. What trio cannot cut
    off, such as a plain `def` handler, it waits for in either case. (`genmcp serve --stdio`
    ends the process without.)

    OAuth has no place here: `required_scopes` are not asked for, and credentials come from
    the environment.

    Args:
        server: a `Server`, usually a `Suite`.
        stdin: where messages come from, instead of stdin; not without `stdout`. The
            process's own streams stay as they are then.
        stdout: where messages go, instead of stdout.
        assigns: what handlers find in `channel.assigns`.
        secret_key: see `StreamableHTTP`.
        observers: are told of every call and every refusal; see `Observer`.
        grace_seconds: how long the end may take.
        handle_signals: stop on SIGINT and SIGTERM; a second one ends the process at once.
        stop: an event that stops it when set.
        legacy: whether clients of 2025 are served, too: protocol versions `2025-11-25` and
            `2025-06-18`, from their `initialize` on.
        limits: any of `genmcp.limits.Limits` but `body_timeout_seconds`. One client is one
            caller, which is limited only where it is asked for. `max_body_bytes` is how
            long a line may be.

    Raises:
        OSError: stdin or stdout is closed.
        TypeError: `server` is not a server, an option is unknown, or one of `stdin` and
            `stdout` is missing.
        ValueError: an option makes no sense; the message names it.
        RuntimeError: `handle_signals` outside of the main thread, stdin and stdout are
            served already, or the event loop is not trio's.

    Cancellation: as the end of the input.

    Spec: basic/transports/stdio
    """
    check_loop("serve_stdio")
    from genmcp.transport.signals import stopping_on_signals  # noqa: PLC0415 - see `serve`
    from genmcp.transport.stdio.standard_streams import StandardStreams  # noqa: PLC0415

    make = make_connector(
        server,
        assigns=assigns,
        secret_key=secret_key,
        observers=observers,
        grace_seconds=grace_seconds,
        legacy=legacy,
        **limits,
    )
    if (stdin is None) is not (stdout is None):
        missing = "stdin" if stdin is None else "stdout"
        raise TypeError(f"serve_stdio() needs {missing} as well: give it both, or neither")
    stop = trio.Event() if stop is None else stop
    with stopping_on_signals(stop) if handle_signals else nullcontext():
        if stdin is not None and stdout is not None:
            await make(stdin, stdout).run(stop)
            return
        streams = StandardStreams()
        try:
            await make(streams.stdin, streams.stdout).run(stop)
        finally:
            with trio.CancelScope(shield=True):
                await streams.aclose()
            streams.give_back()


def make_connector(
    server: Server,
    *,
    assigns: Mapping[str, Any] | None = None,
    secret_key: str | bytes | Sequence[str | bytes] | None = None,
    observers: Iterable[Observer] = (),
    grace_seconds: float = GRACE_SECONDS,
    legacy: bool = True,
    **limits: Unpack[LimitOptions],
) -> Callable[[ReceiveStream, SendStream], Connection]:
    """Return what makes the connection to a client, of its two streams.

    Args: see `serve_stdio`.

    Raises:
        TypeError: see `serve_stdio`.
        ValueError: see `serve_stdio`.
    """
    # The type says so, but what is served is often looked up by name.
    if not isinstance(server, Server):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"serve_stdio() takes a Server, such as a Suite: {show(server)}")
    for name in limits:
        if name in NOT_FOR_STDIO:
            raise TypeError(f"serve_stdio() has no {name}: a line may take as long as it likes")
        if name not in LimitOptions.__optional_keys__:
            raise TypeError(explain_unknown("serve_stdio()", name, _find_options()))
    if not 0 <= grace_seconds < math.inf:
        raise ValueError(f"grace_seconds must be a number from 0 on, got {grace_seconds!r}")
    checked = Limits(**limits).fill_in(limited_by_default=False)
    keyring = make_keyring(secret_key)
    load(mcp)
    mux = Mux(server, keyring=keyring, limits=checked, observers=observers)
    inbound = LineInbound(server.methods(), checked, legacy=legacy)

    def make(stdin: ReceiveStream, stdout: SendStream) -> Connection:
        return Connection(
            mux,
            inbound,
            stdin,
            stdout,
            assigns={} if assigns is None else assigns,
            grace_seconds=grace_seconds,
        )

    return make


def _find_options() -> set[str]:
    own = set(inspect.signature(serve_stdio).parameters) - {"limits"}
    return (own | LimitOptions.__optional_keys__) - set(NOT_FOR_STDIO)
