"""Which client a proxy speaks for: trusted addresses, and the headers read from them.

Layer: transport, pure; asked by `genmcp.transport.asgi` where `trusted_proxies` is given,
and not at all otherwise.

Anyone can write a header. What is believed is what a trusted proxy has added, and each
proxy adds at the end, so a chain is read from its end: the peer is trusted, so what it says
of the one before it is true; if that is a trusted proxy as well, what that one says is, and
so on up to the first address that is not trusted. That is the client. What stands before it
came from the client, and is not even looked at.

Only one of the two families of headers is read, `X-Forwarded-For` and `-Proto`, or
`Forwarded`, and never the one for want of the other: a proxy that writes the one passes on
the other as the client sent it. `X-Forwarded-Host` is not read at all. Which hosts are
answered is said by `public_url` and `allowed_hosts`, and a second way to say it would be a
way round.

A link that cannot be read, or is hidden on purpose, ends the chain: the last address known
is then the client's, a trusted proxy's, which is what it would be without all this.

Spec: RFC 7239
"""

from __future__ import annotations

import functools
import ipaddress
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import attrs

from genmcp.errors import show
from genmcp.transport.origin import list_entries
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ProxyHeaders: TypeAlias = Literal["x-forwarded", "forwarded"]
"""Which headers proxies say it in: `X-Forwarded-For` and `-Proto`, or `Forwarded`."""

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

UNIX: Final = "unix"
"""The entry for whoever connects through a Unix socket."""

_MAX_HOPS: Final = 32
# A longer line of Forwarded is not read: quotes make it readable from the front only.
_MAX_LINE_BYTES: Final = 8192
_REMEMBERED: Final = 4096
_SCHEMES: Final = {"http", "https"}
_PORT: Final = re.compile(r"[0-9]{1,5}|_[A-Za-z0-9._-]+")
# One `name=value` and what follows it. A value without quotes may hold colons and brackets,
# as many a proxy forgets them around a port.
_PAIR: Final = re.compile(
    r'[ \t]*(?P<name>[!#$%&\'*+.^_`|~0-9A-Za-z-]+)=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"'
    r"|(?P<plain>[!#$%&'*+.^_`|~0-9A-Za-z:\[\]-]+))[ \t]*(?P<end>[;,]|\Z)"
)
_ESCAPED: Final = re.compile(r"\\(.)")


@attrs.frozen(eq=False, repr=False)
class Forwarded(Value):
    """What trusted proxies say of a request.

    Attributes:
        address: the client's, as far as it can be followed; `None` if that is not known.
        scheme: `"http"` or `"https"`, as the client used it, if a proxy said so.
    """

    address: str | None
    scheme: str | None


class TrustedProxies:
    """The proxies whose headers are believed.

    Args:
        trusted_proxies: addresses (`"192.0.2.7"`, `"::1"`) and networks (`"10.0.0.0/8"`);
            `"unix"` for whoever connects through a Unix socket.
        proxy_headers: which headers they say it in.

    Raises:
        ValueError: an entry is none of these, or trusts everyone.
        TypeError: a single string was given instead of a list.

    Attributes:
        entries: the proxies as they were given.
        headers: the headers that are read.
    """

    def __init__(
        self, trusted_proxies: Iterable[str], proxy_headers: ProxyHeaders = "x-forwarded"
    ) -> None:
        if proxy_headers not in get_args(ProxyHeaders):
            raise ValueError(
                f'proxy_headers must be "x-forwarded" or "forwarded", got {proxy_headers!r}'
            )
        self.entries = list_entries("trusted_proxies", trusted_proxies)
        self._networks = [_read_entry(entry) for entry in self.entries if entry != UNIX]
        self._unix = UNIX in self.entries
        self._forwarded = proxy_headers == "forwarded"
        self.headers = "Forwarded" if self._forwarded else "X-Forwarded-For"
        # Strangers choose the addresses, so few of them are kept.
        self._trusts = functools.lru_cache(_REMEMBERED)(self._is_within)

    def find_client(
        self, peer: str | None, headers: Iterable[tuple[bytes, bytes]], *, unix: bool = False
    ) -> Forwarded | None:
        """Return what is believed of a request; `None` if its peer is not trusted.

        Args:
            peer: the address the connection comes from, if it has one.
            headers: as they came, names in lower case.
            unix: whether it came through a Unix socket.
        """
        if unix:
            if not self._unix:
                return None
            address = None
        else:
            read = None if peer is None else _read_peer(peer)
            if read is None or not self._trusts(read):
                return None
            address = str(read)
        if self._forwarded:
            return self._follow(address, _read_forwarded(_take(headers, b"forwarded")))
        headers = list(headers)
        chain = _read_list(_take(headers, b"x-forwarded-for"))
        followed = self._follow(address, ((node, None) for node in chain))
        schemes = _take(headers, b"x-forwarded-proto")
        scheme = _read_scheme(schemes[-1].rpartition(",")[2]) if schemes else None
        return attrs.evolve(followed, scheme=scheme)

    def _follow(
        self, address: str | None, links: Iterator[tuple[str | None, str | None]]
    ) -> Forwarded:
        """Follow a chain from its end to the first who is not trusted."""
        scheme: str | None = None
        for _, (node, said) in zip(range(_MAX_HOPS), links, strict=False):
            scheme = _read_scheme(said) or scheme
            read = None if node is None else read_node(node)
            if read is None:
                break
            address = str(read)
            if not self._trusts(read):
                break
        return Forwarded(address, scheme)

    def _is_within(self, address: _Address) -> bool:
        return any(address in network for network in self._networks)


def read_node(text: str) -> _Address | None:
    """Return the address in one link of a chain, with or without a port; or `None`.

    `unknown`, a name such as `_hidden`, and everything else that is no address is `None`.
    """
    text = text.strip(" \t")
    if text.startswith("["):
        text, closed, rest = text[1:].partition("]")
        if not closed or ":" not in text or (rest and rest[0] != ":"):
            return None
        port = rest[1:] if rest else None
    elif text.count(":") == 1:
        text, _, port = text.partition(":")
    else:
        port = None
    if port is not None and _PORT.fullmatch(port) is None:
        return None
    return _read_address(text)


def _read_peer(text: str) -> _Address | None:
    # The system adds the interface to a link-local address, which says nothing of trust.
    return _read_address(text.partition("%")[0])


def _read_address(text: str) -> _Address | None:
    if "%" in text:
        return None
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # What a port that is open to both kinds shows of an IPv4 client.
    return getattr(address, "ipv4_mapped", None) or address


def _read_entry(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None = None
    # Others than strings could be taken for addresses, too.
    with suppress(ValueError):
        network = ipaddress.ip_network(entry if type(entry) is str else "")
    if network is None:
        raise ValueError(
            f"trusted_proxies: {show(entry)} is no address and no network; write such as "
            '"192.0.2.7", "10.0.0.0/8", "fd00::/8" (no bits beyond the prefix), or "unix"'
        )
    if network.prefixlen == 0:
        raise ValueError(
            f"trusted_proxies: {show(entry)} trusts everyone, so that anyone could say to be "
            "anyone; list the addresses of your proxies"
        )
    if network.version == 6 and network.network_address.ipv4_mapped is not None:  # noqa: PLR2004
        raise ValueError(f"trusted_proxies: write {show(entry)} as an IPv4 address")
    return network


def _read_scheme(text: str | None) -> str | None:
    scheme = "" if text is None else text.strip(" \t").lower()
    return scheme if scheme in _SCHEMES else None


def _take(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    """Return the lines of one header, in their order."""
    return [value.decode("latin-1") for found, value in headers if found == name]


def _read_list(lines: list[str]) -> Iterator[str]:
    """Yield the entries of a header from the last to the first."""
    for line in reversed(lines):
        # No more than are followed: the rest stays one piece.
        yield from reversed(line.rsplit(",", _MAX_HOPS))


def _read_forwarded(lines: list[str]) -> Iterator[tuple[str | None, str | None]]:
    """Yield `for` and `proto` of each element of `Forwarded` from the last to the first."""
    for line in reversed(lines):
        elements = _read_elements(line)
        if elements is None:
            yield None, None
            return
        for element in reversed(elements):
            yield element.get("for"), element.get("proto")


def _read_elements(line: str) -> list[dict[str, str]] | None:
    """Return the elements of one line of `Forwarded`, or `None` if it is malformed."""
    if len(line) > _MAX_LINE_BYTES:
        return None
    elements: list[dict[str, str]] = [{}]
    position = 0
    while position < len(line):
        pair = _PAIR.match(line, position)
        if pair is None:
            return None
        name, quoted = pair["name"].lower(), pair["quoted"]
        if name in elements[-1]:
            return None
        elements[-1][name] = pair["plain"] if quoted is None else _ESCAPED.sub(r"\1", quoted)
        position = pair.end()
        if pair["end"] == ",":
            elements.append({})
    return elements
