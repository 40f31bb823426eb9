"""The closed loop: so many connections, each asking again as soon as it is answered.

Every answer is checked: status 200, and the body that the first answer had, which was
checked in full. That is a comparison of bytes, so that the load costs next to nothing
beside the servers. What it can do at most is part of the report: `load_cpu_us`, the
processor time of this process per request.
"""

from __future__ import annotations

import gc
import itertools
import selectors
import socket
import time
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import attrs

from bench.requests import Question
from bench.responses import HEAD_END, OK, LoadError, parse_response, read_response

SILENCE_SECONDS: Final = 20.0
"""A server that answers nothing for so long has failed."""

_READ_BYTES: Final = 256 * 1024
_BUFFER_BYTES: Final = 1024 * 1024


@attrs.frozen
class Result:
    """What one run found.

    Attributes:
        answered: how many requests were answered before time was up.
        seconds: how long that took.
        total: how many were answered in all, those included that were open at the end.
        latencies_ns: how long each took, sorted.
        cpu_seconds: the processor time of this process.
    """

    answered: int
    seconds: float
    total: int
    latencies_ns: list[int]
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """Answers per second."""
        return self.answered / self.seconds

    def find_latency_ms(self, share: float) -> float:
        """Return the latency that `share` of the requests stayed below."""
        last = len(self.latencies_ns) - 1
        return self.latencies_ns[min(last, int(share * len(self.latencies_ns)))] / 1e6


class _Connection:
    __slots__ = ("received", "sent_at", "socket", "unsent")

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=SILENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # What a mebibyte goes out and comes in with in one go.
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            self.socket.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
        self.received = bytearray()
        self.sent_at = 0
        self.unsent: memoryview | None = None


class Load:
    """So many connections to one server, all asking the same.

    A context manager, which closes them.

    Raises:
        LoadError, WrongAnswer: the first answer is not right.
    """

    def __init__(self, port: int, question: Question, connections: int) -> None:
        self._requests = itertools.cycle(question.render_each(port))
        self._question = question
        self._selector = selectors.DefaultSelector()
        self._connections: list[_Connection] = []
        self._latencies: list[int] = []
        self._total = 0
        try:
            for _ in range(connections):
                self._connections.append(_Connection(port))
            first = self._connections[0].socket
            first.sendall(next(self._requests))
            response = read_response(first)
            question.check_body(response.body)
        except BaseException:
            self.close()
            raise
        self._body = response.body
        self._tail = HEAD_END + response.raw
        for connection in self._connections:
            connection.socket.setblocking(False)  # noqa: FBT003 - the socket's own signature
            self._selector.register(connection.socket, selectors.EVENT_READ, connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections:
            connection.socket.close()
        self._selector.close()

    def run(self, seconds: float) -> Result:
        """Ask for `seconds`, wait for what is open, and return what was found.

        Raises:
            LoadError: an answer is wrong, or none came for a long time.
        """
        self._latencies, self._total = [], 0
        # The collector looks for cycles where there are none, and longer each time.
        gc.collect()
        gc.disable()
        try:
            cpu = time.process_time()
            started = time.perf_counter()
            for connection in self._connections:
                self._ask(connection)
            self._loop(started + seconds, again=True)
            elapsed, answered = time.perf_counter() - started, self._total
            self._loop(time.perf_counter() + SILENCE_SECONDS, again=False)
            cpu = time.process_time() - cpu
        finally:
            gc.enable()
        latencies = sorted(self._latencies)
        return Result(answered, elapsed, self._total, latencies, cpu)

    def _loop(self, deadline: float, *, again: bool) -> None:
        """Take answers until the deadline, or, not asking again, until none is open.

        Of a server that is asked again, at least one, however late: a rate of none
        could not be compared with.
        """
        clock = time.perf_counter
        heard = clock()
        while (now := clock()) < deadline or (again and not self._total):
            if not again and not any(each.sent_at for each in self._connections):
                return
            ready = self._selector.select(min(max(deadline - now, 0.01), 1.0))
            for key, mask in ready:
                connection: _Connection = key.data
                if mask & selectors.EVENT_WRITE:
                    self._send(connection)
                if mask & selectors.EVENT_READ and self._take(connection) and again:
                    self._ask(connection)
            if ready:
                heard = now
            elif now - heard > SILENCE_SECONDS:
                break
        else:
            if again:
                return
        raise LoadError(f"no answer in {SILENCE_SECONDS:.0f} s: {self._show_open()}")

    def _show_open(self) -> str:
        waiting = [each for each in self._connections if each.sent_at]
        return f"{len(waiting)} open, the first with {bytes(waiting[0].received[:300])!r}"

    def _ask(self, connection: _Connection) -> None:
        request = next(self._requests)
        connection.sent_at = time.perf_counter_ns()
        try:
            sent = connection.socket.send(request)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise LoadError(f"asking again: {error}") from error
        if sent < len(request):
            connection.unsent = memoryview(request)[sent:]
            events = selectors.EVENT_READ | selectors.EVENT_WRITE
            self._selector.modify(connection.socket, events, connection)

    def _send(self, connection: _Connection) -> None:
        """Send more of a request that did not fit."""
        assert connection.unsent is not None
        with suppress(BlockingIOError):
            connection.unsent = connection.unsent[connection.socket.send(connection.unsent) :]
        if not connection.unsent:
            connection.unsent = None
            self._selector.modify(connection.socket, selectors.EVENT_READ, connection)

    def _take(self, connection: _Connection) -> bool:
        """Take what has come; return whether an answer is whole."""
        try:
            data: bytes | bytearray = connection.socket.recv(_READ_BYTES)
        except OSError as error:
            raise LoadError(f"waiting for an answer: {error}") from error
        if not data:
            raise LoadError(f"the server closed: {self._show_open()}")
        if connection.received or not (data.endswith(self._tail) and data.startswith(OK)):
            connection.received += data
            if not self._is_whole(connection.received):
                return False
            connection.received = bytearray()
        self._latencies.append(time.perf_counter_ns() - connection.sent_at)
        connection.sent_at = 0
        self._total += 1
        return True

    def _is_whole(self, received: bytearray) -> bool:
        """Check an answer that came in pieces, or in other chunks than the first.

        Raises:
            LoadError: it is whole, and wrong.
        """
        if received.endswith(self._tail) and received.startswith(OK):
            return True
        if len(received) < len(self._body) and received.startswith(OK):
            return False
        response = parse_response(received)
        if response is None:
            return False
        if response.body != self._body:
            raise LoadError(f"not what was answered at first: {response.body[:300]!r}")
        return True
