"""JSON as the protocol has it, read by the standard library: slow, and plain to see."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

MAX_DEPTH = 128


def read_reference(body: bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON, has a member twice, or a value that would not arrive
            as it was sent.
    """
    text = body.decode("utf-8")
    try:
        value = json.loads(
            text,
            parse_constant=_refuse,
            parse_float=_read_float,
            parse_int=_read_int,
            object_pairs_hook=_read_members,
        )
    except RecursionError:
        raise ValueError("too deep") from None
    _check(value, 0)
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _read_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _read_int(text: str) -> int:
    if len(text) > 25 or not -(2**63) <= int(text) < 2**64:
        raise ValueError(text)
    return int(text)


def _read_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in members}) < len(members):
        raise ValueError("a member twice")
    return dict(members)


def _check(value: Any, depth: int) -> None:
    if isinstance(value, str):
        value.encode("utf-8")
        return
    if isinstance(value, dict):
        items = [*value.keys(), *value.values()]
    elif isinstance(value, list):
        items = value
    else:
        return
    if depth == MAX_DEPTH:
        raise ValueError("too deep")
    for item in items:
        _check(item, depth + 1)
