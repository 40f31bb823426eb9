"""One page of a repository's own list: asked for, and checked.

Layer: providers. `genmcp.suite.repo_listing` makes the client's pages of these.

Spec: server/utilities/pagination
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

import attrs
import orjson

from genmcp.errors import CallbackReturnError
from genmcp.events import EncodeError
from genmcp.providers.hooks import run_hook
from genmcp.value import Value
from genmcp.wire.json_text import write_json

if TYPE_CHECKING:
    from genmcp.channel import Channel

Item = TypeVar("Item")

_PAIR: Final = 2


@attrs.frozen(eq=False, repr=False)
class RepoList(Value, Generic[Item]):
    """The list one repository gives.

    Attributes:
        repo: the repository.
        prefix: what everything in it begins with.
        hook: the hook that gives it, page by page.
        kind: the class of its items.
        key: returns the name of an item.
        find_fault: says what is wrong with such a name, if anything is.
    """

    repo: object
    prefix: str
    hook: Callable[[Any, Any], Any]
    kind: type[Item]
    key: Callable[[Item], str]
    find_fault: Callable[[str], str | None] = attrs.field(default=lambda _: None)

    async def fetch(self, cursor: Any, channel: Channel) -> tuple[list[Item], Any]:
        """Return one page and the repository's own cursor of the next, `None` at the end.

        The cursor is as it comes back from a client: a tuple has become a list.

        Raises:
            CallbackReturnError: the hook gave something else.
        """
        answer = await run_hook(channel, self.hook, cursor, channel)
        given, following = self._split(answer)
        items = self._read_items(given)
        if following is None:
            return items, None
        try:
            following = orjson.loads(write_json(following))
        except EncodeError as error:
            expected = f"a next cursor that is JSON ({error})"
            raise self.refuse(following, expected) from None
        if following == cursor:
            raise self.refuse(following, "a next cursor that is not the one it was called with")
        return items, following

    def refuse(self, value: object, expected: str) -> CallbackReturnError:
        """Return the error for what the hook gave."""
        return CallbackReturnError(self.repo, self.hook.__name__, value, expected)

    def _split(self, answer: Any) -> tuple[Any, Any]:
        # Two items in a tuple are a page as well.
        if isinstance(answer, tuple) and len(cast("tuple[Any, ...]", answer)) == _PAIR:
            page, following = cast("tuple[Any, Any]", answer)
            if not isinstance(page, self.kind):
                return page, following
        return cast("Any", answer), None

    def _read_items(self, given: object) -> list[Item]:
        what = f"mcp.{self.kind.__name__} objects"
        if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            expected = f"a list of {what}, or a pair of that and the next cursor"
            raise self.refuse(cast("object", given), expected)
        items = list(cast("Iterable[Any]", given))
        for item in items:
            if not isinstance(item, self.kind):
                raise self.refuse(item, f"only {what}")
            name = self.key(item)
            if not name.startswith(self.prefix):
                raise self.refuse(item, f"only what begins with its prefix {self.prefix!r}")
            fault = self.find_fault(name)
            if fault is not None:
                raise self.refuse(item, fault)
        return items
