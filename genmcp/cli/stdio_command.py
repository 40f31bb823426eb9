"""`genmcp serve --stdio`.

Layer: cli. Around `genmcp.transport.stdio`: stdin and stdout are kept for messages before
the application's module is imported, which may print too, and the process ends in time
whatever the application's threads do.
"""

from __future__ import annotations

import logging
import os
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from genmcp.cli.hang_up import HangUpWatch
from genmcp.cli.limit_settings import find_endpoint_limits, find_limits, find_port_limits
from genmcp.cli.log_output import LogOutput
from genmcp.cli.serve_command import (
    describe_rest,
    read_seconds,
    read_switch,
    say_error,
    split_grace,
)
from genmcp.cli.settings import Settings
from genmcp.cli.target import UsageError, load_server
from genmcp.cli.watchdog import Watchdog
from genmcp.limits import Limits
from genmcp.setting import name_flag
from genmcp.transport.asgi import StreamableHTTP
from genmcp.transport.signals import stopping_on_signals
from genmcp.transport.stdio.serve import GRACE_SECONDS, NOT_FOR_STDIO, make_connector
from genmcp.transport.stdio.standard_streams import StandardStreams

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from trio.abc import ReceiveStream, SendStream

    from genmcp.cli.limit_settings import LimitSetting
    from genmcp.server import Server
    from genmcp.transport.stdio.connection import Connection

    Connect = Callable[[ReceiveStream, SendStream], Connection]

_log: Final = logging.getLogger("genmcp.cli")

_FOR_HTTP: Final = (
    "host",
    "port",
    "public_url",
    "path",
    "allowed_hosts",
    "allowed_origins",
    "trusted_proxies",
    "proxy_headers",
    "unix_socket",
    "unix_socket_mode",
    "fds",
    "workers",
    "certfile",
    "keyfile",
)


def run_stdio(parsed: argparse.Namespace, *, owns_process: bool) -> int:
    """Serve the client at stdin and stdout until it leaves; return the exit status.

    Once it has left, or a signal has come, a process that is still there at the end of the
    grace time is ended with status 0, whatever it does.

    Args:
        parsed: the command line.
        owns_process: whether this goes for what comes after this function, too. Then
            nobody is given stdout back.

    Raises:
        UsageError: an option or variable makes no sense, or the target is no server.
    """
    settings = Settings(parsed)
    _refuse_flags(parsed, settings)
    options = _take_options(settings)
    options["grace_seconds"], stuck_seconds = split_grace(options["grace_seconds"])
    output = LogOutput.take(settings)
    try:
        streams = StandardStreams()
    except OSError as error:
        return say_error(str(error), status=1)
    try:
        output.configure()
        if os.isatty(streams.stdin.fileno()):
            _log.warning(
                "stdin is a terminal: this waits for messages of a client, each a line of JSON. "
                "Clients start the command themselves; Ctrl-C ends it"
            )
        server = _load(parsed.server)
        try:
            connect = make_connector(server, **options)
        except ValueError as error:
            return say_error(settings.blame(error), status=2)
        return trio.run(partial(_serve, connect, streams, stuck_seconds, owns_process=owns_process))
    finally:
        if not owns_process:
            streams.give_back()


async def _serve(
    connect: Connect, streams: StandardStreams, stuck_seconds: float, *, owns_process: bool
) -> int:
    connection = connect(streams.stdin, streams.stdout)
    watchdog = Watchdog(stuck_seconds, partial(describe_rest, connection.mux))
    hang_up = HangUpWatch(streams.stdin.fileno(), watchdog.begin)

    def begin_to_end() -> None:
        hang_up.notice()
        watchdog.begin()

    stop = trio.Event()
    try:
        with stopping_on_signals(stop, heard=begin_to_end):
            await connection.run(stop, on_end=begin_to_end)
        return 0
    finally:
        hang_up.notice()
        if not owns_process:
            watchdog.call_off()
        with trio.CancelScope(shield=True):
            await streams.aclose()


def _load(target: str) -> Server:
    server = load_server(target)
    if isinstance(server, StreamableHTTP):
        raise UsageError(
            f"{target} is a StreamableHTTP, which is for HTTP: with --stdio name its server"
        )
    return server


def _refuse_flags(parsed: argparse.Namespace, settings: Settings) -> None:
    """Refuse the flags that say nothing here. Variables may be there for other servers."""
    of_calls = {limit.name for limit in _find_limits()}
    others = [*find_endpoint_limits(), *find_port_limits()]
    names = [*_FOR_HTTP, *(limit.name for limit in others if limit.name not in of_calls)]
    flags = [name_flag(name) for name in names if settings.find_flag(name) is not None]
    if parsed.http2:
        flags.append("--http2")
    if flags:
        raise UsageError(f"{flags[0]} is for HTTP and --stdio is not: leave one of them out")


def _take_options(settings: Settings) -> dict[str, Any]:
    options: dict[str, Any] = {"grace_seconds": GRACE_SECONDS}
    settings.take(options, "grace_seconds", read_seconds)
    settings.take(options, "legacy", read_switch)
    for limit in _find_limits():
        settings.take(options, limit.name, limit.read)
    return options


def _find_limits() -> list[LimitSetting]:
    return [limit for limit in find_limits(Limits) if limit.name not in NOT_FOR_STDIO]
