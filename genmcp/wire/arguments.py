"""Reads the arguments of a call: checked, repaired where that loses nothing, typed.

Layer: wire. The suite reads a tool's arguments here before the tool runs; what
leaves is checked by `genmcp.wire.output`.

Spec: server/tools#calling-tools, server/tools#error-handling
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args, get_origin

from genmcp.wire.json_kinds import OBJECT, count_values
from genmcp.wire.problems import render_problems, render_reasons
from genmcp.wire.repair import MAX_VALUES, TooManyValues, repair
from genmcp.wire.schema import CompiledSchema, SchemaError, compile_schema, nests_too_deep
from genmcp.wire.schema_rules import copy_schema
from genmcp.wire.typed import CastError, Reader, Shapes, build_reader, write_schema
from genmcp.wire.violation import MAX_PROBLEMS, Violation, describe

_TOO_DEEP: Final = "are nested too deeply"
_TOO_MANY: Final = (
    "hold too many values for any to be taken out of quotes; "
    "send numbers, booleans, arrays and objects without quotes"
)


class ArgumentsError(ValueError):
    """The arguments of a call do not fit. Written for the model that sent them.

    Wire form: a result with `isError: true` and the message as text, or -32602,
    as the suite is configured.

    Attributes:
        problems: one line per field, for the model.
        reasons: the same for a log: JSON pointers and reasons, none of the values.

    Spec: server/tools#error-handling
    """

    def __init__(self, problems: list[str], reasons: list[str] | None = None) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
        self.reasons = reasons or []

    @classmethod
    def of(cls, violations: list[Violation]) -> ArgumentsError:
        """Return the error that tells of `violations`."""
        return cls(render_problems(violations), render_reasons(violations))


class ArgumentReader:
    """Reads the arguments of one tool.

    Attributes:
        schema: the schema as it is published in `tools/list`.
    """

    def __init__(
        self, schema: dict[str, Any], accepted: CompiledSchema, cast: Reader | None, *, repair: bool
    ) -> None:
        self.schema = schema
        self._accepted = accepted
        self._cast = cast
        self._repair = repair

    @classmethod
    def compile(cls, schema: Mapping[str, Any] | type, *, repair: bool = True) -> ArgumentReader:
        """Make a reader from a schema or a typed class.

        Args:
            schema: a JSON Schema with `type: "object"` at its root, published as it
                is; or an attrs class, dataclass or TypedDict; or `dict`, for any
                arguments at all.
            repair: whether a string that holds exactly what its place wants is
                taken for it.

        Raises:
            SchemaError: the schema cannot be enforced, or its root is no object.
            TypeError: neither a schema nor a typed class, or a class with a field
                that JSON cannot carry.

        Spec: server/tools#data-types
        """
        if schema is dict or (get_origin(schema) is dict and get_args(schema) == (str, Any)):
            schema = {"type": "object"}
        if isinstance(schema, Mapping):
            compiled = compile_schema(schema)
            if not isinstance(compiled.schema, dict) or compiled.schema.get("type") != "object":
                raise SchemaError('arguments are an object; write "type": "object" at the root')
            return cls(compiled.schema, compiled, None, repair=repair)
        shapes = Shapes(schema)
        published = copy_schema(write_schema(shapes, "hidden"))
        try:
            accepted = compile_schema(write_schema(shapes, "tolerated"))
        except SchemaError:
            # The author's keywords are in both; this one names their place as published.
            compile_schema(published)
            raise
        return cls(published, accepted, build_reader(shapes), repair=repair)

    def read(self, arguments: Mapping[str, Any] | None) -> Any:
        """Return the arguments: an instance of the class, or a dict for a plain schema.

        `arguments` itself is left as it is. None stands for no arguments at all.

        Raises:
            ArgumentsError: they do not fit; tells what is wrong, all of it unless that
                is very much.
        """
        # The type says mapping, but a model may have sent anything.
        plain = type(arguments) is OBJECT
        if not (plain or arguments is None or isinstance(arguments, Mapping)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentsError.of(
                [
                    Violation(
                        (),
                        "type",
                        f"must be an object, got {describe(arguments)}",
                        "must be an object",
                    )
                ]
            )
        value: Any = arguments
        if self._cast is None or not plain:
            value = dict(arguments or {})
        if not self._accepted.is_valid(value):
            value = self._mend(value)
        if self._cast is None:
            return value
        try:
            return self._cast(value)
        except CastError as error:
            raise ArgumentsError.of(error.violations) from None
        except RecursionError:
            # Of a class that holds itself the schema allows more than Python's stack.
            raise ArgumentsError.of([Violation((), "", _TOO_DEEP, _TOO_DEEP)]) from None

    def _mend(self, value: Any) -> Any:
        """Return arguments that the schema refuses as it accepts them, if that loses nothing."""
        accepted = self._accepted
        if nests_too_deep(value):
            # What follows would look into them level by level.
            raise ArgumentsError.of(accepted.explain(value))
        if not self._repair:
            raise ArgumentsError.of(self._find_violations(value))
        try:
            repaired = repair(accepted.parts, value)
        except TooManyValues:
            violations = self._find_violations(value)
            if any(
                not violation.keyword or violation.reason.endswith("got string")
                for violation in violations
            ):
                violations.insert(0, Violation((), "", _TOO_MANY, _TOO_MANY))
            raise ArgumentsError.of(violations) from None
        if repaired is value or not accepted.is_valid(repaired):
            raise ArgumentsError.of(self._find_violations(repaired))
        return repaired

    def _find_violations(self, value: Any) -> list[Violation]:
        """Return what is wrong with arguments that the schema refuses."""
        violations = self._accepted.explain(value)
        if len(violations) > MAX_PROBLEMS or count_values(value, MAX_VALUES) > MAX_VALUES:
            return violations
        places = [violation.path for violation in violations]
        # What only the class knows, such as the form of a date, where the schema has
        # nothing to say.
        return violations + [
            violation
            for violation in self._cast_violations(value)
            if not any(_overlap(violation.path, place) for place in places)
        ]

    def _cast_violations(self, value: Any) -> list[Violation]:
        if self._cast is None:
            return []
        try:
            self._cast(value)
        except CastError as error:
            return [violation for violation in error.violations if violation.path]
        except Exception:  # noqa: BLE001 - code of the class met what the schema forbids
            return []
        return []


def _overlap(one: tuple[str | int, ...], other: tuple[str | int, ...]) -> bool:
    """Tell whether one place is the other, or inside it; the root is beside them all."""
    shared = min(len(one), len(other))
    return shared > 0 and one[:shared] == other[:shared]
