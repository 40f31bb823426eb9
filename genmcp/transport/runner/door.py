"""The door: accepts connections, only so many, and keeps their failures apart.

Layer: transport, shell. `genmcp.transport.runner.run` opens and closes it,
`genmcp.transport.runner.connection` is what comes of each guest.
"""

from __future__ import annotations

import errno
import math
import os
from collections import Counter
from typing import TYPE_CHECKING, Final, cast

import trio

from genmcp.mux.failure import split_crash
from genmcp.transport.no_room import render_full, render_full_for_address
from genmcp.transport.runner.config import logger
from genmcp.transport.runner.connection import Connection

if TYPE_CHECKING:
    import ssl

    from genmcp.transport.runner.connection import PlainStream, SecureStream, Service

_REFUSAL_SECONDS: Final = 1.0
_MAX_REFUSALS: Final = 100
_RETRY_ACCEPT_SECONDS: Final = 0.1
# One that is let in ends no lack of room: it may be in the place of the one closed for it.
_COMPLAIN_EVERY_SECONDS: Final = 60.0
# What accept() reports when the process or the machine has no room for one more.
_NO_ROOM: Final = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}


class Door:
    """Lets connections in.

    Args:
        service: what the connections share.
        secure: for TLS.
        connections: the nursery they run in.
    """

    def __init__(
        self, service: Service, secure: ssl.SSLContext | None, connections: trio.Nursery
    ) -> None:
        self._service = service
        self._secure = secure
        self._nursery = connections
        self._connections: set[Connection] = set()
        self._by_address: Counter[str] = Counter()
        self._full = False
        self._refusals = 0

    def close_idle(self) -> None:
        """Close the connections on which nothing is being answered."""
        for connection in self._connections:
            connection.close_if_idle()

    async def accept(self, listener: trio.SocketListener) -> None:
        """Accept connections until cancelled, which closes the listener."""
        async with listener:
            complained = -math.inf
            while True:
                try:
                    stream = await listener.accept()
                except OSError as error:
                    if error.errno not in _NO_ROOM:
                        raise
                    if trio.current_time() >= complained + _COMPLAIN_EVERY_SECONDS:
                        complained = trio.current_time()
                        logger.error(
                            "Cannot accept connections, trying on: %s", os.strerror(error.errno)
                        )
                    self._close_longest_idle()
                    await trio.sleep(_RETRY_ACCEPT_SECONDS)
                else:
                    self._nursery.start_soon(self._take, stream)

    async def _take(self, stream: PlainStream) -> None:
        """Serve one connection, whose failure stays its own."""
        address = _read_address(stream)
        refusal = self._find_refusal(address)
        if refusal is not None:
            await self._refuse(stream, refusal)
            return
        connection = Connection(self._secure_stream(stream), self._service)
        self._connections.add(connection)
        self._by_address[address] += 1
        try:
            await connection.run()
        except BaseException as error:  # noqa: BLE001 - see what is raised again
            # Whatever it is, it must not cost the others.
            crash, rest = split_crash(error)
            _log_crash(crash)
            if rest is not None:
                raise rest from None
        finally:
            self._connections.discard(connection)
            self._by_address -= Counter([address])  # without those at zero

    def _secure_stream(self, stream: PlainStream) -> PlainStream | SecureStream:
        if self._secure is None:
            return stream
        return trio.SSLStream(stream, self._secure, server_side=True, https_compatible=True)

    def _find_refusal(self, address: str) -> bytes | None:
        limit = self._service.config.max_connections_per_address
        if limit is not None and address and self._by_address[address] >= limit:
            logger.info("refused a connection: max_connections_per_address from %s", address)
            return render_full_for_address(limit)
        return None if self._make_room() else render_full(self._service.config.max_connections)

    def _make_room(self) -> bool:
        """Tell whether one more connection may be had, closing an idle one if need be."""
        if len(self._connections) < self._service.config.max_connections:
            self._full = False
            return True
        if not self._full:
            logger.warning(
                "All %d connections are in use; max_connections allows more",
                self._service.config.max_connections,
            )
        self._full = True
        return self._close_longest_idle()

    def _close_longest_idle(self) -> bool:
        longest: Connection | None = None
        since = math.inf
        for connection in self._connections:
            if connection.closable_since < since:
                longest, since = connection, connection.closable_since
        if longest is not None:
            longest.close_if_idle()
        return longest is not None

    async def _refuse(self, stream: PlainStream, refusal: bytes) -> None:
        """Say why, and read the request away so that this arrives."""
        if self._secure is None and self._refusals < _MAX_REFUSALS:
            self._refusals += 1
            try:
                with trio.move_on_after(_REFUSAL_SECONDS):
                    await stream.send_all(refusal)
                    await stream.send_eof()
                    while await stream.receive_some():
                        pass
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass
            finally:
                self._refusals -= 1
        await trio.aclose_forcefully(stream)


def _read_address(stream: PlainStream) -> str:
    try:
        name: object = stream.socket.getpeername()
    except OSError:
        return ""  # gone already
    return str(cast("tuple[object, ...]", name)[0]) if isinstance(name, tuple) else ""


def _log_crash(crash: BaseException | None) -> None:
    fault: BaseException | None = crash
    if isinstance(crash, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", crash)
        fault = group.split(OSError)[1]
    elif isinstance(crash, OSError):
        fault = None
    if fault is not None:
        logger.error("A connection failed and is closed; the others go on", exc_info=fault)
    elif crash is not None:
        logger.debug("A connection broke", exc_info=cast("BaseException", crash))
