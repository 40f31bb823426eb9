"""Where a large value does not fit, found without looking at all that is wrong.

Layer: wire, beside `genmcp.wire.schema_errors`. The validator tells everything that
is wrong at once, alternatives multiplied, which for a large value takes seconds.
Here the value is followed down to parts small enough to be explained that way, as
long as that takes a bounded amount of work; then the validator's first error is told.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import attrs
from jsonschema_rs import ValidationError

from genmcp.wire.json_kinds import (
    count_values,
    is_array,
    is_object,
    list_items,
    name_kind,
)
from genmcp.wire.schema_errors import read_errors
from genmcp.wire.schema_parts import Parts, find_children, find_named
from genmcp.wire.violation import MAX_PROBLEMS, Violation, report_missing, report_unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from genmcp.wire.schema_references import References
    from genmcp.wire.schema_rules import Subschema

MAX_EXPLAINED: Final = 500
"""How many values, times the alternatives for them, are explained at once."""

MAX_EXPLAINED_IN_ALL: Final = 10_000
"""The same for all parts of a large value together."""

MAX_LOOKS: Final = 200_000
"""How many members and items are looked at one by one, in a whole search."""

MAX_WORK: Final = 1_000_000
"""How many values are checked for it; of one part, `_MAX_COUNTED` at most count."""

_MAX_COUNTED: Final = 100_000
_MAX_DEPTH: Final = 100
_BEYOND: Final = frozenset(
    {
        "$dynamicRef",
        "$recursiveRef",
        "dependencies",
        "dependentSchemas",
        "else",
        "patternProperties",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""The keywords behind which there may be alternatives that are not followed here."""


def is_small(value: Any, references: References) -> bool:
    """Tell whether all that is wrong with `value` can be told at once.

    A schema that refers to itself has its alternatives again at each level.
    """
    factor = max(references.alternatives, 1) if references.recursive else 1
    size, weight, level = 1, 1, [value]
    while level and size * weight <= MAX_EXPLAINED:
        held = [list_items(container) for container in level]
        size += sum(map(len, held))
        weight *= factor
        if size * weight > MAX_EXPLAINED:
            break
        level = [item for items in held for item in items]
    return size * weight <= MAX_EXPLAINED


def find_misfits(parts: Parts, references: References, value: Any) -> list[Violation]:
    """Return what is wrong with `value`, in about as many places as are told."""
    search = _Search(parts, references)
    search.look(parts.root, value, ())
    return search.found


class _Search:
    """One search, what it has found, and what it has cost."""

    def __init__(self, parts: Parts, references: References) -> None:
        self._parts = parts
        self._references = references
        self._looks = 0
        self._work = 0
        self._explained = 0
        self.found: list[Violation] = []

    @property
    def _is_done(self) -> bool:
        return len(self.found) > MAX_PROBLEMS or self._explained > MAX_EXPLAINED_IN_ALL

    @property
    def _is_spent(self) -> bool:
        return self._looks > MAX_LOOKS or self._work > MAX_WORK

    def look(self, place: Subschema, value: Any, path: tuple[str | int, ...]) -> None:
        """Look for what is wrong with `value`, which does not fit `place`."""
        if self._is_done:
            return
        if is_small(value, self._references):
            self._explain(place, value, path)
            return
        self._work += count_values(value, _MAX_COUNTED)
        if self._is_spent or len(path) > _MAX_DEPTH or not self._look_inside(place, value, path):
            self._explain_whole(place, value, path)

    def _look_inside(self, place: Subschema, value: Any, path: tuple[str | int, ...]) -> bool:
        """Look at the members, items and alternatives; tell whether one does not fit."""
        before = len(self.found)
        for part in self._parts.find_beside(place):
            layout = self._parts.find_layout(part)
            self._look_at_names(part, value, path)
            for key, child in find_children(layout, value):
                if not self._parts.fits(child, value[key]):
                    self.look(child, value[key], (*path, key))
                self._looks += 1
                if self._is_done or self._is_spent:
                    return len(self.found) > before
            for branches in layout.unions:
                if not any(self._parts.fits(branch, value) for branch in branches):
                    self._look_at_branches(branches, value, path)
        return len(self.found) > before

    def _look_at_names(self, part: Subschema, value: Any, path: tuple[str | int, ...]) -> None:
        """Look for members that are missing, and for those that must not be there."""
        schema = part.schema
        # In older dialects nothing counts beside a reference.
        if not is_object(schema) or not is_object(value) or "$ref" in schema:
            return
        required, known = schema.get("required"), schema.get("properties", {})
        missing = (name for name in required if name not in value) if is_array(required) else ()
        self._add(report_missing(name, path) for name in missing)
        if schema.get("additionalProperties") is False and "patternProperties" not in schema:
            unknown = (name for name in value if name not in known)
            self._add(report_unknown(name, known, path) for name in unknown)

    def _look_at_branches(
        self, branches: tuple[Subschema, ...], value: Any, path: tuple[str | int, ...]
    ) -> None:
        meant = [branch for branch in branches if self._may_mean(branch, value)]
        if len(meant) == 1:
            self.look(meant[0], value, path)
        else:
            self._report(path, "fits none of the allowed forms")

    def _may_mean(self, branch: Subschema, value: Any) -> bool:
        """Tell whether `value` may be meant for an alternative: by its type and fixed values."""
        if name_kind(value) not in self._parts.find_kinds(branch):
            return False
        return all(
            self._parts.fits(child, value[key])
            for part in self._parts.find_beside(branch)
            for key, child in find_named(self._parts.find_layout(part), value)
            if is_object(child.schema) and ("const" in child.schema or "enum" in child.schema)
        )

    def _explain(self, place: Subschema, value: Any, path: tuple[str | int, ...]) -> None:
        validator = self._parts.find_validator(place)
        if validator is None:
            self._report(path, "does not fit")
            return
        ways = max(self._references.alternatives, 1)
        self._explained += count_values(value, MAX_EXPLAINED) * ways
        self._read(validator.iter_errors(value), place, value, path)

    def _explain_whole(self, place: Subschema, value: Any, path: tuple[str | int, ...]) -> None:
        """Tell the first thing that is wrong with a value too large to tell everything."""
        validator = self._parts.find_validator(place)
        if validator is not None and self._may_multiply(place):
            ways = max(self._references.alternatives, 1)
            self._explained += count_values(value, MAX_EXPLAINED_IN_ALL) * ways
            if self._explained > MAX_EXPLAINED_IN_ALL:
                validator = None
        if validator is None:
            self._report(path, "does not fit")
            return
        try:
            validator.validate(value)
        except ValidationError as error:
            self._read([error], place, value, path)

    def _may_multiply(self, place: Subschema) -> bool:
        """Tell whether one error might be that of alternatives, which holds all of theirs."""
        return self._parts.leads_to_unions(place) and (
            self._is_spent
            or any(
                is_object(part.schema) and not _BEYOND.isdisjoint(part.schema)
                for part in self._parts.find_beside(place)
            )
        )

    def _read(
        self,
        errors: Iterable[ValidationError],
        place: Subschema,
        value: Any,
        path: tuple[str | int, ...],
    ) -> None:
        # Of a reference it tells the place from the root, of other errors from here.
        roots = [place.schema, self._parts.root.schema]
        self._add(
            attrs.evolve(violation, path=path + violation.path)
            for violation in read_errors(errors, roots, value)
        )

    def _add(self, violations: Iterable[Violation]) -> None:
        self.found += islice(violations, MAX_PROBLEMS + 1 - len(self.found))

    def _report(self, path: tuple[str | int, ...], reason: str) -> None:
        self.found.append(Violation(path, "", reason, reason))
