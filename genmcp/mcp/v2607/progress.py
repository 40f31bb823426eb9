"""Progress of a running request.

Layer: vocabulary. Spec: basic/patterns/progress
"""

from typing import ClassVar

import attrs

from genmcp.mcp.v2607.base import ProgressToken
from genmcp.mcp.v2607.exchange import Notification, NotificationParams
from genmcp.mcp.v2607.fields import checked


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ProgressNotificationParams(NotificationParams):
    """How far a request has come.

    Attributes:
        progress_token: the token of the request it is about.
        progress: how much is done; greater each time.
        total: how much there is to do, in the same unit.
        message: a sentence for a person to read.
    """

    progress_token: ProgressToken
    progress: float
    total: float | None = None
    message: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False, field_transformer=checked)
class ProgressNotification(Notification):
    """A running request has come further."""

    method: ClassVar[str] = "notifications/progress"
    params: ProgressNotificationParams
