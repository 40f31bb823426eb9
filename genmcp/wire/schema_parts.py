"""The subschemas of one schema: which of them look at a value's parts, and whether it fits.

Layer: wire, between `genmcp.wire.schema_references` and those who walk a schema and
a value side by side: `genmcp.wire.repair` and `genmcp.wire.schema_misfits`.

They follow `properties`, `additionalProperties`, `prefixItems`, `items` and, in
place, `$ref`, `allOf`, `anyOf` and `oneOf`. Of what else may restrict a value they
know nothing, so that what they say is "at most this".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import jsonschema_rs

from genmcp.value import Value
from genmcp.wire.json_kinds import ALL_KINDS, is_array, is_object, name_kind
from genmcp.wire.schema_rules import Subschema, find_subschemas, join_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from genmcp.wire.schema_references import References

_MAX_NESTED_UNIONS: Final = 8
_LEADING: Final = frozenset({"anyOf", "oneOf", "$dynamicRef", "$recursiveRef"})


@attrs.frozen(eq=False, repr=False)
class Layout(Value):
    """What one schema says of the parts of a value, laid out for looking up.

    Attributes:
        members: the schemas of the members it names.
        other_members: that of any other member, if it has one.
        items: the schemas of the first items.
        other_items: that of the items after them, if it has one.
        unions: its lists of alternatives.
    """

    members: Mapping[str, Subschema]
    other_members: Subschema | None
    items: tuple[Subschema, ...]
    other_items: Subschema | None
    unions: tuple[tuple[Subschema, ...], ...]


class Parts:
    """The subschemas of one schema.

    What is found out about one of them is kept: a value may have a million items,
    and there are only so many subschemas.
    """

    def __init__(
        self,
        schema: dict[str, Any] | bool,
        references: References,
        registry: jsonschema_rs.Registry | None,
    ) -> None:
        self.root = Subschema("", schema)
        self._references = references
        self._registry = registry
        self._validators: jsonschema_rs.ValidatorMap | None = None
        self._beside: dict[str, tuple[Subschema, ...]] = {}
        self._layouts: dict[str, Layout] = {}
        self._kinds: dict[str, frozenset[str]] = {}
        self._unions: dict[str, bool] = {}

    def find_validator(self, place: Subschema) -> jsonschema_rs.Validator | None:
        """Return the validator of one subschema; None where the compiler made none."""
        if self._validators is None:
            # All of them, and only for values that do not fit as they are.
            self._validators = jsonschema_rs.validator_map_for(
                self.root.schema, registry=self._registry, offline=True, validate_formats=False
            )
        return self._validators.get(f"#{place.pointer}")

    def fits(self, place: Subschema, value: object) -> bool:
        """Tell whether `value` fits one subschema; also where that cannot be told.

        For values whose depth is known: it is not checked again.
        """
        if isinstance(place.schema, bool):
            return place.schema
        validator = self.find_validator(place)
        try:
            return validator is None or validator.is_valid(value)
        except ValueError:
            return False

    def surely_fits(self, place: Subschema, value: object) -> bool:
        """Tell whether `value` is known to fit one subschema."""
        known = isinstance(place.schema, bool) or self.find_validator(place) is not None
        return known and self.fits(place, value)

    def find_layout(self, part: Subschema) -> Layout:
        """Return which schemas one subschema has for the parts of a value."""
        layout = self._layouts.get(part.pointer)
        if layout is None:
            layout = self._layouts[part.pointer] = _lay_out(part)
        return layout

    def leads_to_unions(self, place: Subschema) -> bool:
        """Tell whether there may be alternatives at `place` or anywhere below it."""
        leads = self._unions.get(place.pointer)
        if leads is None:
            leads = self._unions[place.pointer] = self._search_unions(place)
        return leads

    def _search_unions(self, place: Subschema) -> bool:
        waiting, seen = [place.schema], set[int]()
        while waiting:
            schema = waiting.pop()
            if id(schema) in seen:
                continue
            seen.add(id(schema))
            for inner in find_subschemas(schema).values():
                if not _LEADING.isdisjoint(inner):
                    return True
                target = self._references.find_target(inner.get("$ref"))
                if target is not None:
                    waiting.append(target.schema)
                elif "$ref" in inner:
                    return True
        return False

    def find_beside(self, place: Subschema) -> tuple[Subschema, ...]:
        """Return `place` and the schemas that hold beside it: its `$ref`, its `allOf`."""
        beside = self._beside.get(place.pointer)
        if beside is None:
            beside = self._beside[place.pointer] = self._collect_beside(place)
        return beside

    def _collect_beside(self, place: Subschema) -> tuple[Subschema, ...]:
        found: dict[str, Subschema] = {}
        waiting = [place]
        while waiting:
            part = waiting.pop()
            if part.pointer in found or not is_object(part.schema):
                continue
            found[part.pointer] = part
            target = self._references.find_target(part.schema.get("$ref"))
            if target is not None:
                waiting.append(target)
            waiting += _find_list(part, "allOf")
        return tuple(found.values())

    def find_kinds(self, place: Subschema) -> frozenset[str]:
        """Return the JSON types a value may have at `place`, as `name_kind` names them."""
        kinds = self._kinds.get(place.pointer)
        if kinds is None:
            kinds = self._kinds[place.pointer] = self._collect_kinds(place, 0)
        return kinds

    def _collect_kinds(self, place: Subschema, depth: int) -> frozenset[str]:
        if isinstance(place.schema, bool):
            return ALL_KINDS if place.schema else frozenset()
        kinds = ALL_KINDS
        for part in self.find_beside(place):
            kinds &= find_own_kinds(part.schema)
            for branches in self.find_layout(part).unions:
                if depth < _MAX_NESTED_UNIONS:
                    kinds &= frozenset[str]().union(
                        *(self._collect_kinds(branch, depth + 1) for branch in branches)
                    )
        return kinds


def find_named(layout: Layout, value: Any) -> Iterator[tuple[str | int, Subschema]]:
    """Yield the key of each part of `value` that has a schema of its own, and that."""
    if is_object(value):
        yield from ((name, child) for name, child in layout.members.items() if name in value)
    elif is_array(value):
        yield from enumerate(layout.items[: len(value)])


def find_children(layout: Layout, value: Any) -> Iterator[tuple[str | int, Subschema]]:
    """Yield the key of each part of `value` that there is a schema for, and that."""
    yield from find_named(layout, value)
    if is_object(value) and layout.other_members is not None:
        for name in value:
            if name not in layout.members:
                yield name, layout.other_members
    elif is_array(value) and layout.other_items is not None:
        for index in range(len(layout.items), len(value)):
            yield index, layout.other_items


def _lay_out(part: Subschema) -> Layout:
    schema = part.schema
    if not is_object(schema):
        return Layout({}, None, (), None, ())
    named = schema.get("properties")
    members = {
        name: Subschema(join_pointer(part.pointer, "properties", name), child)
        for name, child in (named.items() if is_object(named) else ())
    }
    # Before 2020-12, `items` could be what `prefixItems` is now.
    old = is_array(schema.get("items"))
    first, rest = ("items", "additionalItems") if old else ("prefixItems", "items")
    # Which members a pattern means takes the validator's regular expressions to tell.
    told = "patternProperties" not in schema
    unions = (_find_list(part, keyword) for keyword in ("anyOf", "oneOf"))
    return Layout(
        members,
        _find_rest(part, "additionalProperties") if told else None,
        _find_list(part, first),
        _find_rest(part, rest),
        tuple(branches for branches in unions if branches),
    )


def _find_rest(part: Subschema, keyword: str) -> Subschema | None:
    held = part.schema.get(keyword) if is_object(part.schema) else None
    return Subschema(join_pointer(part.pointer, keyword), held) if is_object(held) else None


def _find_list(part: Subschema, keyword: str) -> tuple[Subschema, ...]:
    """Return the schemas in a list such as that of `anyOf`; none if there is no such."""
    held = part.schema.get(keyword) if is_object(part.schema) else None
    return tuple(
        Subschema(join_pointer(part.pointer, keyword, index), child)
        for index, child in enumerate(held if is_array(held) else ())
    )


def find_own_kinds(schema: Mapping[str, Any] | bool) -> frozenset[str]:
    """Return the types that the keywords of one schema allow, references left aside."""
    kinds = ALL_KINDS
    if isinstance(schema, bool):
        return kinds
    named = schema.get("type")
    if isinstance(named, str) or is_array(named):
        names: set[object] = {named} if isinstance(named, str) else set(filter(_is_text, named))
        kinds &= names | ({"integer"} if "number" in names else set())
    options = schema.get("enum")
    if is_array(options):
        kinds &= set(map(_name_option, options))
    if "const" in schema:
        kinds &= {_name_option(schema["const"])}
    return kinds


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _name_option(option: Any) -> str:
    # 2.0 is an integer where JSON Schema counts.
    is_integer = isinstance(option, float) and option.is_integer()
    return "integer" if is_integer else name_kind(option)
