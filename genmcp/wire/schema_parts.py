"""The subschemas of one schema: which of them look at a value's parts, and whether it fits.

Layer: wire, between `genmcp.wire.schema_references` and those who walk a schema and
a value side by side: `genmcp.wire.repair` and `genmcp.wire.schema_misfits`.

They follow `properties`, `additionalProperties`, `prefixItems`, `items` and, in
place, `$ref`, `allOf`, `anyOf` and `oneOf`. Of what else may restrict a value they
know nothing, so that what they say is "at most this".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

from genmcp.wire.json_kinds import is_array, is_object, name_kind
from genmcp.wire.schema_rules import Subschema, join_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from genmcp.wire.schema_references import References

ALL_KINDS: Final = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})

_MAX_NESTED_UNIONS: Final = 8


class Parts:
    """The subschemas of one schema."""

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

    def find_beside(self, place: Subschema) -> list[Subschema]:
        """Return `place` and the schemas that hold beside it: its `$ref`, its `allOf`."""
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
            waiting += find_branches(part, "allOf")
        return list(found.values())

    def find_kinds(self, place: Subschema, depth: int = 0) -> frozenset[str]:
        """Return the JSON types a value may have at `place`, as `name_kind` names them."""
        if isinstance(place.schema, bool):
            return ALL_KINDS if place.schema else frozenset()
        kinds = ALL_KINDS
        for part in self.find_beside(place):
            kinds &= _find_own_kinds(part.schema)
            for branches in find_unions(part):
                if depth < _MAX_NESTED_UNIONS:
                    kinds &= frozenset[str]().union(
                        *(self.find_kinds(branch, depth + 1) for branch in branches)
                    )
        return kinds


def find_branches(part: Subschema, keyword: str) -> list[Subschema]:
    """Return the schemas in a list such as that of `anyOf`; none if there is no such."""
    branches = part.schema.get(keyword) if is_object(part.schema) else None
    if not is_array(branches):
        return []
    return [
        Subschema(join_pointer(part.pointer, keyword, index), branch)
        for index, branch in enumerate(branches)
    ]


def find_unions(part: Subschema) -> Iterator[list[Subschema]]:
    """Yield the lists of alternatives of one schema."""
    for keyword in ("anyOf", "oneOf"):
        branches = find_branches(part, keyword)
        if branches:
            yield branches


def find_children(part: Subschema, value: Any) -> Iterator[tuple[str | int, Subschema]]:
    """Yield the key of each member or item of `value` that `part` has a schema for."""
    keys = value if is_object(value) else range(len(value)) if is_array(value) else ()
    for key in keys:
        child = _find_child(part, key)
        if child is not None:
            yield key, child


def _find_child(part: Subschema, key: str | int) -> Subschema | None:
    schema = part.schema
    if not is_object(schema):
        return None
    if isinstance(key, str):
        named, rest = "properties", "additionalProperties"
        if "patternProperties" in schema and not _has(schema.get(named), key):
            # Which of the two it is takes the validator's regular expressions to tell.
            return None
    elif is_array(schema.get("items")):
        # Before 2020-12, `items` could be what `prefixItems` is now.
        named, rest = "items", "additionalItems"
    else:
        named, rest = "prefixItems", "items"
    listed: Any = schema.get(named)
    if _has(listed, key):
        return Subschema(join_pointer(part.pointer, named, key), listed[key])
    others = schema.get(rest)
    return Subschema(join_pointer(part.pointer, rest), others) if is_object(others) else None


def _has(children: Any, key: str | int) -> bool:
    if isinstance(key, int):
        return is_array(children) and key < len(children)
    return is_object(children) and key in children


def _find_own_kinds(schema: dict[str, Any] | bool) -> frozenset[str]:
    """Return the types that the keywords of one schema allow, references left aside."""
    kinds = ALL_KINDS
    if not is_object(schema):
        return kinds
    named = schema.get("type")
    if isinstance(named, str) or is_array(named):
        names = {named} if isinstance(named, str) else set(named)
        kinds &= names | ({"integer"} if "number" in names else set())
    options = schema.get("enum")
    if is_array(options):
        kinds &= set(map(_name_option, options))
    if "const" in schema:
        kinds &= {_name_option(schema["const"])}
    return kinds


def _name_option(option: Any) -> str:
    # 2.0 is an integer where JSON Schema counts.
    is_integer = isinstance(option, float) and option.is_integer()
    return "integer" if is_integer else name_kind(option)
