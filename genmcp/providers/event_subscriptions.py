"""The ready subscription handler: clients hear what is published on an event bus.

Layer: providers; pure. Between the bus, which any thread publishes on, and a stream,
which may be slow to read, stands one `Outbox` for each stream: it holds every change
that waits at most once, so that a stream never owes its client more than the filter
names, and wakes the stream with at most one message at a time.

Spec: basic/patterns/subscriptions
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from genmcp.event_bus import Change, ChangeKey, EventBus, read_key, read_keys
from genmcp.outcome import Stream
from genmcp.providers.subscription_handler import (
    Listening,
    SubscriptionCapabilities,
    SubscriptionHandler,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from genmcp.channel import Channel
    from genmcp.mcp import v2607 as mcp
    from genmcp.outcome import Error

_WAKE: Final = object()
"""The message that tells a stream to look into its outbox."""

_EVERYTHING: Final = SubscriptionCapabilities(
    tools_list_changed=True,
    prompts_list_changed=True,
    resources_list_changed=True,
    resource_updated=True,
)


class EventSubscriptions(SubscriptionHandler):
    """Tells clients what is published on `bus`.

        bus = EventBus()
        suite = Suite(..., subscription_handler=EventSubscriptions(bus))
        bus.tools_changed()  # from anywhere

    Publishing never waits for a client. A change that waits for a slow reader is not
    said twice, and the order is that of the first publication. For a narrower filter,
    subclass it and hand what is allowed to `super().subscribe`.

    Args:
        bus: where changes are published.
        capabilities: the kinds of changes that are published at all; default: all.
            What is promised here and never published leaves clients with stale lists.
        max_age_seconds: how long a stream may live; it then ends with its result.
            `None`: as long as both sides live.
        max_uris: how many URIs one filter may hold.

    Raises:
        TypeError: `bus` is not an `EventBus`, or `capabilities` something else.
        ValueError: a limit is not positive.
    """

    def __init__(
        self,
        bus: EventBus,
        *,
        capabilities: SubscriptionCapabilities = _EVERYTHING,
        max_age_seconds: float | None = None,
        max_uris: int = SubscriptionHandler.max_uris,
    ) -> None:
        # The class where an instance belongs is an easy slip.
        if not isinstance(bus, EventBus):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"EventSubscriptions takes an EventBus, got {bus!r}")
        if not isinstance(capabilities, SubscriptionCapabilities):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"capabilities must be a SubscriptionCapabilities, got {capabilities!r}"
            )
        if max_age_seconds is not None and not max_age_seconds > 0:
            raise ValueError(f"max_age_seconds must be positive, got {max_age_seconds!r}")
        if max_uris < 1:
            raise ValueError(f"max_uris must be positive, got {max_uris!r}")
        self.bus = bus
        self.max_uris = max_uris
        self._capabilities = capabilities
        self._max_age_seconds = max_age_seconds

    def subscription_capabilities(self, channel: Channel) -> SubscriptionCapabilities:
        """See `SubscriptionHandler.subscription_capabilities`."""
        return self._capabilities

    async def subscribe(
        self,
        filter: mcp.SubscriptionFilter,  # noqa: A002 - what the protocol calls it
        channel: Channel,
    ) -> Listening[Any] | Error:
        """Accept all of `filter`, and hear of it from now on."""
        # The first look, for what is published before the stream is open. Posted while
        # the mailbox is empty, it cannot be the message that finds it full.
        channel.post(_WAKE)
        outbox = Outbox(self.bus, read_keys(filter), partial(channel.post_soon, _WAKE))
        return Listening(outbox, accepted=filter, max_age_seconds=self._max_age_seconds)

    async def handle_message(
        self, message: Any, channel: Channel, state: Outbox
    ) -> Stream[Any] | None:
        """Send what waits. Call it from a subclass for messages that are not its own."""
        if message is not _WAKE:
            raise TypeError(f"{type(self).__qualname__}: nothing handles the message {message!r}")
        state.allow_wake()
        # Not until it is empty: other messages posted to the stream get their turn.
        for _ in range(len(state)):
            await channel.send_notification(state.take())
        return Stream(state)

    async def handle_close(self, channel: Channel, state: Outbox) -> None:
        """Hear no more of the bus."""
        state.detach()


class Outbox:
    """The changes one stream has yet to tell, each once, in the order of publication.

    `add` is called by whoever publishes, in any thread; the rest by the stream. A
    publisher never waits in it, not even one that interrupts another in the same thread
    (a signal handler, a finalizer): it is made of the atomic steps of a dict and a deque,
    and of a lock that is only ever tried, which is the flag.

    Args:
        bus: attached to at once.
        keys: the changes that are wanted.
        wake: has `allow_wake` and then `take` called, soon. Not called the first time:
            whoever makes an outbox sees to that.
    """

    __slots__ = ("_order", "_waiting", "_wake", "_woken", "detach")

    def __init__(self, bus: EventBus, keys: frozenset[ChangeKey], wake: Callable[[], None]) -> None:
        self._wake = wake
        self._waiting: dict[ChangeKey, list[Change]] = {}
        # No longer than there are keys; an empty deque takes 600 bytes for each stream.
        self._order: list[ChangeKey] = []
        self._woken = threading.Lock()
        self._woken.acquire()
        self.detach = bus.attach(self.add, keys)

    def __len__(self) -> int:
        return len(self._order)

    def add(self, change: Change) -> None:
        """Have `change` told, unless it waits already."""
        key = read_key(change)
        # A list of its own tells whether it was this very call that put it in.
        mine = [change]
        if self._waiting.setdefault(key, mine) is mine:
            self._order.append(key)
        if self._woken.acquire(blocking=False):
            self._wake()

    def allow_wake(self) -> None:
        """Let the next `add` wake the stream again; call it before `take`.

        The other way round, a change added in between would wake nobody.
        """
        # Only the stream releases it, so nobody can come in between.
        if self._woken.locked():
            self._woken.release()

    def take(self) -> Change:
        """Return the change that waits longest. Only if there is one."""
        # In this order: what is published in between is what is about to be sent.
        key = self._order.pop(0)
        [change] = self._waiting.pop(key)
        return change
