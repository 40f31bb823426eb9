"""Hooks that read JSON objects as the vocabulary's classes.

Layer: wire. Hooks are built when their type is first read: all of them would take
longer to prepare than a server takes to start. `scalars` has those for the rest,
`unions` finds out which class of a union an object is, `members` knows the names.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

import attrs
from cattrs import ClassValidationError, Converter
from cattrs.gen import make_dict_structure_fn, override

from genmcp.mcp.unset import Unset
from genmcp.mcp.v2607.checks import flatten_union, show
from genmcp.mcp.v2607.fields import PREDICATE
from genmcp.wire.json_kinds import OBJECT
from genmcp.wire.members import EXTRA, Member, constants_of, is_open, members_of
from genmcp.wire.remembered import remembering
from genmcp.wire.scalars import (
    SCALARS,
    Hook,
    WrongItem,
    WrongValue,
    describe,
    kinds_of,
    list_hook,
    literal_hook,
    mapping_hook,
    read_anything,
    read_object,
    scalar_hook,
    with_default,
    with_null,
    with_predicate,
)
from genmcp.wire.unions import class_chooser

_CONVERTER: Final = Converter(detailed_validation=True)


@functools.cache
def hook_for(tp: Any) -> Hook:
    """Return the hook that reads a JSON value as `tp`, building it once.

    Raises:
        TypeError: `tp` is not among the types the vocabulary uses.
    """
    if tp is Any or tp is object:
        return read_anything
    if tp in SCALARS:
        return scalar_hook(tp)
    if isinstance(tp, TypeVar):
        return hook_for(_default_of(tp))
    origin: Any = get_origin(tp) or tp
    arguments = get_args(tp)
    if origin in (Union, types.UnionType):
        return _union_hook(flatten_union(tp))
    if origin is Literal:
        return literal_hook(arguments)
    if origin in (Sequence, list):
        return list_hook(hook_for(arguments[0]))
    if origin in (Mapping, dict):
        return mapping_hook(hook_for(arguments[1] if arguments else Any))
    if isinstance(origin, type) and attrs.has(origin):
        return _class_hook(origin, arguments)
    raise TypeError(f"{tp!r} is not a type of the vocabulary")


# -- classes ---------------------------------------------------------------------


def _class_hook(cls: Any, arguments: tuple[Any, ...]) -> Hook:
    variables: tuple[Any, ...] = getattr(cls, "__parameters__", ())
    bound = dict(zip(variables, arguments, strict=False))
    read_members = _members_hook(cls, bound)
    members = members_of(cls).values()
    constants = constants_of(cls)
    demanded = [member.wire for member in members if member.required and member.has_default]
    known = frozenset([*constants, *(member.wire for member in members)])
    opened = is_open(cls)
    read_quickly = None if constants else _quick_hook(cls, bound, known)
    if read_quickly is not None:
        read_quickly = remembering(cls, read_quickly)

    def read_class(value: Any, _type: Any) -> Any:
        # Most are: a call would take longer than the look.
        given: dict[str, Any] = value if type(value) is OBJECT else read_object(value, None)
        if read_quickly is not None:
            try:
                return read_quickly(given)
            except (ClassValidationError, ValueError, KeyError):
                pass  # what is wrong is found out below
        if constants:
            _check_constants(given, constants)
        for name in demanded:
            if name not in given:
                raise WrongItem(name, WrongValue("required, but missing"))
        # Ours goes last: on the wire `extra` is a member like any other.
        if opened and not known.issuperset(given):
            given = {**given, EXTRA: _leave_out(given, known)}
        return read_members(given, cls)

    return read_class


def _members_hook(cls: Any, bound: Mapping[Any, Any]) -> Hook:
    overrides = {
        member.attribute: override(rename=member.wire, struct_hook=_member_hook(member, bound))
        for member in members_of(cls).values()
    }
    if is_open(cls):
        overrides[EXTRA] = override(rename=EXTRA, struct_hook=read_anything)
    # Its type has the overrides named one by one; there are as many as members.
    make = cast("Callable[..., Hook]", make_dict_structure_fn)
    return make(cls, _CONVERTER, _cattrs_use_linecache=False, **overrides)


def _quick_hook(
    cls: Any, bound: Mapping[Any, Any], known: frozenset[str]
) -> Callable[[dict[str, Any]], Any] | None:
    """Return what reads a good object without the checks of its class, which would come twice.

    It raises for a bad one, and does not say well why. `None` for a class that checks
    its members together.
    """
    if hasattr(cls, "__attrs_post_init__"):
        return None
    fields = attrs.fields_dict(cls)
    members = members_of(cls).values()
    hooks = {member: _member_hook(member, bound) for member in members}
    plan = {one.wire: (one.attribute, read, kinds_of(read)) for one, read in hooks.items()}
    defaults: dict[str, Any] = {}
    factories: list[tuple[str, Callable[[], Any]]] = []
    for member in members:
        default: Any = fields[member.attribute].default
        factory: Callable[[], Any] | None = getattr(default, "factory", None)
        if member.required or default is attrs.NOTHING:
            continue
        if factory is None:
            defaults[member.attribute] = default
        else:
            factories.append((member.attribute, factory))
    opened = is_open(cls)
    find_problem = fields[EXTRA].metadata.get(PREDICATE) if opened else None
    size = len(plan)

    def read_quickly(given: dict[str, Any]) -> Any:
        values = defaults.copy()
        extra: dict[str, Any] = {}
        for wire, item in given.items():
            if wire in plan:
                attribute, read, kinds = plan[wire]
                # Most are scalars, for which a call would be the longest part.
                values[attribute] = item if type(item) in kinds else read(item, None)
            elif opened and wire not in known:
                extra[wire] = item
        for attribute, make_default in factories:
            if attribute not in values:
                values[attribute] = make_default()
        if len(values) != size:
            raise KeyError  # something has no default and is not there
        if opened:
            # The members have their checks from their hooks; these have no hook.
            if find_problem is not None and find_problem(extra) is not None:
                raise ValueError
            values[EXTRA] = extra
        made = object.__new__(cls)
        # At once: a frozen object takes no attributes one by one.
        object.__setattr__(made, "__dict__", values)
        return made

    return read_quickly


def _leave_out(given: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {name: item for name, item in given.items() if name not in known}


def _check_constants(value: Mapping[str, Any], constants: Mapping[str, str]) -> None:
    for name, constant in constants.items():
        # A form without its mode is a form; nothing else may leave out its kind.
        found = value.get(name, "form" if name == "mode" else None)
        if found != constant:
            shown = show(found) if isinstance(found, str) else describe(found)
            problem = f"expected {constant!r}, got {shown}"
            raise WrongItem(name, WrongValue(problem if name in value else "required, but missing"))


def _member_hook(member: Member, bound: Mapping[Any, Any]) -> Hook:
    read = hook_for(_substitute(member.type, bound))
    if member.predicate is not None:
        read = with_predicate(read, member.predicate)
    if member.null_default is not None:
        return with_default(read, member.null_default)
    return read


def _substitute(tp: Any, bound: Mapping[Any, Any]) -> Any:
    if isinstance(tp, TypeVar):
        return bound.get(tp, _default_of(tp))
    variables: tuple[Any, ...] = getattr(tp, "__parameters__", ())
    if variables and get_origin(tp) is not None:
        return tp[tuple(_substitute(variable, bound) for variable in variables)]
    return tp


def _default_of(variable: Any) -> Any:
    # Those of the vocabulary have one; typing itself knows of it since Python 3.13.
    return variable.__default__


# -- unions ----------------------------------------------------------------------


def _union_hook(alternatives: tuple[Any, ...]) -> Hook:
    if Any in alternatives:
        return read_anything
    members = [tp for tp in alternatives if tp != Unset]
    if all(tp in SCALARS for tp in members):
        return scalar_hook(*members)
    named = [tp for tp in members if tp is not types.NoneType]
    read = hook_for(named[0]) if len(named) == 1 else _mixed_hook(named)
    return read if len(named) == len(members) else with_null(read)


def _mixed_hook(members: list[Any]) -> Hook:
    scalars = [tp for tp in members if tp in SCALARS]
    lists = [tp for tp in members if get_origin(tp) is Sequence]
    classes = [tp for tp in members if tp not in scalars and tp not in lists]
    read_other = _class_union_hook(classes) if classes else scalar_hook(*scalars)
    if not lists:
        return read_other
    read_list = hook_for(lists[0])

    def read_mixed(value: Any, tp: Any) -> Any:
        return read_list(value, tp) if type(value) is list else read_other(value, tp)

    return read_mixed


def _class_union_hook(classes: list[Any]) -> Hook:
    choose = class_chooser(classes)

    def read_one_of(value: Any, tp: Any) -> Any:
        candidates = choose(read_object(value, tp))
        if isinstance(candidates, str):
            raise WrongValue(candidates)
        for candidate in candidates[:-1]:
            # Shapes that look alike are told apart by trying.
            with contextlib.suppress(ClassValidationError, ValueError):
                return hook_for(candidate)(value, tp)
        return hook_for(candidates[-1])(value, tp)

    return read_one_of
