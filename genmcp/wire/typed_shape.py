"""What a type annotation means as JSON.

Layer: wire, between `genmcp.wire.typed_annotations` (which reads annotations into
shapes) and `typed_schema` and `typed_cast` (which write schemas and readers of
them). A shape is an annotation understood, once, so that schema and reader cannot
disagree.

| annotation | JSON, and what it is read as |
|---|---|
| `str`, `bool`, `int`, `float`, `None` | string, boolean, integer, number, null |
| `Any`, `object` | anything, as it is |
| `Literal[...]`, `Enum` classes | one of these values; an enum's member by its value |
| `list`, `Sequence`, `Collection`, `Iterable` | array, a `list` |
| `tuple[X, ...]`, `set`, `frozenset`, `Set` | array, of that class; no item twice in a set |
| `tuple[A, B]` | array of exactly that form |
| `dict[str, X]`, `Mapping[str, X]` | object, a `dict` |
| attrs classes, dataclasses, TypedDicts | object with exactly these members |
| `datetime` | string: RFC 3339 with its offset, `2026-07-28T09:30:00Z` |
| `date`, `time` | string: `2026-07-28`, `09:30:00` with or without an offset |
| `timedelta` | string: ISO 8601 in weeks, or days to seconds, `PT1H30M` |
| `UUID`, `Decimal` | string: `123e4567-e89b-12d3-a456-426614174000`, `12.50` |
| `NewType`, aliases, `Annotated` | what they stand for |
| `X or None` | X; null, and absence, is None |
| other unions | one of them, where JSON can tell them apart |

Anything else is refused when the class is declared.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from genmcp.value import Value
from genmcp.wire.json_kinds import ALL_KINDS, name_kind

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from genmcp.wire.typed_fields import Field


@attrs.frozen(eq=False, repr=False)
class Anything(Value):
    """Any JSON value."""


@attrs.frozen(eq=False, repr=False)
class Scalar(Value):
    """Any value of one of the simple types.

    `keeps_int` is `int | float`: a number that stays the int it is written as.
    """

    kind: Literal["null", "boolean", "integer", "number", "string"]
    keeps_int: bool = False


@attrs.frozen(eq=False, repr=False)
class Text(Value):
    """A string that stands for something else, such as a point in time."""

    cls: type


@attrs.frozen(eq=False, repr=False)
class Choice(Value):
    """One of some values: the JSON value and the Python value of each."""

    options: tuple[tuple[Any, Any], ...]


@attrs.frozen(eq=False, repr=False)
class Array(Value):
    """An array of like items, and what it becomes."""

    item: Shape
    build: type


@attrs.frozen(eq=False, repr=False)
class Row(Value):
    """An array of a fixed form."""

    items: tuple[Shape, ...]


@attrs.frozen(eq=False, repr=False)
class Map(Value):
    """An object with any member names and like values."""

    value: Shape


@attrs.frozen(eq=False, repr=False)
class Record(Value):
    """An object that becomes an instance of a class (a dict, for a TypedDict).

    The members are looked up in `genmcp.wire.typed_classes`, by `key`, because a
    class may hold itself.
    """

    cls: Any = attrs.field(eq=False)
    key: Hashable


@attrs.frozen(eq=False, repr=False)
class Choices(Value):
    """A value of one of several shapes that JSON tells apart."""

    shapes: tuple[Shape, ...]


@attrs.frozen(eq=False, repr=False)
class Nullable(Value):
    """A shape, or null."""

    shape: Shape


@attrs.frozen(eq=False, repr=False)
class Noted(Value):
    """A shape with what the author adds: a description, schema keywords."""

    shape: Shape
    description: str | None
    keywords: Mapping[str, Any]


Shape = Anything | Scalar | Text | Choice | Array | Row | Map | Record | Choices | Nullable | Noted

TEXT_CLASSES: Final = (
    datetime.datetime,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    uuid.UUID,
    decimal.Decimal,
)
"""The classes that `Text` stands for; `genmcp.wire.typed_text` reads them."""


@attrs.frozen(eq=False, repr=False)
class Member(Value):
    """One member of a record."""

    field: Field
    shape: Shape

    @property
    def name(self) -> str:
        """The name in JSON."""
        return self.field.name

    @property
    def required(self) -> bool:
        """Whether JSON must have it. What may be None need not be there."""
        return not self.field.optional and not isinstance(strip_notes(self.shape), Nullable)

    @property
    def skips_null(self) -> bool:
        """Whether null says that it is not there, so that the default counts."""
        takes_null = isinstance(self.shape, Anything) and not self.field.keywords
        return self.field.optional and not takes_null


def strip_notes(shape: Shape) -> Shape:
    """Return the shape inside an author's notes."""
    while isinstance(shape, Noted):
        shape = shape.shape
    return shape


def find_inner(shape: Shape) -> tuple[Shape, ...]:
    """Return the shapes directly inside `shape`; those of a record are not looked up."""
    match shape:
        case Array(item=inner) | Map(value=inner) | Nullable(shape=inner) | Noted(shape=inner):
            return (inner,)
        case Row(items=several) | Choices(shapes=several):
            return several
        case _:
            return ()


def find_kinds(shape: Shape) -> frozenset[str]:
    """Return the JSON types that values of `shape` have, as `name_kind` names them."""
    match strip_notes(shape):
        case Scalar(kind="number"):
            return frozenset({"integer", "number"})
        case Scalar(kind=kind):
            return frozenset({kind})
        case Choice(options=options):
            return frozenset(name_kind(plain) for plain, _ in options)
        case Text():
            return frozenset({"string"})
        case Array() | Row():
            return frozenset({"array"})
        case Map() | Record():
            return frozenset({"object"})
        case _:
            return ALL_KINDS
