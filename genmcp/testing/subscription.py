"""What a client hears while it listens, and a bus that remembers.

Layer: testing. A `Subscription` holds the server to the rules of a listen stream: the
acknowledgement first, the id of the subscription on every message, nothing that was
not accepted, and a result with the id at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genmcp.event_bus import CHANGES, Change, EventBus, read_key, read_keys
from genmcp.mcp import v2607 as mcp
from genmcp.wire.codec import decode

if TYPE_CHECKING:
    from collections.abc import Callable

    from genmcp.testing.client import Answer


class Subscription:
    """A listen stream that was acknowledged. Made by `Client.listen`.

    Iterate over it for the changes as they are heard; it ends when the server ends the
    subscription in good order.

    Attributes:
        accepted: what the server says it will tell of.
    """

    def __init__(
        self,
        answer: Answer,
        acknowledgement: dict[str, Any],
        read_response: Callable[[dict[str, Any], mcp.RequestId], dict[str, Any]],
    ) -> None:
        self._answer = answer
        self._read_response = read_response
        self._result: mcp.SubscriptionsListenResult | None = None
        first = self._read_notification(acknowledgement)
        assert isinstance(first, mcp.SubscriptionsAcknowledgedNotification), (
            f"the acknowledgement must be the first message, got {acknowledgement!r}"
        )
        self.accepted: mcp.SubscriptionFilter = first.params.notifications
        self._keys = read_keys(self.accepted)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Change:
        if self._result is not None:
            raise StopAsyncIteration
        message = await self._answer.next_message()
        if "method" not in message:
            self._result = self._read_result(message)
            raise StopAsyncIteration
        change = self._read_notification(message)
        assert isinstance(change, CHANGES), f"no change, but {message!r}"
        assert read_key(change) in self._keys, f"this was not accepted: {message!r}"
        return change

    async def next_change(self) -> Change:
        """Wait for the next change.

        Raises:
            ServerError: the server ended the stream with an error.
            AssertionError: it ended the subscription, or broke its rules.
        """
        async for change in self:
            return change
        raise AssertionError("the server ended the subscription")

    async def result(self) -> mcp.SubscriptionsListenResult:
        """Wait until the server ends the subscription; skip what is still heard.

        Raises:
            ServerError: the server ended the stream with an error.
            AssertionError: it broke the rules of the stream.
        """
        async for _ in self:
            pass
        assert self._result is not None
        return self._result

    async def disconnect(self) -> None:
        """Hang up, and wait until the server has cleaned up."""
        await self._answer.disconnect()

    def _read_notification(self, message: dict[str, Any]) -> mcp.Notification:
        cls = mcp.NOTIFICATIONS[message["method"]]
        notification = decode(cls, message)
        params: mcp.NotificationParams | None = notification.params
        meta = None if params is None else params.meta
        self._check_id(None if meta is None else meta.subscription_id, message)
        return notification

    def _read_result(self, message: dict[str, Any]) -> mcp.SubscriptionsListenResult:
        response = self._read_response(message, self._answer.request_id)
        result = decode(mcp.SubscriptionsListenResult, response)
        self._check_id(result.meta.subscription_id, message)
        return result

    def _check_id(self, found: mcp.RequestId | None, message: dict[str, Any]) -> None:
        wanted = self._answer.request_id
        assert found == wanted, f"the subscription id must be {wanted!r}: {message!r}"


class RecordingBus(EventBus):
    """An event bus that remembers what was published on it.

    Give it to what you test in place of the bus; listeners hear of everything as usual.

    Attributes:
        published: the changes, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.published: list[Change] = []
        self.attach(self.published.append)

    @property
    def listener_count(self) -> int:
        """How many listeners are attached, besides the record."""
        return super().listener_count - 1

    @property
    def updated_uris(self) -> list[str]:
        """The URIs of the resources that were updated, in order."""
        return [
            change.params.uri
            for change in self.published
            if isinstance(change, mcp.ResourceUpdatedNotification)
        ]
