"""Objects that were read before and come again and again.

Layer: wire, a part of `genmcp.wire.structure`. A stateless protocol has every request say
who sends it and what that client can do, and to read that is the longest part of reading
a small request. So what was read is kept, and what is the same, to the type of every
value in it, is not read again.

What is kept is bounded, and shared between requests: nobody changes what was read.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any, Final

from genmcp.mcp import v2607 as mcp

if TYPE_CHECKING:
    from collections.abc import Callable

_STEADY: Final = frozenset(
    {mcp.PROTOCOL_VERSION_KEY, mcp.CLIENT_INFO_KEY, mcp.CLIENT_CAPABILITIES_KEY}
)
"""The keys of a request's `_meta` that are the same in all requests of a client."""

_MOST: Final = 64
_MOST_BYTES: Final = 1024
_PLAIN_FORM: Final = 2
"""The last form of marshal that does not depend on who else holds a value."""


def remembering(
    cls: type, read: Callable[[dict[str, Any]], Any]
) -> Callable[[dict[str, Any]], Any]:
    """Return `read`, which remembers what it read, where clients repeat objects of `cls`."""
    if cls is mcp.RequestMetaObject:
        return _remember_steady(read)
    return _remember(read) if cls in {mcp.Implementation, mcp.ClientCapabilities} else read


def _remember_steady(read: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    read_known = _remember(read)

    def read_meta(given: dict[str, Any]) -> Any:
        # A progress token or a trace is another one each time.
        return read_known(given) if given.keys() == _STEADY else read(given)

    return read_meta


def _remember(read: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    known: dict[bytes, Any] = {}

    def read_known(given: dict[str, Any]) -> Any:
        try:
            # Unlike equality, it tells 1, 1.0 and true apart; it refuses what is not plain.
            said = marshal.dumps(given, _PLAIN_FORM)
        except ValueError:
            return read(given)
        found = known.get(said)
        if found is None:
            found = read(given)
            if len(said) <= _MOST_BYTES:
                if len(known) >= _MOST:
                    known.clear()
                known[said] = found
        return found

    return read_known
