"""Finding out which class of a union a JSON object is.

Layer: wire. Most unions of the protocol say it in `type`, `method` or `mode`; the
others are told apart by the members that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, get_origin

from genmcp.mcp import v2607 as mcp
from genmcp.wire.members import constants_of, members_of

Chooser = Callable[[Mapping[str, Any]], "list[Any] | str"]
"""Gives the classes an object may be, likeliest first, or says why there is none."""

_TAGS: Final = ("type", "method", "mode")


def class_chooser(classes: Sequence[Any]) -> Chooser:
    """Return what chooses among `classes`, made once for each union."""
    if mcp.InputRequiredResult in classes:
        return _result_chooser(classes)
    for tag in _TAGS:
        by_tag = {_constant(cls, tag): cls for cls in classes}
        if len(by_tag) == len(classes) and by_tag.keys() != {None}:
            return _tag_chooser(tag, by_tag)
    return _shape_chooser(classes)


def _constant(cls: Any, tag: str) -> str | None:
    return constants_of(get_origin(cls) or cls).get(tag)


def _result_chooser(classes: Sequence[Any]) -> Chooser:
    others = [cls for cls in classes if cls is not mcp.InputRequiredResult]

    def choose(value: Mapping[str, Any]) -> list[Any]:
        asks = value.get("resultType") == "input_required"
        return [mcp.InputRequiredResult] if asks else others

    return choose


def _tag_chooser(tag: str, by_tag: Mapping[str | None, Any]) -> Chooser:
    table = {constant: [cls] for constant, cls in by_tag.items()}
    fallback = table.get("form") if tag == "mode" else table.get(None)
    names = ", ".join(constant for constant in table if constant is not None)

    def choose(value: Mapping[str, Any]) -> list[Any] | str:
        found = value.get(tag)
        chosen = table.get(found) if isinstance(found, str) else None
        if chosen is None and (tag != "mode" or found is None):
            chosen = fallback
        return chosen or f"its {tag!r} must be one of {names}"

    return choose


def _shape_chooser(classes: Sequence[Any]) -> Chooser:
    shapes = [(cls, _required(cls), _known(cls)) for cls in classes]

    def choose(value: Mapping[str, Any]) -> list[Any] | str:
        present = value.keys()
        fitting = [
            (cls, (len(required), len(present & known)))
            for cls, required, known in shapes
            if required <= present and _constants_match(cls, value)
        ]
        # The most telling shape first; sorting is stable, so the order stands.
        fitting.sort(key=lambda entry: entry[1], reverse=True)
        if fitting:
            return [cls for cls, _ in fitting]
        names = " or ".join((get_origin(cls) or cls).__name__ for cls in classes)
        return f"expected an object with the members of {names}"

    return choose


def _required(cls: Any) -> frozenset[str]:
    origin = get_origin(cls) or cls
    members = members_of(origin).values()
    return frozenset(
        [*constants_of(origin), *(member.wire for member in members if member.required)]
    )


def _known(cls: Any) -> frozenset[str]:
    origin = get_origin(cls) or cls
    return _required(cls) | {member.wire for member in members_of(origin).values()}


def _constants_match(cls: Any, value: Mapping[str, Any]) -> bool:
    constants = constants_of(get_origin(cls) or cls)
    return all(value[name] == constant for name, constant in constants.items())
