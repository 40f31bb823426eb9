"""Checks what a tool returns against the schema it promised.

Layer: wire. The suite asks before a result leaves; the neighbour for what comes in
is `genmcp.wire.arguments`.

Spec: server/tools#output-schema
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from genmcp.wire.problems import render_reasons
from genmcp.wire.schema import CompiledSchema, compile_schema
from genmcp.wire.typed import result_schema_of

if TYPE_CHECKING:
    from genmcp.wire.violation import Violation


class OutputMismatch(ValueError):
    """A result is not what its tool's output schema promises.

    The server's fault, for its log: places and reasons, none of the values. Wire
    form: decided by who asked; the message is not for the client.

    Attributes:
        violations: what does not fit, and where.
    """

    def __init__(self, violations: list[Violation], owner: type | None = None) -> None:
        whose = f"{owner.__module__}.{owner.__qualname__}: " if owner else ""
        reasons = "; ".join(render_reasons(violations))
        super().__init__(f"{whose}the result does not fit the output schema: {reasons}")
        self.violations = violations


class OutputChecker:
    """Checks plain JSON values against one output schema.

    Attributes:
        schema: the schema as it is published; any root type.
    """

    def __init__(self, compiled: CompiledSchema) -> None:
        self.schema = compiled.schema
        self._compiled = compiled

    @classmethod
    def compile(cls, schema: Mapping[str, Any] | type | bool) -> OutputChecker:
        """Make a checker from a schema, or from a typed class.

        Raises:
            SchemaError: the schema cannot be enforced; see `compile_schema`.
            TypeError: neither a schema nor a typed class, or a class with a field
                that JSON cannot carry.
        """
        if isinstance(schema, Mapping | bool):
            return cls(compile_schema(schema))
        return cls(compile_schema(result_schema_of(schema)))

    def check(self, value: object) -> None:
        """Refuse a value that is not what the schema promises.

        NaN and infinity are no numbers, and nothing that JSON cannot write fits.

        Raises:
            OutputMismatch: places and reasons.
        """
        if not self._compiled.is_valid(value):
            raise OutputMismatch(self._compiled.explain(value))
