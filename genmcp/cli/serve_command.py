"""`genmcp serve`.

Layer: cli. Around `genmcp.transport.serve`: settings from options and environment,
logging, and an end that comes whatever the application's threads do.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from genmcp.cli.limit_settings import find_endpoint_limits, find_port_limits
from genmcp.cli.serve_flags import LEVELS
from genmcp.cli.settings import Settings, read_list
from genmcp.cli.target import UsageError, load_server
from genmcp.cli.watchdog import Watchdog
from genmcp.transport.asgi import SECRET_KEY_VARIABLE, StreamableHTTP
from genmcp.transport.serve import make_endpoint, serve
from genmcp.transport.setting import name_flag, name_variable
from genmcp.transport.signals import stopping_on_signals

if TYPE_CHECKING:
    import argparse

    from genmcp.mux import Mux

_log: Final = logging.getLogger("genmcp.cli")

_LOG_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_MAX_PORT: Final = 65535
_SWITCH: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
# How much of the grace time is left, when `serve` has had its own, to end a process that is
# stuck; and how soon at the soonest a process is taken to be stuck.
_SPARE_SHARE: Final = 0.1
_MOST_SPARE_SECONDS: Final = 1.0
_LEAST_SECONDS: Final = 0.5
_MOST_NAMED: Final = 5


def run_serve(parsed: argparse.Namespace, *, owns_process: bool) -> int:
    """Serve until stopped; return the exit status.

    Once a signal has come, a process that is still there at the end of the grace time is
    ended with status 0, whatever it does.

    Args:
        parsed: the command line.
        owns_process: whether this goes for what comes after this function, too.

    Raises:
        UsageError: an option or variable makes no sense, or the target is no server.
    """
    settings = Settings(parsed)
    options = _take_port_options(settings)
    options["http2"] = parsed.http2
    options["grace_seconds"], stuck_seconds = split_grace(options["grace_seconds"])
    level = _take_level(settings)
    endpoint_options = _take_endpoint_options(settings)
    server = load_server(parsed.server)
    _configure_logging(level)
    if isinstance(server, StreamableHTTP):
        _check_ready_endpoint(parsed.server, settings, endpoint_options)
        endpoint_options = {}
    elif secrets := os.environ.get(SECRET_KEY_VARIABLE, "").split():
        endpoint_options["secret_key"] = secrets
    try:
        app = make_endpoint(
            server, options["host"], endpoint_options.pop("path", None), endpoint_options
        )
    except ValueError as error:
        return _say_error(settings.blame(error), status=2)
    watchdog = Watchdog(stuck_seconds, partial(_describe_rest, app.mux))
    try:
        return trio.run(_serve, app, options, settings, watchdog)
    finally:
        if not owns_process:
            watchdog.call_off()


async def _serve(
    app: StreamableHTTP, options: dict[str, Any], settings: Settings, watchdog: Watchdog
) -> int:
    stop = trio.Event()
    with stopping_on_signals(stop, heard=watchdog.begin):
        try:
            await serve(app, stop=stop, **options)
        except OSError as error:
            # Bare ones come before the start only.
            reason = f"cannot serve on {options['host']}, port {options['port']}: {error}"
            return _say_error(reason, status=1)
        except ValueError as error:
            return _say_error(settings.blame(error), status=2)
    return 0


def split_grace(seconds: float) -> tuple[float, float]:
    """Return after how much of the grace time `serve`, and then the process, should end.

    What is left is for the process to end in.
    """
    spare = min(_MOST_SPARE_SECONDS, seconds * _SPARE_SHARE)
    return seconds - spare, max(seconds - spare / 2, _LEAST_SECONDS)


def _describe_rest(mux: Mux) -> str:
    """Say what keeps the process alive, as far as it is known: the calls, or threads."""
    rest = mux.describe_open_calls() or [
        f"thread {thread.name}"
        for thread in threading.enumerate()
        if not thread.daemon and thread is not threading.main_thread()
    ]
    more = [f"and {len(rest) - _MOST_NAMED} more"] if len(rest) > _MOST_NAMED else []
    return ", ".join([*rest[:_MOST_NAMED], *more]) or "the end of the process"


def _say_error(reason: str, *, status: int) -> int:
    print(f"genmcp serve: error: {reason}", file=sys.stderr)  # noqa: T201
    return status


def _take_port_options(settings: Settings) -> dict[str, Any]:
    options: dict[str, Any] = {"host": "127.0.0.1", "port": 8000, "grace_seconds": 10.0}
    settings.take(options, "host", str)
    settings.take(options, "port", _read_port)
    settings.take(options, "grace_seconds", _read_seconds)
    settings.take(options, "certfile", str)
    settings.take(options, "keyfile", str)
    for limit in find_port_limits():
        settings.take(options, limit.name, limit.read)
    return options


def _take_endpoint_options(settings: Settings) -> dict[str, Any]:
    options: dict[str, Any] = {}
    settings.take(options, "public_url", str)
    settings.take(options, "path", str)
    settings.take(options, "allowed_hosts", read_list)
    settings.take(options, "allowed_origins", read_list)
    settings.take(options, "legacy", _read_switch)
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
        _log.warning("%s is a StreamableHTTP, set it there: %s", target, unused)


def _take_level(settings: Settings) -> str | None:
    options: dict[str, Any] = {}
    settings.take(options, "log_level", _read_level)
    return options.get("log_level")


def _read_port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _MAX_PORT):
        raise ValueError(f"a number from 0 to {_MAX_PORT}, not {text!r}")
    return int(text)


def _read_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds < math.inf:
        raise ValueError(f"a number of seconds from 0 on, not {text!r}")
    return seconds


def _read_switch(text: str) -> bool:
    if text.lower() not in _SWITCH:
        raise ValueError(f"yes or no, not {text!r}")
    return _SWITCH[text.lower()]


def _read_level(text: str) -> str:
    if text.lower() not in LEVELS:
        raise ValueError(f"one of {', '.join(LEVELS)}, not {text!r}")
    return text.upper()


def _configure_logging(level: str | None) -> None:
    """Log to stderr, unless the application has its own logging; heed `level` anyway."""
    if not logging.root.handlers:
        logging.basicConfig(level=level or "INFO", format=_LOG_FORMAT)
    elif level is not None:
        logging.root.setLevel(level)
    # Its debug output shows the headers of every request, tokens included.
    logging.getLogger("hpack").setLevel("INFO")
