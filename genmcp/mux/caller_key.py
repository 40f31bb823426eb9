"""One caller: whose calls are counted together.

Layer: mux, pure. `genmcp.mux.admission` counts what is open by it, `genmcp.mux.rates`
what is called.

Counted by who was authenticated, since one user has many addresses and one address many
users. Only where nobody was, the network address has to do.
"""

from __future__ import annotations

import functools
import ipaddress
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from genmcp.caller import Caller

CallerKey: TypeAlias = str | tuple[str | None]
"""A principal; or, in a tuple so that no principal can pass for it, a network address.

A server that tells no addresses has one such caller, `(None,)`: everybody.
"""

_SITE_BITS: Final = 64
_TRANSLATED: Final = ipaddress.IPv6Network("64:ff9b::/96")
_REMEMBERED: Final = 4_096


def find_caller_key(caller: Caller) -> CallerKey:
    """Return whose calls `caller`'s count with."""
    if caller.principal is not None:
        return caller.principal
    address = caller.client_address
    if address is None or ":" not in address:
        return (address,)
    return _read_ipv6(address)


@functools.lru_cache(_REMEMBERED)
def _read_ipv6(address: str) -> tuple[str]:
    """Return the network that an IPv6 client can take addresses from as it likes.

    A site is given 2**64 of them at the least: counted one by one, a client would have
    as many callers to be.
    """
    try:
        read = ipaddress.IPv6Address(address)
    except ValueError:
        return (address,)
    if read.ipv4_mapped is not None:
        # What a port open to both kinds shows of an IPv4 client.
        return (str(read.ipv4_mapped),)
    if read.is_link_local or read.is_loopback or read in _TRANSLATED:
        # Here the first half says nothing: all neighbours share it, and so do all IPv4
        # clients that a translator in front of the server shows.
        return (address,)
    return (str(ipaddress.IPv6Network((int(read), _SITE_BITS), strict=False)),)
