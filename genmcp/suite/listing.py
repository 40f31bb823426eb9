"""Pages: cutting a list into them, and finding the place again.

Layer: suite. A cursor is a sealed token that holds the name of the last item
served, so it works on every process that has the key and survives changes of the
list; it is bound to the method, so that a cursor of one list opens no other, and in a
private list to who is calling. In a public one it is not: a cache may hand a page that
one caller fetched to another, who goes on from there. Lists that come from several
repositories are cut in `genmcp.suite.repo_listing`.

Spec: server/utilities/pagination
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from genmcp.errors import InvalidParams, TokenError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from genmcp.providers.cache_control import Scope
    from genmcp.tokens import Keyring

_PURPOSE: Final = "cursor"
TTL_SECONDS: Final = 24 * 60 * 60
"""How long a cursor opens: a page is fetched within seconds, a paused client later."""

Item = TypeVar("Item")


def cut_page(
    method: str,
    items: Sequence[Item],
    cursor: str | None,
    *,
    key: Callable[[Item], str],
    page_size: int,
    keyring: Keyring,
    bound_to: str | None = None,
) -> tuple[list[Item], str | None]:
    """Return one page of `items` and the cursor of the next, `None` after the last.

    Args:
        method: the list's method, which the cursor is bound to.
        items: the whole list, in its order.
        cursor: what the client sent; `None` for the first page.
        key: gives the name that is unique in the list.
        page_size: how many items a page holds.
        keyring: seals the next cursor.
        bound_to: the principal who alone may use it; `None` for everybody.

    Raises:
        InvalidParams: the cursor was not given by this server for this list.
    """
    start = 0
    if cursor is not None:
        end, last = open_place(method, cursor, keyring, bound_to)
        start = find_start(items, key, end, last)
    page = list(items[start : start + page_size])
    end = start + len(page)
    if end >= len(items):
        return page, None
    return page, seal_place(method, [end, key(page[-1])], keyring, bound_to)


def find_owner(scope: Scope, principal: str | None) -> str | None:
    """Return whom the cursors of a list with this cache scope are bound to."""
    return principal if scope == "private" else None


def seal_place(method: str, place: list[Any], keyring: Keyring, bound_to: str | None = None) -> str:
    """Return the cursor that brings a client of `method` back to `place`, plain JSON."""
    bound = orjson.dumps([method, bound_to])
    return keyring.seal(_PURPOSE, orjson.dumps(place), ttl_seconds=TTL_SECONDS, bound_to=bound)


def open_place(
    method: str, cursor: str, keyring: Keyring, bound_to: str | None = None
) -> list[Any]:
    """Return the place that a client's cursor stands for.

    Raises:
        InvalidParams: the cursor was not given by this server for this list, and to
            `bound_to`.
    """
    bound = orjson.dumps([method, bound_to])
    try:
        opened = keyring.unseal(_PURPOSE, cursor, bound_to=bound)
    except TokenError as error:
        refused = InvalidParams("cursor is not valid for this list")
        refused.log_message = f"cursor refused: {error.cause}"
        raise refused from None
    place: list[Any] = orjson.loads(opened)
    return place


def find_start(items: Sequence[Item], key: Callable[[Item], str], end: int, last: str) -> int:
    """Return where a list goes on whose item `last` was served at index `end - 1`."""
    if 0 < end <= len(items) and key(items[end - 1]) == last:
        return end
    for index, item in enumerate(items):
        if key(item) == last:
            return index + 1
    # The last item served is gone: its place in the list is the best there is.
    return min(end, len(items))
