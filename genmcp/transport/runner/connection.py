"""One client's connection: its bytes in and out, its deadlines, its end.

Layer: transport, shell. `genmcp.transport.runner.door` accepts connections and hands
each one over; `genmcp.transport.runner.http` makes HTTP of the bytes.

Takes the place of Hypercorn's `TCPServer`. Its differences: a client that stops
reading has a deadline, and never makes a write uncancellable; a write that was cut
short closes the connection at once, since half a frame is out; idle time is a deadline
of the reader and not a task of its own, which outlived the client; a client that
half-closes once it has asked gets a quick answer; and a connection the server ends is
read to its end for a moment, so that the last answer is not lost to the reset that
unread bytes cause.
"""

from __future__ import annotations

import math
import os
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

import attrs
import trio
from hypercorn.events import Closed, Event, RawData, Updated

from genmcp.mux.patience import try_for
from genmcp.transport.listeners import read_own_address
from genmcp.transport.runner.application import AppTasks, Parts
from genmcp.transport.runner.config import logger
from genmcp.transport.runner.http import Http
from genmcp.transport.runner.http1 import NothingMoreToRead
from genmcp.value import Value

if TYPE_CHECKING:
    from hypercorn.config import Config
    from hypercorn.trio.worker_context import WorkerContext
    from hypercorn.typing import AppWrapper, ConnectionState

    from genmcp.transport.port_config import PortConfig
    from genmcp.transport.runner.application import Address

PlainStream = trio.SocketStream
SecureStream = trio.SSLStream[trio.SocketStream]

_READ_BYTES: Final = 64 * 1024
_WRITE_BYTES: Final = 64 * 1024
_LINGER_SECONDS: Final = 2.0
# TCP has one sign for "I have left" and "I have said all". Leaving is how clients cancel, so
# whoever meant the other cannot wait long for an answer.
_HALF_CLOSED_SECONDS: Final = 0.2
# struct linger {on, 0 seconds}: close() resets, and the kernel keeps nothing to send.
_RESET_ON_CLOSE: Final = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Service(Value):
    """What all connections of one runner share."""

    app: AppWrapper
    config: PortConfig
    hypercorn: Config
    context: WorkerContext
    state: ConnectionState


class Connection:
    """One connection, from accept to close.

    Attributes:
        ended: whether the server has said its last word.
    """

    def __init__(self, stream: PlainStream | SecureStream, service: Service) -> None:
        self._stream = stream
        self._service = service
        self._socket = (
            stream.socket
            if isinstance(stream, trio.SocketStream)
            else stream.transport_stream.socket
        )
        self._http: Http
        self._send_lock = trio.Lock()
        self._waiting: trio.CancelScope | None = None
        self._awaiting_answer = trio.lowlevel.ParkingLot()
        self._reading = True
        self._gone = False
        self._head_since: float | None = None
        self._linger_until = math.inf
        self.ended = False
        self._idle_since: float | None = trio.current_time()

    async def run(self) -> None:
        """Serve the connection until it is over and all its requests are.

        Raises whatever the protocol stumbled over; the socket is closed in any case.

        Cancellation: the connection is reset, whatever it was doing.
        """
        try:
            if await self._shake_hands():
                await self._serve()
        finally:
            self._socket.close()

    @property
    def closable_since(self) -> float:
        """Since when nothing is being answered, in trio's time; infinity if something is."""
        return math.inf if self._idle_since is None or not self._reading else self._idle_since

    def close_if_idle(self) -> None:
        """Close the connection unless something is being answered on it."""
        if self._idle_since is not None:
            self._stop_reading()

    async def receive(self) -> bytes:
        """Return the next bytes; `b""` when there are no more, or their time is over."""
        with trio.CancelScope(deadline=self._find_deadline()) as self._waiting:
            try:
                data = bytes(await self._stream.receive_some(_READ_BYTES))
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self._gone = True
                return b""
            if not data:
                await self._wait_for_answer()
            return data
        return b""

    async def _wait_for_answer(self) -> None:
        """Give what is being answered a moment, now that the client says no more."""
        if self._http.shared or (self._http.unfinished is not None and not self._http.answering):
            return
        await try_for(_HALF_CLOSED_SECONDS, self._wait_until_answered)

    async def _wait_until_answered(self) -> None:
        while self._idle_since is None and not (self.ended or self._gone):
            await self._awaiting_answer.park()

    async def _shake_hands(self) -> bool:
        if isinstance(self._stream, trio.SocketStream):
            return True
        until = trio.current_time() + self._service.config.read_timeout_seconds
        with trio.CancelScope(deadline=until) as self._waiting:
            try:
                await self._stream.do_handshake()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return False
            return True
        return False

    async def _serve(self) -> None:
        try:
            client = _read_address(self._socket.getpeername())
        except OSError:
            return  # left before we came to it
        async with trio.open_nursery() as nursery:
            try:
                self._http = self._make_http(nursery, client)
                await self._http.initiate()
                await self._read()
                await self._http.handle(Closed())
            except BaseException:
                # Here, and not around the nursery: a shielded write of a request's task
                # ends because of it.
                self._reset()
                raise
            # The requests may take their time; nothing of them can be sent any more.
            self._socket.close()

    def _make_http(self, nursery: trio.Nursery, client: Address | None) -> Http:
        secure = not isinstance(self._stream, trio.SocketStream)
        parts = Parts(
            app=self._service.app,
            config=self._service.hypercorn,
            context=self._service.context,
            task_group=AppTasks(nursery),
            state=self._service.state,
            ssl=secure,
            client=client,
            # Hypercorn's type knows no Unix sockets; it hands this on as it is.
            server=cast("Address", read_own_address(self._socket.getsockname())),
            send=self._take_event,
        )
        alpn = None
        if not isinstance(self._stream, trio.SocketStream):
            alpn = self._stream.selected_alpn_protocol()
        return Http(parts, self, alpn=alpn, http2=self._service.config.http2)

    async def _read(self) -> None:
        while self._reading:
            data = await self.receive()
            if not data:
                return
            if self.ended:
                continue
            try:
                await self._http.handle(RawData(data))
            except NothingMoreToRead:
                if not self.ended:
                    return

    def _find_deadline(self) -> float:
        """Return until when the next bytes are waited for, in trio's time."""
        now = trio.current_time()
        config = self._service.config
        if self.ended:
            return self._linger_until
        unfinished = self._http.unfinished
        if unfinished == "head":
            # From its first byte, so that no drip of bytes prolongs it.
            self._head_since = now if self._head_since is None else self._head_since
            return self._head_since + config.read_timeout_seconds
        if unfinished == "body":
            return now + config.read_timeout_seconds
        if self._idle_since is None:
            return math.inf
        if self._service.context.terminated.is_set():
            # HTTP/2 has said goodbye, and may not have sent all of it yet.
            return self._idle_since + _LINGER_SECONDS
        return self._idle_since + config.idle_timeout_seconds

    async def _take_event(self, event: Event) -> None:
        """Do what the protocol wants: write, end the connection, or note that it idles."""
        if isinstance(event, RawData):
            await self._write(event.data)
        elif isinstance(event, Closed):
            self._end()
            await self._http.handle(event)
        elif isinstance(event, Updated):
            self._note_idle(idle=event.idle)

    async def _write(self, data: bytes) -> None:
        if not data or self._gone or self.ended:
            return
        try:
            # One request's cancellation must not cut the frames of others. Where there is
            # only one request, nothing is worth waiting for.
            with trio.CancelScope(shield=self._http.shared):
                await self._send(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            await self._give_up()
        except trio.TooSlowError:
            logger.info("A client stopped reading and is dropped: %s", self._name_client())
            await self._give_up()
        except BaseException:
            # What the protocol believes to be sent is not, or only half.
            self._reset()
            raise

    async def _send(self, data: bytes) -> None:
        async with self._send_lock:
            for start in range(0, len(data), _WRITE_BYTES):
                with trio.fail_after(self._service.config.write_timeout_seconds):
                    await self._stream.send_all(data[start : start + _WRITE_BYTES])

    async def _give_up(self) -> None:
        self._reset()
        await self._http.handle(Closed())

    def _end(self) -> None:
        if self.ended or self._gone:
            return
        self.ended = True
        self._linger_until = trio.current_time() + _LINGER_SECONDS
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._awaiting_answer.unpark_all()
        self._apply_deadline()

    def _note_idle(self, *, idle: bool) -> None:
        self._head_since = None
        self._idle_since = trio.current_time() if idle else None
        self._awaiting_answer.unpark_all()
        self._apply_deadline()

    def _apply_deadline(self) -> None:
        if self._waiting is not None:
            self._waiting.deadline = self._find_deadline()

    def _stop_reading(self) -> None:
        self._reading = False
        if self._waiting is not None:
            self._waiting.cancel()

    def _reset(self) -> None:
        self._gone = True
        self._awaiting_answer.unpark_all()
        with suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self._socket.close()

    def _name_client(self) -> str:
        with suppress(OSError):
            return str(_read_address(self._socket.getpeername()))
        return "unknown"


def _read_address(address: object) -> Address | None:
    """Return host and port of a socket's address, whatever else its family adds."""
    if isinstance(address, tuple):
        host, port, *_ = cast("tuple[str, int]", address)
        return host, port
    return None
