"""The limits that `genmcp serve` can be told: one flag and one variable for each.

Layer: cli. None is listed here. They are the fields of the classes that hold them, whose
docstrings say what they are for; a limit that is added there has its flag.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

import attrs

from genmcp.cli.settings import NONE, read_number, read_or_none, read_whole_number
from genmcp.limits import Limits
from genmcp.mcp.unset import UNSET, Unset
from genmcp.transport.asgi import KEEPALIVE_SECONDS, StreamableHTTP
from genmcp.transport.port_config import PortConfig
from genmcp.transport.serve import PortOptions
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable

# Annotations of the owners name these without having imported them.
_IMPORTED_FOR_TYPES: Final = {"os": os, "Sequence": Sequence}
# An entry in the list of a docstring: up to the next one, or the end of the list.
_ENTRY: Final = r"^ +{}: (?P<text>.+?)(?=\n\n|\n +\w+: |\s*\Z)"


@attrs.frozen(eq=False, repr=False)
class LimitSetting(Value):
    """A limit that can be set.

    Attributes:
        name: the option it is.
        description: what it is for.
        read: makes a value of the text. Its `ValueError` says what it "must be".
        metavar: what stands for the text, for people.
    """

    name: str
    description: str
    read: Callable[[str], Any]
    metavar: str = "N"


def find_endpoint_limits() -> list[LimitSetting]:
    """Return the limits among the options of `StreamableHTTP`."""
    silence = _find_description(StreamableHTTP, "keepalive_seconds", KEEPALIVE_SECONDS)
    return [*find_limits(Limits), LimitSetting("keepalive_seconds", silence, read_number)]


def find_port_limits() -> list[LimitSetting]:
    """Return the limits among the options that `serve` hands on to its port."""
    of_serve = set(PortOptions.__annotations__)
    return [limit for limit in find_limits(PortConfig) if limit.name in of_serve]


def find_limits(owner: type[Any]) -> list[LimitSetting]:
    """Return the fields of an attrs class that are limits.

    Those are numbers, and whatever has a class method `read` that makes one of text;
    perhaps `None`, perhaps `UNSET` by default.
    """
    hints = get_type_hints(owner, localns=_IMPORTED_FOR_TYPES)
    found: list[LimitSetting] = []
    for field in attrs.fields(owner):
        hint = hints[field.name]
        kinds = set(get_args(hint) or [hint])
        own_kinds = kinds - {NoneType, Unset}
        read = _find_reader(own_kinds)
        if read is not None:
            described = _find_description(owner, field.name, field.default)
            if NoneType in kinds:
                described, read = f"{described} ({NONE}: no limit)", read_or_none(read)
            found.append(LimitSetting(field.name, described, read, _find_metavar(own_kinds)))
    return found


def _find_metavar(kinds: set[Any]) -> str:
    """Return what stands for a number, or for the text of a class such as `RateLimit`."""
    if kinds <= {int, float}:
        return "N"
    (kind,) = kinds
    return str(kind.__name__).removesuffix("Limit").upper()


def _find_reader(kinds: set[Any]) -> Callable[[str], Any] | None:
    if kinds == {int}:
        return read_whole_number
    if kinds in ({float}, {int, float}):
        return read_number
    if len(kinds) == 1:
        (kind,) = kinds
        read: Callable[[str], Any] | None = getattr(kind, "read", None)
        return read
    return None


def _find_description(owner: type[Any], name: str, default: object) -> str:
    """Return what a docstring says of a setting, and the default if that does not."""
    entry = re.compile(_ENTRY.format(re.escape(name)), re.MULTILINE | re.DOTALL)
    found = entry.search(owner.__doc__ or "")  # without, under python -OO
    text = "" if found is None else " ".join(found["text"].split()).removesuffix(".")
    if default is UNSET:
        return text
    shown = f"{default:.15g}" if isinstance(default, int | float) else str(default).lower()
    return f"{text.partition('. ')[0]} ({shown})"
