"""The door: accepts connections, only so many, and ends those that wait too long.

Layer: transport, shell. `genmcp.transport.http1.run` opens and closes it,
`genmcp.transport.http1.connection` is what comes of each guest.
"""

from __future__ import annotations

import errno
import logging
import math
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import trio

from genmcp.mux.failure import is_crash
from genmcp.transport.full import render_full
from genmcp.transport.http1.connection import Connection, read_address
from genmcp.transport.http1.wire import PlainWire, SecureWire
from genmcp.transport.listeners import read_own_address

if TYPE_CHECKING:
    import ssl

    from genmcp.transport.http1.service import Service

_log = logging.getLogger("genmcp.transport")

_LOOK_EVERY_SECONDS: Final = 1.0
_RETRY_ACCEPT_SECONDS: Final = 0.1
_MAX_ACCEPTED_AT_ONCE: Final = 64
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
        self._last_left = trio.lowlevel.ParkingLot()
        self._full = False

    # -- in ----------------------------------------------------------------------

    async def accept(self, listener: socket.socket) -> None:
        """Accept connections until cancelled."""
        complained = False
        while True:
            await trio.lowlevel.wait_readable(listener)
            try:
                self._accept_waiting(listener)
                complained = False
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                if not complained:
                    _log.error("Cannot accept connections, trying on: %s", os.strerror(error.errno))
                complained = True
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
            self._take(sock, address)

    def _take(self, sock: socket.socket, address: object) -> None:
        sock.setblocking(False)  # noqa: FBT003 - the standard library's way
        if not self._make_room():
            self._refuse(sock)
            return
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire = PlainWire(sock) if self._secure is None else SecureWire(sock, self._secure)
        connection = Connection(
            wire,
            self._service,
            client=read_address(address),
            server=read_own_address(sock.getsockname()),
            secure=self._secure is not None,
        )
        self._connections.add(connection)
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
            self._connections.discard(connection)
            if not self._connections:
                self._last_left.unpark_all()

    # -- not in ------------------------------------------------------------------

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

    def _refuse(self, sock: socket.socket) -> None:
        """Say that the server is full, if that can be said at once."""
        try:
            if self._secure is None:
                # Of what the client has sent, as much as there is: unread, it would
                # make the system take the answer back.
                with suppress(BlockingIOError):
                    sock.recv(65536)
                sock.send(render_full(self._service.config.max_connections))
                sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        finally:
            sock.close()

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
