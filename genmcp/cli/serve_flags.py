"""The flags of `genmcp serve`.

Layer: cli. Apart from `genmcp.cli.command_line`, as what they are derived from takes a
while to import; `genmcp.cli.serve_command` reads them.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from genmcp.cli.limit_settings import find_endpoint_limits, find_port_limits
from genmcp.cli.target import SERVER_HELP
from genmcp.transport.setting import name_flag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from genmcp.cli.limit_settings import LimitSetting

_DESCRIPTION: Final = """\
Serve a server over Streamable HTTP. Ctrl-C stops it in good order, a second one at once.

Every flag with a value has an environment variable, which it overrules: GENMCP_ and its
name, as GENMCP_PUBLIC_URL for --public-url. Two are lists with commas between:
GENMCP_ALLOWED_HOSTS and GENMCP_ALLOWED_ORIGINS. GENMCP_SECRET_KEY has no flag, as other
users of a machine may read the command line (several secrets, newest first: spaces between).
"""
LEVELS: Final = ("debug", "info", "warning", "error", "critical")


def add_serve_flags(serve: argparse.ArgumentParser) -> None:
    """Make `serve` the parser of `genmcp serve`."""
    serve.usage = "%(prog)s [FLAGS] server"
    serve.description = _DESCRIPTION
    serve.formatter_class = argparse.RawDescriptionHelpFormatter
    serve.add_argument("server", help=SERVER_HELP)
    serve.add_argument("--log-level", choices=LEVELS, help="what is logged, to stderr (info)")
    place = serve.add_argument_group("where it is")
    place.add_argument("--host", help="the address to bind (127.0.0.1)")
    place.add_argument("--port", help="the port, 0 for a free one (8000)")
    place.add_argument(
        "--public-url",
        metavar="URL",
        help="what clients connect to, where that is another: its host, origin and path are "
        "answered",
    )
    place.add_argument("--path", help="where the endpoint is (that of --public-url, or /mcp)")
    place.add_argument(
        "--no-legacy",
        action="store_const",
        const="no",
        help="serve no clients of the protocol versions of 2025 (GENMCP_LEGACY=no)",
    )
    senders = serve.add_argument_group("who may call, besides this machine and --public-url")
    _add_senders(senders.add_argument)
    tls = serve.add_argument_group("TLS and HTTP/2")
    tls.add_argument("--certfile", help="a PEM file with the certificate chain, for TLS")
    tls.add_argument("--keyfile", help="a PEM file with its private key")
    tls.add_argument("--http2", action="store_true", help="speak HTTP/2 as well")
    limits = serve.add_argument_group("limits")
    limits.add_argument("--grace-seconds", metavar="N", help="how long a shutdown may take (10)")
    _add_limits(limits.add_argument, find_endpoint_limits())
    connections = serve.add_argument_group("limits of connections")
    _add_limits(connections.add_argument, find_port_limits())


def _add_senders(add: Callable[..., object]) -> None:
    add(
        name_flag("allowed_hosts"),
        action="append",
        metavar="HOST",
        help="a host clients may connect to; may be repeated",
    )
    add(
        name_flag("allowed_origins"),
        action="append",
        metavar="ORIGIN",
        help="an origin whose pages may call, and read the answers; may be repeated",
    )


def _add_limits(add: Callable[..., object], limits: Iterable[LimitSetting]) -> None:
    for limit in limits:
        add(name_flag(limit.name), metavar="N", help=limit.description.replace("%", "%%"))
