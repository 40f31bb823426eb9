"""The ASGI application: one MCP endpoint over Streamable HTTP, and its settings.

Layer: transport, shell; the first station of a call, and the last, where an ASGI server
carries it. Next comes `genmcp.transport.endpoint`, which answers one request;
`genmcp.transport.asgi_exchange` moves its bytes, `genmcp.transport.watch` keeps an eye on
the client. For servers that run their applications on trio.

Spec: basic/transports/streamable-http
"""

from __future__ import annotations

import inspect
import logging
import os
from typing import TYPE_CHECKING, Any, Final, Literal

import trio
from typing_extensions import Unpack

from genmcp.deferred import load
from genmcp.errors import InternalError, show
from genmcp.legacy.memory_replay import MemoryReplayStore
from genmcp.legacy.memory_store import MemorySessionStore
from genmcp.limits import LimitOptions, Limits
from genmcp.mcp import v2607 as mcp
from genmcp.mux import Mux
from genmcp.server import Server
from genmcp.setting import explain_unknown
from genmcp.tokens import Keyring
from genmcp.transport.asgi_exchange import AsgiExchange
from genmcp.transport.authorize import make_gate
from genmcp.transport.endpoint import Endpoint
from genmcp.transport.identify import Identity
from genmcp.transport.inbound import (
    Inbound,
)
from genmcp.transport.legacy.endpoint import LegacyEndpoint
from genmcp.transport.port_config import PortConfig
from genmcp.transport.proxies import TrustedProxies
from genmcp.transport.public_url import read_public_url
from genmcp.transport.reply import (
    render_refusal,
)
from genmcp.transport.sender import SenderRules
from genmcp.value import fields_of

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Sequence

    from genmcp.authorization import Authorization
    from genmcp.legacy.replay import ReplayStore
    from genmcp.legacy.store import SessionStore
    from genmcp.telemetry import Observer
    from genmcp.transport.asgi_exchange import Receive, Send
    from genmcp.transport.exchange import Exchange, Scope
    from genmcp.transport.identify import Assigns, Principal
    from genmcp.transport.proxies import ProxyHeaders
    from genmcp.transport.public_url import PublicUrl

SECRET_KEY_VARIABLE: Final = "GENMCP_SECRET_KEY"  # noqa: S105 - a name, not a secret
"""The environment variable read where no `secret_key` is given: one secret, or several
with spaces between, the newest first."""

DEFAULT_PATH: Final = "/mcp"

KEEPALIVE_SECONDS: Final = 15.0

_WRONG_LOOP: Final = (
    "genmcp runs on trio, but this server runs its applications on another event loop; "
    "start it with `genmcp serve`, or use a server on trio, such as `hypercorn -k trio`"
)

_OF_THE_PORT: Final = frozenset(field.name for field in fields_of(PortConfig))

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
        authorization: what access tokens requests must carry; needs `public_url`, the
            resource they are issued for. Handlers find what a token allows in
            `channel.access`, and its subject in `channel.principal`.
        assigns: what handlers find in `channel.assigns`: a mapping, or a function,
            plain or async, that gets the ASGI scope and returns one. It may raise an
            `McpError` to refuse the request; it runs on the event loop.
        principal: a function, plain or async, that gets the ASGI scope and returns
            who was authenticated, for `channel.principal`, or `None`. May refuse as
            `assigns` may. What is sealed for one principal is refused from another. Not
            with `authorization`, whose verifier says who it is.
        secret_key: one secret, or several for rotation with the newest first; seals
            cursors, request state and sessions. The same for all processes that serve the same
            clients. Default: what GENMCP_SECRET_KEY holds, several with spaces between;
            without either, what this process sealed dies with it.
        keepalive_seconds: how long a call may be silent before the client is shown
            that it lives.
        observers: are told of every call and every refusal, for metrics and traces; see
            `Observer`.
        legacy: whether clients of 2025 are served, too: protocol versions `2025-11-25` and
            `2025-06-18`, with sessions.
        legacy_stream_seconds: after how long the stream of a request of `2025-11-25` is
            closed, for the client to come back for the rest, where something in between
            cuts long responses. Default: it stays open until the request is answered.
        session_store: what is remembered of the sessions of 2025. Default: a
            `MemorySessionStore`, which other processes do not reach.
        replay_store: what the streams of 2025 said, for clients that come back. Default: a
            `MemoryReplayStore`, which other processes do not reach.
        limits: any of `genmcp.limits.Limits`, such as `max_body_bytes`. Those on one
            caller are on by default where `public_url` or `principal` is given.

    Raises:
        ValueError: a setting makes no sense; the message names it.
        TypeError: `server` is not a server, or an option is unknown; one of `observers` is
            none, or has a hook that is `async def`; a store is none, or `assigns` or
            `principal` is something else than they may be.

    Attributes:
        mux: runs the calls of this endpoint.
        path: where the endpoint is, without a trailing slash.
        public_url: what clients connect to, in its canonical form, if it was given.
        senders: who may call.
        proxies: whose word is taken for where requests come from, if anyone's.
        session_store: what is remembered of the sessions of 2025; `None` where they are not
            served.
        replay_store: what the streams of 2025 said; `None` likewise.
        named_by: the option that says who is calling; `None` where callers are network
            addresses.
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
        authorization: Authorization | None = None,
        assigns: Assigns | None = None,
        principal: Principal | None = None,
        secret_key: str | bytes | Sequence[str | bytes] | None = None,
        keepalive_seconds: float = KEEPALIVE_SECONDS,
        observers: Iterable[Observer] = (),
        legacy: bool = True,
        legacy_stream_seconds: float | None = None,
        session_store: SessionStore | None = None,
        replay_store: ReplayStore | None = None,
        **limits: Unpack[LimitOptions],
    ) -> None:
        # The type says so, but a class where an instance belongs is an easy slip.
        if not isinstance(server, Server):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"StreamableHTTP takes a Server, such as a Suite, got {show(server)}")
        for option in limits:
            if option not in LimitOptions.__optional_keys__:
                raise TypeError(_explain_unknown(option))
        if path is not None and not path.startswith("/"):
            raise ValueError(f'path must begin with a slash, such as "/mcp", got {path!r}')
        if keepalive_seconds <= 0:
            raise ValueError(f"keepalive_seconds must be positive, got {keepalive_seconds!r}")
        if legacy_stream_seconds is not None and legacy_stream_seconds <= 0:
            raise ValueError(
                f"legacy_stream_seconds must be positive, got {legacy_stream_seconds!r}"
            )
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
        load(mcp)
        self.mux = Mux(
            server,
            keyring=make_keyring(secret_key),
            limits=self._limits,
            observers=observers,
        )
        gate = make_gate(
            authorization,
            self.public_url,
            has_principal=principal is not None,
            timeout_seconds=self._limits.body_timeout_seconds,
        )
        self.named_by = _find_naming(authorization, principal)
        if gate is None and (scopes := server.scopes()):
            _warn_closed(scopes)
        identity = Identity(assigns, principal, self._limits.body_timeout_seconds)
        self.session_store: SessionStore | None = None
        self.replay_store: ReplayStore | None = None
        self._legacy = None
        if legacy:
            # One that is empty may well be false.
            self.session_store = MemorySessionStore() if session_store is None else session_store
            self.replay_store = MemoryReplayStore() if replay_store is None else replay_store
            self._legacy = LegacyEndpoint(
                mux=self.mux,
                gate=gate,
                methods=frozenset(server.methods()),
                identity=identity,
                store=self.session_store,
                replay=self.replay_store,
                keepalive_seconds=keepalive_seconds,
                stream_seconds=legacy_stream_seconds,
            )
        self._endpoint = Endpoint(
            path=self.path,
            mux=self.mux,
            senders=self.senders,
            gate=gate,
            inbound=Inbound(
                server.methods(),
                max_body_bytes=self._limits.max_body_bytes,
                max_json_depth=self._limits.max_json_depth,
                legacy=legacy,
            ),
            identity=identity,
            limits=self._limits,
            keepalive_seconds=keepalive_seconds,
            legacy=self._legacy,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope.

        Cancellation: the call is cancelled as if its client had gone, and this returns
        after its clean-ups.
        """
        match scope["type"]:
            case "http" if trio.lowlevel.in_trio_task():
                await self.serve_exchange(AsgiExchange(scope, receive, send))
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
        if self._legacy is not None:
            self._legacy.stop()
        await self.mux.drain(grace_seconds)

    def serve_exchange(self, exchange: Exchange) -> Coroutine[Any, Any, None]:
        """Answer one request, whatever carries it. Raises nothing but cancellation.

        Args:
            exchange: reads it, and sends the response.
        """
        if self.proxies is not None:
            _believe(self.proxies, exchange)
        return self._endpoint.serve(exchange)


def _explain_unknown(option: str) -> str:
    if option in _OF_THE_PORT:
        return (
            f"StreamableHTTP has no option {option!r}, which is about the port; "
            "serve() and genmcp serve have it"
        )
    own = set(inspect.signature(StreamableHTTP).parameters) - {"limits"}
    return explain_unknown("StreamableHTTP", option, own | LimitOptions.__optional_keys__)


def _find_path(path: str | None, public_url: PublicUrl | None) -> str:
    if path is not None:
        return path.rstrip("/")
    return DEFAULT_PATH if public_url is None else public_url.path


def _believe(proxies: TrustedProxies, exchange: Exchange) -> None:
    """Let a request come from where its proxies say, if they are trusted."""
    scope = exchange.scope
    server = scope.get("server")
    # So ASGI has it of a Unix socket; a server that tells no addresses tells neither.
    unix = exchange.client_address is None and server is not None and server[1] is None
    found = proxies.find_client(exchange.client_address, scope["headers"], unix=unix)
    if found is not None:
        exchange.believe(found.address, found.scheme)


def _find_naming(
    authorization: Authorization | None, principal: Principal | None
) -> Literal["authorization", "principal"] | None:
    if authorization is not None:
        return "authorization"
    return None if principal is None else "principal"


def _warn_closed(scopes: Iterable[str]) -> None:
    _log.warning(
        "what requires the scopes %s is refused to everybody: without authorization "
        "(an option of StreamableHTTP and serve), this endpoint takes no access tokens",
        " ".join(sorted(scopes)),
    )


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


def make_keyring(secret_key: str | bytes | Sequence[str | bytes] | None) -> Keyring:
    """Return what seals for an endpoint: by these secrets, by the environment's, or at random.

    Args:
        secret_key: see `StreamableHTTP`.
    """
    if secret_key is not None:
        return Keyring([secret_key] if isinstance(secret_key, str | bytes) else secret_key)
    if from_environment := os.environ.get(SECRET_KEY_VARIABLE, "").split():
        return Keyring(from_environment)
    _log.info(
        "neither secret_key nor %s is given: a random one is used. Fine for one process; "
        "cursors, request state and sessions end with it",
        SECRET_KEY_VARIABLE,
    )
    return Keyring.random()
