"""Who may call from where: the rules for `Host` and `Origin`.

Layer: transport, pure; asked by `genmcp.transport.sender` before anything else.

Two attacks come through a browser on the user's own machine. A page of a foreign site
posts to a local server: its `Origin` gives it away. A page whose own name was made to
resolve to 127.0.0.1 (DNS rebinding) is at its own origin when it calls: its `Host`
gives it away. So both are checked, on every HTTP method. Loopback is allowed out of
the box, on any port; `allowed_hosts` and `allowed_origins` add to that.

Spec: basic/transports/streamable-http#security--endpoint
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import attrs

from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

ANY: Final = "*"
"""The entry that switches a rule off."""

_MAX_AUTHORITY_BYTES: Final = 262  # a name of 255, a colon and a port
_MAX_ORIGIN_BYTES: Final = 300
_NAME: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*")
_PORT: Final = re.compile(r"[0-9]{0,5}")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MAX_PORT: Final = 65535


@attrs.frozen(eq=False, repr=False)
class Authority(Value):
    """A host and a port, as `Host` and the end of an `Origin` hold them.

    Attributes:
        name: lower case, without a trailing dot; an IPv6 address in its short form.
        port: the port, if one is given.
        loopback: whether only this machine can be meant.
    """

    name: str
    port: int | None
    loopback: bool


@attrs.frozen(eq=False, repr=False)
class Origin(Value):
    """Where a page comes from. The port is `None` where it is the scheme's own."""

    scheme: str
    authority: Authority


class HostRules:
    """Which `Host` headers are answered: loopback on any port, and `allowed_hosts`.

    Args:
        allowed_hosts: host names or addresses. `"mcp.example.com"` allows any port,
            `"mcp.example.com:8443"` that one; ports 80 and 443 also match a `Host`
            that names no port. `"*"` switches the check off, for a server behind a
            proxy that checks `Host` itself.

    Raises:
        ValueError: an entry is not a host.
        TypeError: a single string was given instead of a list.
    """

    def __init__(self, allowed_hosts: Iterable[str] = ()) -> None:
        entries = list_entries("allowed_hosts", allowed_hosts)
        self._any = ANY in entries
        self._allowed = {_read_host_entry(entry) for entry in entries if entry != ANY}

    def allows(self, value: bytes) -> bool:
        """Tell whether a request with this `Host` is answered."""
        if self._any:
            return True
        host = read_authority(value)
        if host is None:
            return False
        if host.loopback or (host.name, None) in self._allowed:
            return True
        if host.port is not None:
            return (host.name, host.port) in self._allowed
        return any((host.name, port) in self._allowed for port in _DEFAULT_PORTS.values())


class OriginRules:
    """Which `Origin` headers are answered: loopback on any port, and `allowed_origins`.

    Args:
        allowed_origins: such as `"https://app.example.com"`, each with its scheme, and
            its port unless that is the scheme's own. `"*"` switches the check off, for
            a public server where a call from any page can do no harm.

    Raises:
        ValueError: an entry is not an origin, or is `null`, which every sandboxed
            page of every site sends.
        TypeError: a single string was given instead of a list.
    """

    def __init__(self, allowed_origins: Iterable[str] = ()) -> None:
        entries = list_entries("allowed_origins", allowed_origins)
        self._any = ANY in entries
        self._allowed = {_read_origin_entry(entry) for entry in entries if entry != ANY}

    def allows(self, value: bytes) -> bool:
        """Tell whether a request with this `Origin` is answered."""
        if self._any:
            return True
        origin = read_origin(value)
        if origin is None:
            return False
        if origin.authority.loopback and origin.scheme in _DEFAULT_PORTS:
            return True
        return origin in self._allowed


# Both readers are pure, and a server sees the same few values again and again; the
# caches are small, and so is what is looked at, because strangers choose the values.


@lru_cache(maxsize=256)
def read_authority(value: bytes) -> Authority | None:
    """Read a host with an optional port, or return `None` if it is not one."""
    if len(value) > _MAX_AUTHORITY_BYTES or not value.isascii():
        return None
    text = value.decode("ascii").lower()
    if text.startswith("["):
        inside, closed, rest = text[1:].partition("]")
        name = _read_ipv6(inside) if closed else None
        if name is None or rest[:1] not in ("", ":"):
            return None
        port_text = rest[1:]
        loopback = _is_ipv6_loopback(name)
    else:
        name, _, port_text = text.partition(":")
        name = name.removesuffix(".")
        if _NAME.fullmatch(name) is None:
            return None
        loopback = name == "localhost" or _is_ipv4_loopback(name)
    if _PORT.fullmatch(port_text) is None or int(port_text or 0) > _MAX_PORT:
        return None
    return Authority(name, int(port_text) if port_text else None, loopback)


@lru_cache(maxsize=256)
def read_origin(value: bytes) -> Origin | None:
    """Read a serialized origin, or return `None` if it is not one, as `null` is."""
    if len(value) > _MAX_ORIGIN_BYTES or not value.isascii():
        return None
    scheme_bytes, separator, rest = value.partition(b"://")
    scheme = scheme_bytes.decode("ascii").lower()
    authority = read_authority(rest)
    if not separator or authority is None or _SCHEME.fullmatch(scheme) is None:
        return None
    if authority.port is not None and authority.port == _DEFAULT_PORTS.get(scheme):
        authority = attrs.evolve(authority, port=None)
    return Origin(scheme, authority)


def _read_ipv6(text: str) -> str | None:
    # A zone, as in fe80::1%eth0, has no place in a Host; ipaddress would take it.
    if "%" in text:
        return None
    try:
        return ipaddress.IPv6Address(text).compressed
    except ValueError:
        return None


def _is_ipv6_loopback(name: str) -> bool:
    address = ipaddress.IPv6Address(name)
    # Python says so of a mapped 127.0.0.1 from 3.13 on only.
    return (address.ipv4_mapped or address).is_loopback


def _is_ipv4_loopback(name: str) -> bool:
    try:
        return ipaddress.IPv4Address(name).is_loopback
    except ValueError:
        return False


def list_entries(setting: str, entries: Iterable[str]) -> list[str]:
    """Return the entries of a setting.

    Raises:
        TypeError: a single string was given, which would be taken letter by letter.
    """
    if isinstance(entries, str):
        raise TypeError(f"{setting} must be a list of strings, got the string {entries!r}")
    return list(entries)


def _read_host_entry(entry: str) -> tuple[str, int | None]:
    host = read_authority(entry.encode("utf-8"))
    if host is None:
        raise ValueError(
            f"allowed_hosts: {entry!r} is not a host; write it without scheme and path, "
            'such as "mcp.example.com", "mcp.example.com:8443", "[2001:db8::1]" or "*" '
            "(international names in their xn-- form)"
        )
    return host.name, host.port


def _read_origin_entry(entry: str) -> Origin:
    if entry.lower() == "null":
        raise ValueError(
            'allowed_origins: "null" is what every sandboxed page of every site sends; '
            'write "*" if you mean that anyone may call'
        )
    origin = read_origin(entry.removesuffix("/").encode("utf-8"))
    if origin is None:
        raise ValueError(
            f"allowed_origins: {entry!r} is not an origin; write scheme, host and port "
            'without a path, such as "https://app.example.com", or "*"'
        )
    return origin
