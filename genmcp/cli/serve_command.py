"""`genmcp serve`.

Layer: cli. Around `genmcp.transport.serve`: settings from options and environment,
logging, and an end that comes whatever the application's threads do.
"""

from __future__ import annotations

import logging
import math
import os
import sys
from typing import TYPE_CHECKING, Any, Final, TypeVar

import trio

from genmcp.cli.target import Served, UsageError, load_server
from genmcp.transport.asgi import StreamableHTTP
from genmcp.transport.serve import serve

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

T = TypeVar("T")

_log: Final = logging.getLogger("genmcp.cli")

_LOG_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_MAX_PORT: Final = 65535
_LEVELS: Final = ("debug", "info", "warning", "error", "critical")
# Past the grace time, until a process that has not ended is taken to be stuck.
_STUCK_SECONDS: Final = 3.0


def run_serve(parsed: argparse.Namespace) -> int:
    """Serve until stopped; return the exit status.

    Raises:
        UsageError: an option or variable makes no sense, or the target is no server.
    """
    options: dict[str, Any] = {
        "host": _find_setting(parsed, "host", str, "127.0.0.1"),
        "port": _find_setting(parsed, "port", _read_port, 8000),
        "grace_seconds": _find_setting(parsed, "grace_seconds", _read_seconds, 10.0),
        "certfile": parsed.certfile,
        "keyfile": parsed.keyfile,
        "http2": parsed.http2,
    }
    level = _find_setting(parsed, "log_level", _read_level, None)
    server = load_server(parsed.server)
    _configure_logging(level)
    options |= _find_endpoint_options(parsed, server)
    return trio.run(_serve, server, options)


async def _serve(server: Served, options: dict[str, Any]) -> int:
    stop, ended = trio.Event(), trio.Event()

    async def run(task_status: trio.TaskStatus[list[str]]) -> None:
        await serve(server, handle_signals=True, stop=stop, task_status=task_status, **options)
        ended.set()

    async with trio.open_nursery() as nursery:
        try:
            await nursery.start(run)
        except OSError as error:
            reason = f"cannot serve on {options['host']}, port {options['port']}: {error}"
            return _say_error(reason, status=1)
        except ValueError as error:
            return _say_error(str(error), status=2)
        await stop.wait()
        with trio.move_on_after(options["grace_seconds"] + _STUCK_SECONDS):
            await ended.wait()
            return 0
        # Only threads can hold it up, and a thread cannot be ended.
        _log.warning("A handler's thread has not returned; the process ends without it")
        logging.shutdown()
        os._exit(0)


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
