"""What in a Python value is not JSON, and where.

Layer: wire. The slow half of `json_text.write_json`: it runs when a value cannot
be written, or might have been written as something it is not.
"""

from __future__ import annotations

import enum
import marshal
import math
from typing import TYPE_CHECKING, Any, Final, cast

from genmcp.events import EncodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_WRITE_DEPTH: Final = 254
"""How many objects and lists orjson writes inside one another."""

_MAX_PATH_LENGTH: Final = 200
_CONTAINERS: Final = (dict, list, tuple)
_LEAST_INTEGER: Final = -(2**63)
_GREATEST_INTEGER: Final = 2**64 - 1


def is_plain(value: Any) -> bool:
    """Tell whether a value orjson could write is made of the plain types only.

    marshal refuses every type but those, subclasses included, and does so in C: a
    walk in Python would cost more than the writing. What it takes beyond JSON
    (bytes, sets, complex numbers) orjson has refused already. Its latest form, as the
    earlier ones encode plain ASCII character by character.
    """
    try:
        marshal.dumps(value)
    except ValueError:
        return False
    return True


def has_non_finite(value: Any) -> bool:
    """Tell whether there is a NaN or an infinity in a value, at any depth."""
    level: list[Any] = [[value]]
    while level:
        below: list[Any] = []
        for container in level:
            for item in container.values() if _is_object(container) else container:
                if isinstance(item, float):
                    if not math.isfinite(item):
                        return True
                elif issubclass(type(item), _CONTAINERS):
                    below.append(item)
        level = below
    return False


def find_fault(value: Any) -> EncodeError | None:
    """Return the first thing in `value` that is not JSON, or None."""
    # Depth first, in the order of writing; an explicit stack, since values may be
    # deep, or hold themselves.
    stack: list[Iterator[tuple[str, Any]]] = [iter([("", value)])]
    steps: list[str] = []
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
            del steps[-1:]
            continue
        step, item = entry
        problem = _problem(item, depth=len(stack))
        if problem is not None:
            return EncodeError(_sentence("".join([*steps, step]), problem))
        if issubclass(type(item), _CONTAINERS):
            stack.append(_children(item))
            steps.append(step)
    return None


def _children(container: Any) -> Iterator[tuple[str, Any]]:
    if _is_object(container):
        return ((f".{key}", item) for key, item in container.items())
    return ((f"[{index}]", item) for index, item in enumerate(container))


def _sentence(path: str, problem: str) -> str:
    place = path.removeprefix(".")
    if len(place) > _MAX_PATH_LENGTH:
        place = f"{place[:_MAX_PATH_LENGTH]}..."
    return f"{place or 'the value'} {problem}"


def _problem(item: object, depth: int) -> str | None:
    if item is None or isinstance(item, bool):
        return None
    if isinstance(item, enum.Enum):
        return f"is the enum member {type(item).__name__}.{item.name}, not JSON; use its value"
    if isinstance(item, str):
        return _text_problem(item)
    if isinstance(item, int):
        fits = _LEAST_INTEGER <= item <= _GREATEST_INTEGER
        return None if fits else "is an integer beyond 64 bits; send it as a string"
    if type(item) is float:
        return None if math.isfinite(item) else f"is {item!r}, which JSON does not have"
    kind = type(item)
    if issubclass(kind, dict | list) or kind is tuple:
        if depth > MAX_WRITE_DEPTH:
            return f"is nested deeper than {MAX_WRITE_DEPTH} levels"
        return _keys_problem(cast("dict[Any, Any]", item)) if _is_object(item) else None
    return f"is a {kind.__qualname__}, not JSON"


def _is_object(value: Any) -> bool:
    # Of the type, not the value: a checker that narrows `Any` loses the members.
    return issubclass(type(value), dict)


def _text_problem(text: str) -> str | None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "is a text with half of a surrogate pair, which UTF-8 cannot hold"
    return None


def _keys_problem(members: dict[Any, Any]) -> str | None:
    for key in members:
        if type(key) is not str:
            return f"has the key {key!r}; the keys of a JSON object are of type str"
        if _text_problem(key) is not None:
            return f"has the key {key!r} with half of a surrogate pair"
    return None
