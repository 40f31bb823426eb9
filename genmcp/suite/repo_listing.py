"""One list made of the lists of several repositories.

Layer: suite. `genmcp.suite.listing` cuts a list that is all there; here it comes from
repositories that are asked page by page, each with a cursor of its own.

A client's page is filled from one repository after the other. It ends when it is
full; and where a repository that pages by itself ends a page, since that one chose
how much to fetch at once. Repositories with nothing to show leave no trace. The
cursor holds which repository is next, its own cursor, and how much of that page was
served, with the last name as in `listing`: a repository that is asked for the same
page again may have changed.

Spec: server/utilities/pagination
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import attrs

from genmcp.suite.listing import find_owner, find_start, open_place, seal_place
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from genmcp.channel import Channel
    from genmcp.providers.repo_page import RepoList
    from genmcp.suite.served_repo import Reach, ServedRepo

Item = TypeVar("Item")

MAX_EMPTY_PAGES: Final = 1000
"""How many empty pages in a row a repository may give before it counts as broken."""


@attrs.frozen(eq=False, repr=False)
class _Place(Value):
    """Where a list goes on.

    Attributes:
        index, prefix: which repository, by its place and by its name.
        cursor: its own cursor of the page.
        end, last: how much of that page was served, and the last name of it.
    """

    index: int = 0
    prefix: str | None = None
    cursor: Any = None
    end: int = 0
    last: str = ""


class RepoListing(Generic[Item]):
    """A listing of all the repositories that one caller reaches.

    Args:
        method: the list's method, which its cursors are bound to.
        reach: the repositories.
        lists: the list of each of `reach.repos`.
        page_size: how many items a page holds at most.
        channel: the call's channel.
    """

    def __init__(
        self,
        method: str,
        reach: Reach[Any],
        lists: Sequence[RepoList[Item]],
        *,
        page_size: int,
        channel: Channel,
    ) -> None:
        self._method = method
        self._reach = reach
        self._repos: Sequence[ServedRepo[Any]] = reach.repos
        self._lists = lists
        self._page_size = page_size
        self._channel = channel
        self._owner = find_owner(reach.hints.scope, channel.principal)

    async def cut_page(self, cursor: str | None) -> tuple[list[Item], str | None]:
        """Return one page and the cursor of the next, `None` after the last.

        Raises:
            InvalidParams: the cursor was not given by this server for this list.
            CallbackReturnError: a repository gives no list.
        """
        place = _Place() if cursor is None else self._open(cursor)
        page: list[Item] = []
        for index in range(place.index, len(self._lists)):
            following = await self._take(index, place, page)
            if following is not None:
                return page, self._seal(following)
            place = _Place()
        return page, None

    async def _take(self, index: int, place: _Place, page: list[Item]) -> _Place | None:
        """Fill `page` from one repository; return where it goes on, if in the same one."""
        repo_list, prefix = self._lists[index], self._repos[index].prefix
        cursor, end, last = place.cursor, place.end, place.last
        for _ in range(MAX_EMPTY_PAGES):
            items, following = await self._fetch(index, cursor)
            start = find_start(items, repo_list.key, end, last) if end else 0
            taken = items[start : start + self._page_size - len(page)]
            page += taken
            end = start + len(taken)
            if end < len(items):
                last = repo_list.key(items[end - 1]) if end else ""
                return _Place(index, prefix, cursor, end, last)
            if following is None:
                return None
            if page:
                return _Place(index, prefix, following)
            cursor, end, last = following, 0, ""
        raise repo_list.refuse(cursor, f"an end, or an item in {MAX_EMPTY_PAGES} pages")

    async def _fetch(self, index: int, cursor: Any) -> tuple[list[Item], Any]:
        """Ask for one page, and leave out what belongs to another repository."""
        repo_list, served = self._lists[index], self._repos[index]
        items, following = await repo_list.fetch(cursor, self._channel)
        if served.per_caller:
            items = [item for item in items if self._reach.find(repo_list.key(item)) is served]
        return items, following

    def _open(self, cursor: str) -> _Place:
        place = _Place(*open_place(self._method, cursor, self._channel.keyring, self._owner))
        for index, served in enumerate(self._repos):
            if served.prefix == place.prefix:
                return attrs.evolve(place, index=index)
        # The repository is gone: go on with the one that has its place now.
        return _Place(index=place.index)

    def _seal(self, place: _Place) -> str:
        members = list(attrs.astuple(place, recurse=False))
        return seal_place(self._method, members, self._channel.keyring, self._owner)
