"""Builds the readers of shapes, and picks the member of a union a value is meant for.

Layer: wire, the top of reading, over `genmcp.wire.typed_cast` and `typed_record`.
`genmcp.wire.typed_classes` refused the unions that JSON cannot tell apart, so the
type of the value decides, among objects a fixed value, and failing that the names
of their members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genmcp.wire.json_kinds import equality_key, is_object, name_kind
from genmcp.wire.typed_cast import (
    SCALARS,
    CastError,
    Reader,
    build_array,
    build_choice,
    build_map,
    build_nullable,
    build_row,
    build_text,
    read_any_number,
    read_anything,
    refuse,
    refuse_kind,
)
from genmcp.wire.typed_record import RecordReader
from genmcp.wire.typed_shape import (
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
from genmcp.wire.violation import join_options, quote, report_missing

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from genmcp.wire.typed_classes import Shapes


def build_reader(shapes: Shapes) -> Reader:
    """Return a function that reads a JSON value into the class `shapes` came from.

    It raises `CastError`, and whatever a converter or validator of the class raises
    besides `ValueError` and `TypeError`.
    """
    return _Builder(shapes).build(shapes.root)


class _Builder:
    """Makes the readers of one class and of all it holds."""

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self._records: dict[Hashable, RecordReader] = {}

    def build(self, shape: Shape) -> Reader:
        match shape:
            case Anything():
                return read_anything
            case Scalar(kind=kind, keeps_int=keeps_int):
                return read_any_number if keeps_int else SCALARS[kind]
            case Text(cls=cls):
                return build_text(cls)
            case Choice(options=options):
                return build_choice(options)
            case Array(item=item, build=build):
                return build_array(self.build(item), build)
            case Row(items=items):
                return build_row([self.build(item) for item in items])
            case Map(value=value):
                return build_map(self.build(value))
            case Record():
                return self._build_record(shape)
            case Nullable(shape=inner):
                return build_nullable(self.build(inner))
            case Noted(shape=inner):
                return self.build(inner)
            case Choices(shapes=members):
                return self._build_union(members)

    def _build_record(self, record: Record) -> Reader:
        reader = self._records.get(record.key)
        if reader is None:
            reader = self._records[record.key] = RecordReader(record.cls)
            # Once it is known, because the class may hold itself.
            reader.prepare(self._shapes.find_members(record), self.build)
        return reader.read

    def _build_union(self, members: Sequence[Shape]) -> Reader:
        by_kind: dict[str, list[Reader]] = {}
        records = [inner for one in members if isinstance(inner := strip_notes(one), Record)]
        if records:
            by_kind["object"] = [self._build_records(records)]
        # Fixed values first: one may be beside any text, and means more.
        for shape in sorted(members, key=lambda one: not isinstance(strip_notes(one), Choice)):
            if not isinstance(strip_notes(shape), Record):
                reader = self.build(shape)
                for kind in find_kinds(shape):
                    by_kind.setdefault(kind, []).append(reader)
        return _build_by_kind(by_kind)

    def _build_records(self, records: Sequence[Record]) -> Reader:
        if len(records) == 1:
            return self._build_record(records[0])
        tag = self._shapes.find_tag(records)
        if tag is None:
            return self._build_by_names(records)
        readers: dict[tuple[str, object], Reader] = {}
        for record in records:
            for member in self._shapes.find_members(record):
                choice = strip_notes(member.shape)
                if member.name == tag and isinstance(choice, Choice):
                    for plain, _ in choice.options:
                        readers[equality_key(plain)] = self._build_record(record)
        return _build_by_tag(tag, readers)

    def _build_by_names(self, records: Sequence[Record]) -> Reader:
        known: list[tuple[frozenset[str], frozenset[str], Reader]] = []
        for record in records:
            members = self._shapes.find_members(record)
            required = frozenset(member.name for member in members if member.required)
            names = frozenset(member.name for member in members)
            known.append((required, names, self._build_record(record)))

        def read(value: Any) -> Any:
            if not is_object(value):
                raise refuse_kind("object", value)
            given = value.keys()
            # The one it fits; failing that, the one it misses and exceeds the least.
            best = min(known, key=lambda one: len(one[0] - given) + len(given - one[1]))
            return best[2](value)

        return read


def _build_by_kind(by_kind: Mapping[str, list[Reader]]) -> Reader:
    # To JSON 1 and 1.0 are the same.
    other = {"integer": "number", "number": "integer"}
    expected = join_options(sorted(by_kind))

    def read(value: Any) -> Any:
        kind = name_kind(value)
        readers = by_kind.get(kind) or by_kind.get(other.get(kind, kind))
        if not readers:
            raise refuse_kind(expected, value)
        for reader in readers[:-1]:
            try:
                return reader(value)
            except CastError:
                pass
        return readers[-1](value)

    return read


def _build_by_tag(tag: str, readers: Mapping[tuple[str, object], Reader]) -> Reader:
    expected = join_options(quote(plain) for _, plain in readers)

    def read(value: Any) -> Any:
        if not is_object(value):
            raise refuse_kind("object", value)
        if tag not in value:
            raise CastError([report_missing(tag)])
        try:
            reader = readers[equality_key(value[tag])]
        except (KeyError, TypeError):
            raise refuse(f"must be one of {expected}", quote(value[tag]), tag) from None
        return reader(value)

    return read
