"""Pipes, sockets, terminals and files as streams, by their file descriptors.

Layer: transport, shell. `genmcp.transport.stdio.standard_streams` gives the descriptors.

None of them is made non-blocking, as `trio.lowlevel.FdStream` would. That is a property of
what is open, not of the descriptor: where stdout and stderr are one pipe or one terminal,
the log would fail as soon as that is full, and a shell would get its terminal back in a
state it does not expect. Instead each is read and written when that cannot block:

    ==================  ============================  ====================================
    what it is          reading                       writing
    ==================  ============================  ====================================
    pipe                once it is readable           once it is writable, PIPE_BUF bytes:
                                                      for so many there is room, then
    socket              once it is readable           in a call that says not to wait
    terminal            once it is readable           in a thread
    file, and Windows   in a thread                   in a thread
    ==================  ============================  ====================================

A thread that waits is left behind when it is not wanted any more. It is a daemon, and no
process waits for it.
"""

from __future__ import annotations

import os
import select
import socket
import stat
import sys
from typing import TYPE_CHECKING, Any, Final, TypeVar

import trio

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_READ_BYTES: Final = 65_536
_PIECES_PER_CHECKPOINT: Final = 64


class _Descriptor:
    """A file descriptor that is this object's to close."""

    def __init__(self, fd: int) -> None:
        mode = os.fstat(fd).st_mode
        posix = sys.platform != "win32"
        self._fd = fd
        self._closed = False
        self._in_thread = False
        self._is_pipe = posix and stat.S_ISFIFO(mode)
        self._is_socket = posix and stat.S_ISSOCK(mode)
        self._is_terminal = posix and os.isatty(fd)
        self._limiter = trio.CapacityLimiter(1)

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._fd

    async def aclose(self) -> None:
        """Close it. Whoever waits for it gets `trio.ClosedResourceError`."""
        if not self._closed:
            self._closed = True
            # Its number is the next one to be given away; a thread must not find that.
            if not self._in_thread:
                if self._is_pipe or self._is_socket or self._is_terminal:
                    trio.lowlevel.notify_closing(self._fd)
                os.close(self._fd)
        await trio.lowlevel.checkpoint()

    def _check_open(self) -> None:
        if self._closed:
            raise trio.ClosedResourceError("this stream was closed")

    async def _run_in_thread(self, function: Callable[..., T], *args: Any) -> T:
        def run() -> T:
            try:
                return function(*args)
            finally:
                self._in_thread = False

        self._check_open()
        self._in_thread = True
        return await trio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=self._limiter)


class InputDescriptor(_Descriptor, trio.abc.ReceiveStream):
    """Reads from a file descriptor, which it owns.

    Args:
        fd: the descriptor, blocking or not.

    Raises:
        OSError: there is no such descriptor.
    """

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return what there is, waiting for at least one byte; nothing at the end.

        Raises:
            trio.BrokenResourceError: it cannot be read.
            trio.ClosedResourceError: it was closed.

        Cancellation: nothing is lost, unless it is read in a thread.
        """
        self._check_open()
        size = _READ_BYTES if max_bytes is None else max_bytes
        try:
            if not (self._is_pipe or self._is_socket or self._is_terminal):
                return await self._run_in_thread(self._read, size)
            while True:
                await trio.lowlevel.wait_readable(self._fd)
                try:
                    return os.read(self._fd, size)
                except BlockingIOError:
                    continue
        except OSError as error:
            raise trio.BrokenResourceError(f"cannot be read: {error}") from error

    def _read(self, size: int) -> bytes:
        while True:
            try:
                return os.read(self._fd, size)
            except BlockingIOError:
                select.select([self._fd], [], [])


class OutputDescriptor(_Descriptor, trio.abc.SendStream):
    """Writes to a file descriptor, which it owns.

    Args:
        fd: the descriptor, blocking or not.

    Raises:
        OSError: there is no such descriptor.
    """

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._socket = socket.socket(fileno=os.dup(fd)) if self._is_socket else None

    async def aclose(self) -> None:
        """See `trio.abc.AsyncResource`."""
        if self._socket is not None:
            self._socket.close()
        await super().aclose()

    async def wait_send_all_might_not_block(self) -> None:
        """See `trio.abc.SendStream`."""
        self._check_open()
        if self._has_room():
            await trio.lowlevel.checkpoint()
        else:
            await trio.lowlevel.wait_writable(self._fd)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Write all of `data`.

        Raises:
            trio.BrokenResourceError: it cannot be written to, such as a pipe that nobody
                reads any more.
            trio.ClosedResourceError: it was closed.

        Cancellation: an unknown part of `data` may have been written.
        """
        self._check_open()
        await trio.lowlevel.checkpoint()
        try:
            if self._is_pipe or self._is_socket:
                await self._write_pieces(memoryview(data))
            else:
                await self._run_in_thread(self._write, memoryview(data))
        except OSError as error:
            raise trio.BrokenResourceError(f"cannot be written to: {error}") from error

    async def _write_pieces(self, rest: memoryview) -> None:
        pieces = 0
        while rest:
            self._check_open()
            try:
                size = self._write_piece(rest)
            except BlockingIOError:
                await trio.lowlevel.wait_writable(self._fd)
                continue
            rest = rest[size:]
            pieces += 1
            if pieces % _PIECES_PER_CHECKPOINT == 0:
                await trio.lowlevel.checkpoint()

    def _has_room(self) -> bool:
        """Tell whether something can be written, as far as that can be told."""
        if sys.platform == "win32" or not (self._is_pipe or self._is_socket):
            return True
        # Asked directly: it takes a tenth of what waiting for it does.
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        return bool(poll.poll(0))

    def _write_piece(self, rest: memoryview) -> int:
        """Write what there is room for now.

        Raises:
            BlockingIOError: there is none.
        """
        assert sys.platform != "win32"
        if self._socket is not None:
            return self._socket.send(rest, socket.MSG_DONTWAIT)
        if not self._has_room():
            raise BlockingIOError
        return os.write(self._fd, rest[: select.PIPE_BUF])

    def _write(self, rest: memoryview) -> None:
        while rest and not self._closed:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:
                select.select([], [self._fd], [])
