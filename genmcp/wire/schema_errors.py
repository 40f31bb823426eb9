"""The validator's errors, read into what is wrong with the value.

Layer: wire, between the validator and `genmcp.wire.violation`; used by
`genmcp.wire.schema`. The wording is here, and the choice of which alternative a
value that fits none was probably meant to be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
from jsonschema_rs import ValidationError, ValidationErrorKind

from genmcp.wire.json_kinds import is_array, is_object, name_kind
from genmcp.wire.violation import Violation, describe, join_options, quote, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_SIZES: Final = {
    "minLength": ("at least", "character"),
    "maxLength": ("at most", "character"),
    "minItems": ("at least", "item"),
    "maxItems": ("at most", "item"),
    "additionalItems": ("at most", "item"),
    "minProperties": ("at least", "field"),
    "maxProperties": ("at most", "field"),
}
_BOUNDS: Final = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "greater than",
    "exclusiveMaximum": "less than",
}
_SENTENCES: Final = {
    "uniqueItems": "must not hold the same item twice",
    "unevaluatedItems": "has more items than it may have",
    "contains": "holds no item of the form it must hold",
    "minContains": "holds too few items of the form it must hold",
    "maxContains": "holds too many items of one form",
    "falseSchema": "is not allowed here",
    "not": "has a form that is not allowed",
    "oneOf": "fits more than one of the allowed forms, and must fit exactly one",
}
_TAGS: Final = ("const", "enum")


def read_errors(
    errors: Iterable[ValidationError], roots: Sequence[dict[str, Any] | bool], value: Any
) -> Iterator[Violation]:
    """Yield what the validator's `errors` say about the value.

    Args:
        errors: as the validator gives them.
        roots: the schemas in which an error's place may be, to tell the names that are known.
        value: what was validated.
    """
    return _ErrorReader(roots, value).read(errors)


class _ErrorReader:
    """Reads the errors of one value."""

    def __init__(self, roots: Sequence[dict[str, Any] | bool], value: Any) -> None:
        self._roots = roots
        self._value = value

    def read(self, errors: Iterable[ValidationError]) -> Iterator[Violation]:
        kinds = ValidationErrorKind
        for error in errors:
            match error.kind:
                case kinds.AnyOf(context=branches) | kinds.OneOfNotValid(context=branches):
                    yield from self._read_branches(error, branches)
                case kinds.AdditionalProperties(unexpected=names):
                    yield from self._read_unknown(error, names)
                case kinds.UnevaluatedProperties(unexpected=names):
                    yield from self._read_unknown(error, names)
                case kinds.FalseSchema() if error.schema_path[-1:] == ["additionalProperties"]:
                    # Where no names are known at all, the validator tells the object only.
                    names = list(_find(self._value, error.instance_path))
                    yield from self._read_unknown(error, names)
                case kinds.Required(property=name):
                    yield self._read_missing(error, name)
                case kinds.BacktrackLimitExceeded() | kinds.RegexEngineFailure():
                    yield self._read_unchecked(error)
                case kinds.PropertyNames(error=inner):
                    yield from self._read_names(error, inner)
                case _:
                    yield _read_value(error)

    def _read_names(self, error: ValidationError, inner: ValidationError) -> Iterator[Violation]:
        for violation in self.read([inner]):
            yield Violation(
                path=tuple(error.instance_path),
                keyword="propertyNames",
                message=f"the name {quote(inner.instance)} is not allowed: {violation.reason}",
                reason=f"a name is not allowed: {violation.reason}",
            )

    def _read_unknown(self, error: ValidationError, names: list[str]) -> Iterator[Violation]:
        parent = self._find_rule(error.schema_path[:-1])
        known = parent.get("properties") if is_object(parent) else None
        for name in names:
            message = f"unknown field {quote(name)}"
            yield Violation(
                path=tuple(error.instance_path),
                keyword=str(error.schema_path[-1]),
                message=message,
                reason=message,
                name=name,
                candidates=tuple(known) if is_object(known) else (),
            )

    def _read_unchecked(self, error: ValidationError) -> Violation:
        """Return what to say of text that the regular expression could not be tried on."""
        place = error.schema_path
        holder = place[-2] if len(place) > 1 else ""
        whose = "its names " if holder in ("patternProperties", "propertyNames") else ""
        pattern = place[-1] if holder == "patternProperties" else self._find_rule(place)
        rule = f"the pattern {shorten(pattern)}" if isinstance(pattern, str) else "its pattern"
        reason = f"{whose}could not be checked against {rule}, which took too long; send less"
        return Violation(tuple(error.instance_path), "pattern", reason, reason)

    def _read_missing(self, error: ValidationError, name: str) -> Violation:
        message = f"missing required field {quote(name)}"
        trigger = self._find_trigger(error, name)
        if trigger is not None:
            message += f", needed beside {quote(trigger)}"
        return Violation(
            path=tuple(error.instance_path),
            keyword="required" if trigger is None else "dependentRequired",
            message=message,
            reason=message,
            name=name,
        )

    def _find_trigger(self, error: ValidationError, name: str) -> str | None:
        """Return the member that makes `name` required, if one does."""
        rules, value = self._find_rule(error.schema_path), error.instance
        if not is_object(rules) or not is_object(value):
            return None
        needing = (
            member for member, needed in rules.items() if is_array(needed) and name in needed
        )
        return next((member for member in needing if member in value), None)

    def _find_rule(self, path: Sequence[str | int]) -> Any:
        """Return what an error's place names; None where that is in another document."""
        found = (_find(root, path) for root in self._roots)
        return next((rule for rule in found if rule is not None), None)

    def _read_branches(
        self, error: ValidationError, branches: list[list[ValidationError]]
    ) -> Iterator[Violation]:
        """Yield what is wrong by the alternative the value comes closest to."""
        here = tuple(error.instance_path)
        read = [list(self.read(branch)) for branch in branches]
        meant = [found for found in read if found and not _is_other_type(found, here)]
        if not meant:
            yield _merge_types(error, branches)
        elif all(_find_tags(found) for found in meant) and _tag_one_place(meant):
            yield _merge_tags(meant)
        else:
            yield from min(meant, key=lambda found: (len(_find_tags(found)), len(found)))


def _read_value(error: ValidationError) -> Violation:
    rule, told = _describe_rule(error)
    if error.kind.name == "type":
        # A type gives nothing of the value away, and is what one looks for.
        return _report_type(error, rule)
    return Violation(
        path=tuple(error.instance_path),
        keyword=error.kind.name,
        message=f"{rule}, got {quote(error.instance)}" if told else rule,
        reason=rule,
    )


def _report_type(error: ValidationError, rule: str) -> Violation:
    return Violation(
        path=tuple(error.instance_path),
        keyword="type",
        message=f"{rule}, got {describe(error.instance)}",
        reason=f"{rule}, got {name_kind(error.instance)}",
    )


def _describe_rule(error: ValidationError) -> tuple[str, bool]:
    """Return what the value must be, and whether repeating the value helps."""
    kinds = ValidationErrorKind
    match error.kind:
        case kinds.Type(types=types):
            return _expect(types), True
        case kinds.Enum(options=options):
            listed = join_options(map(quote, options))
            return f"must be {'one of ' if len(options) > 1 else ''}{listed}", True
        case kinds.Constant(expected_value=expected):
            return f"must be {quote(expected)}", True
        case kinds.MultipleOf(multiple_of=step):
            return f"must be a multiple of {step}", True
        case kinds.Pattern(pattern=pattern):
            return f"must match the pattern {shorten(pattern)}", True
        case kinds.Format(format=name):
            return f"must be a valid {name}", True
        case _:
            return _describe_limit(error)


def _describe_limit(error: ValidationError) -> tuple[str, bool]:
    limit: Any = error.kind.as_dict().get("limit")
    name = error.kind.name
    if name in _BOUNDS:
        return f"must be {_BOUNDS[name]} {quote(limit)}", True
    if name in _SIZES:
        bound, unit = _SIZES[name]
        return f"must have {bound} {limit} {unit}{'' if limit == 1 else 's'}", False
    if name == "contains" and error.schema_path:
        # The validator has one name for three rules; the place tells which it was.
        name = str(error.schema_path[-1])
    return _SENTENCES.get(name, "is not allowed"), False


def _expect(types: Iterable[str]) -> str:
    # The validator gives the names in an order of its own. Of null nothing is said where
    # something else will do: the value is not null, and whoever sent it has one to give.
    names = sorted(types)
    return f"expected {join_options([name for name in names if name != 'null'] or names)}"


def _find(value: Any, path: Iterable[str | int]) -> Any:
    """Return what lies at `path` of a JSON value, or None."""
    for step in path:
        if is_object(value):
            value = value.get(str(step))
        elif is_array(value) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _is_other_type(found: list[Violation], here: tuple[str | int, ...]) -> bool:
    return any(violation.keyword == "type" and violation.path == here for violation in found)


def _find_tags(found: list[Violation]) -> list[Violation]:
    """Return the fixed values that differ: those of another alternative altogether."""
    return [violation for violation in found if violation.keyword in _TAGS]


def _tag_one_place(meant: list[list[Violation]]) -> bool:
    return len({tag.path for found in meant for tag in _find_tags(found)}) == 1


def _merge_tags(meant: list[list[Violation]]) -> Violation:
    tags = [_find_tags(found)[0] for found in meant]
    options = dict.fromkeys(
        tag.reason.removeprefix("must be ").removeprefix("one of ") for tag in tags
    )
    reason = f"must be one of {join_options(options)}" if len(options) > 1 else tags[0].reason
    seen = tags[0].message.removeprefix(tags[0].reason)
    return attrs.evolve(tags[0], message=f"{reason}{seen}", reason=reason)


def _merge_types(error: ValidationError, branches: list[list[ValidationError]]) -> Violation:
    here = error.instance_path
    types = [
        name
        for branch in branches
        for inner in branch
        if isinstance(inner.kind, ValidationErrorKind.Type) and inner.instance_path == here
        for name in inner.kind.types
    ]
    return _report_type(error, _expect(dict.fromkeys(types))) if types else _read_value(error)
