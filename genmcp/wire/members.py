"""What the codec knows of a vocabulary class: its members and their wire names.

Layer: wire. This is the one place where snake_case meets camelCase; `structure`
and `unstructure` build their hooks from it.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Final

import attrs

from genmcp.mcp.v2607.fields import LENIENT, PREDICATE, REQUIRED, WIRE_NAME, WIRE_TYPE
from genmcp.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

EXTRA: Final = "extra"
"""The attribute that holds an open object's other members."""

_CONSTANTS: Final = ("jsonrpc", "type", "method", "mode")
_UNDERSCORE: Final = re.compile(r"_([a-z])")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Member(Value):
    """One member of an object on the wire.

    Attributes:
        attribute: the name in Python.
        wire: the name in JSON.
        type: what it holds in JSON, as a Python type.
        required: it must be there.
        has_default: the class can do without it.
        always_written: it is written even when it equals its default.
        null_default: makes the value JSON null stands for, where null is no value.
        predicate: says what is wrong with a value of the right type.
    """

    attribute: str
    wire: str
    type: Any
    required: bool
    has_default: bool
    always_written: bool
    null_default: Callable[[], Any] | None
    predicate: Callable[[Any], str | None] | None


@functools.cache
def members_of(cls: type) -> Mapping[str, Member]:
    """Return the members of a vocabulary class by attribute, `extra` left out."""
    return {field.name: _member(field) for field in attrs.fields(cls) if field.name != EXTRA}


@functools.cache
def constants_of(cls: type) -> Mapping[str, str]:
    """Return the members that are the same in every object of a class."""
    fields = attrs.fields_dict(cls)
    return {
        name: value
        for name in _CONSTANTS
        if name not in fields and isinstance(value := getattr(cls, name, None), str)
    }


def is_open(cls: type) -> bool:
    """Tell whether objects of this class keep members they do not know."""
    return EXTRA in attrs.fields_dict(cls)


def _member(field: attrs.Attribute[Any]) -> Member:
    has_default = field.default is not attrs.NOTHING
    required = bool(field.metadata.get(REQUIRED, not has_default))
    return Member(
        attribute=field.name,
        wire=_wire_name(field),
        type=field.metadata.get(WIRE_TYPE, field.type),
        required=required,
        has_default=has_default,
        always_written=required or LENIENT in field.metadata,
        # `arguments: null` means what absent `arguments` means.
        null_default=getattr(field.default, "factory", None) if not required else None,
        predicate=field.metadata.get(PREDICATE),
    )


def _wire_name(field: attrs.Attribute[Any]) -> str:
    if field.name == "meta":
        return "_meta"
    camel = _UNDERSCORE.sub(lambda match: match[1].upper(), field.name)
    return str(field.metadata.get(WIRE_NAME, camel))
