"""What the command line and the environment say, and which of them said it.

Layer: cli. A flag comes before its variable, and both before the default, which is
whoever's it is that the setting is for. The names are those of
`genmcp.setting`.
"""

from __future__ import annotations

import difflib
import math
import os
from typing import TYPE_CHECKING, Any, Final

from genmcp.cli.target import UsageError
from genmcp.errors import show_line
from genmcp.setting import name_flag, name_variable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_MAX_DIGITS: Final = 18
NONE: Final = "none"
"""What switches a limit off."""
_PREFIX: Final = name_variable("")


class Settings:
    """Reads settings for one command.

    Args:
        parsed: the command line. A flag that was not given is `None` there.
    """

    def __init__(self, parsed: argparse.Namespace) -> None:
        self._parsed = parsed
        self._sources: dict[str, str] = {}
        self._known: set[str] = set()

    def take(self, options: dict[str, Any], name: str, read: Callable[[str], Any]) -> None:
        """Put a setting into `options`, if it is given.

        Args:
            options: what is being put together.
            name: the setting.
            read: makes a value of the text. Its `ValueError` says what it "must be".

        Raises:
            UsageError: the text makes no sense; the message names the flag or variable.
        """
        self._known.add(name_variable(name))
        given = self.find_flag(name)
        source = name_flag(name)
        if given is None:
            source = name_variable(name)
            given = os.environ.get(source) or None
        if given is None:
            return
        self._sources[name] = source
        try:
            # A flag that may be repeated is a list already.
            options[name] = given if isinstance(given, list) else read(given)
        except ValueError as error:
            raise UsageError(f"{source} must be {error}") from None

    def find_flag(self, name: str) -> Any:
        """Return what the flag of this setting was given, or `None`."""
        return getattr(self._parsed, name_flag(name).removeprefix("--").replace("-", "_"))

    def find_source(self, name: str) -> str:
        """Return the flag or variable that a setting was taken from, or its flag."""
        return self._sources.get(name, name_flag(name))

    def find_unknown(self, *known: str) -> list[str]:
        """Return the variables that look like settings and are none, each with its like.

        Args:
            known: variables that are no settings of a flag. Whatever was taken is known.
        """
        names = self._known.union(known)
        return [
            _suggest(name, names)
            for name, value in sorted(os.environ.items())
            if value and name.startswith(_PREFIX) and name not in names
        ]

    def blame(self, error: Exception) -> str:
        """Return what is wrong, naming a setting as whoever set it wrote it.

        Args:
            error: raised by what the settings were handed to; names an option first.
        """
        message = str(error)
        for name, source in self._sources.items():
            rest = message.removeprefix(name)
            if rest != message and rest[:1] in {" ", ":"}:
                return source + rest
        return message


def _suggest(name: str, known: set[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.8)
    return show_line(name) + "".join(f" (did you mean {one}?)" for one in near)


def read_list(text: str) -> list[str]:
    """Read entries with commas between."""
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def read_whole_number(text: str) -> int:
    """Read a whole number, which is for others to hold to its range."""
    digits = text.strip().removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS):
        raise ValueError(f"a whole number, not {text!r}")
    return int(text)


def read_number(text: str) -> float:
    """Read a number, which is for others to hold to its range."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"a number, not {text!r}")
    return number


def read_or_none(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a reader that takes `none` as well."""

    def read_it(text: str) -> Any:
        if text.strip().lower() == NONE:
            return None
        try:
            return read(text)
        except ValueError as error:
            wanted, comma, shown = str(error).partition(",")
            raise ValueError(f"{wanted} or {NONE}{comma}{shown}") from None

    return read_it
