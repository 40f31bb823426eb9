"""One connection: requests in, one after the other, and their responses out.

Layer: transport, shell. `genmcp.transport.http1.door` lets it in, `inflow` has its bytes,
`request_reader` cuts the requests out of them, `exchange` is one of them, and the
application answers.

One task reads a request, answers it, and reads the next. Where an answer takes its time
the task around it reads meanwhile, which is how it is noticed that the client leaves.

No time limit here has a scope of its own, which would cost more than all else that is
done for a small request: what the connection waits for, and until when, stands in
`deadline`, and the door looks at it once a second.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any, Final, cast

import trio

from genmcp.errors import InvalidRequest
from genmcp.mux.cleanup import HandlerScope
from genmcp.mux.patience import sleep_patiently
from genmcp.mux.stage import Stage
from genmcp.setting import describe_setting
from genmcp.transport.exchange import BadBodyError, BodyStalledError
from genmcp.transport.http1.description import describe_request, resolve_target
from genmcp.transport.http1.exchange import Http1Exchange
from genmcp.transport.http1.inflow import Inflow
from genmcp.transport.http1.request_reader import BadRequestError, RequestReader
from genmcp.transport.http1.response_writer import CONTINUE, ResponseWriter
from genmcp.transport.reply import render_refusal

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from genmcp.mux import Call
    from genmcp.transport.exchange import Scope
    from genmcp.transport.http1.request_reader import IncomingRequest
    from genmcp.transport.http1.service import Service
    from genmcp.transport.http1.wire import Wire

_log = logging.getLogger("genmcp.transport")

_SLICE_BYTES: Final = 64 * 1024
# Small requests take thirty times their bytes once they are parsed, and the time for it is
# taken from all other connections.
_PARSED_AT_ONCE_BYTES: Final = 16 * 1024
_HALF_CLOSED_SECONDS: Final = 0.2
_LINGER_SECONDS: Final = 2.0
_LAST_HEAD_SECONDS: Final = 1.0
_REQUESTS_PER_TURN: Final = 16


class Connection:
    """Serves one connection until either side ends it.

    Args:
        wire: its bytes.
        service: what all connections share.
        client: the address and port it comes from, or `None`.
        server: the address and port it came to; a path and `None` for a Unix socket.
        secure: whether it is TLS.

    Attributes:
        client_address: where it comes from.
        closing: whether it ends with the next response.
        deadline: until when it may wait for what it waits for, in trio's time.
    """

    def __init__(
        self,
        wire: Wire,
        service: Service,
        *,
        client: tuple[str, int] | None,
        server: tuple[str, int | None] | None,
        secure: bool,
    ) -> None:
        self.client_address = None if client is None else client[0]
        self.closing = False
        self.deadline = math.inf
        self._wire = wire
        self._service = service
        self._client = client
        self._server = server
        self._secure = secure
        config = service.config
        self._requests = RequestReader(config.max_header_bytes, config.max_headers)
        self._unparsed = b""
        self._current: Http1Exchange | None = None
        self._stage: Stage | None = None
        self._call: Call | None = None
        self._keepalive_seconds = math.inf
        self._kept_alive = -math.inf
        self._writing = False
        self._timed_out = False
        self._requests_taken = 0
        self._inflow = Inflow(wire, self._notice_leaving)
        self._gone: trio.lowlevel.ParkingLot | None = None

    @property
    def idle_until(self) -> float:
        """When it will have idled for too long; infinity if it does not idle."""
        return self.deadline if self._idles and not self.closing else math.inf

    @property
    def _idles(self) -> bool:
        return self._current is None and not self._requests.in_head and not self._writing

    async def run(self) -> None:
        """Serve until the connection ends. Raises nothing for what clients do.

        Cancellation: cuts the connection off.
        """
        try:
            async with trio.open_nursery() as self._nursery:
                # A task of its own: a handler that leaves a nursery open ruins it.
                self._nursery.start_soon(self._serve)
                await self._inflow.attend()
        finally:
            self._wire.close()

    async def _serve(self) -> None:
        try:
            while await self._serve_on_stage():
                pass
            await self._say_goodbye()
        finally:
            # What reads ahead ends with it.
            self._wire.close()
            self._inflow.end()

    async def _serve_on_stage(self) -> bool:
        """Serve until a call was cancelled; return whether more requests may follow.

        The scope is opened once and not for each call. It keeps the cancellation of the
        port out: whoever wants this task to end closes the connection.
        """
        scope = HandlerScope(self._service.cleanup_seconds)
        with scope.open():
            self._stage = Stage(scope, self._nursery, self.read_ahead)
            while (request := await self._read_request()) is not None:
                if not await self._answer(request):
                    return False
                if scope.torn:
                    # Nothing that runs in this task is sure to work any more. What is
                    # left to do is to let the answer arrive.
                    await self._linger()
                    return False
                if scope.spent:
                    return True
        return False

    # -- requests ----------------------------------------------------------------

    async def _read_request(self) -> IncomingRequest | None:
        """Return the next request, or `None` when there will be none."""
        requests = self._requests
        config = self._service.config
        idle_until = trio.current_time() + config.idle_timeout_seconds
        head_since: float | None = None
        self._requests_taken += 1
        if self._requests_taken % _REQUESTS_PER_TURN == 0:
            # Many of them in one segment must not keep other connections waiting.
            await trio.lowlevel.cancel_shielded_checkpoint()
        while not requests.requests:
            if requests.failure is not None or requests.ended:
                return None
            if self._unparsed:
                self._parse(self._unparsed)
                continue
            if requests.in_head:
                # From its first byte, so that no drip of bytes prolongs it.
                head_since = trio.current_time() if head_since is None else head_since
                self.deadline = head_since + self._head_seconds
            elif self.closing:
                return None
            else:
                self.deadline = idle_until
            data = await self._inflow.receive()
            if not data:
                return None
            self._parse(data)
        self.deadline = math.inf
        return requests.requests.pop(0)

    def _parse(self, data: bytes) -> None:
        """Parse `data` up to the end of a request, and not much more of it."""
        requests = self._requests
        step = _PARSED_AT_ONCE_BYTES
        requests.feed(data[:step])
        # A body that is here already goes with its head.
        while (data := data[step:]) and (
            not requests.requests or (requests.in_body and len(requests.requests) == 1)
        ):
            requests.feed(data[:step])
        self._unparsed = data

    @property
    def _head_seconds(self) -> float:
        seconds = self._service.config.read_timeout_seconds
        return min(seconds, _LAST_HEAD_SECONDS) if self.closing else seconds

    async def _answer(self, request: IncomingRequest) -> bool:
        """Have one request answered; return whether another may follow."""
        try:
            if not request.path:
                resolve_target(request, secure=self._secure)
        except BadRequestError as error:
            self._requests.refuse(request, error)
            return False
        exchange = self._current = Http1Exchange(self, request)
        try:
            await self._service.answer(exchange)
        finally:
            self._current = self._call = None
        if not exchange.finished:
            # Cut in the middle, the client must see that it was.
            self._wire.abort()
            return False
        if exchange.client_left:
            return False
        if exchange.closes:
            await self._linger()
            return False
        return True

    # -- for the exchange ----------------------------------------------------------

    def describe(self, request: IncomingRequest) -> Scope:
        """Return the ASGI scope of a request of this connection."""
        return describe_request(
            request, client=self._client, server=self._server, secure=self._secure
        )

    async def read_body_on(self, request: IncomingRequest) -> bool:
        """Read more of a body; return whether anything came.

        Raises:
            BadBodyError: what came cannot be read.
            BodyStalledError: nothing came within the read timeout.
        """
        self._check_body(request)
        if self._unparsed:
            self._parse(self._unparsed)
            self._check_body(request)
            return True
        if request.expects_continue and not request.size:
            request.expects_continue = False
            await self.send(CONTINUE)
        self.deadline = trio.current_time() + self._service.config.read_timeout_seconds
        try:
            data = await self._inflow.receive()
        finally:
            self.deadline = math.inf
        if not data:
            if self._timed_out:
                raise BodyStalledError(self._service.config.read_timeout_seconds)
            return False
        self._parse(data)
        self._check_body(request)
        return True

    def _check_body(self, request: IncomingRequest) -> None:
        failure = self._requests.failure
        if failure is not None and not request.complete:
            raise BadBodyError(failure.reason)

    async def send(self, data: bytes) -> None:
        """Send all of `data`, within the write timeout for each 64 KiB.

        Raises:
            OSError: it cannot be sent.
            trio.ClosedResourceError: the connection was cut off meanwhile.
        """
        # Most often all of it goes out at once: no time has to be limited.
        sent = self._wire.send_now(data)
        if sent < len(data):
            await self._send_rest(data, sent)

    async def _send_rest(self, data: bytes, sent: int) -> None:
        seconds = self._service.config.write_timeout_seconds
        before = self.deadline
        self._writing = True
        try:
            for start in range(sent, len(data), _SLICE_BYTES):
                self.deadline = trio.current_time() + seconds
                await self._wire.send(data[start : start + _SLICE_BYTES])
        finally:
            self._writing = False
            self.deadline = before

    def run_call(self, call: Call, keepalive_seconds: float) -> Coroutine[Any, Any, None]:
        """Run a call in this task; see `Exchange.run_call`."""
        self._call = call
        self._keepalive_seconds = keepalive_seconds
        assert self._stage is not None
        return call.run_on(self._stage)

    async def wait_until_gone(self, exchange: Http1Exchange) -> None:
        """Wait until the client has left the exchange that is going on."""
        # Nothing is given back yet: who is calling may just be found out, by the headers.
        self._inflow.read_ahead()
        if self._gone is None:
            self._gone = trio.lowlevel.ParkingLot()
        while not exchange.client_left:
            await self._gone.park()

    def read_ahead(self) -> None:
        """From now on, see at once when the client leaves."""
        # Given back now, for later there would be holes between what stays.
        self._requests.rest()
        if self._current is not None:
            self._current.rest()
        self._inflow.read_ahead()

    # -- for the door --------------------------------------------------------------

    def expire(self) -> None:
        """The deadline has passed: end what the connection waits for."""
        self.deadline = math.inf
        if self._writing:
            _log.info("A client stopped reading and is dropped: %s", self.client_address)
            self._wire.abort()
        else:
            # A request that comes at this very moment is still answered, as the last.
            self.closing = self.closing or self._idles
            self._timed_out = True
            self._wire.stop_reading()

    def look_after_call(self, now: float) -> None:
        """Show the client that a call lives which has been silent for long."""
        call = self._call
        if call is None:
            return
        # It has gone on for as long as it takes the door to come round, and may be one of
        # thousands that stay open.
        self._requests.forget()
        if call.over or call.writing:
            return
        if now >= max(call.last_write, self._kept_alive) + self._keepalive_seconds:
            self._kept_alive = now
            # Beside this task: the client may read no more, and then leave.
            self._nursery.start_soon(call.keep_alive)

    def close_when_idle(self) -> None:
        """End the connection now if nothing is being asked, otherwise with the next answer."""
        self.closing = True
        if self._idles:
            self._wire.stop_reading()
        elif self._current is None:
            self.deadline = min(self.deadline, trio.current_time() + _LAST_HEAD_SECONDS)

    def abort(self) -> None:
        """Cut the connection off, and whatever goes on in it that is no call.

        A call notices, and has its clean-up time.
        """
        self._wire.abort()
        self._inflow.wake()
        if self._stage is not None and (self._call is None or not self._call.running):
            self._stage.scope.abort()

    # -- inside --------------------------------------------------------------------

    async def _notice_leaving(self) -> None:
        """Tell the exchange that its client has left, unless an answer is about to come.

        A client that half-closes after its request is still there for a quick answer.
        """
        exchange = self._current
        if exchange is None:
            return
        if not self._wire.closed:
            await sleep_patiently(_HALF_CLOSED_SECONDS)
        if exchange is self._current:
            exchange.client_left = True
            if self._gone is not None:
                self._gone.unpark_all()
            if self._call is not None:
                self._call.client_gone()

    async def _say_goodbye(self) -> None:
        """Tell a client whose bytes are no request what is wrong with them."""
        failure = self._requests.failure
        if failure is None and self._timed_out and self._requests.in_head:
            seconds = self._service.config.read_timeout_seconds
            failure = BadRequestError(
                408,
                f"The request was not here within {seconds:g} s (read_timeout_seconds)",
                describe_setting("read_timeout_seconds", limit=seconds),
            )
        if failure is None:
            return
        _log.info("refused with %d: %s", failure.status, failure.reason)
        writer = ResponseWriter(head_only=self._requests.is_head_verb, chunked=False)
        writer.closes = True
        allow = ((b"allow", b"POST"),) if failure.status == 405 else ()  # noqa: PLR2004
        error = InvalidRequest(failure.reason, data=failure.data)
        whole = render_refusal(failure.status, error, headers=allow)
        try:
            await self.send(writer.render([whole]))
        except (OSError, trio.ClosedResourceError):
            return
        await self._linger()

    async def _linger(self) -> None:
        """Read away what the client still sends, so that our last word is not lost.

        Closing a socket with unread bytes resets the connection, and a client that is
        reset may never read what was sent before.
        """
        await self._wire.finish_sending()
        self.deadline = until = trio.current_time() + _LINGER_SECONDS
        while await self._inflow.receive() and trio.current_time() < until:
            pass


def read_address(address: object) -> tuple[str, int] | None:
    """Return host and port of a socket's address, whatever else its family adds."""
    if isinstance(address, tuple):
        host, port, *_ = cast("tuple[str, int]", address)
        return host, port
    return None
