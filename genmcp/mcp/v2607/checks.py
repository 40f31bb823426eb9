"""Checks that attrs runs when an object of the vocabulary is built.

Layer: the lowest. `fields` gives each field of a class the checks its type asks for,
made here, once for each type. Every problem is a `TypeError` or `ValueError` that
names class and argument: `TextContent.text must be str, got 42`.
"""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Union, cast, get_args, get_origin

import attrs

if TYPE_CHECKING:
    Field = attrs.Attribute[Any]
    Validator = Callable[[Any, Field, Any], None]

Problem = Callable[[Any], str | None]
"""Says what is wrong with a value, as `must be ...`, or None when it is fine."""

_MOST_SHOWN: Final = 100


def show(value: object) -> str:
    """Return `repr(value)` for an error message, cut where it gets long."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


class Check:
    """An attrs validator made of a predicate; the field's type is checked as well."""

    __slots__ = ("predicate",)

    def __init__(self, predicate: Problem) -> None:
        self.predicate = predicate

    def __call__(self, instance: object, attribute: Field, value: Any) -> None:
        """Raise `ValueError` naming the class and the argument."""
        problem = None if value is None else self.predicate(value)
        if problem is not None:
            raise ValueError(f"{_place(instance, attribute)} {problem}")


def flatten_union(tp: Any) -> tuple[Any, ...]:
    """Return the members of a union, unions inside it included, or `tp` alone."""
    if get_origin(tp) in (Union, types.UnionType):
        return tuple(leaf for member in get_args(tp) for leaf in flatten_union(member))
    return (tp,)


@functools.cache
def rules_for(tp: Any) -> tuple[Any, Validator | None]:
    """Return the converter and the validator that a field's type asks for."""
    members = flatten_union(tp)
    sole = [member for member in members if member is not types.NoneType]
    optional = len(sole) < len(members)
    if any(get_origin(member) is Sequence for member in sole[1:]):
        return _NO_TUPLE, _type_check(runtime_types(members))
    match get_origin(sole[0]), get_args(sole[0]):
        case origin, (item,) if origin is Sequence:
            return (_TO_OPTIONAL_LIST if optional else _TO_LIST), _items_check(item)
        case origin, (_, item) if origin is Mapping and len(sole) == 1:
            of_type = _type_check(runtime_types(members))
            return None, both(of_type, _items_check(item))
        case origin, choices if origin is Literal and len(sole) == 1:
            return None, _choice_check(choices, optional=optional)
        case _:
            allowed = runtime_types(members)
            return None, _type_check(allowed) if allowed else None


def both(first: Validator, second: Validator | None) -> Validator:
    """Return a validator that runs one after the other."""
    if second is None:
        return first

    def check(instance: object, attribute: Field, value: Any) -> None:
        first(instance, attribute, value)
        second(instance, attribute, value)

    return check


def runtime_types(members: tuple[Any, ...]) -> tuple[type, ...]:
    """Return what `isinstance` can tell of these types; empty when it cannot."""
    found: list[type] = []
    for member in members:
        origin = get_origin(member) or member
        if origin is Any or origin is object:
            return ()
        if origin is Sequence:
            found += [list, tuple]
        elif origin is float:
            found += [float, int]
        elif isinstance(origin, type):
            found.append(origin)
        else:
            # UNSET and type variables: what comes is not known here.
            return ()
    return tuple(found)


# -- sequences -------------------------------------------------------------------


def _as_list(value: object, instance: object, field: Field) -> list[Any]:
    if type(value) is list:
        return [*cast("list[Any]", value)]
    # A string or a mapping would fall to pieces.
    if issubclass(type(value), str | bytes | Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"{_place(instance, field)} must be a list or a tuple, got {show(value)}")
    return [*value]


def _as_optional_list(value: object, instance: object, field: Field) -> list[Any] | None:
    return None if value is None else _as_list(value, instance, field)


def _no_tuple(value: object) -> Any:
    return [*value] if isinstance(value, tuple) else value


_NO_TUPLE: Final = attrs.Converter(_no_tuple)
_TO_LIST: Final = attrs.Converter(_as_list, takes_self=True, takes_field=True)
_TO_OPTIONAL_LIST: Final = attrs.Converter(_as_optional_list, takes_self=True, takes_field=True)


# -- validators: closures, since they run for every member of every message ---------


def _type_check(allowed: tuple[type, ...]) -> Validator:
    exact = _exact_types(allowed)

    def check(instance: object, attribute: Field, value: Any) -> None:
        if type(value) not in exact and not _is_one_of(value, allowed):
            raise TypeError(
                f"{_place(instance, attribute)} must be {_names(allowed)}, got {show(value)}"
            )

    return check


def _exact_types(allowed: tuple[type, ...]) -> frozenset[type]:
    """Return the types that need no closer look; for a mapping, the one nearly all are of."""
    return frozenset([*allowed, dict] if Mapping in allowed else allowed)


def _choice_check(choices: tuple[Any, ...], *, optional: bool) -> Validator:
    def check(instance: object, attribute: Field, value: Any) -> None:
        if not (_is_choice(value, choices) or (value is None and optional)):
            raise ValueError(
                f"{_place(instance, attribute)} must be one of {_options(choices)}, "
                f"got {show(value)}"
            )

    return check


def _items_check(item_type: Any) -> Validator | None:
    if get_origin(item_type) is Literal:
        return _item_choices_check(get_args(item_type))
    allowed = runtime_types(flatten_union(item_type))
    if not allowed:
        return None
    exact = frozenset(allowed)

    def check(instance: object, attribute: Field, value: Any) -> None:
        for key, item in _entries(value):
            if type(item) not in exact and not _is_one_of(item, allowed):
                raise TypeError(
                    f"{_place(instance, attribute)}[{key!r}] must be {_names(allowed)}, "
                    f"got {show(item)}"
                )

    return check


def _item_choices_check(choices: tuple[Any, ...]) -> Validator:
    def check(instance: object, attribute: Field, value: Any) -> None:
        for key, item in _entries(value):
            if not _is_choice(item, choices):
                raise ValueError(
                    f"{_place(instance, attribute)}[{key!r}] must be one of "
                    f"{_options(choices)}, got {show(item)}"
                )

    return check


def _entries(value: object) -> Iterable[tuple[str | int, Any]]:
    if value is None:
        return ()
    if type(value) is list:
        return enumerate(cast("Iterable[Any]", value))
    return cast("Mapping[str, Any]", value).items()


def _is_choice(value: object, choices: tuple[Any, ...]) -> bool:
    # A member of an enum of strings equals one, and is not written like one.
    return type(value) in (str, int) and value in choices


def _is_one_of(value: object, allowed: tuple[type, ...]) -> bool:
    # bool is an int to Python, and a member of an enum is what it is an enum of;
    # neither is written as what the field wants.
    return isinstance(value, allowed) and not isinstance(value, bool | enum.Enum)


# -- words -----------------------------------------------------------------------


def _place(instance: object, attribute: Field) -> str:
    return f"{type(instance).__name__}.{attribute.name}"


def _names(allowed: tuple[type, ...]) -> str:
    return " or ".join("None" if cls is types.NoneType else cls.__name__ for cls in allowed)


def _options(choices: tuple[Any, ...]) -> str:
    return ", ".join(repr(choice) for choice in choices)
