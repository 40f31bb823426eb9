"""Author's values as plain JSON: instances of typed classes taken apart.

Layer: vocabulary. `build_tools` uses it for structured content. What typed classes
may hold is written as `genmcp.wire.typed_shape` has it in schemas, and as arguments
are read: dates and times in RFC 3339, durations in ISO 8601, UUIDs and Decimals as
strings, enum members as their value, sets as arrays.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import math
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import attrs

from genmcp.mcp.unset import UNSET
from genmcp.mcp.v2607.fields import WireObject


def is_record(value: object) -> bool:
    """Tell whether `value` is an instance of an attrs class or a dataclass."""
    cls = type(value)
    return attrs.has(cls) or dataclasses.is_dataclass(cls)


def to_plain_json(name: str, value: Any) -> Any:
    """Copy `value` into dicts, lists and scalars.

    Instances of attrs classes and dataclasses become objects with their fields'
    names as they are, tuples lists, and the other types above what is said there.

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
    if isinstance(value, Mapping):
        return _plain_members(place, cast("Mapping[Any, object]", value))
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        return [_plain(f"{place}[{index}]", item) for index, item in enumerate(items)]
    if isinstance(value, WireObject):
        raise TypeError(
            f"{place} is a {type(value).__qualname__} of the protocol; pass content as it is, "
            "beside data="
        )
    if is_record(value):
        return _plain_members(place, {name: getattr(value, name) for name in _field_names(value)})
    if isinstance(value, set | frozenset):
        items = [_plain(place, item) for item in cast("set[Any]", value)]
        return sorted(items, key=repr)  # sets have no order, and a result should have one
    if isinstance(value, enum.Enum) and value is not UNSET:
        return _plain(place, value.value)
    return _plain_scalar(place, value)


def _plain_scalar(place: str, value: Any) -> Any:
    # A subclass, such as the float of a numerical library, is its plain value, whatever
    # its own conversions say.
    if value is UNSET:
        raise TypeError(f"{place} is UNSET; leave it out")
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise ValueError(f"{place} is an integer beyond 64 bits; pass it as a str")
        return int.__int__(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{place} is {value!r}, which JSON does not have; use None")
        return float.__float__(value)
    if isinstance(value, str):
        return str.__str__(value)
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(place, value)
    # A model of pydantic, most often.
    model = hasattr(value, "model_dump") and not isinstance(value, type)
    hint = '; give what its model_dump(mode="json") returns' if model else ""
    raise TypeError(f"{place} is a {type(value).__qualname__}, which has no JSON form{hint}")


def _write_datetime(place: str, value: datetime.datetime) -> str:
    if value.utcoffset() is None:
        raise ValueError(f"{place} is a datetime without an offset; give it a tzinfo")
    return value.isoformat().replace("+00:00", "Z")


def _write_isoformat(place: str, value: datetime.date | datetime.time) -> str:
    return value.isoformat()


def _write_duration(place: str, value: datetime.timedelta) -> str:
    if value < datetime.timedelta(0):
        raise ValueError(f"{place} is a negative timedelta, which has no ISO 8601 form")
    days, rest = divmod(value, datetime.timedelta(days=1))
    seconds, microseconds = divmod(rest, datetime.timedelta(seconds=1))
    fraction = f".{microseconds // _MICROSECOND:06}".rstrip("0").rstrip(".")
    time = f"T{seconds}{fraction}S" if seconds or fraction else ""
    return f"P{days}D{time}" if days or not time else f"P{time}"


def _write_decimal(place: str, value: decimal.Decimal) -> str:
    if not value.is_finite():
        raise ValueError(f"{place} is {value!r}, which JSON does not have; use None")
    return format(value, "f")


def _write_text(place: str, value: object) -> str:
    return str(value)


_MICROSECOND: Final = datetime.timedelta(microseconds=1)

_WRITERS: Final[tuple[tuple[type, Callable[[str, Any], str]], ...]] = (
    (datetime.datetime, _write_datetime),  # before date, which it is too
    (datetime.date, _write_isoformat),
    (datetime.time, _write_isoformat),
    (datetime.timedelta, _write_duration),
    (decimal.Decimal, _write_decimal),
    (uuid.UUID, _write_text),
)


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
