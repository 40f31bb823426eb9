"""How a hook of an author's class is called, `async def` or plain `def` alike.

Layer: providers. `genmcp.suite` calls every hook that gets a channel through here.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from genmcp.channel import Channel


async def run_hook(channel: Channel, hook: Callable[..., Any], *args: Any) -> Any:
    """Call `hook(*args)` and return its answer.

    An `async def` is awaited. A plain `def` runs in one of the threads kept for
    handlers; where `channel` stands among `args`, it gets the blocking form.

    Cancellation: an `async def` is cancelled; a thread is waited for.
    """
    if _is_async(getattr(hook, "__func__", hook)):
        return await hook(*args)
    blocking = channel.blocking()
    given = [blocking if arg is channel else arg for arg in args]
    [answer] = await channel.run_in_thread(_box, hook, *given)
    # A plain def may hand back what an async one would, through a decorator.
    return await answer if inspect.isawaitable(answer) else answer


@functools.lru_cache(maxsize=1024)
def _is_async(function: Callable[..., Any]) -> bool:
    # Python looks through methods, wrappers and partials for it, every time.
    return inspect.iscoroutinefunction(function)


def _box(hook: Callable[..., Any], *args: Any) -> tuple[Any]:
    # Trio refuses a thread that returns a coroutine by itself.
    return (hook(*args),)
