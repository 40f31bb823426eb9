"""Subscription handlers: what tells listening clients of changes.

Layer: providers. This is the contract between a handler and the Suite that serves it;
`genmcp.providers.event_subscriptions` is a ready handler over an event bus. The hooks
are called by `genmcp.suite.subscriptions`, which sends the acknowledgement, and what a
handler sends goes through `genmcp.suite.listen_channel`, which enforces the filter.

Spec: basic/patterns/subscriptions
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic

import attrs
from typing_extensions import TypeVar

from genmcp.channel import BlockingChannel, Channel
from genmcp.mcp import v2607 as mcp
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from genmcp.outcome import Error, Stream

C = TypeVar("C", bound=Channel | BlockingChannel, default=Channel)
S = TypeVar("S", default=Any)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SubscriptionCapabilities(Value):
    """The kinds of changes a handler tells of. What is False is never advertised.

    Attributes:
        tools_list_changed: the list of tools.
        prompts_list_changed: the list of prompts.
        resources_list_changed: the list of resources.
        resource_updated: single resources, by their URIs.
    """

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_updated: bool = False

    def __bool__(self) -> bool:
        """Whether there is any."""
        return any(attrs.astuple(self))


def _optional_filter(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None and not isinstance(value, mcp.SubscriptionFilter):
        raise TypeError(f"Listening: accepted must be a SubscriptionFilter, got {value!r}")


def _optional_seconds(instance: object, attribute: object, value: float | None) -> None:
    if value is not None and not value > 0:
        raise ValueError(f"Listening: max_age_seconds must be positive, got {value!r}")


@attrs.frozen(eq=False, repr=False)
class Listening(Value, Generic[S]):
    """Accept a subscription, saying more than `Stream(state)` does.

    Attributes:
        state: as in `Stream`.
        accepted: what is served of the filter, if not all of it. It can only narrow:
            what the filter given to `subscribe` does not hold is left out.
        max_age_seconds: how long the stream may live. It then ends with its result,
            and the client may listen again. `None`: as long as both sides live.

    Raises:
        TypeError: `accepted` is not a filter.
        ValueError: `max_age_seconds` is not positive.
    """

    state: S
    accepted: mcp.SubscriptionFilter | None = attrs.field(
        default=None, kw_only=True, validator=_optional_filter
    )
    max_age_seconds: float | None = attrs.field(
        default=None, kw_only=True, validator=_optional_seconds
    )


class SubscriptionHandler(ABC, Generic[C]):
    """Serves `subscriptions/listen`: long streams that tell a client of changes.

    A Suite has one. Each listening client has a call of its own, which the hooks are
    given the channel of. For each, in this order:

    1. `subscribe` accepts or refuses; here the handler attaches to whatever knows of
       changes.
    2. The Suite sends the acknowledgement, always first: what is sent or posted before
       it waits for it.
    3. `handle_message` takes what is posted, and sends changes with
       `channel.send_notification`.
    4. `handle_close` lets go of what `subscribe` took.

    The Suite drops whatever the client did not ask for or may not hear of, and puts
    the subscription's id into what it sends on. Such a send returns False. Progress
    and logs never travel on these streams: their verbs return False, and any other
    notification is a `TypeError`.

    The hooks are `async def`, or plain `def`, which run in a worker thread and get a
    `BlockingChannel`; `SubscriptionHandler[BlockingChannel]` tells the type checker.

    Attributes:
        max_uris: how many URIs one filter may hold; more are refused with -32602.
        max_uri_chars: how long each may be; a longer one is refused with -32602.

    Spec: basic/patterns/subscriptions
    """

    max_uris: int = 1_000
    max_uri_chars: ClassVar[int] = 2_048

    @abstractmethod
    def subscription_capabilities(
        self, channel: Channel
    ) -> SubscriptionCapabilities | Awaitable[SubscriptionCapabilities]:
        """Return what this caller can listen for.

        Asked for each `server/discover` and each `subscriptions/listen`. `async def`
        or plain `def`; a plain one runs on the event loop and must not block. Kinds
        whose provider the Suite lacks are left out by itself. When nothing is left,
        listening is refused with 404 and -32601.
        """

    @abstractmethod
    def subscribe(
        self,
        filter: mcp.SubscriptionFilter,  # noqa: A002 - what the protocol calls it
        channel: C,
    ) -> Stream[Any] | Listening[Any] | Error | Awaitable[Stream[Any] | Listening[Any] | Error]:
        """Accept a subscription, or refuse it.

        `filter` is what the client asked for, without the kinds that are not offered
        and the URIs it cannot see; it may be empty, which is no reason to refuse.
        Return `Stream(state)` to accept it whole, `Listening(state, accepted=...)` to
        accept a part, or `Error`.

        Attach to the source of changes last. Once this has returned, `handle_close`
        lets go of it; what was attached by a `subscribe` that raises, nobody lets go of.

        Raises:
            McpError: the answer is this JSON-RPC error, and no stream opens.

        Cancellation: as `Tool.call`.
        """

    def handle_message(
        self, message: Any, channel: C, state: Any
    ) -> Stream[Any] | Awaitable[Stream[Any] | None] | None:
        """Take one message posted to the stream.

        Messages come one at a time, in the order they were posted. Return
        `Stream(new_state)` to go on, or `None` to end the subscription in good order.
        `handle_close` does not run for such an end.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no handle_message")

    def handle_close(self, channel: C, state: Any) -> Awaitable[None] | None:
        """Let go of the stream, unless `handle_message` ended it.

        The client went away, the stream was closed or grew too old, the server shuts
        down, or `handle_message` raised. Runs once, shielded, for a few seconds;
        nothing can be sent any more.
        """
