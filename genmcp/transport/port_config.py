"""Where a port listens, and how much patience it has.

Layer: transport. Both servers go by it: `genmcp.transport.http1` and
`genmcp.transport.runner`.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    import os

_MAX_PORT: Final = 65535
_POSITIVE: Final = (
    "backlog",
    "max_connections",
    "max_connections_per_address",
    "max_header_bytes",
    "max_headers",
    "idle_timeout_seconds",
    "read_timeout_seconds",
    "write_timeout_seconds",
)


@attrs.frozen(kw_only=True)
class PortConfig:
    """Where to listen, and how much patience to have.

    Attributes:
        host: a name or address to bind; `"0.0.0.0"` or `"::"` for every interface.
        port: the port; 0 lets the system choose a free one.
        grace_seconds: how long a shutdown waits for what is still being answered.
        http2: speak HTTP/2 as well: by ALPN over TLS, and on a plain port with a client
            that takes it for granted. Off, such a client is refused (505). An offer to
            upgrade is never taken up; RFC 9113 has no such thing any more.
        certfile: a PEM file with the certificate chain; with `keyfile`, TLS is spoken.
        keyfile: a PEM file with the private key.
        backlog: how many connections the kernel holds until they are accepted.
        max_connections: how many connections may be open. At the limit, the one that
            has been idle longest is closed for a newcomer; if none is idle, the
            newcomer is answered 503.
        max_connections_per_address: how many connections one address may have open;
            one more is answered 503. `None` for any number: behind a proxy, or a
            company's gateway, all of them come from one address.
        max_header_bytes: the request line and headers together; more is refused (431).
        max_headers: how many headers a request may have; more are refused (431).
        idle_timeout_seconds: how long a connection may be open with nothing asked. Well
            above a minute, as pooling clients reuse a connection about that long, and
            one that is closed under them fails their next request.
        read_timeout_seconds: how long the head of a request may take, and the longest
            pause inside its body.
        write_timeout_seconds: how long a client may take to accept 64 KiB. One that is
            slower has stopped reading, and is dropped.

    Raises:
        ValueError: a number is out of its range, or only one of `certfile` and
            `keyfile` is given.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    grace_seconds: float = 10.0
    http2: bool = False
    certfile: str | os.PathLike[str] | None = None
    keyfile: str | os.PathLike[str] | None = None
    backlog: int = 1024
    max_connections: int = 1000
    max_connections_per_address: int | None = None
    max_header_bytes: int = 32 * 1024
    max_headers: int = 100
    idle_timeout_seconds: float = 75.0
    read_timeout_seconds: float = 30.0
    write_timeout_seconds: float = 30.0

    def __attrs_post_init__(self) -> None:
        if not 0 <= self.port <= _MAX_PORT:
            raise ValueError(f"port must be 0 to {_MAX_PORT}, got {self.port!r}")
        if self.grace_seconds < 0:
            raise ValueError(f"grace_seconds must not be negative, got {self.grace_seconds!r}")
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be greater than 0, got {value!r}")
        if (self.certfile is None) != (self.keyfile is None):
            raise ValueError("TLS needs both certfile and keyfile, got only one of them")

    @property
    def scheme(self) -> str:
        """`"https"` when TLS is spoken, `"http"` otherwise."""
        return "http" if self.certfile is None else "https"


def load_ssl_context(config: PortConfig) -> ssl.SSLContext | None:
    """Read the certificate and key, if there are any.

    Raises:
        OSError: a file cannot be read, or does not hold what it should.
    """
    if config.certfile is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(config.certfile, config.keyfile)
    except OSError as error:  # which does not say what it is about
        files = f"certfile {config.certfile} and keyfile {config.keyfile}"
        raise OSError(f"{files} cannot be used: {error}") from error
    context.set_alpn_protocols(["h2", "http/1.1"] if config.http2 else ["http/1.1"])
    return context
