"""Cache control for the results a client may keep.

Layer: vocabulary. Spec: server/utilities/caching
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from genmcp.mcp.v2607.base import CacheScope


class _NotChosen(int):
    """A zero that tells that nobody chose it."""


NO_TTL: Final[int] = _NotChosen(0)
"""The `ttl_ms` of a result that says nothing about caching, told apart by identity."""


def default_cache_control() -> tuple[CacheScope, int]:
    """Return the scope and the `ttl_ms` of a result that must not be kept."""
    return ("private", 0)


def fill_cache_control(
    cache_scope: CacheScope | None, ttl_ms: int | None
) -> tuple[CacheScope, int]:
    """Fill what is None of the two from the default."""
    scope, ttl = default_cache_control()
    return (
        scope if cache_scope is None else cache_scope,
        ttl if ttl_ms is None else ttl_ms,
    )
