"""A call's events, turned into lines for stdout.

Layer: transport, pure; the last station of a call, after `genmcp.mux.call`. What
`genmcp.transport.reply` is for HTTP.

    Opened, KeptAlive   nothing: there is no stream to open, nor a proxy to keep awake
    Notified            a line
    Answered, Failed    a line; for a subscription that is over, a farewell comes after it

A subscription that the server ends is ended twice over: by its result, as the page of
subscriptions wants it, and by `notifications/cancelled`, as that of cancellation does.
That is the farewell. A subscription that never was open has only failed.

Spec: basic/transports/stdio#receiving-messages, basic/patterns/subscriptions,
basic/patterns/cancellation
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from genmcp.events import Answered, Failed, KeptAlive, Notified, Opened
from genmcp.mcp import v2607 as mcp
from genmcp.transport.sse import escape_separators
from genmcp.wire.messages import write_error, write_notification, write_result

if TYPE_CHECKING:
    from genmcp.errors import McpError
    from genmcp.events import Event


class LineReply:
    """What is said to one request.

    Args:
        request_id: its id.
        listens: whether it opens a subscription.

    Attributes:
        done: whether it has its answer.
        farewell: the line that is to come some time after the answer; perhaps none.
    """

    def __init__(self, request_id: mcp.RequestId, *, listens: bool) -> None:
        self.done = False
        self.farewell = b""
        self._request_id = request_id
        self._listens = listens
        self._notified = False

    def render(self, event: Event) -> bytes:
        """Return the line that goes out for `event`, or nothing.

        Raises:
            EncodeError: the event holds something that is not JSON. Nothing has changed;
                another event may follow.
            RuntimeError: the request has its answer already.
        """
        if self.done:
            raise RuntimeError(f"the reply is complete, {event!r} comes after its end")
        match event:
            case Opened() | KeptAlive():
                return b""
            case Notified(notification=notification):
                line = render_line(write_notification(notification))
                self._notified = True
                return line
            case Answered(result=result):
                return self._end(write_result(self._request_id, result), opened=True)
            case Failed(error=error):
                return self._end(write_error(self._request_id, error), opened=self._notified)
            case _:
                assert_never(event)

    def _end(self, message: bytes, *, opened: bool) -> bytes:
        self.done = True
        if self._listens and opened:
            params = mcp.CancelledNotificationParams(request_id=self._request_id)
            cancelled = mcp.CancelledNotification(params=params)
            self.farewell = render_line(write_notification(cancelled))
        return render_line(message)


def render_line(message: bytes) -> bytes:
    """Return the line with `message`, which is JSON text without raw line ends."""
    return escape_separators(message) + b"\n"


def render_error(error: McpError, request_id: mcp.RequestId | None) -> bytes:
    """Return the line that refuses a message, under its id if it has one."""
    return render_line(write_error(request_id, error))
