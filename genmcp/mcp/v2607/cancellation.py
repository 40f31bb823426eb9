"""Cancellation of a running request.

Layer: vocabulary. Spec: basic/patterns/cancellation
"""

from typing import ClassVar

import attrs

from genmcp.mcp.v2607.base import RequestId
from genmcp.mcp.v2607.exchange import Notification, NotificationParams
from genmcp.mcp.v2607.fields import checked


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CancelledNotificationParams(NotificationParams):
    """Which request to stop.

    Attributes:
        request_id: its id, with its type.
        reason: a sentence for a person to read.
    """

    request_id: RequestId
    reason: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class CancelledNotification(Notification):
    """A request is not wanted any more, or a subscription has ended."""

    method: ClassVar[str] = "notifications/cancelled"
    params: CancelledNotificationParams
