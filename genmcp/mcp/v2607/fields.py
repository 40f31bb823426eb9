"""What the vocabulary's classes have in common: equality, checks, wire names.

Layer: the lowest; the modules beside this one use it. Every class of the vocabulary
is a `WireObject` declared with `field_transformer=checked`, which reads each field's
type and checks what an author passes against it: `TextContent(text=42)` is a
`TypeError` where it is written, not a bad message at the client. Sequences are
copied into lists, so that objects compare equal however they were built.

The modules that declare classes do without `from __future__ import annotations`:
the types are needed as objects, here and in `genmcp.wire`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from genmcp.mcp.v2607.checks import Check, both, rules_for
from genmcp.value import Value, fields_of

if TYPE_CHECKING:
    import attrs

    Field = attrs.Attribute[Any]

T = TypeVar("T")

WIRE_NAME: Final = "wire_name"
"""Metadata key: the member's name, where camelCase does not give it."""

REQUIRED: Final = "required"
"""Metadata key: required on the wire although the class has a default for it."""

LENIENT: Final = "lenient"
"""Metadata key: always written, but may be missing in what is read."""

WIRE_TYPE: Final = "wire_type"
"""Metadata key: the type on the wire, where the attribute later holds another."""

PREDICATE: Final = "predicate"
"""Metadata key: the `Problem` of a `Check`, for the codec to call by itself."""


class WireObject(Value):
    """Base of the vocabulary: compares by value, and shows what is set."""

    __slots__ = ()

    def __repr__(self) -> str:
        shown = [
            f"{field.name}={value!r}"
            for field in fields_of(type(self))
            if not _is_default(field, value := getattr(self, field.name))
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def with_members(value: T, **members: Any) -> T:
    """Return a copy of an object with these members, which are taken as they are.

    `attrs.evolve` checks and converts every member again, and the copy of a result that
    was checked when it was built is made for every answer.

    Args:
        value: an object of a vocabulary class.
        members: attributes and their new values, of the types the class declares.
    """
    cls: Any = type(value)
    copy: T = object.__new__(cls)
    object.__setattr__(copy, "__dict__", {**value.__dict__, **members})
    return copy


def make_checked(cls: type[T], **members: Any) -> T:
    """Return an object whose members were checked already.

    Args:
        cls: a class of the vocabulary, or another frozen one without slots.
        members: all of its attributes and their values.
    """
    made = object.__new__(cls)
    object.__setattr__(made, "__dict__", members)
    return made


def checked(_cls: type, fields: list[Field]) -> list[Field]:
    """Give each field the check its type asks for. An attrs `field_transformer`."""
    for field in fields:
        # attrs' stubs do not know `inherited`.
        if not cast("Any", field).inherited:
            _prepare(field)
    return fields


def required() -> dict[str, Any]:
    """Return the metadata of a member that is always written and must be there."""
    return {REQUIRED: True}


def _prepare(field: Field) -> None:
    """Give a field, which attrs made for this class a moment ago, its converter and checks.

    In place: `evolve` reads and writes all there is about a field anew, which for all of
    them is a seventh of what it takes to define a class.
    """
    tp: Any = field.type
    converter, by_type = rules_for(tp)
    declared = field.validator
    if isinstance(declared, Check):
        validator: Any = declared if by_type is None else both(by_type, declared)
        metadata = MappingProxyType({**field.metadata, PREDICATE: declared.predicate})
        object.__setattr__(field, "metadata", metadata)
    else:
        validator = by_type
    object.__setattr__(field, "converter", converter)
    object.__setattr__(field, "validator", validator)


def _is_default(field: Field, value: object) -> bool:
    made = getattr(field.default, "factory", None) is not None
    return value is field.default or (made and not value)
