"""Checks of what a Suite is built from; each names the option and the fix.

Layer: suite.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar, cast

from genmcp.errors import show

T = TypeVar("T")


def read_list(name: str, given: Iterable[T]) -> tuple[T, ...]:
    """Return `given` as a tuple.

    Raises:
        TypeError: it is no list of providers.
    """
    # The types say so; what is no list, or only iterable by accident, is an easy slip.
    accidental = isinstance(given, str | bytes | Mapping | type)
    if accidental or not isinstance(given, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"Suite: {name} must be a list, got {show(cast('object', given))}")
    return tuple(given)


def check_text(name: str, value: object, *, optional: bool = False) -> None:
    """Refuse what is not a text with something in it.

    Raises:
        TypeError: not a `str`, or a blank one.
        ValueError: UTF-8 cannot hold it, so that no answer with it could be sent.
    """
    if value is None and optional:
        return
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"Suite: {name} must be a non-empty str, got {show(value)}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"Suite: {name} has half of a surrogate pair, which UTF-8 cannot hold: {show(value)}"
        ) from None


def check_flag(name: str, value: object) -> None:
    """Refuse what is not `True` or `False`.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(value, bool):
        raise TypeError(f"Suite: {name} must be True or False, got {show(value)}")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse what is none of `choices`.

    Raises:
        ValueError: it is none.
    """
    if value not in choices:
        listed = " or ".join(f'"{choice}"' for choice in choices)
        raise ValueError(f"Suite: {name} must be {listed}, got {show(value)}")


def check_count(name: str, value: object) -> None:
    """Refuse what is not a positive whole number.

    Raises:
        TypeError: not an `int`.
        ValueError: below 1.
    """
    if type(value) is not int:
        raise TypeError(f"Suite: {name} must be an int, got {show(value)}")
    if value < 1:
        raise ValueError(f"Suite: {name} must be at least 1, got {value}")
