"""Takes the quotes off numbers, booleans, arrays and objects that models put in them.

Layer: wire, below `genmcp.wire.arguments`. Models send `"10"` for 10 and `"[1, 2]"`
for an array. Where a schema wants such a type, and no text, a string that holds
exactly that is taken for it:

- an integer: its digits, `-` in front if negative: not `010`, `+1`, `1.0`, `1e3`;
- a number: what JSON writes it as, if a float holds it without loss;
- a boolean: `true` or `false`: not `True`, not `1`;
- an array or object: its JSON, nothing round it; what is in it is repaired too.

Nothing else is touched: no string where text is allowed, none for null, and no
value of arguments that are valid as they are. Whatever the value, the work is bounded:
where more would be needed, nothing is repaired.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from genmcp.errors import ParseError
from genmcp.wire.json_kinds import count_values, is_array, is_object
from genmcp.wire.json_text import read_json
from genmcp.wire.schema_parts import find_children

if TYPE_CHECKING:
    from genmcp.wire.schema_parts import Layout, Parts
    from genmcp.wire.schema_rules import Subschema

MAX_DEPTH: Final = 64
"""How deep in the arguments strings are repaired."""

MAX_VALUES: Final = 20_000
"""How many values are looked at, of those arguments that do not fit as they are."""

MAX_TRIED: Final = 2_000_000
"""How many values are checked again and again for alternatives, which multiply."""

_TRY_COST: Final = 20
"""What it costs to look at one value then, by the cost of checking one."""

_TEXT_PER_VALUE: Final = 250
"""How many characters of JSON inside a string are read in the time of one value."""

_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,19}")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_INT_RANGE: Final = range(-(2**63), 2**64)
_MAX_NUMBER_TEXT: Final = 400


class TooManyValues(Exception):
    """A value does not fit, and is too large to look for quotes in it."""


def repair(parts: Parts, value: Any) -> Any:
    """Return `value` with strings unquoted where the schema wants something else.

    `value` itself stays as it is. Repairing twice is repairing once. Whether the
    result fits is for the caller to check.

    Raises:
        TooManyValues: nothing is repaired, because too much would have to be
            looked at. What an argument holds that fits as it is does not count.
    """
    return _Repair(parts).walk(parts.root, value, 0)


class _Repair:
    """One repair, and how much may yet be done for it."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._values_left = MAX_VALUES
        self._tries_left = MAX_TRIED
        # How many values the alternatives that are being tried are about.
        self._trial = 0

    def walk(self, place: Subschema, value: Any, depth: int) -> Any:
        """Return `value`, repaired as `place` wants it; itself if there is nothing to do."""
        if depth > MAX_DEPTH:
            return value
        if self._trial:
            self._count_try(_TRY_COST)
        is_new = depth == 1
        if isinstance(value, str):
            text, value = value, self._unquote(place, value)
            is_new = is_new or value is not text
        if is_new and not self._admit(place, value):
            return value
        if is_object(value) or is_array(value):
            for part in self._parts.find_beside(place):
                layout = self._parts.find_layout(part)
                value = self._walk_children(layout, value, depth + 1)
                for branches in layout.unions:
                    value = self._walk_branches(branches, value, depth)
        return value

    def _count_try(self, cost: int) -> None:
        self._tries_left -= cost
        if self._tries_left < 0:
            raise TooManyValues

    def _admit(self, place: Subschema, value: Any) -> bool:
        """Count a whole argument, or what was in a string; tell whether to look into it."""
        size = count_values(value, self._values_left)
        if size <= self._values_left:
            self._values_left -= size
            return True
        if self._parts.surely_fits(place, value):
            return False
        raise TooManyValues

    def _unquote(self, place: Subschema, text: str) -> Any:
        if text[:1] in ("[", "{"):
            self._values_left -= len(text) // _TEXT_PER_VALUE
            if self._values_left < 0:
                raise TooManyValues
        return _unquote(text, self._parts.find_kinds(place))

    def _walk_children(self, layout: Layout, value: Any, depth: int) -> Any:
        changed = {
            key: repaired
            for key, child in find_children(layout, value)
            if (repaired := self.walk(child, value[key], depth)) is not value[key]
        }
        if not changed:
            return value
        copied = value.copy()
        for key, repaired in changed.items():
            copied[key] = repaired
        return copied

    def _walk_branches(self, branches: tuple[Subschema, ...], value: Any, depth: int) -> Any:
        """Repair by the first alternative that then fits, if none fits already."""
        if any(self._parts.fits(branch, value) for branch in branches):
            return value
        outer = self._trial
        # What does not fit has been checked by each, and will be once more.
        self._count_try(outer * len(branches))
        self._trial = outer or count_values(value, MAX_VALUES)
        for branch in branches:
            repaired = self.walk(branch, value, depth + 1)
            if repaired is not value and self._parts.fits(branch, repaired):
                value = repaired
                break
        self._trial = outer
        return value


def _unquote(text: str, kinds: frozenset[str]) -> Any:
    """Return what `text` holds if that is of one of `kinds`, and text itself is not."""
    if "string" in kinds or not text:
        return text
    if "boolean" in kinds and text in ("true", "false"):
        return text == "true"
    if "integer" in kinds and _INTEGER.fullmatch(text):
        number = int(text)
        return number if number in _INT_RANGE else text
    if "number" in kinds and len(text) <= _MAX_NUMBER_TEXT and _NUMBER.fullmatch(text):
        return _read_number(text)
    if ("array" in kinds and text[0] == "[") or ("object" in kinds and text[0] == "{"):
        return _read_container(text)
    return text


def _read_number(text: str) -> Any:
    number = float(text)
    if not math.isfinite(number) or Decimal(repr(number)) != Decimal(text):
        return text
    return number


def _read_container(text: str) -> Any:
    if text[-1] not in "]}":
        return text
    try:
        return read_json(text.encode())
    except (ParseError, UnicodeEncodeError):
        return text
