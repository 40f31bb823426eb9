"""How a hook of an author's class is called, `async def` or plain `def` alike.

Layer: providers. `genmcp.suite` calls every hook that gets a channel through here.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from genmcp.channel import Channel

_OWN_MODULES = __name__.rpartition(".")[0] + "."


def run_hook(channel: Channel, hook: Callable[..., Any], *args: Any) -> Awaitable[Any]:
    """Call `hook(*args)` and return its answer. To be awaited at once.

    An `async def` is awaited. A plain `def` runs in one of the threads kept for
    handlers; where `channel` stands among `args`, it gets the blocking form.

    Cancellation: an `async def` is cancelled; a thread is waited for.
    """
    function = getattr(hook, "__func__", hook)
    if _is_async(function):
        running: Awaitable[Any] = hook(*args)
        return running
    return _run_plain(channel, hook, args)


async def _run_plain(channel: Channel, hook: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    if _is_default(getattr(hook, "__func__", hook)):
        return hook(*args)
    blocking = channel.blocking()
    given = [blocking if arg is channel else arg for arg in args]
    [answer] = await channel.run_in_thread(_box, hook, *given)
    # A plain def may hand back what an async one would, through a decorator.
    return await answer if inspect.isawaitable(answer) else answer


@functools.lru_cache(maxsize=1024)
def _is_async(function: Callable[..., Any]) -> bool:
    # Python looks through methods, wrappers and partials for it, every time.
    return inspect.iscoroutinefunction(function)


def _is_default(function: object) -> bool:
    """Tell whether it is a hook's default, which does nothing that takes time."""
    module: object = getattr(function, "__module__", None)
    return isinstance(module, str) and module.startswith(_OWN_MODULES)


def _box(hook: Callable[..., Any], *args: Any) -> tuple[Any]:
    # Trio refuses a thread that returns a coroutine by itself.
    return (hook(*args),)
