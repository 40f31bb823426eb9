"""The channel of a listen stream: only accepted changes go out, and not too early.

Layer: suite. `genmcp.suite.subscriptions` hands it to the hooks of a subscription
handler. Whatever a handler sends, this holds:

* The acknowledgement is the first message. What is sent before it waits, each change
  once, and follows it in order.
* Only changes that were accepted go out, each with the id of the subscription.
* Nothing that belongs to a request (progress, logs) travels here.

Spec: basic/patterns/subscriptions#acknowledgment
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from genmcp.channel import BlockingChannel, Channel
from genmcp.event_bus import CHANGES, narrow_filter, read_key, read_keys
from genmcp.mcp import v2607 as mcp
from genmcp.wire.messages import write_notification

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from genmcp.event_bus import Change, ChangeKey
    from genmcp.limits import OwnRateLimit

R = TypeVar("R")


class ListenChannel(Channel):
    """A call's own channel, narrowed to what a listen stream may carry.

    Args:
        channel: the call's.
        offered: what of the client's filter could be served.
    """

    def __init__(self, channel: Channel, offered: mcp.SubscriptionFilter) -> None:
        # Without a token and a level, the rules of the base class let neither progress
        # nor logs out, whatever the listen request carried.
        caller = attrs.evolve(channel.caller, progress_token=None, log_level=None)
        super().__init__(caller, channel.keyring)
        self._channel = channel
        self._held: dict[ChangeKey, Change] = {}
        self._open = False
        self._accept(offered)

    def narrow(self, accepted: mcp.SubscriptionFilter) -> None:
        """Serve only what is also in `accepted`. Before `open`."""
        self._accept(narrow_filter(self._accepted, read_keys(accepted)))

    def _accept(self, accepted: mcp.SubscriptionFilter) -> None:
        self._accepted = accepted
        self._keys = read_keys(accepted)
        self._held = {key: held for key, held in self._held.items() if key in self._keys}

    async def open(self) -> None:
        """Send the acknowledgement, then what waited for it. Once; then does nothing.

        Cancellation: a checkpoint, if anything is sent; the stream is over.
        """
        if self._open:
            return
        await self._channel.deliver(
            mcp.SubscriptionsAcknowledgedNotification(
                params=mcp.SubscriptionsAcknowledgedNotificationParams(
                    meta=self._meta(None), notifications=self._accepted
                )
            )
        )
        while self._held:
            await self._channel.deliver(self._held.pop(next(iter(self._held))))
        self._open = True

    # -- talking to the client ---------------------------------------------------

    async def send_notification(self, notification: mcp.ServerNotification) -> bool:
        """Send a change, if the client asked for it and may hear of it.

        Its `_meta` gets the id of the subscription. Sent before the acknowledgement,
        it waits for that; True then says that it will go out.

        Raises:
            TypeError: it is no change. The acknowledgement is the Suite's to send, and
                progress and logs never travel on a listen stream.
            EncodeError: it holds a value that is not JSON.

        Cancellation: as `Channel.send_progress`.

        Spec: basic/patterns/subscriptions#receiving-notifications
        """
        if not isinstance(notification, CHANGES):
            names = ", ".join(cls.__name__ for cls in CHANGES)
            raise TypeError(f"only {names} may be sent on a listen stream, got {notification!r}")
        key = read_key(notification)
        if key not in self._keys or self.closed:
            await self._checkpoint()
            return False
        stamped = self._stamp(notification)
        if self._open:
            return await self._channel.deliver(stamped)
        # A value that is not JSON must show here, not when the stream opens.
        write_notification(stamped)
        self._held.setdefault(key, stamped)
        await self._checkpoint()
        return True

    async def deliver(self, notification: mcp.ServerNotification) -> bool:
        """See `Channel.deliver`; on this channel there is no way past the filter."""
        return await self.send_notification(notification)

    def _stamp(self, change: Change) -> Change:
        meta = self._meta(None if change.params is None else change.params.meta)
        # Params differ in class only where they hold more, the URI of a resource.
        if isinstance(change, mcp.ResourceUpdatedNotification):
            return attrs.evolve(change, params=attrs.evolve(change.params, meta=meta))
        return attrs.evolve(change, params=mcp.NotificationParams(meta=meta))

    def _meta(self, given: mcp.NotificationMetaObject | None) -> mcp.NotificationMetaObject:
        given = mcp.NotificationMetaObject() if given is None else given
        return attrs.evolve(given, subscription_id=self.caller.request_id)

    async def start_stream(self) -> bool:
        """See `Channel.start_stream`."""
        return await self._channel.start_stream()

    async def _checkpoint(self) -> None:
        await self._channel._checkpoint()

    # -- running the call --------------------------------------------------------

    @property
    def closed(self) -> bool:
        """See `Channel.closed`."""
        return self._channel.closed

    def close(self) -> None:
        """End the subscription in good order, with its result. See `Channel.close`."""
        self._channel.close()

    def close_after(self, seconds: float) -> None:
        """End the subscription in good order `seconds` from now, if it lives that long."""
        self._channel.close_after(seconds)

    def post(self, message: object) -> bool:
        """See `Channel.post`."""
        return self._channel.post(message)

    def post_from_thread(self, message: object) -> bool:
        """See `Channel.post_from_thread`."""
        return self._channel.post_from_thread(message)

    def post_soon(self, message: object) -> None:
        """See `Channel.post_soon`."""
        self._channel.post_soon(message)

    def start_soon(self, async_fn: Callable[..., Awaitable[object]], *args: Any) -> None:
        """See `Channel.start_soon`."""
        self._channel.start_soon(async_fn, *args)

    def check_rate(self, method: str, target: str, own: OwnRateLimit = None) -> None:
        """See `Channel.check_rate`."""
        self._channel.check_rate(method, target, own)

    def blocking(self) -> BlockingChannel:
        """See `Channel.blocking`."""
        return _BlockingListenChannel(self, self._channel.blocking())

    async def run_in_thread(self, hook: Callable[..., R], *args: Any) -> R:
        """See `Channel.run_in_thread`."""
        return await self._channel.run_in_thread(hook, *args)


class _BlockingListenChannel(BlockingChannel):
    """The blocking form of a listen channel, run as the call's own is."""

    def __init__(self, channel: Channel, call: BlockingChannel) -> None:
        super().__init__(channel, call._run_async, call._run_sync)
