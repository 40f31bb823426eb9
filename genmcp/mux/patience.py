"""Time limits that a busy server does not use up by itself.

Layer: mux. trio's limits go by the clock alone. Where thousands of calls end at once, or
a handler holds the loop up, a second may be over before a task that is ready has had its
turn, and what was nearly done would be given up. A short limit that is there because
*somebody else* may be slow is not over here before the loop has also come round a few times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_ROUNDS: Final = 5


async def sleep_patiently(seconds: float) -> None:
    """Sleep for `seconds`, in which every task that is ready has some turns."""
    for _ in range(_ROUNDS):
        await trio.sleep(seconds / _ROUNDS)


async def try_for(seconds: float, async_fn: Callable[..., Awaitable[object]], *args: Any) -> None:
    """Run `async_fn` for `seconds`, in which it has some turns, and then give it up.

    Args:
        seconds: how long.
        async_fn: what is run.
        args: what it is called with.

    Raises:
        Exception: what it raises.
    """
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_give_up, seconds, nursery.cancel_scope)
        try:
            await async_fn(*args)
        except Exception as error:  # noqa: BLE001 - raised below, in no group
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _give_up(seconds: float, scope: trio.CancelScope) -> None:
    await sleep_patiently(seconds)
    scope.cancel()
