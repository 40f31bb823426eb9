"""The door: accepts connections, only so many, and ends those that wait too long.

Layer: transport, shell. `genmcp.transport.http1.run` opens and closes it,
`genmcp.transport.http1.connection` is what comes of each guest.
"""

from __future__ import annotations

import errno
import logging
import math
import socket
from collections import Counter
from typing import TYPE_CHECKING, Final

import trio

from genmcp.mux.failure import is_crash
from genmcp.transport.http1.connection import Connection, read_address
from genmcp.transport.http1.wire import PlainWire, SecureWire
from genmcp.transport.listeners import read_own_address
from genmcp.transport.no_room import render_full, render_full_for_address

if TYPE_CHECKING:
    import ssl

    from genmcp.transport.http1.service import Service

_log = logging.getLogger("genmcp.transport")

_LOOK_EVERY_SECONDS: Final = 1.0
_RETRY_ACCEPT_SECONDS: Final = 0.1
# One that is let in ends no lack of room: it may be in the place of the one closed for it.
_COMPLAIN_EVERY_SECONDS: Final = 60.0
_MAX_ACCEPTED_AT_ONCE: Final = 64
# What accept() reports of a listener that is of no more use. All else passes: a lack of
# descriptors or memory, a firewall's veto, and what went wrong with the connection itself.
_LISTENER_BROKEN: Final = {errno.EBADF, errno.EINVAL, errno.ENOTSOCK, errno.EFAULT}
# Whoever is refused is listened to a little, so that the refusal arrives; but only so many.
_MAX_REFUSALS_AT_ONCE: Final = 64
_REFUSAL_SECONDS: Final = 2.0


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
        self._refusals = 0
        self._last_left = trio.lowlevel.ParkingLot()
        self._full = False

    # -- in ----------------------------------------------------------------------

    async def accept(self, listener: socket.socket) -> None:
        """Accept connections until cancelled."""
        complained = -math.inf
        while True:
            await trio.lowlevel.wait_readable(listener)
            try:
                self._accept_waiting(listener)
            except OSError as error:
                if error.errno in _LISTENER_BROKEN:
                    raise
                if trio.current_time() >= complained + _COMPLAIN_EVERY_SECONDS:
                    complained = trio.current_time()
                    _log.error("Cannot accept connections, trying on: %s", error.strerror)
                self._close_longest_idle()
                await trio.sleep(_RETRY_ACCEPT_SECONDS)

    def _accept_waiting(self, listener: socket.socket) -> None:
        for _ in range(_MAX_ACCEPTED_AT_ONCE):
            try:
                sock, address = listener.accept()
            except BlockingIOError:
                return
            except ConnectionError:
                continue  # gone before it came in
            try:
                self._take(sock, address)
            except OSError:
                sock.close()  # gone since

    def _take(self, sock: socket.socket, address: object) -> None:
        sock.setblocking(False)  # noqa: FBT003 - the standard library's way
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        own = read_own_address(sock.getsockname())
        wire = PlainWire(sock) if self._secure is None else SecureWire(sock, self._secure)
        client = read_address(address)
        refusal = self._find_refusal(client)
        if refusal is not None:
            self._nursery.start_soon(self._refuse, wire, refusal)
            return
        secure = self._secure is not None
        connection = Connection(wire, self._service, client=client, server=own, secure=secure)
        self._connections.add(connection)
        if client is not None:
            self._by_address[client[0]] += 1
        self._nursery.start_soon(self._serve, connection, wire)

    async def _serve(self, connection: Connection, wire: PlainWire | SecureWire) -> None:
        """Serve one connection, whose failure stays its own."""
        try:
            if isinstance(wire, SecureWire):
                seconds = self._service.config.read_timeout_seconds
                connection.deadline = trio.current_time() + seconds
                await wire.shake_hands()
            await connection.run()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # no handshake came about
        except BaseException as error:
            # Whatever it is, it must not cost the others.
            if not is_crash(error):
                raise
            _log.error("A connection failed and is closed; the others go on", exc_info=error)
        finally:
            wire.close()
            self._discard(connection)
            if not self._connections:
                self._last_left.unpark_all()

    def _discard(self, connection: Connection) -> None:
        self._connections.discard(connection)
        address = connection.client_address
        if address is not None:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    # -- not in ------------------------------------------------------------------

    def _find_refusal(self, client: tuple[str, int] | None) -> bytes | None:
        limit = self._service.config.max_connections_per_address
        if limit is not None and client is not None and self._by_address[client[0]] >= limit:
            _log.info("refused a connection: max_connections_per_address from %s", client[0])
            return render_full_for_address(limit)
        return None if self._make_room() else render_full(self._service.config.max_connections)

    def _make_room(self) -> bool:
        """Tell whether one more connection may be had, closing an idle one if need be."""
        limit = self._service.config.max_connections
        if len(self._connections) < limit:
            self._full = False
            return True
        if not self._full:
            _log.warning("All %d connections are in use; max_connections allows more", limit)
        self._full = True
        return self._close_longest_idle()

    def _close_longest_idle(self) -> bool:
        longest = min(self._connections, key=lambda one: one.idle_until, default=None)
        if longest is None or longest.idle_until == math.inf:
            return False
        longest.close_when_idle()
        return True

    async def _refuse(self, wire: PlainWire | SecureWire, refusal: bytes) -> None:
        """Say why, and read away what the client sends, so that this arrives."""
        if self._refusals >= _MAX_REFUSALS_AT_ONCE:
            wire.close()
            return
        self._refusals += 1
        try:
            with trio.move_on_after(_REFUSAL_SECONDS):
                if isinstance(wire, SecureWire):
                    await wire.shake_hands()
                await wire.send(refusal)
                await wire.finish_sending()
                while await wire.receive():
                    pass
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # it did not wait to be told
        finally:
            self._refusals -= 1
            wire.close()

    # -- out ---------------------------------------------------------------------

    async def look_around(self) -> None:
        """End what has waited too long, once a second, until cancelled."""
        while True:
            await trio.sleep(_LOOK_EVERY_SECONDS)
            now = trio.current_time()
            for connection in tuple(self._connections):
                if connection.deadline <= now:
                    connection.expire()
                connection.look_after_call(now)

    def close_idle(self) -> None:
        """Close the connections on which nothing is asked, and the others after their answer."""
        for connection in tuple(self._connections):
            connection.close_when_idle()

    async def wait_until_empty(self) -> None:
        """Wait until the last connection has ended."""
        while self._connections:
            await self._last_left.park()

    def abort(self) -> None:
        """Cut all connections off."""
        for connection in tuple(self._connections):
            connection.abort()
