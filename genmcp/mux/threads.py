"""The threads that plain `def` handlers run in, shared out among callers.

Layer: mux. There are only so many, and a thread cannot be taken away again: handlers of
one caller that block would keep those of all others waiting. So each caller may have a
part of them, and waits for its own before it waits for any.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import trio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from genmcp.mux.caller_key import CallerKey

R = TypeVar("R")


@attrs.define(eq=False)
class _Share:
    """One caller's part, for as long as anybody uses or waits for it."""

    limiter: trio.CapacityLimiter
    users: int = 0


class Threads:
    """Runs plain functions in threads.

    Args:
        most: how many may run at the same time.
        most_per_caller: how many of them for one caller; `None` for all.
    """

    def __init__(self, most: int, most_per_caller: int | None = None) -> None:
        self._limiter = trio.CapacityLimiter(most)
        self._most_per_caller = most_per_caller
        self._shares: dict[CallerKey, _Share] = {}

    @property
    def callers(self) -> int:
        """How many callers have a thread, or wait for one."""
        return len(self._shares)

    async def run(self, caller: CallerKey, function: Callable[..., R], *args: Any) -> R:
        """Run `function(*args)` in a thread, and return what it returns.

        Cancellation: takes effect while it waits for a thread; a thread is waited for.
        What an abandoned one still did to the application's state, nobody would wait for.
        """
        async with self._share_of(caller):
            return await trio.to_thread.run_sync(
                function, *args, limiter=self._limiter, abandon_on_cancel=False
            )

    @asynccontextmanager
    async def _share_of(self, caller: CallerKey) -> AsyncGenerator[None]:
        if self._most_per_caller is None:
            yield
            return
        share = self._shares.get(caller)
        if share is None:
            share = self._shares[caller] = _Share(trio.CapacityLimiter(self._most_per_caller))
        share.users += 1
        try:
            async with share.limiter:
                yield
        finally:
            share.users -= 1
            if not share.users:
                # Callers come and go; what is remembered of them must not grow.
                del self._shares[caller]
