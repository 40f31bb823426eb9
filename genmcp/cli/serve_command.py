"""`genmcp serve`.

Layer: cli. Around `genmcp.transport.serve`: settings from options and environment,
logging, and an end that comes whatever the application's threads do.
"""

from __future__ import annotations

import gc
import logging
import math
import os
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from genmcp.cli.access_token import TOKEN_VARIABLE
from genmcp.cli.limit_settings import find_endpoint_limits, find_port_limits
from genmcp.cli.listen_settings import describe_address, take_listening, take_workers
from genmcp.cli.log_output import LogOutput
from genmcp.cli.settings import Settings, read_list
from genmcp.cli.target import UsageError, load_server
from genmcp.cli.watchdog import Watchdog
from genmcp.cli.workers.beside import serve_beside
from genmcp.cli.workers.seat import Seat
from genmcp.cli.workers.supervise import supervise
from genmcp.setting import name_flag, name_variable
from genmcp.transport.asgi import SECRET_KEY_VARIABLE, StreamableHTTP
from genmcp.transport.listeners import find_bound_host
from genmcp.transport.port_config import PortConfig
from genmcp.transport.serve import serve
from genmcp.transport.serving import make_endpoint
from genmcp.transport.signals import stopping_on_signals

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable, Sequence

    from genmcp.mux import Mux

_log: Final = logging.getLogger("genmcp.cli")

_MAX_PORT: Final = 65535
_SWITCH: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
# How much of the grace time is left, when `serve` has had its own, to end a process that is
# stuck; and how soon at the soonest a process is taken to be stuck.
_SPARE_SHARE: Final = 0.1
_MOST_SPARE_SECONDS: Final = 1.0
_LEAST_SECONDS: Final = 0.5
_COLLECTOR_THRESHOLDS: Final = (10_000, 20, 50)
_MOST_NAMED: Final = 5


def run_serve(parsed: argparse.Namespace, *, command: Sequence[str], owns_process: bool) -> int:
    """Serve until stopped; return the exit status.

    Once a signal has come, a process that is still there at the end of the grace time is
    ended with status 0, whatever it does.

    Args:
        parsed: the command line.
        command: what runs it once more, for workers.
        owns_process: whether this goes for what comes after this function, too.

    Raises:
        UsageError: an option or variable makes no sense, or the target is no server.
    """
    settings = Settings(parsed)
    options = _take_port_options(settings)
    options["http2"] = parsed.http2
    output = LogOutput.take(settings)
    count = take_workers(settings)
    endpoint_options = _take_endpoint_options(settings)
    seat = Seat.take()
    if seat is None and count > 1:
        output.configure()
        _warn_of_unknown(settings)
        return _run_workers(command, count, options, settings)
    grace_seconds, stuck_seconds = split_grace(options["grace_seconds"])
    options["grace_seconds"] = grace_seconds
    server = load_server(parsed.server)
    output.configure("" if seat is None else f"worker {seat.number}")
    if seat is None:
        _warn_of_unknown(settings)
    if isinstance(server, StreamableHTTP):
        _check_ready_endpoint(parsed.server, settings, endpoint_options)
        endpoint_options = {}
    elif secrets := os.environ.get(SECRET_KEY_VARIABLE, "").split():
        endpoint_options["secret_key"] = secrets
    try:
        bound = find_bound_host(PortConfig(**options))
        app = make_endpoint(server, bound, endpoint_options.pop("path", None), endpoint_options)
    except OSError as error:
        return _say_unbound(options, error)
    except ValueError as error:
        return say_error(settings.blame(error), status=2)
    watchdog = Watchdog(stuck_seconds, partial(describe_rest, app.mux))
    if owns_process:
        _spare_collector()
    run = (
        partial(serve, app)
        if seat is None
        else partial(serve_beside, seat, app, bound, watchdog.begin)
    )
    try:
        return trio.run(_serve, run, options, settings, watchdog)
    finally:
        if not owns_process:
            watchdog.call_off()


def _spare_collector() -> None:
    """Let the garbage collector look at what calls leave behind, and at nothing older.

    By default it goes through every object there is for each few hundred new ones that
    live on, which costs a busy server a tenth of its time, and its slowest calls more. What
    was made until now lives as long as the process; cycles that calls leave are found as
    ever, only somewhat later.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)


def _run_workers(
    command: Sequence[str], count: int, options: dict[str, Any], settings: Settings
) -> int:
    try:
        config = PortConfig(**options)
    except ValueError as error:
        return say_error(settings.blame(error), status=2)
    try:
        return trio.run(supervise, command, count, config)
    except OSError as error:
        return _say_unbound(options, error)


async def _serve(
    run: Callable[..., Awaitable[None]],
    options: dict[str, Any],
    settings: Settings,
    watchdog: Watchdog,
) -> int:
    stop = trio.Event()
    with stopping_on_signals(stop, heard=watchdog.begin):
        try:
            await run(stop=stop, **options)
        except OSError as error:
            # Bare ones come before the start only.
            return _say_unbound(options, error)
        except ValueError as error:
            return say_error(settings.blame(error), status=2)
    return 0


def split_grace(seconds: float) -> tuple[float, float]:
    """Return after how much of the grace time `serve`, and then the process, should end.

    What is left is for the process to end in.
    """
    spare = min(_MOST_SPARE_SECONDS, seconds * _SPARE_SHARE)
    return seconds - spare, max(seconds - spare / 2, _LEAST_SECONDS)


def describe_rest(mux: Mux) -> str:
    """Say what keeps the process alive, as far as it is known: the calls, or threads."""
    rest = mux.describe_open_calls() or [
        f"thread {thread.name}"
        for thread in threading.enumerate()
        if not thread.daemon and thread is not threading.main_thread()
    ]
    more = [f"and {len(rest) - _MOST_NAMED} more"] if len(rest) > _MOST_NAMED else []
    return ", ".join([*rest[:_MOST_NAMED], *more]) or "the end of the process"


def _say_unbound(options: dict[str, Any], error: OSError) -> int:
    return say_error(f"cannot serve on {describe_address(options)}: {error}", status=1)


def say_error(reason: str, *, status: int) -> int:
    """Say what is wrong, and return the exit status for it."""
    print(f"genmcp serve: error: {reason}", file=sys.stderr)  # noqa: T201
    return status


def _warn_of_unknown(settings: Settings) -> None:
    """Name the variables that are ignored, once everything was taken that there is."""
    if unknown := settings.find_unknown(SECRET_KEY_VARIABLE, TOKEN_VARIABLE):
        _log.warning("there are no such settings, so these are ignored: %s", ", ".join(unknown))


def _take_port_options(settings: Settings) -> dict[str, Any]:
    options: dict[str, Any] = {"host": "127.0.0.1", "port": 8000, "grace_seconds": 10.0}
    settings.take(options, "host", str)
    settings.take(options, "port", _read_port)
    settings.take(options, "grace_seconds", read_seconds)
    settings.take(options, "certfile", str)
    settings.take(options, "keyfile", str)
    take_listening(settings, options)
    for limit in find_port_limits():
        settings.take(options, limit.name, limit.read)
    return options


def _take_endpoint_options(settings: Settings) -> dict[str, Any]:
    options: dict[str, Any] = {}
    settings.take(options, "public_url", str)
    settings.take(options, "path", str)
    settings.take(options, "allowed_hosts", read_list)
    settings.take(options, "allowed_origins", read_list)
    settings.take(options, "trusted_proxies", read_list)
    settings.take(options, "proxy_headers", str)
    settings.take(options, "legacy", read_switch)
    for limit in find_endpoint_limits():
        settings.take(options, limit.name, limit.read)
    return options


def _check_ready_endpoint(target: str, settings: Settings, options: dict[str, Any]) -> None:
    """Refuse flags, and point to variables, that a `StreamableHTTP` cannot be told any more."""
    for name in options:
        if settings.find_flag(name) is not None:
            raise UsageError(f"{name_flag(name)}: {target} is a StreamableHTTP, set it there")
    if options:
        # Not refused: the same environment may be for several servers.
        unused = ", ".join(name_variable(name) for name in options)
        _log.warning("%s is a StreamableHTTP, set it there; ignored: %s", target, unused)


def _read_port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _MAX_PORT):
        raise ValueError(f"a number from 0 to {_MAX_PORT}, not {text!r}")
    return int(text)


def read_seconds(text: str) -> float:
    """Read a number of seconds, which may be none.

    Raises:
        ValueError: it is no such number; says what is wanted.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds < math.inf:
        raise ValueError(f"a number of seconds from 0 on, not {text!r}")
    return seconds


def read_switch(text: str) -> bool:
    """Read whether something is on.

    Raises:
        ValueError: it says neither; says what is wanted.
    """
    if text.lower() not in _SWITCH:
        raise ValueError(f"yes or no, not {text!r}")
    return _SWITCH[text.lower()]
