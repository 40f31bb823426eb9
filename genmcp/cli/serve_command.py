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
from typing import TYPE_CHECKING, Any, Final, TypeVar

import trio

from genmcp.cli.target import Served, UsageError, load_server
from genmcp.cli.watchdog import Watchdog
from genmcp.transport.asgi import StreamableHTTP
from genmcp.transport.runner.signals import stopping_on_signals
from genmcp.transport.serve import make_endpoint, serve

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from genmcp.mux import Mux

T = TypeVar("T")

_LOG_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_MAX_PORT: Final = 65535
_LEVELS: Final = ("debug", "info", "warning", "error", "critical")
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
    options: dict[str, Any] = {
        "host": _find_setting(parsed, "host", str, "127.0.0.1"),
        "port": _find_setting(parsed, "port", _read_port, 8000),
        "certfile": parsed.certfile,
        "keyfile": parsed.keyfile,
        "http2": parsed.http2,
    }
    grace_seconds = _find_setting(parsed, "grace_seconds", _read_seconds, 10.0)
    options["grace_seconds"], stuck_seconds = split_grace(grace_seconds)
    level = _find_setting(parsed, "log_level", _read_level, None)
    server = load_server(parsed.server)
    _configure_logging(level)
    endpoint_options = _find_endpoint_options(parsed, server)
    try:
        app = make_endpoint(
            server, options["host"], endpoint_options.pop("path", None), endpoint_options
        )
    except ValueError as error:
        return _say_error(str(error), status=2)
    watchdog = Watchdog(stuck_seconds, partial(_describe_rest, app.mux))
    try:
        return trio.run(_serve, app, options, watchdog)
    finally:
        if not owns_process:
            watchdog.call_off()


async def _serve(app: StreamableHTTP, options: dict[str, Any], watchdog: Watchdog) -> int:
    stop = trio.Event()
    with stopping_on_signals(stop, heard=watchdog.begin):
        try:
            await serve(app, stop=stop, **options)
        except OSError as error:
            # Bare ones come before the start only.
            reason = f"cannot serve on {options['host']}, port {options['port']}: {error}"
            return _say_error(reason, status=1)
        except ValueError as error:
            return _say_error(str(error), status=2)
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


def _find_endpoint_options(parsed: argparse.Namespace, server: Served) -> dict[str, Any]:
    if isinstance(server, StreamableHTTP):
        for name in ("path", "allowed_host", "allowed_origin"):
            if getattr(parsed, name) is not None:
                option = "--" + name.replace("_", "-")
                raise UsageError(f"{option}: {parsed.server} is a StreamableHTTP, set it there")
        return {}
    options: dict[str, Any] = {
        "path": _find_setting(parsed, "path", str, None),
        "allowed_hosts": parsed.allowed_host or _find_list("ALLOWED_HOSTS"),
        "allowed_origins": parsed.allowed_origin or _find_list("ALLOWED_ORIGINS"),
    }
    secrets = os.environ.get("GENMCP_SECRET_KEY", "").split()
    if secrets:
        options["secret_key"] = secrets
    return options


def _find_setting(parsed: argparse.Namespace, name: str, read: Callable[[str], T], default: T) -> T:
    """Return what the option says, or the variable, or `default`."""
    given: str | None = getattr(parsed, name)
    source = "--" + name.replace("_", "-")
    if given is None:
        source = f"GENMCP_{name.upper()}"
        given = os.environ.get(source) or None
    if given is None:
        return default
    try:
        return read(given)
    except ValueError as error:
        raise UsageError(f"{source} must be {error}") from None


def _find_list(name: str) -> list[str]:
    entries = os.environ.get(f"GENMCP_{name}", "").split(",")
    return [entry.strip() for entry in entries if entry.strip()]


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


def _read_level(text: str) -> str:
    if text.lower() not in _LEVELS:
        raise ValueError(f"one of {', '.join(_LEVELS)}, not {text!r}")
    return text.upper()


def _configure_logging(level: str | None) -> None:
    """Log to stderr, unless the application has its own logging; heed `level` anyway."""
    if not logging.root.handlers:
        logging.basicConfig(level=level or "INFO", format=_LOG_FORMAT)
    elif level is not None:
        logging.root.setLevel(level)
    # Its debug output shows the headers of every request, tokens included.
    logging.getLogger("hpack").setLevel("INFO")
