"""The flags of `genmcp serve`.

Layer: cli. Apart from `genmcp.cli.command_line`, as what they are derived from takes a
while to import; `genmcp.cli.serve_command` reads them.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final, get_args

from genmcp.cli.limit_settings import find_endpoint_limits, find_port_limits
from genmcp.cli.log_output import FORMATS, LEVELS
from genmcp.cli.target import SERVER_HELP
from genmcp.setting import name_flag
from genmcp.transport.proxies import ProxyHeaders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from genmcp.cli.limit_settings import LimitSetting

_DESCRIPTION: Final = """\
Serve a server over Streamable HTTP, or with --stdio to the client that starts this command.
Ctrl-C stops it in good order, a second one at once.

Every flag with a value has an environment variable, which it overrules: GENMCP_ and its
name, as GENMCP_PUBLIC_URL for --public-url. Those of flags that may be repeated are lists
with commas between, as GENMCP_ALLOWED_HOSTS and GENMCP_ALLOWED_ORIGINS. GENMCP_SECRET_KEY
has no flag, as other users of a machine may read the command line (several secrets, newest
first: spaces between).
"""


_SERVED: Final = """\
a Suite, which the flags are for; or a StreamableHTTP, made with the options that have no flag
(authorization, principal, assigns, observers), which then has all of its own
"""


def add_serve_flags(serve: argparse.ArgumentParser) -> None:
    """Make `serve` the parser of `genmcp serve`."""
    serve.usage = "%(prog)s [FLAGS] server"
    serve.description = _DESCRIPTION
    serve.formatter_class = argparse.RawDescriptionHelpFormatter
    serve.add_argument("server", help=f"{SERVER_HELP}: {_SERVED}")
    serve.add_argument("--log-level", choices=LEVELS, help="what is logged, to stderr (info)")
    serve.add_argument(
        "--log-format",
        choices=FORMATS,
        help="how: lines to read, or a JSON object on each (text)",
    )
    serve.add_argument(
        "--stdio",
        action="store_true",
        help="serve the one client at stdin and stdout, until it closes them; of the flags "
        "below only --no-legacy and limits of calls and messages go together with it",
    )
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
    _add_listening(place.add_argument)
    senders = serve.add_argument_group("who may call, besides this machine and --public-url")
    _add_senders(senders.add_argument)
    _add_proxies(serve.add_argument_group("proxies in between").add_argument)
    tls = serve.add_argument_group("TLS and HTTP/2")
    tls.add_argument("--certfile", help="a PEM file with the certificate chain, for TLS")
    tls.add_argument("--keyfile", help="a PEM file with its private key")
    tls.add_argument("--http2", action="store_true", help="speak HTTP/2 as well")
    processes = serve.add_argument_group("processes")
    processes.add_argument(
        "--workers",
        metavar="N",
        help="how many processes answer, each with limits of its own (1)",
    )
    limits = serve.add_argument_group("limits")
    limits.add_argument(
        "--grace-seconds",
        metavar="N",
        help="how long a shutdown may take (10; with --stdio 1.5, of the 2 that clients wait)",
    )
    _add_limits(limits.add_argument, find_endpoint_limits())
    connections = serve.add_argument_group("limits of connections")
    _add_limits(connections.add_argument, find_port_limits())


def _add_listening(add: Callable[..., object]) -> None:
    add("--unix-socket", metavar="PATH", help="a Unix socket to listen at instead")
    add(
        "--unix-socket-mode",
        metavar="MODE",
        help="its permissions, such as 660 for the group as well (600)",
    )
    add(
        name_flag("fds"),
        action="append",
        metavar="N",
        help="the file descriptor of a listening socket to serve at instead, as systemd hands "
        "them on from 3; may be repeated",
    )


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


def _add_proxies(add: Callable[..., object]) -> None:
    add(
        name_flag("trusted_proxies"),
        action="append",
        metavar="ADDRESS",
        help='an address or network of proxies, or "unix", believed about where calls come '
        "from; may be repeated",
    )
    add(
        "--proxy-headers",
        choices=get_args(ProxyHeaders),
        help="where they say it: X-Forwarded-For and -Proto, or Forwarded (x-forwarded)",
    )


def _add_limits(add: Callable[..., object], limits: Iterable[LimitSetting]) -> None:
    for limit in limits:
        add(name_flag(limit.name), metavar=limit.metavar, help=limit.description.replace("%", "%%"))
