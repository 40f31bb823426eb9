"""Where a port listens, and how much patience it has.

Layer: transport. Both servers go by it: `genmcp.transport.http1` and
`genmcp.transport.runner`.
"""

from __future__ import annotations

import os
import socket
import ssl
from typing import TYPE_CHECKING, Final

import attrs

from genmcp.errors import show
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_MODE: Final = 0o777
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


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PortConfig(Value):
    """Where to listen, and how much patience to have.

    Attributes:
        host: a name or address to bind; `"0.0.0.0"` or `"::"` for every interface.
        port: the port; 0 lets the system choose a free one.
        unix_socket: a path to listen at instead, with a Unix socket. One that nobody
            listens at any more is replaced, and it is removed at the end, if it is still
            the one that was made here.
        unix_socket_mode: the permissions of that socket: who may write to it may connect.
            By default only the user that runs the server; `0o660` is for its group too.
        sockets: listening sockets to serve at instead, or their file descriptors: what
            systemd or a parent process has opened. They are taken over, and closed in the
            end. One that is bound and does not listen yet is made to.
        reuse_port: let other processes of this user listen at the same port
            (`SO_REUSEPORT`), among which the system then shares out the connections.
        grace_seconds: how long a shutdown waits for what is still being answered.
        http2: speak HTTP/2 as well: by ALPN over TLS, and on a plain port with a client
            that takes it for granted. Off, such a client is refused (505). An offer to
            upgrade is never taken up; RFC 9113 has no such thing any more.
        certfile: a PEM file with the certificate chain; with `keyfile`, TLS is spoken.
        keyfile: a PEM file with the private key.
        ssl_context: speaks TLS with this instead of the two files, for whatever they cannot
            say: a key that a password protects, certificates of clients. Which protocols
            it offers (ALPN) is set here.
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
        ValueError: a number is out of its range, only one of `certfile` and `keyfile`
            is given, or two of what can only be given instead of each other.
        TypeError: `ssl_context` or `sockets` is something else.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    unix_socket: str | os.PathLike[str] | None = None
    unix_socket_mode: int = 0o600
    sockets: Sequence[socket.socket | int] | None = None
    reuse_port: bool = False
    grace_seconds: float = 10.0
    http2: bool = False
    certfile: str | os.PathLike[str] | None = None
    keyfile: str | os.PathLike[str] | None = None
    ssl_context: ssl.SSLContext | None = None
    backlog: int = 1024
    max_connections: int = 1000
    max_connections_per_address: int | None = None
    max_header_bytes: int = 32 * 1024
    max_headers: int = 100
    idle_timeout_seconds: float = 75.0
    read_timeout_seconds: float = 30.0
    write_timeout_seconds: float = 30.0

    def __attrs_post_init__(self) -> None:
        # The type says so, but out of the environment it is a text.
        if type(self.port) is not int or not 0 <= self.port <= _MAX_PORT:
            raise ValueError(f"port must be 0 to {_MAX_PORT}, got {self.port!r}")
        if self.grace_seconds < 0:
            raise ValueError(f"grace_seconds must not be negative, got {self.grace_seconds!r}")
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be greater than 0, got {value!r}")
        self._check_listening()
        self._check_tls()

    def _check_listening(self) -> None:
        if self.sockets is not None:
            if self.unix_socket is not None:
                raise ValueError("sockets and unix_socket exclude each other: give one of them")
            _check_sockets(self.sockets)
        if self.unix_socket is not None:
            _check_path(os.fspath(self.unix_socket))
        if not 0 <= self.unix_socket_mode <= _MAX_MODE:
            raise ValueError(
                f"unix_socket_mode must be permissions such as 0o660, got {self.unix_socket_mode!r}"
            )
        if self.reuse_port:
            if self.sockets is not None or self.unix_socket is not None:
                raise ValueError("reuse_port is for a host and a port; for sockets they share one")
            if not hasattr(socket, "SO_REUSEPORT"):
                raise ValueError("reuse_port: this system has no SO_REUSEPORT")

    def _check_tls(self) -> None:
        if (self.certfile is None) != (self.keyfile is None):
            raise ValueError("TLS needs both certfile and keyfile, got only one of them")
        context = self.ssl_context
        if context is None:
            return
        if self.certfile is not None:
            raise ValueError("ssl_context holds certificate and key: leave out certfile, keyfile")
        # The type says so, but a file name is an easy slip.
        if not isinstance(context, ssl.SSLContext):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"ssl_context must be an ssl.SSLContext, got {show(context)}")
        if context.protocol == ssl.PROTOCOL_TLS_CLIENT:
            raise ValueError(
                "ssl_context is one for clients; make it with "
                "ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)"
            )

    @property
    def scheme(self) -> str:
        """`"https"` when TLS is spoken, `"http"` otherwise."""
        return "http" if self.certfile is None and self.ssl_context is None else "https"


def _check_path(path: str) -> None:
    # An empty one would be bound at a name the system makes up, and be the current directory
    # to whatever else is done with it.
    if not path or "\0" in path:
        raise ValueError(f"unix_socket must be a path, got {path!r}")
    if not hasattr(socket, "AF_UNIX"):
        raise ValueError("unix_socket: Python offers no Unix sockets on this system")


def _check_sockets(sockets: Sequence[socket.socket | int]) -> None:
    # The types say so, but a single socket is an easy slip.
    if isinstance(sockets, str | bytes | int | socket.socket):
        raise TypeError(f"sockets must be a list of sockets, got {show(sockets)}")
    if not sockets:
        raise ValueError("sockets must name at least one socket to listen at")
    for one in sockets:
        if isinstance(one, bool) or not isinstance(one, socket.socket | int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"sockets must be sockets or their file descriptors, got {show(one)}")
    seen: set[int] = set()
    for one in sockets:
        number = one if isinstance(one, int) else one.fileno()
        if number in seen and number >= 0:  # below, it is closed, which is said elsewhere
            raise ValueError(f"sockets: file descriptor {number} is given twice")
        seen.add(number)


def load_ssl_context(config: PortConfig) -> ssl.SSLContext | None:
    """Return what TLS is spoken with, if it is.

    Raises:
        OSError: a file cannot be read, or does not hold what it should.
    """
    context = config.ssl_context
    if context is None:
        if config.certfile is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(config.certfile, config.keyfile, _refuse_password)
        except OSError as error:  # which does not say what it is about
            files = f"certfile {config.certfile} and keyfile {config.keyfile}"
            raise OSError(f"{files} cannot be used: {error}") from error
    # One that was given may offer what is not spoken here.
    context.set_alpn_protocols(["h2", "http/1.1"] if config.http2 else ["http/1.1"])
    return context


def _refuse_password() -> str:
    # Without this, OpenSSL asks at the terminal, and everything waits for somebody to answer.
    raise OSError("a password protects the key; give an ssl_context that knows it")
