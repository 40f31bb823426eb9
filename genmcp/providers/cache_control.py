"""Cache hints: how long, and for whom, a client may keep a result.

Layer: providers. A hook gives a pair; the suite combines the pairs of everything
that went into one result.

Spec: server/utilities/caching
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

Scope = Literal["public", "private"]
CacheControl = tuple[Scope, int | datetime.timedelta]
"""`("public" or "private", how long)`, the time in milliseconds or a `timedelta`."""


@attrs.frozen(eq=False, repr=False)
class CacheHints(Value):
    """The pair in its wire's units.

    Attributes:
        scope: `public` may be shared between users, `private` may not.
        ttl_ms: milliseconds the result stays fresh; 0 is stale at once.
    """

    scope: Scope
    ttl_ms: int


NO_CACHE: Final = CacheHints("private", 0)


def read_cache_control(value: Any) -> CacheHints:
    """Check what an author wrote and return it in milliseconds.

    Raises:
        TypeError: not a pair of a scope and a time.
        ValueError: an unknown scope or a negative time.
    """
    match value:
        case (scope, datetime.timedelta() as ttl):
            ttl_ms = ttl // datetime.timedelta(milliseconds=1)
        case (scope, int(ttl_ms)) if not isinstance(ttl_ms, bool):
            pass
        case _:
            raise TypeError(
                'must be a pair such as ("private", 0): a scope, and milliseconds '
                f"or a timedelta; got {value!r}"
            )
    if scope not in ("public", "private"):
        raise ValueError(f'scope must be "public" or "private", got {scope!r}')
    if ttl_ms < 0:
        raise ValueError(f"time must not be negative, got {value!r}")
    return CacheHints("public" if scope == "public" else "private", ttl_ms)


def combine_hints(hints: Iterable[CacheHints]) -> CacheHints:
    """Return the hints of a result made of several parts.

    Public only if every part is, and fresh only as long as the shortest; of no
    parts, `NO_CACHE`.
    """
    parts = list(hints)
    if not parts:
        return NO_CACHE
    scope: Scope = "public" if all(part.scope == "public" for part in parts) else "private"
    return CacheHints(scope, min(part.ttl_ms for part in parts))
