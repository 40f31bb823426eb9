"""A page: what answers the methods of one page of the specification.

Layer: suite. The Suite is a handful of pages; each knows its methods, its part of
the capabilities, and how to answer. A page that keeps calls open gets the messages
posted to them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import attrs

from genmcp.mcp import v2607 as mcp
from genmcp.outcome import Error, Stream
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from genmcp.channel import Channel

Answer: TypeAlias = mcp.Result | Stream[Any] | Error
"""What a page answers a request with, as `Server.handle_request` does."""


class Page(ABC):
    """Answers the methods of one page."""

    methods: ClassVar[frozenset[str]]

    @abstractmethod
    def offered(self) -> bool:
        """Tell whether there is anything to serve, known when the Suite is built.

        The methods of a page that offers nothing are refused with 404 and -32601,
        and its capability is not advertised.
        """

    def scopes(self) -> Iterable[str]:
        """Return the scopes that the Suite's own providers on this page require."""
        return ()

    @abstractmethod
    async def answer(self, request: mcp.Request, channel: Channel) -> Answer:
        """Answer a request of one of `methods`. Raises and is cancelled as `Server` says."""

    async def handle_message(self, message: object, channel: Channel, state: Any) -> Answer:
        """Take a message posted to a call this page answered with `Stream(state)`."""
        raise NotImplementedError(f"{type(self).__qualname__} opens no streams")

    async def handle_close(self, channel: Channel, state: Any) -> None:
        """Clean up after a streaming call that did not end by its own return."""


def check_result_type(result: mcp.Result) -> None:
    """Refuse a result of a type that no client of the Suite knows.

    Other types belong to extensions of the protocol, and the Suite advertises none.

    Raises:
        ValueError: for masking; a provider built it. Names the type and the right one.

    Spec: basic/index#resulttype
    """
    asks = isinstance(result, mcp.InputRequiredResult)
    expected = "input_required" if asks else "complete"
    if result.result_type != expected:
        raise ValueError(
            f"{type(result).__name__}.result_type must be {expected!r}, got {result.result_type!r}"
        )


@attrs.frozen(eq=False, repr=False)
class PageStream(Value):
    """The state of a streaming call as the Suite keeps it: whose it is, and their own."""

    page: Page
    state: Any
