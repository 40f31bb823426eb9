"""Where the workers listen, held for them by their supervisor.

Layer: cli, shell. On Linux each worker binds the port for itself, with `SO_REUSEPORT`, and
the system shares out the connections evenly; the supervisor binds it as well, but does not
listen, so that nobody takes it while a worker is away. Elsewhere, and for what is no port,
the supervisor listens, never accepts, and the workers accept from its socket.
"""

from __future__ import annotations

import socket
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import attrs

from genmcp.transport.listeners import bind_port, listening
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from genmcp.transport.port_config import PortConfig

# Elsewhere it only lets the last one that binds have all connections.
_SHARES_OUT: Final = sys.platform == "linux" and hasattr(socket, "SO_REUSEPORT")
_TRIES: Final = 5


@attrs.frozen(eq=False, repr=False)
class Held(Value):
    """What the workers are told, and what is held for them.

    Attributes:
        port: the port each binds for itself, or `None`.
        sockets: what is held: otherwise, what they accept from.
    """

    port: int | None
    sockets: Sequence[socket.socket]

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The sockets that the workers accept from, if they do not bind their own."""
        return tuple(one.fileno() for one in self.sockets) if self.port is None else ()

    def close(self) -> None:
        """Take no more part in it: once the workers have ended, nobody listens."""
        for one in self.sockets:
            one.close()


@asynccontextmanager
async def holding(config: PortConfig) -> AsyncGenerator[Held]:
    """Hold what `config` says for workers, until the end of the block.

    Raises:
        OSError: the address cannot be bound.
    """
    if _SHARES_OUT and config.sockets is None and config.unix_socket is None:
        held = await _reserve_port(config)
        try:
            yield held
        finally:
            held.close()
    else:
        async with listening(config) as sockets:
            yield Held(None, sockets)


async def _reserve_port(config: PortConfig) -> Held:
    """Bind a port for workers to bind as well, unless somebody else has it.

    `SO_REUSEPORT` alone would not tell: the workers of another supervisor of the same user
    would share it with these, and each answer some of the other's calls.
    """
    for left in reversed(range(_TRIES)):
        alone = await bind_port(config.host, config.port)
        port = int(alone[0].getsockname()[1])
        for one in alone:
            one.close()
        try:
            return Held(port, await bind_port(config.host, port, reuse_port=True))
        except OSError:
            # A port that was to be a free one may be taken in between.
            if config.port != 0 or not left:
                raise
    raise AssertionError
