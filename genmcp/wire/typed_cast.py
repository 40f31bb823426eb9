"""Reads JSON values into typed classes, strictly.

Layer: wire, over `genmcp.wire.typed_classes`. A reader is a function made once per
shape; those of objects are in `genmcp.wire.typed_record`, those of unions in
`genmcp.wire.typed_union`. It takes a value as it is or raises: no `true` for 1, no
1.9 for an int, no null for text. What JSON itself does not tell apart is
converted, where nothing of it is lost: 1.0 is an int, 1 a float.

A reader that fails still looks at everything else, so that one error names all
that is wrong, up to the number of problems that are told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from genmcp.wire.json_kinds import equality_key, is_array, is_object, name_kind
from genmcp.wire.typed_text import read_text
from genmcp.wire.violation import MAX_PROBLEMS, Violation, describe, join_options, quote

Reader = Callable[[Any], Any]

_MAX_EXACT: Final = 2**53 - 1
"""Beyond this a float may stand for other integers than the one that was written."""


class CastError(ValueError):
    """A JSON value does not fit the class.

    Attributes:
        violations: what is wrong, by place.
    """

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations = list(violations)
        super().__init__("; ".join(violation.message for violation in self.violations))


def collect(error: CastError, found: list[Violation], *path: str | int) -> None:
    """Add what is wrong with one member or item to what is `found`, up to the limit.

    Raises:
        CastError: the limit is reached, so that nothing more need be read.
    """
    found += [violation.put_under(*path) for violation in error.violations]
    if len(found) > MAX_PROBLEMS:
        raise CastError(found)


def refuse(rule: str, told: str = "", *path: str | int) -> CastError:
    """Return the error for one value that does not fit.

    Args:
        rule: what it must be.
        told: what to repeat of it.
        path: where it is, below the value that was read.
    """
    return CastError([Violation(path, "", f"{rule}, got {told}" if told else rule, rule)])


def refuse_kind(expected: str, value: object) -> CastError:
    """Return the error for a value of another type."""
    rule = f"expected {expected}, got "
    return CastError([Violation((), "type", rule + describe(value), rule + name_kind(value))])


def read_anything(value: Any) -> Any:
    """Return any value as it is."""
    return value


def _read_string(value: Any) -> Any:
    if type(value) is str:
        return value
    raise refuse_kind("string", value)


def _read_boolean(value: Any) -> Any:
    if type(value) is bool:
        return value
    raise refuse_kind("boolean", value)


def _read_null(value: Any) -> Any:
    if value is None:
        return value
    raise refuse_kind("null", value)


def _read_integer(value: Any) -> Any:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        if abs(value) > _MAX_EXACT:
            raise refuse("must be an integer written with all its digits", quote(value))
        return int(value)
    raise refuse_kind("integer", value)


def _read_number(value: Any) -> Any:
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if number != value:
            raise refuse("must be a number that a 64-bit float holds exactly", quote(value))
        return number
    raise refuse_kind("number", value)


def read_any_number(value: Any) -> Any:
    """Return a number as the int or float that it is."""
    return value if type(value) is int else _read_number(value)


SCALARS: Final[Mapping[str, Reader]] = {
    "string": _read_string,
    "boolean": _read_boolean,
    "null": _read_null,
    "integer": _read_integer,
    "number": _read_number,
}
"""The readers of the simple types."""

_CLASSES: Final[Mapping[Reader, type]] = {
    _read_string: str,
    _read_boolean: bool,
    _read_integer: int,
    _read_number: float,
}
"""The class whose values these readers return as they are."""


def find_simple(read: Reader) -> type | None:
    """Return the class whose values `read` returns as they are, every one of them."""
    cls = _CLASSES.get(read)
    return None if cls is float else cls  # infinite ones are no JSON


def build_text(cls: type) -> Reader:
    """Return the reader of a class that JSON writes as text."""

    def read(value: Any) -> Any:
        if type(value) is not str:
            raise refuse_kind("string", value)
        try:
            return read_text(cls, value)
        except ValueError as error:
            raise refuse(str(error), quote(value)) from None

    return read


def build_choice(options: Iterable[tuple[Any, Any]]) -> Reader:
    """Return the reader of a value out of some: JSON value and Python value of each."""
    known: dict[tuple[str, object], Any] = {}
    for plain, value in options:
        known.setdefault(equality_key(plain), value)
    expected = join_options(quote(plain) for _, plain in known)
    rule = f"must be one of {expected}" if len(known) > 1 else f"must be {expected}"

    def read(value: Any) -> Any:
        try:
            return known[equality_key(value)]
        except (KeyError, TypeError):
            pass
        raise refuse(rule, quote(value))

    return read


def build_nullable(inner: Reader) -> Reader:
    """Return a reader that also takes null."""

    def read(value: Any) -> Any:
        return None if value is None else inner(value)

    return read


def build_array(item: Reader, build: type) -> Reader:
    """Return the reader of an array of like items, into a `build`."""
    simple = _CLASSES.get(item)

    def read(value: Any) -> Any:
        if not is_array(value):
            raise refuse_kind("array", value)
        if simple is not None and _are_all(simple, value):
            return _build_items(value, build)
        items: list[Any] = []
        found: list[Violation] = []
        for index, one in enumerate(value):
            try:
                items.append(item(one))
            except CastError as error:
                collect(error, found, index)
        if found:
            raise CastError(found)
        return items if build is list else _build_items(items, build)

    return read


def _are_all(simple: type, items: list[Any]) -> bool:
    """Tell whether all items are of a class that is taken as it is, without a call for each."""
    if set(map(type, items)) != {simple}:
        return False
    return simple is not float or all(map(math.isfinite, items))


def _build_items(items: list[Any], build: type) -> Any:
    try:
        built = build(items)
    except TypeError:
        raise refuse("must hold simple values only") from None
    # To JSON 1 and true are two things, to a set one.
    if build is not tuple and len(built) != len(items):
        raise refuse("must not hold the same item twice")
    return built


def build_row(items: list[Reader]) -> Reader:
    """Return the reader of an array of a fixed form, into a tuple."""

    def read(value: Any) -> Any:
        if not is_array(value):
            raise refuse_kind("array", value)
        if len(value) != len(items):
            raise refuse(f"must have exactly {len(items)} items, got {len(value)}")
        built: list[Any] = []
        found: list[Violation] = []
        for index, (item, one) in enumerate(zip(items, value, strict=True)):
            try:
                built.append(item(one))
            except CastError as error:
                collect(error, found, index)
        if found:
            raise CastError(found)
        return tuple(built)

    return read


def build_map(item: Reader) -> Reader:
    """Return the reader of an object of like values, into a dict."""

    def read(value: Any) -> Any:
        if not is_object(value):
            raise refuse_kind("object", value)
        members: dict[str, Any] = {}
        found: list[Violation] = []
        for key, one in value.items():
            try:
                members[key] = item(one)
            except CastError as error:
                collect(error, found, key)
        if found:
            raise CastError(found)
        return members

    return read
