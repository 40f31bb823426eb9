"""Typed classes as JSON Schema, and JSON as typed classes.

Layer: wire; the door to the modules whose names begin with `typed_`. Authors
declare arguments and results with attrs classes, dataclasses or TypedDicts; what
of them JSON can carry is the table in `genmcp.wire.typed_shape`. They are read
from the bottom up: `typed_hints`, `typed_fields`, `typed_annotations`,
`typed_classes`; then `typed_schema` writes schemas of them, and `typed_cast`,
`typed_record` and `typed_union` readers.

A field is described by its metadata, `attrs.field(metadata={"description": ...,
"schema": {...}})` (dataclasses the same), or by `Annotated[int, "what it is",
{"minimum": 0}]`. Rules that attrs' own validators check are told as well.
"""

from __future__ import annotations

from typing import Any

from genmcp.wire.typed_cast import CastError, Reader
from genmcp.wire.typed_classes import Shapes
from genmcp.wire.typed_fields import is_typed
from genmcp.wire.typed_schema import write_schema
from genmcp.wire.typed_union import build_reader

__all__ = [
    "CastError",
    "Reader",
    "Shapes",
    "build_reader",
    "is_typed",
    "result_schema_of",
    "schema_of",
    "write_schema",
]


def schema_of(cls: Any) -> dict[str, Any]:
    """Return the JSON Schema of a typed class, as published for arguments.

    One `type` per property and no null: what may be None, or has a default, is not
    required. Classes are written out where they are used; those that hold themselves
    stand under `$defs`. No other members are allowed.

    Raises:
        TypeError: not a typed class, or one with a field that JSON cannot carry.
            Names class, field and fix.

    Spec: server/tools#data-types
    """
    return write_schema(Shapes(cls), "hidden")


def result_schema_of(cls: Any) -> dict[str, Any]:
    """Return the JSON Schema of a typed class, as published for results.

    That of `schema_of`, but null is allowed exactly where the class says None: a
    client checks a result against it.

    Raises:
        TypeError: see `schema_of`.

    Spec: server/tools#output-schema
    """
    return write_schema(Shapes(cls), "declared")
