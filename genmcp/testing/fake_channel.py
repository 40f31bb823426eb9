"""A channel that records what a handler sends.

Layer: testing. For calling a hook directly, without a suite around it. It obeys
the same rules as the real one (they live in `genmcp.channel`): progress must
increase, logs need the level, values must be JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import trio

from genmcp.channel import BlockingChannel, Channel
from genmcp.mcp import v2607 as mcp
from genmcp.testing.requests import fake_caller
from genmcp.tokens import Keyring
from genmcp.wire.messages import write_notification

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from genmcp.caller import Caller
    from genmcp.limits import OwnRateLimit

R = TypeVar("R")


class FakeChannel(Channel):
    """Records, and pretends that the client reads everything until it leaves.

    Attributes:
        sent: the notifications that went out, in order.
        posted: the messages posted to the call, in order.
        stream_started: whether the handler asked for a stream.
        close_called: whether the handler closed the call.
        close_after_seconds: after how many seconds it is to be closed, if it said so.
        rate_checks: what was counted against a rate limit, as `(method, target, own)`.
            Nothing is ever too much here.

    Args:
        caller: who calls; default `fake_caller()`.
        nursery: where `start_soon` runs its tasks.
    """

    def __init__(
        self, caller: Caller | None = None, *, nursery: trio.Nursery | None = None
    ) -> None:
        super().__init__(fake_caller() if caller is None else caller, Keyring.random())
        self.sent: list[mcp.ServerNotification] = []
        self.posted: list[object] = []
        self.stream_started = False
        self.close_called = False
        self.close_after_seconds: float | None = None
        self.rate_checks: list[tuple[str, str, OwnRateLimit]] = []
        self._nursery = nursery
        self._gone = False

    def disconnect(self) -> None:
        """Let the client go away: nothing is sent from here on."""
        self._gone = True

    @property
    def progress(self) -> list[tuple[float, float | None, str | None]]:
        """The progress sent, as `(progress, total, message)`."""
        return read_progress(self.sent)

    @property
    def logs(self) -> list[tuple[str, Any]]:
        """The log records sent, as `(level, data)`."""
        return read_logs(self.sent)

    @property
    def closed(self) -> bool:
        """Whether the client has gone, or the handler closed the call."""
        return self._gone or self.close_called

    async def start_stream(self) -> bool:
        """See `Channel.start_stream`."""
        await self._checkpoint()
        self.stream_started = True
        return not self.closed

    def close(self) -> None:
        """See `Channel.close`."""
        self.close_called = True

    def close_after(self, seconds: float) -> None:
        """See `Channel.close_after`. Only recorded."""
        self.close_after_seconds = seconds

    def post(self, message: object) -> bool:
        """See `Channel.post`."""
        if self.closed:
            return False
        self.posted.append(message)
        return True

    def post_from_thread(self, message: object) -> bool:
        """See `Channel.post_from_thread`. Needs no event loop here."""
        return self.post(message)

    def post_soon(self, message: object) -> None:
        """See `Channel.post_soon`."""
        self.post(message)

    def start_soon(self, async_fn: Callable[..., Awaitable[object]], *args: Any) -> None:
        """See `Channel.start_soon`.

        Raises:
            RuntimeError: the channel was made without a nursery, or is closed.
        """
        if self._nursery is None:
            raise RuntimeError("start_soon: give FakeChannel(nursery=...) to run tasks in")
        if self.closed:
            raise RuntimeError("start_soon: this call is over")
        self._nursery.start_soon(async_fn, *args)

    def blocking(self) -> BlockingChannel:
        """See `Channel.blocking`. For a handler run in a thread of `run_in_thread`."""
        return BlockingChannel(self, trio.from_thread.run, trio.from_thread.run_sync)

    async def run_in_thread(self, hook: Callable[..., R], *args: Any) -> R:
        """See `Channel.run_in_thread`."""
        return await trio.to_thread.run_sync(hook, *args)

    def check_rate(self, method: str, target: str, own: OwnRateLimit = None) -> None:
        """See `Channel.check_rate`. Only recorded."""
        self.rate_checks.append((method, target, own))

    async def deliver(self, notification: mcp.ServerNotification) -> bool:
        """See `Channel.deliver`."""
        write_notification(notification)  # a value that is not JSON shows here too
        await self._checkpoint()
        if self.closed:
            return False
        self.sent.append(notification)
        return True

    async def _checkpoint(self) -> None:
        await trio.lowlevel.checkpoint()


def read_progress(
    notifications: list[mcp.ServerNotification],
) -> list[tuple[float, float | None, str | None]]:
    """Return the progress among `notifications`, as `(progress, total, message)`."""
    return [
        (note.params.progress, note.params.total, note.params.message)
        for note in notifications
        if isinstance(note, mcp.ProgressNotification)
    ]


def read_logs(notifications: list[mcp.ServerNotification]) -> list[tuple[str, Any]]:
    """Return the log records among `notifications`, as `(level, data)`."""
    return [
        (note.params.level, note.params.data)
        for note in notifications
        if isinstance(note, mcp.LoggingMessageNotification)
    ]
