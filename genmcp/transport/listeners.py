"""The sockets a server listens on: bound here, taken over, or at a path.

Layer: transport, shell. Both `genmcp.transport.http1` and `genmcp.transport.runner` accept
from them; `genmcp.transport.unix_socket` has what is special about a path.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

import trio

from genmcp.transport.unix_socket import bind_unix_socket, remove_unix_socket

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from genmcp.transport.port_config import PortConfig

# What a machine says of an address it does not have, such as `::1` for `localhost` in a
# container without IPv6.
_NOT_HERE: Final = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


@asynccontextmanager
async def listening(config: PortConfig) -> AsyncGenerator[list[socket.socket]]:
    """Listen where `config` says, with non-blocking sockets, until the end of the block.

    Raises:
        OSError: the address cannot be bound, or a socket that was given cannot be used.
    """
    made: os.stat_result | None = None
    if config.sockets is not None:
        sockets = take_over(config.sockets, config.backlog)
    elif config.unix_socket is not None:
        path = os.fspath(config.unix_socket)
        sock, made = await bind_unix_socket(path, config.unix_socket_mode, config.backlog)
        sockets = [sock]
    else:
        try:
            sockets = await bind_port(config.host, config.port, reuse_port=config.reuse_port)
            _listen(sockets, config.backlog)
        except OSError as error:
            # By itself it says what is wrong, and not where.
            error.add_note(f"It was to listen at {config.host}, port {config.port}.")
            raise
    try:
        yield sockets
    finally:
        for one in sockets:
            one.close()
        if made is not None and config.unix_socket is not None:
            remove_unix_socket(os.fspath(config.unix_socket), made)


async def bind_port(host: str, port: int, *, reuse_port: bool = False) -> list[socket.socket]:
    """Bind one port at all addresses of a host; nobody listens yet.

    Of several addresses that a name has, those which this machine lacks are left out, as
    long as it has one.

    Raises:
        OSError: it cannot be bound.
    """
    found = await trio.socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    try:
        for family, _, protocol, _, address in dict.fromkeys(found):
            # One free port for all addresses of the host.
            whole = (address[0], port, *address[2:])
            try:
                sock = _bind(family, protocol, whole, reuse_port=reuse_port)
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                missing = error
            else:
                sockets.append(sock)
                port = sock.getsockname()[1]
    except BaseException:
        for sock in sockets:
            sock.close()
        raise
    if missing is not None and not sockets:
        raise missing
    return sockets


def _bind(
    family: int, protocol: int, address: tuple[Any, ...], *, reuse_port: bool
) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM, protocol)
    try:
        _set_up(sock, reuse_port=reuse_port)
        sock.bind(address)
    except BaseException:
        sock.close()
        raise
    return sock


def _set_up(sock: socket.socket, *, reuse_port: bool) -> None:
    sock.setblocking(False)  # noqa: FBT003 - the standard library's way
    if sys.platform != "win32":  # where it would let others take the port away
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if reuse_port:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if sock.family == socket.AF_INET6:
        # The other family has a socket of its own.
        with suppress(OSError, AttributeError):
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)


def _listen(sockets: Sequence[socket.socket], backlog: int) -> None:
    try:
        for one in sockets:
            one.listen(backlog)
    except BaseException:
        for one in sockets:
            one.close()
        raise


def take_over(given: Sequence[socket.socket | int], backlog: int) -> list[socket.socket]:
    """Return sockets that were given, listening and non-blocking.

    Raises:
        OSError: one is no socket, or none to listen at; the message says which.
    """
    sockets: list[socket.socket] = []
    try:
        for one in given:
            sock = _open(one) if isinstance(one, int) else one
            sockets.append(sock)
            _check(sock, one)
            _make_listen(sock, one, backlog)
            sock.setblocking(False)  # noqa: FBT003 - the standard library's way
    except BaseException:
        for sock in sockets:
            sock.close()
        raise
    return sockets


def _open(descriptor: int) -> socket.socket:
    try:
        sock = socket.socket(fileno=descriptor)
        # Whoever handed it on let this process inherit it, and meant no others.
        sock.set_inheritable(False)
    except (OSError, ValueError) as error:
        reason = os.strerror(getattr(error, "errno", None) or errno.EBADF)
        raise OSError(f"sockets: file descriptor {descriptor} is no socket: {reason}") from error
    return sock


def _make_listen(sock: socket.socket, given: object, backlog: int) -> None:
    if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return
    try:
        sock.listen(backlog)
    except OSError as error:
        # What inetd hands on, and systemd with Accept=yes, is a connection already.
        reason = f"cannot be listened at (is it a connection?): {error.strerror}"
        raise OSError(f"sockets: {_name(given)} {reason}") from error


def _name(given: object) -> str:
    return f"file descriptor {given}" if isinstance(given, int) else repr(given)


def _read_name(sock: socket.socket, given: object) -> Any:
    """Return what a socket is bound to.

    Raises:
        OSError: it is closed; the message names it.
    """
    try:
        return sock.getsockname()
    except OSError as error:
        raise OSError(f"sockets: {_name(given)} is no socket: {error.strerror}") from error


def _check(sock: socket.socket, given: object) -> None:
    name = _name(given)
    families = {socket.AF_INET, socket.AF_INET6, getattr(socket, "AF_UNIX", None)}
    if sock.type != socket.SOCK_STREAM or sock.family not in families:
        raise OSError(f"sockets: {name} is no stream socket for TCP, nor a Unix one")
    address = _read_name(sock, given)
    # A Unix socket that is bound nowhere has an empty name, a TCP one port 0.
    if not address or (isinstance(address, tuple) and address[1] == 0):
        raise OSError(f"sockets: {name} is bound nowhere")


def name_url(scheme: str, address: Any) -> str:
    """Return the base URL of a socket, by its own address.

    That of a Unix socket has its path as the host, percent-encoded, and a scheme of its
    own: `http+unix://%2Frun%2Fmcp.sock`.
    """
    if not isinstance(address, tuple):
        # One in Linux's abstract namespace is bytes, and begins with a zero.
        return f"{scheme}+unix://{quote(address, safe='')}"
    host, port, *_ = cast("tuple[str, int]", address)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def read_own_address(address: Any) -> tuple[str, int | None]:
    """Return where a connection came in, as ASGI has it: a Unix socket has a path, no port."""
    if not isinstance(address, tuple):
        return os.fsdecode(address), None
    host, port, *_ = cast("tuple[str, int]", address)
    return host, port


def find_bound_host(config: PortConfig) -> str | None:
    """Return the host that is bound, `None` where there are only Unix sockets.

    Of several sockets that were given, the first with a host counts.

    Raises:
        OSError: what was given is no socket, or a closed one.
    """
    if config.unix_socket is not None:
        return None
    if config.sockets is None:
        return config.host
    for one in config.sockets:
        sock = _open(one) if isinstance(one, int) else one
        try:
            address = _read_name(sock, one)
        finally:
            if isinstance(one, int):
                sock.detach()
        if isinstance(address, tuple):
            return str(cast("tuple[str, int]", address)[0])
    return None
