"""Subscriptions: what a client wants to hear of while it listens.

Layer: vocabulary. Spec: basic/patterns/subscriptions
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs

from genmcp.mcp.v2607.exchange import (
    Notification,
    NotificationParams,
    Request,
    RequestParams,
    Result,
)
from genmcp.mcp.v2607.fields import WireObject, checked
from genmcp.mcp.v2607.meta import SubscriptionsListenResultMetaObject


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class SubscriptionFilter(WireObject):
    """Which notifications are wanted, or granted. Open, for extensions.

    Attributes:
        resource_subscriptions: the URIs of resources to watch.
    """

    tools_list_changed: bool | None = None
    prompts_list_changed: bool | None = None
    resources_list_changed: bool | None = None
    resource_subscriptions: Sequence[str] | None = None
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class SubscriptionsListenRequestParams(RequestParams):
    """What to listen for."""

    notifications: SubscriptionFilter


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class SubscriptionsListenRequest(Request):
    """Asks to be told of changes for as long as the stream lives."""

    method: ClassVar[str] = "subscriptions/listen"
    params: SubscriptionsListenRequestParams


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class SubscriptionsListenResult(Result):
    """The subscription has ended in good order."""

    # Required, where other results can do without.
    meta: SubscriptionsListenResultMetaObject  # pyright: ignore[reportGeneralTypeIssues]


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class SubscriptionsAcknowledgedNotificationParams(NotificationParams):
    """What the server will tell of."""

    notifications: SubscriptionFilter


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class SubscriptionsAcknowledgedNotification(Notification):
    """The subscription has begun; the first message of its stream."""

    method: ClassVar[str] = "notifications/subscriptions/acknowledged"
    params: SubscriptionsAcknowledgedNotificationParams
