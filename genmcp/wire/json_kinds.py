"""Telling plain JSON values apart, for code and for readers.

Layer: wire, below everything that looks into schemas and the values they check.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from typing_extensions import TypeIs

ALL_KINDS: Final = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
"""The types of JSON, as `name_kind` names them."""

OBJECT: Final[Any] = dict
"""The class of JSON objects, for where each step counts.

By this name a type checker leaves an `Any` alone, which it would make a dict of it knows
not what; and to `cast` that back is a call.
"""

_KINDS: Final[Mapping[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    dict: "object",
    list: "array",
}


def is_object(value: object) -> TypeIs[dict[str, Any]]:
    """Tell whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeIs[list[Any]]:
    """Tell whether a JSON value is an array."""
    return isinstance(value, list)


def list_items(value: object) -> Collection[Any]:
    """Return the members or items of a JSON value; nothing for a scalar."""
    if is_object(value):
        return value.values()
    return value if is_array(value) else ()


def count_values(value: object, limit: int) -> int:
    """Return how many values a JSON value is, itself and all it holds.

    Args:
        value: the value.
        limit: where to stop counting, so that counting costs no more than this;
            the answer is then one more.
    """
    count = 1
    containers: list[Any] = [value]
    while containers:
        held = [list_items(container) for container in containers]
        count += sum(map(len, held))
        if count > limit:
            return limit + 1
        containers = [item for items in held for item in items if isinstance(item, dict | list)]
    return count


def equality_key(value: object) -> tuple[str, object]:
    """Return a key under which scalars are equal where JSON Schema says so.

    1 is 1.0, and neither is true; to Python all three are equal.
    """
    if type(value) is str:
        return "other", value
    if isinstance(value, bool):
        return "boolean", value
    return ("number" if isinstance(value, int | float) else "other"), value


def name_kind(value: object) -> str:
    """Return the JSON type of `value`, or the Python one if JSON has no such value.

    A number is "integer" when it is written without a fraction: 1, not 1.0.
    """
    # Of a large value each part is asked, and nearly all are of these very classes.
    known = _KINDS.get(type(value))
    if known is not None:
        return known
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case list() | tuple():
            return "array"
        case _:
            return type(value).__name__
