"""Reads type annotations into shapes.

Layer: wire, between `genmcp.wire.typed_fields` (whose annotations these are) and
`genmcp.wire.typed_classes`. The table of what can be read is in
`genmcp.wire.typed_shape`; everything else is refused here, naming class, field and
what to write instead.
"""

from __future__ import annotations

import collections.abc
import enum
import math
import types
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, Union, cast, get_args, get_origin

import typing_extensions

from genmcp.wire.schema_parts import find_own_kinds
from genmcp.wire.typed_fields import is_typed
from genmcp.wire.typed_hints import name_of
from genmcp.wire.typed_shape import (
    TEXT_CLASSES,
    Anything,
    Array,
    Choice,
    Choices,
    Map,
    Noted,
    Nullable,
    Record,
    Row,
    Scalar,
    Shape,
    Text,
    find_kinds,
    strip_notes,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

    from genmcp.wire.typed_fields import Field

_SIMPLE: Final[Mapping[Any, Shape]] = {
    str: Scalar("string"),
    typing.LiteralString: Scalar("string"),
    bool: Scalar("boolean"),
    int: Scalar("integer"),
    float: Scalar("number"),
    None: Scalar("null"),
    types.NoneType: Scalar("null"),
    Any: Anything(),
    object: Anything(),
    **{cls: Text(cls) for cls in TEXT_CLASSES},
}
_ARRAYS: Final[Mapping[Any, type]] = {
    list: list,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Collection: list,
    collections.abc.Iterable: list,
    set: set,
    collections.abc.MutableSet: set,
    frozenset: frozenset,
    collections.abc.Set: frozenset,
}
_MAPS: Final = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_LITERALS: Final = (Literal, typing_extensions.Literal)
_ALIASES: Final = tuple(
    {
        typing_extensions.TypeAliasType,
        getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType),
    }
)
_SELVES: Final = (cast("Any", typing.Self), cast("Any", typing_extensions.Self))  # pyright: ignore[reportUnknownMemberType]
_BYTES_FIX: Final = 'use Annotated[str, {"contentEncoding": "base64"}] and decode it in the tool'
_FIXES: Final[Mapping[Any, str]] = {
    bytes: _BYTES_FIX,
    bytearray: _BYTES_FIX,
    memoryview: _BYTES_FIX,
    complex: "use tuple[float, float]",
}
_ANY_FIX: Final = (
    "use an attrs class, a dataclass, a TypedDict or a builtin type; or say in JSON Schema "
    "what is meant: Annotated[Any, {...}]"
)


def make_key(cls: Any) -> Hashable:
    """Return what stands for `cls` in a table.

    `Page[Annotated[int, {...}]]` cannot stand there itself: it is as little hashable
    as the dict in it.
    """
    try:
        hash(cls)
    except TypeError:
        return repr(cls)
    return cast("Hashable", cls)


class AnnotationReader:
    """Reads the annotations of one class.

    Attributes:
        records: the classes they name, as they are met.
    """

    def __init__(self, cls: Any) -> None:
        self._cls = cls
        self._place = name_of(cls)
        self._aliases: list[Any] = []
        self.records: list[Record] = []

    def read_field(self, field: Field) -> Shape:
        """Return the shape of one field.

        Raises:
            TypeError: JSON cannot carry it. Names class, field and fix.
        """
        self._place = f"{name_of(self._cls)}.{field.name}"
        shape = self._read(field.annotation)
        self._check_keywords(shape, field.keywords, field.annotation)
        return shape

    def _read(self, annotation: Any) -> Shape:
        origin = get_origin(annotation)
        if origin is typing.Annotated:
            return self._read_annotated(annotation)
        if origin in (Union, types.UnionType):
            return self._read_union(get_args(annotation))
        if origin in _LITERALS:
            return self._read_literal(get_args(annotation))
        if annotation in _SELVES:
            annotation = self._cls
        if is_typed(annotation):
            record = Record(annotation, make_key(annotation))
            self.records.append(record)
            return record
        if isinstance(annotation, _ALIASES) or isinstance(origin, _ALIASES):
            return self._read_alias(annotation)
        if isinstance(annotation, typing.NewType):
            return self._read(annotation.__supertype__)
        if isinstance(annotation, enum.EnumMeta):
            return self._read_enum(annotation)
        if origin is None and _is_in(annotation, _SIMPLE):
            return _SIMPLE[annotation]
        return self._read_container(annotation, origin or annotation)

    def _read_container(self, annotation: Any, origin: Any) -> Shape:
        arguments = get_args(annotation)
        if _is_in(origin, _ARRAYS):
            item = self._read(arguments[0]) if arguments else Anything()
            return self._check_items(Array(item, _ARRAYS[origin]))
        if origin is tuple:
            return self._read_tuple(annotation, arguments)
        if origin in _MAPS:
            if arguments and strip_notes(self._read(arguments[0])) not in (
                Scalar("string"),
                Anything(),
            ):
                raise TypeError(
                    f"{self._place}: member names of JSON objects are text, "
                    f"not {name_of(arguments[0])}; use dict[str, ...]"
                )
            return Map(self._read(arguments[1]) if arguments else Anything())
        raise self._refuse(annotation, _FIXES[origin] if _is_in(origin, _FIXES) else _ANY_FIX)

    def _refuse(self, annotation: Any, fix: str) -> TypeError:
        return TypeError(f"{self._place}: {name_of(annotation)} has no JSON form; {fix}")

    def _check_items(self, array: Array) -> Shape:
        item = strip_notes(array.item)
        hashable = not isinstance(item, Array | Map)
        if isinstance(item, Record):
            hashable = (get_origin(item.cls) or item.cls).__hash__ is not None
        if array.build in (set, frozenset) and not hashable:
            raise TypeError(
                f"{self._place}: the items of a set must be hashable; use a list, "
                "or a frozen class for the items"
            )
        return array

    def _read_tuple(self, annotation: Any, arguments: tuple[Any, ...]) -> Shape:
        if annotation in (tuple, typing.Tuple):  # noqa: UP006 - authors may still write it
            return Array(Anything(), tuple)
        if arguments[1:] == (Ellipsis,):
            return Array(self._read(arguments[0]), tuple)
        return Row(tuple(self._read(argument) for argument in arguments))

    def _read_annotated(self, annotation: Any) -> Shape:
        description: str | None = None
        keywords: dict[str, Any] = {}
        for note in annotation.__metadata__:
            if isinstance(note, str):
                description = note
            elif isinstance(note, typing_extensions.Doc):
                description = note.documentation
            elif isinstance(note, Mapping):
                keywords.update(cast("Mapping[str, Any]", note))
        inner = self._read(annotation.__origin__)
        self._check_keywords(inner, keywords, annotation.__origin__)
        return Noted(inner, description, keywords) if description or keywords else inner

    def _check_keywords(self, shape: Shape, keywords: Mapping[str, Any], annotation: Any) -> None:
        """Refuse keywords of the author that leave no value which the class takes."""
        shape = strip_notes(shape)
        null = frozenset[str]()
        if isinstance(shape, Nullable):
            shape, null = shape.shape, frozenset({"null"})
        if not (find_kinds(shape) | null) & find_own_kinds(keywords):
            said = ", ".join(key for key in ("type", "enum", "const") if key in keywords)
            raise TypeError(
                f"{self._place}: no {name_of(annotation)} fits the schema keywords beside it "
                f"({said}); leave them out, or annotate the type that they mean"
            )

    def _read_alias(self, annotation: Any) -> Shape:
        if annotation in self._aliases:
            raise TypeError(
                f"{self._place}: the alias {name_of(annotation)} refers to itself; "
                "use a class with a field of its own type"
            )
        self._aliases.append(annotation)
        arguments = get_args(annotation)
        value = (get_origin(annotation) or annotation).__value__
        shape = self._read(value[arguments] if arguments else value)
        self._aliases.pop()
        return shape

    def _read_enum(self, cls: enum.EnumMeta) -> Shape:
        members = cast("list[enum.Enum]", list(cls))
        if issubclass(cls, enum.Flag) or not members:
            raise self._refuse(cls, "use an Enum with at least one member")
        for member in members:
            if not _is_json_scalar(member.value):
                raise TypeError(
                    f"{self._place}: {name_of(cls)}.{member.name} has the value "
                    f"{member.value!r}; the values must be text, numbers or booleans"
                )
        return Choice(tuple((member.value, member) for member in members))

    def _read_literal(self, values: tuple[Any, ...]) -> Shape:
        options: list[tuple[Any, Any]] = []
        for value in values:
            plain = value.value if isinstance(value, enum.Enum) else value
            if plain is None:
                continue
            if not _is_json_scalar(plain):
                raise TypeError(
                    f"{self._place}: Literal[{value!r}] has no JSON form; "
                    "use text, integers and booleans"
                )
            options.append((plain, value))
        if not options:
            return Scalar("null")
        shape = Choice(tuple(options))
        return Nullable(shape) if None in values else shape

    def _read_union(self, arguments: tuple[Any, ...]) -> Shape:
        shapes: list[Shape] = []
        nullable = False
        for shape in map(self._read, arguments):
            inner = shape
            if isinstance(inner, Nullable):
                nullable, inner = True, inner.shape
            if inner == Scalar("null"):
                nullable = True
                continue
            found = inner.shapes if isinstance(inner, Choices) else (inner,)
            shapes += [one for one in found if one not in shapes]
        shapes = _merge_numbers(shapes)
        if not shapes:
            return Scalar("null")
        if any(isinstance(strip_notes(shape), Anything) for shape in shapes):
            return Anything()
        union = shapes[0] if len(shapes) == 1 else Choices(tuple(shapes))
        return Nullable(union) if nullable else union


def _merge_numbers(shapes: list[Shape]) -> list[Shape]:
    """Make one shape of `int | float`: JSON has one type for both."""
    integer, number = Scalar("integer"), Scalar("number")
    if integer not in shapes or number not in shapes:
        return shapes
    merged = [shape for shape in shapes if shape != integer]
    merged[merged.index(number)] = Scalar("number", keeps_int=True)
    return merged


def _is_json_scalar(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | int) and not isinstance(value, enum.Enum)


def _is_in(value: Any, table: Mapping[Any, Any]) -> bool:
    try:
        return value in table
    except TypeError:
        return False
