"""Who a client is and what it can do, which comes again and again.

Layer: wire, a part of `genmcp.wire.structure`. A stateless protocol has every request say
who sends it and what that client can do, and to read that is the longest part of reading
a small request. So what was read is kept, and what is the same, to the type of every
value in it, is not read again.

What is kept is bounded, and shared between requests, and so between the users of one
program, who all send the same. The objects are frozen; mappings and lists in them are not,
and a handler may change what was sent to it, settings of an extension for one. So an
object is kept only where these are all empty, and given away only while they still are.
(To hand out copies was tried: it takes as long as to read.) `_meta` itself is read each
time: it is where requests have keys of their own.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from genmcp.mcp import v2607 as mcp
from genmcp.mcp.v2607.fields import WireObject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MOST: Final = 64
_MOST_BYTES: Final = 1024
_PLAIN_FORM: Final = 2
"""The last form of marshal that does not depend on who else holds a value."""

_Kept = tuple[Any, tuple[Any, ...]]
"""What was read, and the mappings and lists in it, which must be empty to give it away."""

_NEVER: Final = (True,)
"""Stands for them where they were not, and what was read is not kept."""


def remembering(
    cls: type, read: Callable[[dict[str, Any]], Any]
) -> Callable[[dict[str, Any]], Any]:
    """Return `read`, which remembers what it read, where clients repeat objects of `cls`."""
    return _remember(read) if cls in {mcp.Implementation, mcp.ClientCapabilities} else read


def _remember(read: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    known: dict[bytes, _Kept] = {}

    def read_known(given: dict[str, Any]) -> Any:
        try:
            # Unlike equality, it tells 1, 1.0 and true apart; it refuses what is not plain.
            said = marshal.dumps(given, _PLAIN_FORM)
        except ValueError:
            return read(given)
        kept = known.get(said)
        if kept is not None:
            found, containers = kept
            return read(given) if any(containers) else found
        found = read(given)
        if len(said) <= _MOST_BYTES:
            if len(known) >= _MOST:
                known.clear()
            known[said] = _keep(found)
        return found

    return read_known


def _keep(found: Any) -> _Kept:
    containers = tuple(_find_containers(found))
    return (None, _NEVER) if any(containers) else (found, containers)


def _find_containers(value: object) -> Iterator[Any]:
    """Find the mappings and lists in `value`, which can be changed."""
    if isinstance(value, WireObject):
        for member in value.__dict__.values():
            yield from _find_containers(member)
    elif isinstance(value, Mapping | Sequence) and not isinstance(value, str):
        yield value
