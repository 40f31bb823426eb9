"""Log records for the client. Deprecated by the protocol.

Layer: vocabulary. Spec: server/utilities/logging
"""

from typing import Any, ClassVar

import attrs

from genmcp.mcp.v2607.base import LoggingLevel
from genmcp.mcp.v2607.exchange import Notification, NotificationParams
from genmcp.mcp.v2607.fields import checked


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class LoggingMessageNotificationParams(NotificationParams):
    """A log record.

    Attributes:
        level: its severity.
        data: any JSON value, null included.
        logger: the name of what logs.
    """

    level: LoggingLevel
    data: Any
    logger: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class LoggingMessageNotification(Notification):
    """A log record about a running request."""

    method: ClassVar[str] = "notifications/message"
    params: LoggingMessageNotificationParams
