"""Telling plain JSON values apart, for code and for readers.

Layer: wire, below everything that looks into schemas and the values they check.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypeIs


def is_object(value: object) -> TypeIs[dict[str, Any]]:
    """Tell whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeIs[list[Any]]:
    """Tell whether a JSON value is an array."""
    return isinstance(value, list)


def equality_key(value: object) -> tuple[str, object]:
    """Return a key under which scalars are equal where JSON Schema says so.

    1 is 1.0, and neither is true; to Python all three are equal.
    """
    if isinstance(value, bool):
        return "boolean", value
    return ("number" if isinstance(value, int | float) else "other"), value


def name_kind(value: object) -> str:
    """Return the JSON type of `value`, or the Python one if JSON has no such value.

    A number is "integer" when it is written without a fraction: 1, not 1.0.
    """
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
