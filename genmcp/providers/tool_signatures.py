"""What a tool's class says in its bases and its hooks' signatures.

Layer: providers. Checked when the class is defined, because at the first call it is
a client that meets the mistake.
"""

from __future__ import annotations

import difflib
import inspect
from typing import Any, Final, TypeVar, get_args, get_origin

import typing_extensions

from genmcp.channel import BlockingChannel

if typing_extensions.TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PARAMETERS: Final = {
    "validate_request": ("request",),
    "call": ("request", "channel"),
    "handle_message": ("message", "channel", "state"),
    "handle_close": ("channel", "state"),
}


def check_hooks(cls: type, base: type) -> None:
    """Refuse hooks that cannot be called as they will be.

    Raises:
        TypeError: the wrong parameters, or an `async def` in a class that says its
            hooks get a `BlockingChannel`.
    """
    arguments = _arguments_for(cls, base)
    blocking = len(arguments) > 1 and arguments[1] is BlockingChannel
    for name, parameters in _PARAMETERS.items():
        hook = cls.__dict__.get(name)
        if not inspect.isfunction(hook):
            continue
        try:
            inspect.signature(hook).bind(None, *parameters)
        except TypeError:
            raise TypeError(
                f"{cls.__qualname__}.{name} must take (self, {', '.join(parameters)}), "
                f"got {inspect.signature(hook)}"
            ) from None
        if blocking and "channel" in parameters and inspect.iscoroutinefunction(hook):
            raise TypeError(
                f"{cls.__qualname__}.{name} is async, and gets a Channel: drop "
                "BlockingChannel from the class, or make it a plain def"
            )


def explain_unknown(given: Iterable[str], *takers: Callable[..., Any]) -> str:
    """Return which class keywords are unknown, and which were probably meant."""
    known = [
        name
        for taker in takers
        for name, parameter in inspect.signature(taker).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    unknown = list(given)
    near = [match for name in unknown for match in difflib.get_close_matches(name, known, 1)]
    lead = f"did you mean {', '.join(near)}? There" if near else "there"
    return f"unknown class keyword {', '.join(unknown)}; {lead} are {', '.join(known)}"


def find_arguments_type(cls: type, base: type) -> Any | None:
    """Return what `cls` gives for the first type parameter of `base`, if anything.

    Follows parameters handed up through generic classes in between. `None` when
    the parameter is not given in this class's own bases, or is still a variable.
    """
    arguments = _arguments_for(cls, base)
    if not arguments or isinstance(arguments[0], TypeVar | typing_extensions.TypeVar):
        return None
    return arguments[0]


def _arguments_for(cls: type, base: type) -> tuple[Any, ...]:
    """Return what `cls` gives for the parameters of `base`, in its own bases."""
    for written in cls.__dict__.get("__orig_bases__", ()):
        origin = get_origin(written)
        if isinstance(origin, type) and issubclass(origin, base):
            arguments = get_args(written)
            return arguments if origin is base else _follow(origin, base, arguments)
    return ()


def _follow(generic: type, base: type, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    parameters: tuple[Any, ...] = getattr(generic, "__parameters__", ())
    given = dict(zip(parameters, arguments, strict=False))
    for written in generic.__dict__.get("__orig_bases__", ()):
        origin = get_origin(written)
        if not isinstance(origin, type) or not issubclass(origin, base):
            continue
        handed_up = tuple(given.get(argument, argument) for argument in get_args(written))
        return handed_up if origin is base else _follow(origin, base, handed_up)
    return ()
