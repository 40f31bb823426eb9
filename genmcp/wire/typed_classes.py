"""The shapes of a class and of all it holds, and whether JSON can tell unions apart.

Layer: wire, over `genmcp.wire.typed_annotations`; `typed_schema` and `typed_cast`
work from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from genmcp.errors import show
from genmcp.wire.json_kinds import equality_key
from genmcp.wire.typed_annotations import AnnotationReader, make_key
from genmcp.wire.typed_fields import is_typed, read_fields
from genmcp.wire.typed_hints import name_of
from genmcp.wire.typed_shape import (
    Choice,
    Choices,
    Member,
    Record,
    Shape,
    find_inner,
    find_kinds,
    strip_notes,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


def _explain_untyped(cls: Any) -> str:
    kinds = "attrs class, dataclass or TypedDict"
    kind = cast("Any", type(cls))
    if is_typed(kind):
        return f"{show(cls)} is an instance; give its class, {name_of(kind)}"
    if hasattr(cls, "model_json_schema"):
        name = name_of(cls)
        return f"{name} is no {kinds}; give the schema {name}.model_json_schema(), or write one"
    how = "decorate it with @attrs.frozen, or write the schema as a dict"
    return f"{name_of(cls)} is no {kinds}; {how}"


class Shapes:
    """The shapes of one class and of every class it holds.

    Raises:
        TypeError: not a typed class, or one with a field that JSON cannot carry.
            Names class, field and fix.
    """

    def __init__(self, cls: Any) -> None:
        if not is_typed(cls):
            raise TypeError(_explain_untyped(cls))
        self.root = Record(cls, make_key(cls))
        self._members: dict[Hashable, tuple[Member, ...]] = {}
        self._read_classes()

    def find_members(self, record: Record) -> tuple[Member, ...]:
        """Return the members of the root class, or of one that it holds."""
        return self._members[record.key]

    def find_tag(self, records: Sequence[Record]) -> str | None:
        """Return the member whose fixed value tells `records` apart, if there is one."""
        choices = [
            {
                member.name: {equality_key(plain) for plain, _ in choice.options}
                for member in self.find_members(record)
                if member.required and isinstance(choice := strip_notes(member.shape), Choice)
            }
            for record in records
        ]
        for name in choices[0]:
            values = [choice[name] for choice in choices if name in choice]
            distinct = set[Any]().union(*values)
            if len(values) == len(choices) and sum(map(len, values)) == len(distinct):
                return name
        return None

    def _read_classes(self) -> None:
        waiting = [self.root]
        unions: list[tuple[Choices, str]] = []
        while waiting:
            record = waiting.pop()
            if record.key in self._members:
                continue
            reader = AnnotationReader(record.cls)
            members = tuple(
                Member(field, reader.read_field(field)) for field in read_fields(record.cls)
            )
            self._members[record.key] = members
            waiting += reader.records
            for member in members:
                place = f"{name_of(record.cls)}.{member.name}"
                unions += [(union, place) for union in _find_unions(member.shape)]
        # Once all are known: what tells classes apart is their members.
        for union, place in unions:
            self._check_union(union, place)

    def _check_union(self, union: Choices, place: str) -> None:
        """Refuse a union of which a JSON value could be more than one member."""
        shapes = [strip_notes(shape) for shape in union.shapes]
        # Of fixed values the first that is equal counts, and any text may be beside them.
        plain = [shape for shape in shapes if not isinstance(shape, Choice)]
        for index, one in enumerate(plain):
            for other in plain[index + 1 :]:
                shared = find_kinds(one) & find_kinds(other)
                if not shared or (
                    isinstance(one, Record)
                    and isinstance(other, Record)
                    and self._tell_apart(one, other)
                ):
                    continue
                raise TypeError(
                    f"{place}: JSON cannot tell the members of this union apart; two of them "
                    f"are written as {min(shared)}. Give each class a field that only it has, "
                    'such as kind: Literal["circle"] without a default, or use one type'
                )

    def _tell_apart(self, one: Record, other: Record) -> bool:
        """Tell whether nothing can be both: by a fixed value, or a key one does not know."""
        mine, yours = self.find_members(one), self.find_members(other)
        my_names = {member.name for member in mine}
        your_names = {member.name for member in yours}
        return (
            self.find_tag((one, other)) is not None
            or any(member.required and member.name not in your_names for member in mine)
            or any(member.required and member.name not in my_names for member in yours)
        )


def _find_unions(shape: Shape) -> list[Choices]:
    found = [shape] if isinstance(shape, Choices) else []
    for inner in find_inner(shape):
        found += _find_unions(inner)
    return found
