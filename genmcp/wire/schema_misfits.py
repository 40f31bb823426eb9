"""Where a large value does not fit, found without looking at all that is wrong.

Layer: wire, beside `genmcp.wire.schema_errors`. The validator tells everything that
is wrong at once, alternatives multiplied, which for a large value takes seconds.
Here the value is followed down to parts small enough to be explained that way.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import attrs
from jsonschema_rs import ValidationError

from genmcp.wire.json_kinds import is_array, is_object, name_kind
from genmcp.wire.schema_errors import read_errors
from genmcp.wire.schema_parts import Parts, find_children, find_unions
from genmcp.wire.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from genmcp.wire.schema_references import References
    from genmcp.wire.schema_rules import Subschema

MAX_EXPLAINED: Final = 500
"""How many values, times the alternatives for them, are explained at once."""

MAX_PLACES: Final = 20
"""How many places of a large value are told."""

_MAX_DEPTH: Final = 100


def is_small(value: Any, references: References) -> bool:
    """Tell whether all that is wrong with `value` can be told at once.

    A schema that refers to itself has its alternatives again at each level.
    """
    factor = max(references.alternatives, 1) if references.recursive else 1
    size, weight, level = 0, 1, [value]
    while level:
        size += len(level)
        if size * weight > MAX_EXPLAINED:
            return False
        level = [item for container in level for item in _list_items(container)]
        weight *= factor
    return True


def _list_items(value: Any) -> Iterable[Any]:
    if is_object(value):
        return value.values()
    return value if is_array(value) else ()


def find_misfits(parts: Parts, references: References, value: Any) -> list[Violation]:
    """Return what is wrong with `value`, at most about `MAX_PLACES` places of it."""
    search = _Search(parts, references)
    search.look(parts.root, value, ())
    return search.found


class _Search:
    """One search, and what it has found."""

    def __init__(self, parts: Parts, references: References) -> None:
        self._parts = parts
        self._references = references
        self.found: list[Violation] = []

    def look(self, place: Subschema, value: Any, path: tuple[str | int, ...]) -> None:
        """Look for what is wrong with `value`, which does not fit `place`."""
        if len(self.found) >= MAX_PLACES:
            return
        small = is_small(value, self._references)
        if small or len(path) > _MAX_DEPTH or not self._look_inside(place, value, path):
            self._explain(place, value, path, small=small)

    def _look_inside(self, place: Subschema, value: Any, path: tuple[str | int, ...]) -> bool:
        """Look at the members, items and alternatives; tell whether one does not fit."""
        before = len(self.found)
        for part in self._parts.find_beside(place):
            for key, child in find_children(part, value):
                if not self._parts.fits(child, value[key]):
                    self.look(child, value[key], (*path, key))
                if len(self.found) >= MAX_PLACES:
                    return True
            for branches in find_unions(part):
                if not any(self._parts.fits(branch, value) for branch in branches):
                    self._look_at_branches(branches, value, path)
        return len(self.found) > before

    def _look_at_branches(
        self, branches: list[Subschema], value: Any, path: tuple[str | int, ...]
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
            for key, child in find_children(part, value)
            if is_object(child.schema) and ("const" in child.schema or "enum" in child.schema)
        )

    def _explain(
        self, place: Subschema, value: Any, path: tuple[str | int, ...], *, small: bool
    ) -> None:
        # Of a reference it tells the place from the root, of other errors from here.
        roots = [place.schema, self._parts.root.schema]
        validator = self._parts.find_validator(place)
        if validator is None:
            self._report(path, "does not fit")
        elif small:
            errors = islice(validator.iter_errors(value), MAX_PLACES)
            self._add(read_errors(errors, roots, value), path)
        else:
            try:
                validator.validate(value)
            except ValidationError as error:
                self._add(read_errors([error], roots, value), path)

    def _add(self, violations: Iterable[Violation], path: tuple[str | int, ...]) -> None:
        for violation in islice(violations, MAX_PLACES):
            self.found.append(attrs.evolve(violation, path=path + violation.path))

    def _report(self, path: tuple[str | int, ...], reason: str) -> None:
        self.found.append(Violation(path, "", reason, reason))
