"""The endpoint: from a request that has come to its answer, whatever carries both.

Layer: transport. The shells (`genmcp.transport.asgi`, `genmcp.transport.http1`) hand
over an `Exchange`; the order in which a request is looked at stands here. Next comes
`genmcp.transport.inbound`, which says what was sent; then `genmcp.mux` runs it, and
`genmcp.transport.reply` says what to send back.

Spec: basic/transports/streamable-http
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import trio

from genmcp.errors import InvalidRequest, LimitExceeded, Overloaded, describe_shutdown
from genmcp.events import ClientGone, Failed
from genmcp.mcp import v2607 as mcp
from genmcp.mux.failure import is_crash
from genmcp.mux.patience import try_for
from genmcp.telemetry import RefusalReason
from genmcp.transport.cors import answer_preflight, is_preflight
from genmcp.transport.discovery_sink import DiscoverySink
from genmcp.transport.exchange import BadBodyError, BodyStalledError, BodyTooLargeError
from genmcp.transport.fault import mask_fault
from genmcp.transport.headers import show
from genmcp.transport.inbound import (
    ReceivedLegacy,
    ReceivedNotification,
    ReceivedRequest,
    Refusal,
    refuse_limit,
    refuse_shutdown,
)
from genmcp.transport.refused import describe_refusal
from genmcp.transport.reply import Reply, find_delay, find_status, render_accepted

if TYPE_CHECKING:
    from genmcp.access import Access
    from genmcp.caller import Caller
    from genmcp.events import Sink
    from genmcp.limits import Limits
    from genmcp.mux import Call, Mux
    from genmcp.transport.authorize import Gate
    from genmcp.transport.exchange import Exchange
    from genmcp.transport.identify import Identity
    from genmcp.transport.inbound import Inbound
    from genmcp.transport.legacy.endpoint import LegacyEndpoint
    from genmcp.transport.reply import Whole
    from genmcp.transport.sender import SenderRules

_LAST_FRAME_SECONDS: Final = 1.0


@attrs.frozen(eq=False, kw_only=True)
class Endpoint:
    """Answers the requests of one endpoint.

    Attributes:
        path: where it is, without a trailing slash.
        mux: runs the calls.
        senders: who may call.
        gate: who may come in, where that takes an access token.
        inbound: reads requests.
        identity: what the application knows of a caller.
        limits: how much a request may take.
        keepalive_seconds: how long a call may be silent.
        legacy: answers clients of 2025, if they are served.
    """

    path: str
    mux: Mux
    senders: SenderRules
    gate: Gate | None
    inbound: Inbound
    identity: Identity
    limits: Limits
    keepalive_seconds: float
    legacy: LegacyEndpoint | None = None

    async def serve(self, exchange: Exchange) -> None:
        """Answer one request, whatever carries it. Raises nothing but cancellation.

        Args:
            exchange: reads it, and sends the response.
        """
        exchange.reporter = self.mux.reporter
        try:
            call = await self._look_at(exchange)
            if call is not None:
                # Run from here: it may take long, and what looked at the request is gone.
                exchange.dispatched = True
                await exchange.run_call(call, self.keepalive_seconds)
                await self._see_it_answered(exchange, call)
        except ClientGone:
            pass
        except BaseException as error:
            if not is_crash(error):
                raise
            await _answer_crash(exchange, error)

    async def _look_at(self, exchange: Exchange) -> Call | None:
        """Return the call that a request makes. Whatever else it is has been answered."""
        access, body = None, None
        passed = exchange.headers.findings.passed
        if passed is not None:
            # Its head is that of another request, which was looked at.
            exchange.response_headers = passed
            body = exchange.take_body(self.inbound.max_body_bytes)
        if body is None:
            let_in = await self._let_in(exchange)
            if let_in is None:
                return None
            access, body = let_in
            del let_in
        received = self.inbound.read_body(
            exchange.headers, body, access=access, client_address=exchange.client_address
        )
        del body  # it may be large, and a call of 2025 may take long
        match received:
            case ReceivedRequest(request=request, caller=caller):
                return await self._open(exchange, request, caller)
            case ReceivedLegacy() if self.legacy is not None:
                await self.legacy.serve_message(exchange, received, access)
            case ReceivedNotification(notification=notification):
                # Accepted whatever the server makes of it: nothing can be answered.
                await exchange.send_whole(render_accepted())
                await self.mux.notify(notification)
            case Refusal():
                await _refuse(exchange, received)
            case ReceivedLegacy():
                raise AssertionError("messages of 2025 are read only where they are answered")
        return None

    async def _let_in(self, exchange: Exchange) -> tuple[Access | None, bytes] | None:
        """Look at a head; return what its sender may do, and the body, if it is a message."""
        gate = self.gate
        if gate is not None and gate.metadata.is_at(exchange.path, exchange.mounted_at):
            refusal = self.senders.check_host(exchange.headers)
            await _answer_early(exchange, refusal or gate.metadata.answer(exchange.verb))
            return None
        verdict = self.senders.judge(exchange.verb, exchange.headers)
        # Before all else: from here on even a crash is answered so that a page can read it.
        exchange.response_headers = verdict.headers
        refusal = self._find_endpoint(exchange) or verdict.refusal
        if refusal is None and is_preflight(exchange.verb, exchange.headers):
            await _answer_early(exchange, answer_preflight(exchange.headers, self.inbound.verbs))
            return None
        refusal = refusal or self.inbound.check_verb(exchange.verb)
        access = None
        if refusal is None and gate is not None:
            admitted = await gate.admit(exchange)
            access, refusal = _split(admitted)
        refusal = refusal or self.inbound.check_head(exchange.headers)
        if refusal is not None:
            await _refuse(exchange, refusal)
            return None
        if exchange.verb != "POST" and self.legacy is not None:
            await self.legacy.serve_verb(exchange, access)
            return None
        if gate is None:
            exchange.headers.findings.passed = verdict.headers
        body = exchange.take_body(self.inbound.max_body_bytes)
        if body is None:
            body = await self._read_body(exchange)
        return None if body is None else (access, body)

    def _find_endpoint(self, exchange: Exchange) -> Refusal | None:
        path, mounted_at = exchange.path, exchange.mounted_at
        if path == self.path and not mounted_at:
            return None
        route = path
        if mounted_at and (path == mounted_at or path.startswith(mounted_at + "/")):
            # Servers differ in whether the path still holds what was mounted.
            route = path[len(mounted_at) :]
        route = route.removesuffix("/")
        # A path that is told by the public URL has what it is mounted at in it.
        if self.path in {route, mounted_at + route} or (mounted_at and not route):
            return None
        return Refusal(
            404,
            InvalidRequest(f"Nothing is served at {show(path)}; try {self.path or '/'}"),
        )

    async def _read_body(self, exchange: Exchange) -> bytes | None:
        """Return the body, or `None` when it was refused."""
        try:
            return await exchange.read_body(
                max_bytes=self.inbound.max_body_bytes,
                timeout_seconds=self.limits.body_timeout_seconds,
            )
        except BodyTooLargeError:
            refusal = self.inbound.refuse_size()
        except BadBodyError as error:
            refusal = Refusal(400, InvalidRequest(str(error)))
        except BodyStalledError as error:
            message = f"No more of the body came for {error.seconds:g} s (read_timeout_seconds)"
            refusal = refuse_limit(408, message, "read_timeout_seconds", error.seconds)
        except trio.TooSlowError:
            seconds = self.limits.body_timeout_seconds
            message = f"The body was not here within {seconds:g} s (body_timeout_seconds)"
            refusal = refuse_limit(408, message, "body_timeout_seconds", seconds)
        await _refuse(exchange, refusal, drain=False)
        return None

    async def _open(self, exchange: Exchange, request: mcp.Request, caller: Caller) -> Call | None:
        gate = self.gate
        exchange.reply = (
            Reply(caller.request_id)
            if gate is None
            else Reply(caller.request_id, gate.challenges.challenge)
        )
        if self.identity.asks:
            identified = await self.identity.complete(caller, exchange)
            if isinstance(identified, Refusal):
                await _refuse(exchange, identified if gate is None else gate.complete(identified))
                return None
            caller = identified
        if self.mux.draining:
            await _refuse(exchange, refuse_shutdown(caller.request_id))
            return None
        try:
            return self.mux.open(request, caller, self._find_sink(request, exchange))
        except (LimitExceeded, Overloaded) as error:
            headers = find_delay(error)
            await _refuse(exchange, Refusal(find_status(error), error, caller.request_id, headers))
            return None

    async def _see_it_answered(self, exchange: Exchange, call: Call) -> None:
        if not exchange.reachable or exchange.reply is None or exchange.reply.done:
            return
        # Cut off by the mux, which only a shutdown does; anything else is a fault.
        if not self.mux.draining:
            raise RuntimeError(f"{call.what} ended without an answer")
        await try_for(_LAST_FRAME_SECONDS, exchange.write, Failed(describe_shutdown()))

    def _find_sink(self, request: mcp.Request, exchange: Exchange) -> Sink:
        if self.legacy is None or not isinstance(request, mcp.DiscoverRequest):
            return exchange
        return DiscoverySink(exchange, self.inbound.supported)


def _split(admitted: Access | Refusal) -> tuple[Access | None, Refusal | None]:
    return (None, admitted) if isinstance(admitted, Refusal) else (admitted, None)


async def _refuse(exchange: Exchange, refusal: Refusal, *, drain: bool = True) -> None:
    exchange.reporter.refuse(describe_refusal(refusal), refusal.error)
    await exchange.refuse(refusal, drain=drain)


async def _answer_early(exchange: Exchange, answer: Whole | Refusal) -> None:
    if isinstance(answer, Refusal):
        await _refuse(exchange, answer)
    else:
        await exchange.send_early(answer)


async def _answer_crash(exchange: Exchange, error: BaseException) -> None:
    """Log what must not happen, and answer it all the same."""
    masked = mask_fault(error)
    refusal = Refusal(500, masked, reason=RefusalReason.CRASH)
    if not exchange.dispatched:
        exchange.reporter.refuse(describe_refusal(refusal), masked)
    try:
        if exchange.reply is not None and not exchange.reply.done:
            await exchange.write(Failed(masked))
        elif not exchange.responded:
            await exchange.refuse(refusal, drain=False)
    except ClientGone:
        pass
