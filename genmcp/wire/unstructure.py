"""Hooks that write the vocabulary's objects as JSON values.

Layer: wire. Absent members are left out, required ones always written, an open
object's other members merged back in. What a member may hold was checked when
the object was built; the items of lists and maps are checked here.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

import attrs
from cattrs import Converter
from cattrs.fns import identity
from cattrs.gen import make_dict_unstructure_fn, override

from genmcp.mcp.unset import Unset
from genmcp.mcp.v2607.checks import flatten_union, show
from genmcp.mcp.v2607.fields import WireObject
from genmcp.mcp.v2607.meta import ResultMetaObject
from genmcp.wire.members import EXTRA, Member, constants_of, is_open, members_of

Writer = Callable[[Any], Any]

_CONVERTER: Final = Converter()
_SCALARS: Final[Mapping[Any, tuple[type, ...]]] = {
    str: (str,),
    int: (int,),
    float: (int, float),
    bool: (bool,),
}


class Unwritable(ValueError):
    """A value has no place in the message; `path` grows on the way out."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path: tuple[str | int, ...] = ()

    def under(self, step: str | int) -> Unwritable:
        """Add where the value was found, and return itself."""
        self.path = (step, *self.path)
        return self


def write_object(value: object) -> dict[str, Any]:
    """Write an object of any vocabulary class.

    Raises:
        Unwritable: it is of no such class, or holds something that is not.
    """
    cls: Any = type(value)
    written: dict[str, Any] = _writer_of(cls)(value)
    return written


@functools.cache
def _writer_of(cls: Any) -> Writer:
    if not attrs.has(cls):
        raise Unwritable(f"{cls.__name__} is not a class of the protocol's vocabulary")
    members = members_of(cls)
    overrides = {
        member.attribute: override(
            rename=member.wire,
            omit_if_default=not member.always_written,
            unstruct_hook=_member_writer(member),
        )
        for member in members.values()
    }
    constants = dict(constants_of(cls))
    opened = is_open(cls)
    if opened:
        overrides[EXTRA] = override(omit=True)
    # Its type has the overrides named one by one; there are as many as members.
    make = cast("Callable[..., Writer]", make_dict_unstructure_fn)
    write_members = make(cls, _CONVERTER, _cattrs_use_linecache=False, **overrides)
    if not opened:
        if not constants:
            return write_members
        return lambda value: {**constants, **write_members(value)}
    known = frozenset([*constants, *(member.wire for member in members.values())])

    def write_open(value: Any) -> dict[str, Any]:
        done: dict[str, Any] = {**constants, **write_members(value)}
        extra: Mapping[str, Any] = value.extra
        if extra:
            clash = known & extra.keys()
            if clash:
                raise Unwritable(
                    f"{cls.__name__}.extra must not hold {', '.join(sorted(clash))}: "
                    "the class has an attribute for it"
                )
            done.update(extra)
        return done

    return _remembering(write_open) if cls is ResultMetaObject else write_open


def _remembering(write: Writer) -> Writer:
    """Return `write`, which does not write the object that it wrote last once more.

    A suite puts one and the same object into nearly every result. What is returned is
    shared: nobody changes what was written.
    """
    # Both in one: another thread, with a suite of its own, may write in between.
    last: tuple[Any, dict[str, Any]] = (None, {})

    def write_once(value: Any) -> dict[str, Any]:
        nonlocal last
        known, written = last
        if value is not known or value.extra:
            written = write(value)
            last = (value, written)
        return written

    return write_once


def _member_writer(member: Member) -> Writer:
    write = _writer_for(member.type)
    if write is None:
        return identity

    def write_member(value: Any) -> Any:
        try:
            return write(value)
        except Unwritable as error:
            raise error.under(member.wire) from None

    return write_member


@functools.cache
def _writer_for(tp: Any) -> Writer | None:
    """Return what writes a value of `tp`, or None when it is written as it is."""
    origin: Any = get_origin(tp) or tp
    if isinstance(tp, TypeVar):
        return _write_payload
    if origin in (Union, types.UnionType):
        return _union_writer(flatten_union(tp))
    if origin in (Sequence, list):
        return _list_writer(get_args(tp)[0])
    if origin in (Mapping, dict):
        return _mapping_writer(get_args(tp)[1])
    if isinstance(origin, type) and attrs.has(origin):
        return _class_writer((origin,))
    # Scalars were checked on construction; Any is checked by write_json.
    return None


def _write_payload(value: object) -> Any:
    # A result in its envelope is one of ours. What else a type variable stands for,
    # arguments and their like, is JSON already, but for the kind of mapping.
    if isinstance(value, WireObject):
        return write_object(value)
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else value


def _class_writer(classes: tuple[type, ...]) -> Writer:
    names = " or ".join(cls.__name__ for cls in classes)

    def write_class(value: object) -> Any:
        if not isinstance(value, classes):
            raise Unwritable(f"expected {names}, got {show(value)}")
        cls: Any = type(value)
        return _writer_of(cls)(value)

    return write_class


def _item_writer(tp: Any) -> Writer | None:
    if tp in _SCALARS:
        return _scalar_writer(_SCALARS[tp])
    if get_origin(tp) is Literal:
        return _choice_writer(get_args(tp))
    return _writer_for(tp)


def _choice_writer(choices: tuple[Any, ...]) -> Writer:
    names = ", ".join(str(choice) for choice in choices)

    def write_choice(value: Any) -> Any:
        if type(value) is not str or value not in choices:
            raise Unwritable(f"expected one of {names}, got {show(value)}")
        return value

    return write_choice


def _scalar_writer(kinds: tuple[type, ...]) -> Writer:
    names = " or ".join(kind.__name__ for kind in kinds)

    def write_scalar(value: Any) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise Unwritable(f"expected {names}, got {show(value)}")
        return value

    return write_scalar


def _list_writer(item_type: Any) -> Writer:
    write_item = _item_writer(item_type)
    if write_item is None:
        return list

    def write_list(value: Any) -> list[Any]:
        done: list[Any] = []
        try:
            for item in value:
                done.append(write_item(item))  # noqa: PERF401 - its length is the index
        except Unwritable as error:
            raise error.under(len(done)) from None
        return done

    return write_list


def _mapping_writer(item_type: Any) -> Writer:
    write_item = _item_writer(item_type)
    if write_item is None:
        return _write_payload

    def write_mapping(value: Any) -> dict[str, Any]:
        done: dict[str, Any] = {}
        for key, item in value.items():
            try:
                done[key] = write_item(item)
            except Unwritable as error:
                raise error.under(key) from None
        return done

    return write_mapping


def _union_writer(alternatives: tuple[Any, ...]) -> Writer | None:
    if Any in alternatives:
        return None
    members = [tp for tp in alternatives if tp is not types.NoneType and tp != Unset]
    lists = [tp for tp in members if get_origin(tp) is Sequence]
    scalars = tuple(kind for tp in members for kind in _SCALARS.get(tp, ()))
    rest = [tp for tp in members if tp not in _SCALARS and tp not in lists]
    if len(members) == 1:
        write = _writer_for(members[0])
        return _with_none(write) if write and types.NoneType in alternatives else write
    if not lists and not rest:
        return None
    write_list = _list_writer(get_args(lists[0])[0]) if lists else None
    write_rest = (
        _class_writer(tuple(get_origin(tp) or tp for tp in rest))
        if rest
        else _scalar_writer(scalars)
    )

    def write_mixed(value: Any) -> Any:
        if write_list is not None and isinstance(value, list | tuple):
            return write_list(value)
        return write_rest(value)

    return _with_none(write_mixed) if types.NoneType in alternatives else write_mixed


def _with_none(write: Writer) -> Writer:
    def write_optional(value: Any) -> Any:
        return None if value is None else write(value)

    return write_optional
