"""The sockets a server listens on.

Layer: transport, shell. `genmcp.transport.http1.run` opens them, `door` accepts.
"""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import trio

if TYPE_CHECKING:
    from genmcp.transport.port_config import PortConfig


# What a machine says of an address it does not have, such as `::1` for `localhost` in a
# container without IPv6.
_NOT_HERE: Final = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


async def open_listeners(config: PortConfig) -> list[socket.socket]:
    """Bind and listen; non-blocking.

    Of several addresses that a name has, those which this machine lacks are left out, as
    long as it has one.

    Raises:
        OSError: the address cannot be bound.
    """
    found = await trio.socket.getaddrinfo(
        config.host or None, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    port = config.port
    try:
        for family, _, protocol, _, address in dict.fromkeys(found):
            try:
                # One free port for all addresses of the host.
                sock = _listen(family, protocol, (address[0], port, *address[2:]), config.backlog)
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                missing = error
            else:
                sockets.append(sock)
                port = sock.getsockname()[1]
    except BaseException:
        for sock in sockets:
            sock.close()
        raise
    if missing is not None and not sockets:
        raise missing
    return sockets


def _listen(
    family: socket.AddressFamily, protocol: int, address: tuple[Any, ...], backlog: int
) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM, protocol)
    try:
        sock.setblocking(False)  # noqa: FBT003 - the standard library's way
        if os.name == "posix":
            # Elsewhere it lets a second program take the port.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # The other family has a socket of its own.
            with suppress(OSError, AttributeError):
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        sock.listen(backlog)
    except BaseException:
        sock.close()
        raise
    return sock
