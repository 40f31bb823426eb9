"""The ASGI application: one MCP endpoint over Streamable HTTP.

Layer: transport, shell; the first station of a call, and the last. It asks
`genmcp.transport.sender` who may call, and `genmcp.transport.cors` what pages are told. Next
comes `genmcp.transport.inbound`, which says what was sent; then `genmcp.mux` runs it, and
`genmcp.transport.reply` says what to send back. `genmcp.transport.exchange` moves the
bytes, `genmcp.transport.watch` keeps an eye on the client. For servers that run their
applications on trio.

Spec: basic/transports/streamable-http
"""

from __future__ import annotations

import logging
import os
import secrets
from typing import TYPE_CHECKING, Final

import attrs
import trio
from typing_extensions import Unpack

from genmcp.errors import InternalError, InvalidRequest, LimitExceeded, McpError, Overloaded
from genmcp.events import ClientGone, Failed
from genmcp.limits import LimitOptions, Limits
from genmcp.mux import Mux
from genmcp.mux.failure import is_crash
from genmcp.telemetry import RefusalReason
from genmcp.tokens import Keyring
from genmcp.transport.asgi_exchange import AsgiExchange
from genmcp.transport.cors import answer_preflight, is_preflight
from genmcp.transport.exchange import BadBodyError, BodyTooLargeError, Exchange, Scope
from genmcp.transport.headers import show
from genmcp.transport.identify import Identity
from genmcp.transport.inbound import (
    VERBS,
    Inbound,
    ReceivedNotification,
    ReceivedRequest,
    Refusal,
    refuse_limit,
)
from genmcp.transport.proxies import TrustedProxies
from genmcp.transport.public_url import read_public_url
from genmcp.transport.refused import describe_refusal
from genmcp.transport.reply import (
    Reply,
    find_delay,
    find_status,
    render_accepted,
    render_refusal,
)
from genmcp.transport.sender import SenderRules

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from genmcp.server import Server
    from genmcp.telemetry import Observer
    from genmcp.transport.asgi_exchange import Receive, Send
    from genmcp.transport.identify import Assigns, Principal
    from genmcp.transport.proxies import ProxyHeaders
    from genmcp.transport.public_url import PublicUrl

SECRET_KEY_VARIABLE: Final = "GENMCP_SECRET_KEY"  # noqa: S105 - a name, not a secret
"""The environment variable read where no `secret_key` is given: one secret, or several
with spaces between, the newest first."""

DEFAULT_PATH: Final = "/mcp"

KEEPALIVE_SECONDS: Final = 15.0

_LAST_FRAME_SECONDS: Final = 1.0

_WRONG_LOOP: Final = (
    "genmcp runs on trio, but this server runs its applications on another event loop; "
    "start it with `genmcp serve`, or use a server on trio, such as `hypercorn -k trio`"
)

_log = logging.getLogger("genmcp.transport")


class StreamableHTTP:
    """An MCP endpoint as an ASGI application.

    Mount it anywhere, or run it alone. It needs no lifespan from the application that
    mounts it, answers with and without a trailing slash, and never redirects. Mounted
    below another path, that path itself is the endpoint too.

    Args:
        server: who answers, usually a `Suite`.
        public_url: what clients connect to, such as `"https://mcp.example.com/mcp"`,
            whatever stands in between. Its host is answered as `Host`, its origin as
            `Origin`, and its path is where the endpoint is.
        path: where the endpoint is, below the path it is mounted at. Default: the path of
            `public_url`, or `/mcp` without one. To be given besides a `public_url` where a
            proxy changes the path.
        allowed_hosts: `Host` values answered besides loopback and `public_url`; see
            `HostRules`.
        allowed_origins: `Origin` values answered besides loopback and `public_url`, whose
            pages may read what is answered (CORS); see `OriginRules`.
        trusted_proxies: the addresses and networks of proxies that are believed when they
            say where a request comes from; see `TrustedProxies`. What they say is then
            `channel.client_address`, by which callers are limited, and the `client` and
            `scheme` of the ASGI scope. Default: none, so that a proxy counts as the caller.
        proxy_headers: where they say it: `"x-forwarded"` for `X-Forwarded-For` and
            `X-Forwarded-Proto`, `"forwarded"` for `Forwarded`. The proxies have to add to
            these, or replace what clients sent. The other ones are not read.
        assigns: what handlers find in `channel.assigns`: a mapping, or a function,
            plain or async, that gets the ASGI scope and returns one. It may raise an
            `McpError` to refuse the request; it runs on the event loop.
        principal: a function, plain or async, that gets the ASGI scope and returns
            who was authenticated, for `channel.principal`, or `None`. May refuse as
            `assigns` may. What is sealed for one principal is refused from another.
        secret_key: one secret, or several for rotation with the newest first; seals
            cursors and request state. The same for all processes that serve the same
            clients. Default: what GENMCP_SECRET_KEY holds, several with spaces between;
            without either, what this process sealed dies with it.
        keepalive_seconds: how long a call may be silent before the client is shown
            that it lives.
        observers: are told of every call and every refusal, for metrics and traces; see
            `Observer`.
        limits: any of `genmcp.limits.Limits`, such as `max_body_bytes`. Those on one
            caller are on by default where `public_url` or `principal` is given.

    Raises:
        ValueError: a setting makes no sense; the message names it.
        TypeError: one of `observers` is none, or has a hook that is `async def`.

    Attributes:
        mux: runs the calls of this endpoint.
        path: where the endpoint is, without a trailing slash.
        public_url: what clients connect to, in its canonical form, if it was given.
        senders: who may call.
        proxies: whose word is taken for where requests come from, if anyone's.
    """

    def __init__(
        self,
        server: Server,
        *,
        public_url: str | None = None,
        path: str | None = None,
        allowed_hosts: Iterable[str] = (),
        allowed_origins: Iterable[str] = (),
        trusted_proxies: Iterable[str] = (),
        proxy_headers: ProxyHeaders = "x-forwarded",
        assigns: Assigns | None = None,
        principal: Principal | None = None,
        secret_key: str | bytes | Sequence[str | bytes] | None = None,
        keepalive_seconds: float = KEEPALIVE_SECONDS,
        observers: Iterable[Observer] = (),
        **limits: Unpack[LimitOptions],
    ) -> None:
        if path is not None and not path.startswith("/"):
            raise ValueError(f'path must begin with a slash, such as "/mcp", got {path!r}')
        if keepalive_seconds <= 0:
            raise ValueError(f"keepalive_seconds must be positive, got {keepalive_seconds!r}")
        self.public_url = None if public_url is None else read_public_url(public_url)
        self.path = _find_path(path, self.public_url)
        self.senders = SenderRules(
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            public_url=self.public_url,
        )
        proxies = TrustedProxies(trusted_proxies, proxy_headers)
        # Most requests do not pass by here at all, then.
        self.proxies = proxies if proxies.entries else None
        # Whoever has a public address, or tells callers apart, expects more than one of them.
        self._limits = Limits(**limits).fill_in(
            limited_by_default=self.public_url is not None or principal is not None
        )
        self.mux = Mux(
            server,
            keyring=_make_keyring(secret_key),
            limits=self._limits,
            observers=observers,
        )
        self._inbound = Inbound(
            server.methods(),
            max_body_bytes=self._limits.max_body_bytes,
            max_json_depth=self._limits.max_json_depth,
        )
        self._identity = Identity(assigns, principal, self._limits.body_timeout_seconds)
        self._keepalive_seconds = keepalive_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope.

        Cancellation: the call is cancelled as if its client had gone, and this returns
        after its clean-ups.
        """
        match scope["type"]:
            case "http" if trio.lowlevel.in_trio_task():
                await self.serve_exchange(scope, AsgiExchange(scope, receive, send))
            case "http":
                await _refuse_loop(send)
            case "lifespan":
                await _live(receive, send)
            case "websocket":
                # Closed before it was accepted, it is answered 403 by the server.
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": "HTTP only"})
            case other:
                raise ValueError(f"StreamableHTTP does not serve ASGI scopes of type {other!r}")

    async def drain(self, grace_seconds: float) -> None:
        """Refuse new calls, let the open ones finish, and end them in time.

        See `genmcp.mux.Mux.drain`.
        """
        await self.mux.drain(grace_seconds)

    # -- one request -------------------------------------------------------------

    async def serve_exchange(self, scope: Scope, exchange: Exchange) -> None:
        """Answer one request, whatever carries it. Raises nothing but cancellation.

        Args:
            scope: what ASGI would say of it.
            exchange: reads it, and sends the response.
        """
        exchange.reporter = self.mux.reporter
        if self.proxies is not None:
            scope = _believe(self.proxies, scope, exchange)
        try:
            await self._answer(scope, exchange)
        except ClientGone:
            pass
        except BaseException as error:
            if not is_crash(error):
                raise
            await _answer_crash(exchange, error)

    async def _answer(self, scope: Scope, exchange: Exchange) -> None:
        verdict = self.senders.judge(exchange.verb, exchange.headers)
        # Before all else: from here on even a crash is answered so that a page can read it.
        exchange.response_headers = verdict.headers
        refusal = self._find_endpoint(scope) or verdict.refusal
        if refusal is None and is_preflight(exchange.verb, exchange.headers):
            await _answer_preflight(exchange)
            return
        refusal = refusal or self._inbound.check_head(exchange.verb, exchange.headers)
        if refusal is not None:
            await _refuse(exchange, refusal)
            return
        body = await self._read_body(exchange)
        if body is None:
            return
        match self._inbound.read_body(exchange.headers, body):
            case ReceivedRequest() as received:
                await self._run(scope, exchange, received)
            case ReceivedNotification(notification=notification):
                # Accepted whatever the server makes of it: nothing can be answered.
                await exchange.send_whole(render_accepted())
                await self.mux.notify(notification)
            case refusal:
                await _refuse(exchange, refusal)

    def _find_endpoint(self, scope: Scope) -> Refusal | None:
        path: str = scope["path"]
        mounted_at: str = scope.get("root_path", "").rstrip("/")
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
                max_bytes=self._inbound.max_body_bytes,
                timeout_seconds=self._limits.body_timeout_seconds,
            )
        except BodyTooLargeError:
            refusal = self._inbound.refuse_size()
        except BadBodyError as error:
            refusal = Refusal(400, InvalidRequest(str(error)))
        except trio.TooSlowError:
            seconds = self._limits.body_timeout_seconds
            message = f"The body was not here within {seconds:g} s (body_timeout_seconds)"
            refusal = refuse_limit(408, message, "body_timeout_seconds", seconds)
        await _refuse(exchange, refusal, drain=False)
        return None

    async def _run(self, scope: Scope, exchange: Exchange, received: ReceivedRequest) -> None:
        caller = attrs.evolve(received.caller, client_address=exchange.client_address)
        exchange.reply = Reply(caller.request_id)
        identified = await self._identity.complete(scope, caller, exchange)
        if isinstance(identified, Refusal):
            await _refuse(exchange, identified)
            return
        if self.mux.draining:
            reason = RefusalReason.SHUTTING_DOWN
            refusal = Refusal(503, _shutting_down(), caller.request_id, reason=reason)
            await _refuse(exchange, refusal)
            return
        try:
            call = self.mux.open(received.request, identified, exchange)
        except (LimitExceeded, Overloaded) as error:
            headers = find_delay(error)
            await _refuse(exchange, Refusal(find_status(error), error, caller.request_id, headers))
            return
        exchange.dispatched = True
        await exchange.run_call(call, self._keepalive_seconds)
        if exchange.reachable and not exchange.reply.done:
            # Cut off by the mux, which only a shutdown does; anything else is a fault.
            if not self.mux.draining:
                raise RuntimeError(f"{received.request.method} ended without an answer")
            with trio.move_on_after(_LAST_FRAME_SECONDS):
                await exchange.write(Failed(_shutting_down()))


def _find_path(path: str | None, public_url: PublicUrl | None) -> str:
    if path is not None:
        return path.rstrip("/")
    return DEFAULT_PATH if public_url is None else public_url.path


def _believe(proxies: TrustedProxies, scope: Scope, exchange: Exchange) -> Scope:
    """Let a request come from where its proxies say, if they are trusted."""
    server = scope.get("server")
    # So ASGI has it of a Unix socket; a server that tells no addresses tells neither.
    unix = exchange.client_address is None and server is not None and server[1] is None
    found = proxies.find_client(exchange.client_address, scope["headers"], unix=unix)
    if found is None:
        return scope
    exchange.client_address = found.address
    client = None if found.address is None else (found.address, 0)
    return {**scope, "client": client, "scheme": found.scheme or scope.get("scheme", "http")}


async def _refuse(exchange: Exchange, refusal: Refusal, *, drain: bool = True) -> None:
    exchange.reporter.refuse(describe_refusal(refusal), refusal.error)
    await exchange.refuse(refusal, drain=drain)


async def _answer_preflight(exchange: Exchange) -> None:
    answer = answer_preflight(exchange.headers, VERBS)
    if isinstance(answer, Refusal):
        await _refuse(exchange, answer)
    else:
        await exchange.send_early(answer)


def _shutting_down() -> McpError:
    return InternalError("The server is shutting down")


async def _answer_crash(exchange: Exchange, error: BaseException) -> None:
    """Log what must not happen, and answer it all the same."""
    error_id = secrets.token_hex(8)
    _log.error(
        "serving a request failed, error id %s",
        error_id,
        exc_info=error,
        extra={"genmcp_error_id": error_id},
    )
    masked = InternalError("Internal server error", data={"errorId": error_id})
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


async def _refuse_loop(send: Send) -> None:
    _log.error(_WRONG_LOOP)
    whole = render_refusal(500, InternalError(_WRONG_LOOP), headers=((b"connection", b"close"),))
    await send({"type": "http.response.start", "status": 500, "headers": list(whole.headers)})
    await send({"type": "http.response.body", "body": whole.body})


async def _live(receive: Receive, send: Send) -> None:
    """Answer the lifespan protocol, which this application does not need."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            if not trio.lowlevel.in_trio_task():
                await send({"type": "lifespan.startup.failed", "message": _WRONG_LOOP})
                return
            await send({"type": "lifespan.startup.complete"})
        else:
            await send({"type": "lifespan.shutdown.complete"})
            return


def _make_keyring(secret_key: str | bytes | Sequence[str | bytes] | None) -> Keyring:
    if secret_key is not None:
        return Keyring([secret_key] if isinstance(secret_key, str | bytes) else secret_key)
    if from_environment := os.environ.get(SECRET_KEY_VARIABLE, "").split():
        return Keyring(from_environment)
    _log.info(
        "neither secret_key nor %s is given: a random one is used. Fine for one process; "
        "cursors and request state end with it",
        SECRET_KEY_VARIABLE,
    )
    return Keyring.random()
