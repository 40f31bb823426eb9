"""A worker's seat beside the others: what it was told, and when it has to end.

Layer: cli, shell. `genmcp.cli.serve_command` takes it, if there is one. The other end of
the channel is `genmcp.cli.workers.process`, in the supervisor.

A thread waits for the word to stop, and for the end of the supervisor, which nothing tells
of but the end of the channel. The event loop might be stuck.
"""

from __future__ import annotations

import os
import socket
import threading
from typing import TYPE_CHECKING, Any, Final, Self

from genmcp.cli.workers.orders import MAX_LINE_BYTES, STOP, Orders, Report
from genmcp.transport.asgi import SECRET_KEY_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable

CHANNEL_VARIABLE: Final = "GENMCP_WORKER_CHANNEL"
"""Where a worker finds the file descriptor of its channel. For nobody to set."""


class Seat:
    """The seat of this process. Made by `take`.

    Attributes:
        number: which worker this is, from 1.
    """

    def __init__(self, channel: socket.socket, orders: Orders) -> None:
        self.number = orders.number
        self._channel = channel
        self._orders = orders
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None

    @classmethod
    def take(cls) -> Self | None:
        """Return the seat of this process, if it is a worker.

        What is in the environment because of it is gone then: handlers may start processes,
        which are no workers.
        """
        descriptor = os.environ.pop(CHANNEL_VARIABLE, None)
        if descriptor is None:
            return None
        channel = socket.socket(fileno=int(descriptor))
        os.set_inheritable(channel.fileno(), False)  # noqa: FBT003 - the standard library's way
        orders = Orders.read(_read_line(channel))
        if orders.secret_key is not None:
            # Where a server that is made while its module is imported finds it, too.
            os.environ[SECRET_KEY_VARIABLE] = orders.secret_key
        seat = cls(channel, orders)
        threading.Thread(target=seat._listen, name="genmcp worker", daemon=True).start()
        return seat

    def apply(self, options: dict[str, Any]) -> None:
        """Change where to listen to what is shared with the other workers."""
        if self._orders.port is not None:
            options["port"] = self._orders.port
            options["reuse_port"] = True
        if self._orders.descriptors:
            options.pop("unix_socket", None)
            options["sockets"] = self._orders.descriptors

    def report(self, lines: list[tuple[int, str]]) -> None:
        """Tell the supervisor that this worker serves, and what it has to say of that."""
        self._channel.sendall(Report(tuple(lines)).write())

    def on_stop(self, stop: Callable[[], None]) -> None:
        """Have `stop` called, on another thread, when the word comes.

        Until there is something to call, this process has nothing to bring to an end, and
        just ends.
        """
        with self._lock:
            self._stop = stop

    def _listen(self) -> None:
        told = self._hear() == STOP
        self._tell()
        # Told to stop (more than once, it may be), and then left: a second signal has ended
        # the supervisor. Left only, this process has its grace time.
        while told:
            if self._hear() != STOP:
                os._exit(1)

    def _hear(self) -> bytes:
        try:
            return self._channel.recv(1)
        except OSError:
            return b""

    def _tell(self) -> None:
        with self._lock:
            if self._stop is None:
                os._exit(0)
            self._stop()


def _read_line(channel: socket.socket) -> bytes:
    """Read the orders, and nothing of what comes behind them."""
    line = b""
    while not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
        piece = channel.recv(1)
        if not piece:
            os._exit(1)  # the supervisor has gone
        line += piece
    return line
