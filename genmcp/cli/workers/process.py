"""A worker as a process: the same command line, run once more.

Layer: cli, shell. A fresh interpreter, not a fork of this one: a fork takes along locks
that threads hold which it does not have.
"""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

import trio

from genmcp.cli.workers.orders import MAX_LINE_BYTES, STOP, Report
from genmcp.cli.workers.seat import CHANNEL_VARIABLE
from genmcp.cli.workers.supervisor import Worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from genmcp.cli.workers.orders import Orders

_RECEIVE_BYTES: Final = 64 * 1024


class ProcessWorker(Worker):
    """See `Worker`. Made by `start`."""

    def __init__(self, process: trio.Process, channel: socket.socket) -> None:
        self.pid = process.pid
        self._process = process
        self._channel = channel
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(channel))

    @classmethod
    async def start(cls, command: Sequence[str], orders: Orders) -> Self:
        """Start a worker.

        Args:
            command: the command line that runs it.
            orders: what it is told; the sockets in it are handed on.

        Raises:
            OSError: the system has no process for it, or no sockets.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                # Of a session of its own, as Ctrl-C at a terminal goes to a whole group:
                # it is for the supervisor, who passes it on once.
                process = await trio.lowlevel.open_process(
                    command,
                    stdin=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(), *orders.descriptors),
                    env={**os.environ, CHANNEL_VARIABLE: str(theirs.fileno())},
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
        worker = cls(process, ours)
        with suppress(trio.BrokenResourceError):  # it has ended already
            await worker._stream.send_all(orders.write())
        return worker

    async def wait_until_ready(self) -> Report | None:
        """See `Worker`."""
        line = b""
        while not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
            try:
                piece = await self._stream.receive_some(_RECEIVE_BYTES)
            except trio.BrokenResourceError:
                return None
            if not piece:
                return None
            line += piece
        return Report.read(line)

    async def wait(self) -> int:
        """See `Worker`."""
        try:
            return await self._process.wait()
        finally:
            if self._process.returncode is not None:
                self._stream.socket.close()

    def tell_to_stop(self) -> None:
        """See `Worker`."""
        with suppress(OSError):
            self._channel.send(STOP)

    def kill(self) -> None:
        """See `Worker`."""
        with suppress(OSError):
            self._process.kill()
