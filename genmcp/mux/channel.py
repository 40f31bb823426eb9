"""The channel of a running call.

Layer: mux. The contract, and the rules that hold for every channel, are in
`genmcp.channel`; this one writes through its `Call` and runs plain handlers in
threads.
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from genmcp.channel import BlockingChannel, Channel
from genmcp.errors import MailboxFull
from genmcp.events import Notified, Opened

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from genmcp.caller import Caller
    from genmcp.limits import OwnRateLimit
    from genmcp.mcp import v2607 as mcp
    from genmcp.mux.call import Call
    from genmcp.mux.caller_key import CallerKey
    from genmcp.mux.mux import Mux

R = TypeVar("R")

_log = logging.getLogger("genmcp.mux")


class CallChannel(Channel):
    """The channel handlers of one `Call` hold."""

    def __init__(
        self,
        call: Call,
        caller: Caller,
        mux: Mux,
        caller_key: CallerKey,
    ) -> None:
        super().__init__(caller, mux.keyring)
        self._call = call
        self._mux = mux
        self._caller_key = caller_key
        self._trio_token = trio.lowlevel.current_trio_token()

    @property
    def closed(self) -> bool:
        """Whether the call is over: answered, closed, or its client gone."""
        return self._call.over

    async def start_stream(self) -> bool:
        """See `Channel.start_stream`."""
        return await self._call.write(Opened())

    def close(self) -> None:
        """See `Channel.close`."""
        self._check_thread("close")
        self._call.close()

    def close_after(self, seconds: float) -> None:
        """See `Channel.close_after`."""
        self._check_thread("close_after")
        if not self.closed:
            self._call.start_soon(self._close_later, seconds)

    async def _close_later(self, seconds: float) -> None:
        await trio.sleep(seconds)
        self.close()

    def post(self, message: object) -> bool:
        """See `Channel.post`."""
        self._check_thread("post")
        if self._call.over:
            return False
        self._call.mailbox.post(message)
        return True

    def post_from_thread(self, message: object) -> bool:
        """See `Channel.post_from_thread`."""
        try:
            return trio.from_thread.run_sync(self.post, message, trio_token=self._trio_token)
        except trio.RunFinishedError:
            return False

    def post_soon(self, message: object) -> None:
        """See `Channel.post_soon`."""
        with contextlib.suppress(trio.RunFinishedError):
            self._trio_token.run_sync_soon(self._post_or_log, message)

    def _post_or_log(self, message: object) -> None:
        try:
            self.post(message)
        except MailboxFull as error:
            _log.warning("%s: a message is dropped: %s", self._call.what, error)

    def start_soon(self, async_fn: Callable[..., Awaitable[object]], *args: Any) -> None:
        """See `Channel.start_soon`."""
        self._check_thread("start_soon")
        self._call.start_soon(async_fn, *args)

    def _check_thread(self, verb: str) -> None:
        """Refuse a verb of the event loop elsewhere, before anything is changed."""
        if trio.lowlevel.in_trio_run():
            if trio.lowlevel.current_trio_token() is self._trio_token:
                return
            raise RuntimeError(f"{verb}: this channel belongs to another event loop")
        raise RuntimeError(
            f"{verb}: only on the event loop; from another thread, use post_from_thread or "
            "post_soon, and let handle_message do it"
        )

    def blocking(self) -> BlockingChannel:
        """See `Channel.blocking`."""
        return BlockingChannel(self, trio.from_thread.run, trio.from_thread.run_sync)

    async def run_in_thread(self, hook: Callable[..., R], *args: Any) -> R:
        """See `Channel.run_in_thread`."""
        return await self._mux.threads.run(self._caller_key, hook, *args)

    def check_rate(self, method: str, target: str, own: OwnRateLimit = None) -> None:
        """See `Channel.check_rate`."""
        if own is not None or method in self._mux.limited_methods:
            self._mux.rates.check(self._caller_key, method, target, own)

    async def deliver(self, notification: mcp.ServerNotification) -> bool:
        """See `Channel.deliver`."""
        return await self._call.write(Notified(notification))

    async def _checkpoint(self) -> None:
        await trio.lowlevel.checkpoint()
