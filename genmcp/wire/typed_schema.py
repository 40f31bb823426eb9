"""Writes the JSON Schema of a typed class.

Layer: wire, over `genmcp.wire.typed_classes`. Model vendors take less than JSON
Schema has, so a schema of arguments keeps to what all of them take: one `type` per
property, no null beside it (what may be None is not required instead), a class
written out where it is used, and `$defs` only for classes that hold themselves.

Three schemas come of one class, and differ in where null may stand:

- the one to publish for arguments: nowhere, but in a field that is only None;
- the one arguments are checked with: also for whatever need not be there, because
  models send null for "not given";
- the one of results: exactly where the class says None. A client checks it, so it
  must not promise less than the tool returns.
"""

from __future__ import annotations

import enum
import math
import re
from typing import TYPE_CHECKING, Any, Literal

from genmcp.mcp.unset import UNSET
from genmcp.wire.json_kinds import is_array, is_object, name_kind
from genmcp.wire.schema_rules import MAX_OBJECTS
from genmcp.wire.typed_fields import read_doc
from genmcp.wire.typed_hints import name_of
from genmcp.wire.typed_rules import read_rules
from genmcp.wire.typed_shape import (
    Anything,
    Array,
    Choice,
    Choices,
    Map,
    Member,
    Noted,
    Nullable,
    Record,
    Row,
    Scalar,
    Shape,
    Text,
)
from genmcp.wire.typed_text import TEXT_KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Hashable

    from genmcp.wire.typed_classes import Shapes

Nulls = Literal["hidden", "tolerated", "declared"]


def write_schema(shapes: Shapes, nulls: Nulls) -> dict[str, Any]:
    """Return the JSON Schema of a class.

    Args:
        shapes: the class, read.
        nulls: where null may stand; see the three schemas above.

    Raises:
        TypeError: it is too large, classes being written out where they are used.
    """
    return _Writer(shapes, nulls).write_root()


class _Writer:
    def __init__(self, shapes: Shapes, nulls: Nulls) -> None:
        self._shapes = shapes
        self._nulls = nulls
        self._entered: list[Hashable] = []
        self._recursive: dict[Hashable, str] = {}
        self._definitions: dict[str, dict[str, Any]] = {}
        self._objects = 0

    def write_root(self) -> dict[str, Any]:
        root = self._shapes.root
        schema = self._write(root)
        if root.key in self._recursive:
            # Clients look for the properties at the root itself.
            schema = dict(self._definitions[self._recursive[root.key]])
        if self._definitions:
            schema["$defs"] = self._definitions
        return schema

    def _write(self, shape: Shape) -> dict[str, Any]:
        self._objects += 1
        if self._objects > MAX_OBJECTS:
            raise TypeError(
                f"{name_of(self._shapes.root.cls)}: its schema has more than {MAX_OBJECTS} parts, "
                "because each class is written out where it is used; use fewer or smaller classes"
            )
        match shape:
            case Anything():
                return {}
            case Scalar(kind=kind):
                return {"type": kind}
            case Text(cls=cls):
                return {"type": "string", **TEXT_KEYWORDS[cls]}
            case Choice(options=options):
                return _write_choice([plain for plain, _ in options])
            case Noted() | Nullable():
                return self._write_noted(shape)
            case Choices(shapes=members):
                return {"anyOf": [self._write(member) for member in members]}
            case Record():
                return self._write_record(shape)
            case Array() | Row() | Map():
                return self._write_container(shape)

    def _write_container(self, shape: Array | Row | Map) -> dict[str, Any]:
        if isinstance(shape, Map):
            return {"type": "object", "additionalProperties": self._write(shape.value)}
        if isinstance(shape, Array):
            schema: dict[str, Any] = {"type": "array", "items": self._write(shape.item)}
            # The reader of a set finds what is twice there, twenty times faster.
            tells_unique = shape.build in (set, frozenset) and self._nulls != "tolerated"
            return {**schema, "uniqueItems": True} if tells_unique else schema
        items = [self._write(item) for item in shape.items]
        prefix = {"prefixItems": items} if items else {}
        exact = {"items": False, "minItems": len(items), "maxItems": len(items)}
        return {"type": "array", **prefix, **exact}

    def _write_noted(self, shape: Shape, validator: Any = None) -> dict[str, Any]:
        """Write a shape with its notes; null, where it may stand, is beside all of it."""
        notes: list[Noted] = []
        nullable = False
        while isinstance(shape, Noted | Nullable):
            if isinstance(shape, Noted):
                notes.append(shape)
            else:
                nullable = True
            shape = shape.shape
        schema = self._write(shape)
        schema |= read_rules(validator, schema)
        for note in reversed(notes):
            schema = _annotate(schema, note)
        return _allow_null(schema) if nullable and self._nulls != "hidden" else schema

    def _write_record(self, record: Record) -> dict[str, Any]:
        key = record.key
        if key in self._entered and key not in self._recursive:
            self._recursive[key] = self._make_name(record.cls)
        if key not in self._recursive:
            self._entered.append(key)
            schema = self._write_members(record)
            self._entered.pop()
            if key not in self._recursive:
                return schema
            self._definitions[self._recursive[key]] = schema
        return {"$ref": f"#/$defs/{self._recursive[key]}"}

    def _make_name(self, cls: Any) -> str:
        base = re.sub(r"[^A-Za-z0-9_.]+", "_", name_of(cls)).strip("_") or "Class"
        taken = set(self._recursive.values())
        name, number = base, 2
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        return name

    def _write_members(self, record: Record) -> dict[str, Any]:
        members = self._shapes.find_members(record)
        doc = read_doc(record.cls)
        required = [member.name for member in members if member.required]
        return {
            **({"description": doc} if doc else {}),
            "type": "object",
            "properties": {member.name: self._write_member(member) for member in members},
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def _write_member(self, member: Member) -> dict[str, Any]:
        field = member.field
        default = _write_default(field.default)
        shown = {} if default is None else {"default": default}
        noted = Noted(member.shape, field.description, {**shown, **field.keywords})
        schema = self._write_noted(noted, field.validator)
        return _allow_null(schema) if self._nulls == "tolerated" and not member.required else schema


def _annotate(schema: dict[str, Any], note: Noted) -> dict[str, Any]:
    if note.description is None:
        return {**schema, **note.keywords}
    # What is said about the field says more than what is said about its class.
    rest = {key: value for key, value in schema.items() if key != "description"}
    return {"description": note.description, **rest, **note.keywords}


def _allow_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` with null allowed beside what it allows."""
    kind = schema.get("type")
    if not schema or kind == "null" or (is_array(kind) and "null" in kind):
        return schema
    if isinstance(kind, str) and not ({"enum", "const", "anyOf", "allOf"} & schema.keys()):
        return {**schema, "type": [kind, "null"]}
    alternatives = schema.get("anyOf")
    if is_array(alternatives) and schema.keys() <= {"anyOf", "default", "description"}:
        rest = [one for one in alternatives if one != {"type": "null"}]
        return {**schema, "anyOf": [*rest, {"type": "null"}]}
    return {"anyOf": [schema, {"type": "null"}]}


def _write_choice(values: list[Any]) -> dict[str, Any]:
    kinds = dict.fromkeys(map(name_kind, values))
    unique = list({(name_kind(value), value): value for value in values}.values())
    return {"type": next(iter(kinds)), "enum": unique} if len(kinds) == 1 else {"enum": unique}


def _write_default(default: Any) -> Any:
    """Return a default as JSON, or None where there is none to show."""
    if default is UNSET or default is None:
        return None
    if isinstance(default, enum.Enum):
        return _write_default(default.value)
    if isinstance(default, float) and not math.isfinite(default):
        return None
    if isinstance(default, str | int | float):
        return default
    if isinstance(default, set | frozenset):
        # Their order differs from run to run; a listing must not.
        return _write_items(sorted(default, key=repr))  # pyright: ignore[reportUnknownArgumentType]
    if is_array(default) or isinstance(default, tuple):
        return _write_items(list(default))  # pyright: ignore[reportUnknownArgumentType]
    if is_object(default):
        values = _write_items(list(default.values()))
        return None if values is None else dict(zip(default, values, strict=True))
    return None


def _write_items(items: list[Any]) -> list[Any] | None:
    written = [_write_default(item) for item in items]
    return None if None in written else written
