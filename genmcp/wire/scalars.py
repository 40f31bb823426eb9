"""Hooks that read what is no object of its own: scalars, literals, lists, maps.

Layer: wire, below `structure`, which has those for classes and unions. A hook
takes a JSON value and a type, as cattrs wants it, and ignores the type.

Scalars are taken as they are or refused: `5` is no string, `true` no number, and
`1.0` no integer. cattrs' own hooks would convert.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from genmcp.mcp.v2607.checks import show
from genmcp.wire.json_kinds import OBJECT

if TYPE_CHECKING:
    from collections.abc import Iterable

Hook = Callable[[Any, Any], Any]

SCALARS: Final[Mapping[Any, tuple[tuple[type, ...], str]]] = {
    str: ((str,), "a string"),
    int: ((int,), "an integer"),
    float: ((float, int), "a number"),
    bool: ((bool,), "a boolean"),
    types.NoneType: ((types.NoneType,), ""),
}
"""The JSON scalars: the exact Python types each takes, and its name."""

_NAMES: Final[Mapping[type, str]] = {
    types.NoneType: "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}


class WrongValue(ValueError):
    """A JSON value is not what it must be. Where it is, the caller knows."""


class WrongItem(ValueError):
    """One member or item of a value is not what it must be."""

    def __init__(self, key: str | int, cause: Exception) -> None:
        super().__init__(key)
        self.key = key
        self.cause = cause


def describe(value: object) -> str:
    """Name a JSON value's kind, with its article."""
    return _NAMES.get(type(value), f"a Python {type(value).__name__}")


def read_anything(value: Any, _type: Any) -> Any:
    """Take any value as it is."""
    return value


def read_object(value: Any, _type: Any) -> dict[str, Any]:
    """Take an object with any members."""
    if type(value) is not OBJECT:
        raise WrongValue(f"expected an object, got {describe(value)}")
    read: dict[str, Any] = value
    return read


_KINDS: Final[dict[Hook, frozenset[type]]] = {read_object: frozenset({dict})}


def kinds_of(read: Hook) -> frozenset[type]:
    """Return the types of which `read` returns every value as it is; none if it looks closer."""
    return _KINDS.get(read, frozenset())


def scalar_hook(*scalars: Any) -> Hook:
    """Return what reads one of these scalars, `NoneType` for null included."""
    exact = frozenset(kind for scalar in scalars for kind in SCALARS[scalar][0])
    # Null may be tolerated, but nobody is told to send it.
    expected = " or ".join(name for scalar in scalars if (name := SCALARS[scalar][1]))

    def read_scalar(value: Any, _type: Any) -> Any:
        if type(value) in exact:
            return value
        raise WrongValue(f"expected {expected}, got {describe(value)}")

    _KINDS[read_scalar] = exact
    return read_scalar


def literal_hook(choices: tuple[Any, ...]) -> Hook:
    """Return what reads one of a few strings or integers."""
    names = ", ".join(str(choice) for choice in choices)

    def read_literal(value: Any, _type: Any) -> Any:
        if type(value) in (str, int) and value in choices:
            return value
        shown = show(value) if type(value) in (str, int) else describe(value)
        raise WrongValue(f"expected one of {names}, got {shown}")

    return read_literal


def list_hook(read_item: Hook) -> Hook:
    """Return what reads a list of items."""

    def read_list(value: object, _type: Any) -> list[Any]:
        if type(value) is not list:
            raise WrongValue(f"expected a list, got {describe(value)}")
        done: list[Any] = []
        try:
            for item in cast("Iterable[Any]", value):
                done.append(read_item(item, None))  # noqa: PERF401 - its length is the index
        except Exception as error:  # noqa: BLE001 - whatever it is, it gets its place
            raise WrongItem(len(done), error) from None
        return done

    return read_list


def mapping_hook(read_item: Hook) -> Hook:
    """Return what reads an object whose members are all of one kind."""
    if read_item is read_anything:
        return read_object

    def read_mapping(value: Any, _type: Any) -> dict[str, Any]:
        done: dict[str, Any] = {}
        for key, item in read_object(value, None).items():
            try:
                done[key] = read_item(item, None)
            except Exception as error:  # noqa: BLE001 - as above
                raise WrongItem(key, error) from None
        return done

    return read_mapping


def with_null(read: Hook) -> Hook:
    """Return `read` with null taken for None."""

    def read_optional(value: Any, tp: Any) -> Any:
        return None if value is None else read(value, tp)

    _KINDS[read_optional] = kinds_of(read) | {types.NoneType}
    return read_optional


def with_default(read: Hook, default: Callable[[], Any]) -> Hook:
    """Return `read` with null taken for a default."""

    def read_with_default(value: Any, tp: Any) -> Any:
        return default() if value is None else read(value, tp)

    _KINDS[read_with_default] = kinds_of(read)
    return read_with_default


def with_predicate(read: Hook, predicate: Callable[[Any], str | None]) -> Hook:
    """Return `read` with a look at what it read."""

    def read_checked(value: Any, tp: Any) -> Any:
        done = read(value, tp)
        problem = None if done is None else predicate(done)
        if problem is not None:
            raise WrongValue(problem)
        return done

    return read_checked
