"""Base of classes that are nothing but their values: equality, hash and `repr` for all.

Layer: below everything. For frozen attrs classes, declared so:

    @attrs.frozen(eq=False, repr=False)
    class Point(Value):
        x: int
        y: int

attrs would compile all three for each class, which takes longer than the rest of the
class, and there are some two hundred to define before a server can start. What is in a
field decides as it does with attrs: `eq=False` leaves it out of equality and hash,
`repr=False` out of the text.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Value:
    """Compares by value with others of its very class, and shows what it holds."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        cls: Any = type(self)
        read = _reader(cls)
        return bool(read(self) == read(other))

    def __hash__(self) -> int:
        cls: Any = type(self)
        return hash((cls, _reader(cls)(self)))

    def __repr__(self) -> str:
        shown = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields_of(type(self))
            if field.repr
        ]
        return f"{type(self).__qualname__.rpartition('<locals>.')[2]}({', '.join(shown)})"


def fields_of(cls: Any) -> Iterable[attrs.Attribute[Any]]:
    """Return the fields of an attrs class."""
    found: tuple[attrs.Attribute[Any], ...] = attrs.fields(cls)
    return found


@functools.cache
def _reader(cls: Any) -> Callable[[object], Any]:
    names = [field.name for field in fields_of(cls) if field.eq]
    return operator.attrgetter(*names) if names else _read_nothing


def _read_nothing(_value: object) -> None:
    """All objects of a class without fields are equal."""
