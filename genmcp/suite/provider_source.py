"""Providers as they are given: an instance, or a class to make one of.

Layer: suite.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from genmcp.errors import CallbackReturnError, show

if TYPE_CHECKING:
    from genmcp.channel import Channel
    from genmcp.providers.extension import Extension


P = TypeVar("P")


def make_provider(source: object, base: type[P]) -> P:
    """Return `source`, or an instance of it if it is a class.

    Raises:
        TypeError: not a `base`, or a class that cannot be made without arguments.
    """
    if isinstance(source, base):
        return source
    article = "an" if base.__name__[0] in "AEIOU" else "a"
    if not (isinstance(source, type) and issubclass(source, base)):
        name = base.__name__
        # Other libraries have functions for it.
        given = cast("object", source)
        how = f"; subclass {name}, and call it from there" if inspect.isroutine(given) else ""
        got = show(given)
        raise TypeError(f"expected {article} {name} or a subclass of {name}, got {got}{how}")
    missing: frozenset[str] = getattr(source, "__abstractmethods__", frozenset())
    if missing:
        names = ", ".join(sorted(missing))
        raise TypeError(f"{source.__qualname__} does not define {names}")
    try:
        return source()
    except TypeError as error:
        raise TypeError(
            f"{source.__qualname__} cannot be made without arguments; "
            f"give an instance instead of the class ({error})"
        ) from error


async def ask_extension(extension: Extension, hook: str, channel: Channel) -> list[Any]:
    """Return what the extension's `tools`, `prompts` or `resources` gives this caller.

    Raises:
        CallbackReturnError: it gives no list.
    """
    given: Any = getattr(extension, hook)(channel)
    if isinstance(given, Awaitable):
        given = await cast("Awaitable[Any]", given)
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise CallbackReturnError(extension, hook, cast("object", given), f"a list of {hook}")
    return list(cast("Iterable[Any]", given))
