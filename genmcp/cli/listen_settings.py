"""Where `genmcp serve` listens, if not at a host and a port, and with how many processes.

Layer: cli. The rest of the settings is in `genmcp.cli.serve_command`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

from genmcp.cli.settings import read_list, read_whole_number
from genmcp.cli.target import UsageError
from genmcp.transport.setting import name_flag, name_variable

if TYPE_CHECKING:
    from genmcp.cli.settings import Settings

_MODE: Final = re.compile(r"(?:0o?)?[0-7]{3}")
_MAX_WORKERS: Final = 1_000


def take_listening(settings: Settings, options: dict[str, Any]) -> None:
    """Put what listens elsewhere than at a host and a port into `options`.

    Raises:
        UsageError: a setting makes no sense, or two flags exclude each other.
    """
    settings.take(options, "unix_socket", str)
    settings.take(options, "unix_socket_mode", _read_mode)
    given: dict[str, Any] = {}
    settings.take(given, "fds", read_list)
    if "fds" in given:
        options["sockets"] = [_read_descriptor(text) for text in given["fds"]]
    # Not so for variables: the same environment may be for several servers.
    places = [name for name in ("unix_socket", "fds") if settings.find_flag(name) is not None]
    ports = [name for name in ("host", "port") if settings.find_flag(name) is not None]
    if places and (ports or len(places) > 1):
        first, second = [*places, *ports][:2]
        raise UsageError(f"{name_flag(first)} and {name_flag(second)} exclude each other")
    if places == ["unix_socket"]:
        options.pop("sockets", None)
    elif places == ["fds"]:
        options.pop("unix_socket", None)
    elif ports:
        options.pop("sockets", None)
        options.pop("unix_socket", None)
    elif "sockets" in options and "unix_socket" in options:
        first, second = name_variable("unix_socket"), name_variable("fds")
        raise UsageError(f"{first} and {second} exclude each other")


def take_workers(settings: Settings) -> int:
    """Return how many processes are to answer.

    Raises:
        UsageError: it is no number of processes, or this system cannot have several.
    """
    options: dict[str, Any] = {"workers": 1}
    settings.take(options, "workers", _read_count)
    count: int = options["workers"]
    if count > 1 and os.name != "posix":
        raise UsageError(f"{name_flag('workers')} must be 1: this system shares no sockets")
    return count


def describe_address(options: dict[str, Any]) -> str:
    """Say where it was to be served."""
    if "sockets" in options:
        shown = ", ".join(str(one) for one in options["sockets"])
        return f"file descriptor {shown}"
    if "unix_socket" in options:
        return str(options["unix_socket"])
    return f"{options['host']}, port {options['port']}"


def _read_mode(text: str) -> int:
    if _MODE.fullmatch(text.strip()) is None:
        raise ValueError(f"permissions in three octal digits, such as 660, not {text!r}")
    return int(text.strip().removeprefix("0o"), 8)


def _read_count(text: str) -> int:
    count = read_whole_number(text)
    if not 1 <= count <= _MAX_WORKERS:
        raise ValueError(f"a number from 1 to {_MAX_WORKERS}, not {text!r}")
    return count


def _read_descriptor(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 6):  # noqa: PLR2004 - any is far less
        names = f"{name_flag('fds')} ({name_variable('fds')})"
        raise UsageError(f"{names} must be the number of a file descriptor, not {text!r}")
    return int(text)
