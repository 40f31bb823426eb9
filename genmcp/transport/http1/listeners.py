"""The sockets a server listens on.

Layer: transport, shell. `genmcp.transport.http1.run` opens them, `door` accepts.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from genmcp.transport.port_config import PortConfig


async def open_listeners(config: PortConfig) -> list[socket.socket]:
    """Bind and listen; non-blocking.

    Raises:
        OSError: the address cannot be bound.
    """
    found = await trio.socket.getaddrinfo(
        config.host or None, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    port = config.port
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            sock = socket.socket(family, kind, protocol)
            sockets.append(sock)
            sock.setblocking(False)  # noqa: FBT003 - the standard library's way
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                # The other family has a socket of its own.
                with suppress(OSError, AttributeError):
                    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            # One free port for all addresses of the host.
            sock.bind((address[0], port or address[1], *address[2:]))
            port = sock.getsockname()[1]
            sock.listen(config.backlog)
    except BaseException:
        for sock in sockets:
            sock.close()
        raise
    return sockets
