"""Author's values as plain JSON: attrs and dataclass instances taken apart.

Layer: vocabulary. `build_tools` uses it for structured content.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Mapping
from typing import Any, cast

import attrs


def is_record(value: object) -> bool:
    """Tell whether `value` is an instance of an attrs class or a dataclass."""
    cls = type(value)
    return attrs.has(cls) or dataclasses.is_dataclass(cls)


def to_plain_json(name: str, value: Any) -> Any:
    """Copy `value` into dicts, lists and scalars.

    Instances of attrs classes and dataclasses become objects with their fields'
    names as they are, tuples lists.

    Raises:
        TypeError: something in it has no JSON form; the message says where.
        ValueError: a number JSON does not have, or values nested without end.
    """
    try:
        return _plain(name, value)
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply, or holds itself") from None


def _plain(place: str, value: Any) -> Any:
    if value is None or type(value) in (str, bool):
        return value
    if isinstance(value, enum.Enum):
        raise TypeError(f"{place} is the enum member {value!s}; use its value")
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise ValueError(f"{place} is an integer beyond 64 bits; pass it as a str")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{place} is {value!r}, which JSON does not have; use None")
        return value
    if isinstance(value, Mapping):
        return _plain_members(place, cast("Mapping[Any, object]", value))
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        return [_plain(f"{place}[{index}]", item) for index, item in enumerate(items)]
    if is_record(value):
        return _plain_members(place, {name: getattr(value, name) for name in _field_names(value)})
    if isinstance(value, str):
        return value
    raise TypeError(f"{place} is a {type(value).__qualname__}, which has no JSON form")


def _field_names(record: Any) -> list[str]:
    cls: Any = record.__class__
    fields = attrs.fields(cls) if attrs.has(cls) else dataclasses.fields(cls)
    return [field.name for field in fields]


def _plain_members(place: str, members: Mapping[Any, Any]) -> dict[str, Any]:
    done: dict[str, Any] = {}
    for key, item in members.items():
        if not isinstance(key, str):
            raise TypeError(f"{place} has the key {key!r}; the keys of a JSON object are str")
        done[key] = _plain(f"{place}.{key}", item)
    return done
