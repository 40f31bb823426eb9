"""The limits that `genmcp serve` can be told: one flag and one variable for each.

Layer: cli. None is listed here. They are the numbers of the classes that hold them, whose
docstrings say what they are for; a limit that is added there has its flag.
"""

from __future__ import annotations

import os
import re
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

import attrs

from genmcp.cli.settings import read_number, read_number_or_none, read_whole_number
from genmcp.limits import Limits
from genmcp.transport.asgi import KEEPALIVE_SECONDS, StreamableHTTP
from genmcp.transport.runner import RunnerConfig
from genmcp.transport.serve import PortOptions

if TYPE_CHECKING:
    from collections.abc import Callable

# An entry of a docstring's list, up to the end of its first sentence.
_ENTRY: Final = r"^ +{}: (?P<text>.+?)(?=\.\s|\.?\Z|^ +\w+: |^\w)"


@attrs.frozen
class NumberSetting:
    """A setting that is a number.

    Attributes:
        name: the option it is.
        default: what holds unless it is given.
        help: what it is for.
        read: makes a value of the text.
    """

    name: str
    default: float | None
    help: str
    read: Callable[[str], float | None]


def find_endpoint_numbers() -> list[NumberSetting]:
    """Return the numbers among the options of `StreamableHTTP`."""
    silence = _make("keepalive_seconds", {float}, KEEPALIVE_SECONDS, StreamableHTTP)
    return [*_find_numbers(Limits), silence]


def find_port_numbers() -> list[NumberSetting]:
    """Return the numbers among the options that `serve` hands on to its port."""
    of_serve = set(PortOptions.__annotations__)
    return [number for number in _find_numbers(RunnerConfig) if number.name in of_serve]


def _find_numbers(cls: type[Any]) -> list[NumberSetting]:
    hints = get_type_hints(cls, localns={"os": os})  # imported for types only, there
    found: list[NumberSetting] = []
    for field in attrs.fields(cls):
        kinds = set(get_args(hints[field.name])) or {hints[field.name]}
        if kinds <= {int, float, NoneType}:
            found.append(_make(field.name, kinds, field.default, cls))
    return found


def _make(
    name: str, kinds: set[type[Any]], default: float | None, owner: type[Any]
) -> NumberSetting:
    read = read_number if float in kinds else read_whole_number
    return NumberSetting(
        name,
        default,
        _find_description(owner, name),
        read_number_or_none(read) if NoneType in kinds else read,
    )


def _find_description(owner: type[Any], name: str) -> str:
    entry = re.compile(_ENTRY.format(re.escape(name)), re.MULTILINE | re.DOTALL)
    found = entry.search(owner.__doc__ or "")  # without, under python -OO
    return "" if found is None else " ".join(found["text"].split())
