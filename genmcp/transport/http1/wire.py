"""The bytes of one connection: plain, or over TLS.

Layer: transport, shell. `genmcp.transport.http1.connection` reads and writes through one
of these. Nothing here has a time limit: whoever watches the connection calls
`stop_reading` or `abort`, which wakes the task that waits.
"""

from __future__ import annotations

import select
import socket
import struct
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    import ssl

_RECEIVE_BYTES: Final = 64 * 1024
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
# That the other side is done, behind whatever it has sent: only Linux tells the first.
_DONE: Final = getattr(select, "POLLRDHUP", 0)
_BROKEN: Final = getattr(select, "POLLERR", 0) | getattr(select, "POLLHUP", 0)


class Wire(ABC):
    """One connection's bytes. One task receives, one sends; they may be the same."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.closed = False

    @abstractmethod
    async def receive(self) -> bytes:
        """Wait for the next bytes; `b""` when there are no more, for whatever reason."""

    def send_now(self, data: bytes) -> int:
        """Send what goes out at once; return how many bytes that were.

        Raises:
            OSError: it cannot be sent; nothing more can.
        """
        return 0

    @abstractmethod
    async def send(self, data: bytes) -> None:
        """Send all of `data`.

        Raises:
            OSError: it cannot be sent; nothing more can.
            trio.ClosedResourceError: the connection was aborted meanwhile.
        """

    @abstractmethod
    async def finish_sending(self) -> None:
        """Say that nothing more will be sent, so that the other side sees the end."""

    def stop_reading(self) -> None:
        """Let `receive` return `b""` once it has returned what is here already.

        What is sent still arrives.
        """
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RD)

    @property
    def deserted(self) -> bool:
        """Whether the other side is known to send no more, unread bytes or not."""
        if self.closed or not hasattr(select, "poll"):
            return self.closed
        poll = select.poll()
        poll.register(self.socket, _DONE)
        return any(events & (_DONE | _BROKEN) for _, events in poll.poll(0))

    def abort(self) -> None:
        """Close at once, with a reset; what waits here ends."""
        with suppress(OSError):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.close()

    def close(self) -> None:
        """Close; what waits here ends."""
        if not self.closed:
            self.closed = True
            trio.lowlevel.notify_closing(self.socket)
            self.socket.close()


class PlainWire(Wire):
    """A TCP or Unix socket, non-blocking, as it is."""

    async def receive(self) -> bytes:
        """See `Wire.receive`."""
        if self.closed:
            return b""  # trio does not take the number of a closed socket
        try:
            while True:
                # First: a try that fails costs a system call, and after an answer the
                # next request is hardly ever there already.
                await trio.lowlevel.wait_readable(self.socket)
                try:
                    return self.socket.recv(_RECEIVE_BYTES)
                except BlockingIOError:
                    pass  # woken for nothing
        except (OSError, trio.ClosedResourceError):
            return b""

    def send_now(self, data: bytes) -> int:
        """See `Wire.send_now`."""
        try:
            return self.socket.send(data)
        except BlockingIOError:
            return 0

    async def send(self, data: bytes) -> None:
        """See `Wire.send`."""
        rest = memoryview(data)
        while rest:
            await trio.lowlevel.wait_writable(self.socket)
            with suppress(BlockingIOError):
                rest = rest[self.socket.send(rest) :]

    async def finish_sending(self) -> None:
        """See `Wire.finish_sending`."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)


class SecureWire(Wire):
    """TLS over a socket.

    Args:
        sock: the connection, non-blocking.
        context: the server's certificate and settings.
    """

    def __init__(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        super().__init__(sock)
        self._records = _Records(sock)
        self._stream = trio.SSLStream(
            self._records, context, server_side=True, https_compatible=True
        )

    async def shake_hands(self) -> None:
        """Agree on keys.

        Raises:
            trio.BrokenResourceError: the client does not speak TLS, or not this one.
            trio.ClosedResourceError: it was told to stop meanwhile.
        """
        await self._stream.do_handshake()

    async def receive(self) -> bytes:
        """See `Wire.receive`."""
        if self._records.stopped:
            return b""
        try:
            return bytes(await self._stream.receive_some())
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            return b""

    async def send(self, data: bytes) -> None:
        """See `Wire.send`."""
        try:
            await self._stream.send_all(data)
        except trio.BrokenResourceError as error:
            raise BrokenPipeError(str(error)) from error

    def stop_reading(self) -> None:
        """See `Wire.stop_reading`."""
        # An end of the TCP stream inside of TLS is an attack to the TLS stream, which then
        # sends no more either. This only keeps from reading, and wakes who does.
        self._records.stopped = True
        trio.lowlevel.notify_closing(self.socket)

    async def finish_sending(self) -> None:
        """See `Wire.finish_sending`."""
        # TLS's own farewell needs an answer to be safe, which HTTP does without.
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)


class _Records(trio.abc.Stream):
    """What is below TLS: the socket, until reading is stopped.

    Attributes:
        stopped: whether nothing is read any more. Seen before each read: what comes byte by
            byte wakes a reader each time, and who is awake cannot be woken by a stop.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.stopped = False
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(sock))

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        if self.stopped:
            raise trio.ClosedResourceError("reading was stopped")
        return await self._stream.receive_some(max_bytes)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self._stream.aclose()
