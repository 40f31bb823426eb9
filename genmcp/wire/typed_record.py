"""Reads JSON objects into instances of attrs classes and dataclasses, and TypedDicts.

Layer: wire, over `genmcp.wire.typed_cast`; `genmcp.wire.typed_union` builds the
readers of whole classes with it. Converters and validators of the class run; what
they refuse with `ValueError` or `TypeError` is a fault of the value, in the words
of whoever wrote them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, get_origin

import attrs

from genmcp.wire.json_kinds import is_object
from genmcp.wire.typed_cast import CastError, Reader, collect, find_simple, refuse_kind
from genmcp.wire.typed_hints import is_typed_dict, name_of
from genmcp.wire.violation import Violation, report_missing, report_unknown

if TYPE_CHECKING:
    from collections.abc import Callable, KeysView

    from genmcp.wire.typed_shape import Member, Shape


class RecordReader:
    """Reads objects into instances of one class."""

    def __init__(self, cls: Any) -> None:
        self._construct: Any = get_origin(cls) or cls
        self._is_dict = is_typed_dict(self._construct)
        # Per member: its reader, whether null says that it is not there, and the class
        # whose values the reader would return as they are.
        self._members: dict[str, tuple[Reader, bool, type | None]] = {}
        # Keys of a dict: a set that keeps their order.
        self._required: KeysView[str] = dict[str, None]().keys()
        self._filled: tuple[str, ...] = ()

    def prepare(self, members: tuple[Member, ...], build: Callable[[Shape], Reader]) -> None:
        """Take in the members; apart from construction, for a class that holds itself."""
        for member in members:
            read = build(member.shape)
            self._members[member.name] = (read, member.skips_null, find_simple(read))
        self._required = dict.fromkeys(one.name for one in members if one.required).keys()
        # May be None and has no default: the constructor must be told.
        self._filled = tuple(
            member.name for member in members if not member.required and not member.field.optional
        )

    def read(self, value: Any) -> Any:
        """Return the instance `value` stands for.

        Raises:
            CastError: it stands for none; tells everything that is wrong.
        """
        if not is_object(value):
            raise refuse_kind("object", value)
        members = self._members
        arguments: dict[str, Any] = {}
        found: list[Violation] = []
        for key, item in value.items():
            member = members.get(key)
            if member is None:
                collect(CastError([report_unknown(key, members)]), found)
            elif type(item) is member[2]:
                arguments[key] = item
            elif item is not None or not member[1]:
                try:
                    arguments[key] = member[0](item)
                except CastError as error:
                    collect(error, found, key)
        if not self._required <= value.keys():
            found += [report_missing(name) for name in self._required if name not in value]
        if found:
            raise CastError(found)
        for name in self._filled:
            arguments.setdefault(name, None)
        if self._is_dict:
            return arguments
        try:
            return self._construct(**arguments)
        except (ValueError, TypeError) as error:
            raise self._read_refusal(error) from error

    def _read_refusal(self, error: ValueError | TypeError) -> CastError:
        """Return what a converter or validator of the class refused, and which field."""
        # attrs' own validators put more than the sentence into the error.
        first = error.args[0] if error.args else None
        message = first if isinstance(first, str) and first else str(error)
        name = _find_field(error)
        path = (name,) if name in self._members else ()
        # The author's sentence may hold the value, or anything.
        reason = f"refused by {name_of(self._construct)}"
        return CastError([Violation(path, "", message or "is not allowed", reason)])


def _find_field(error: BaseException) -> str:
    """Return the field an attrs validator was checking when it raised, or nothing.

    attrs hands every validator the description of the field, but does not put it
    into the error; it is still in the frames the error came through.
    """
    trace = error.__traceback__
    while trace is not None:
        for local in trace.tb_frame.f_locals.values():
            if isinstance(local, attrs.Attribute):
                field = cast("attrs.Attribute[Any]", local)
                return field.alias or field.name
        trace = trace.tb_next
    return ""
