"""JSON Schema, enforced: compile once, check many times.

Layer: wire. What authors declare (arguments, results, forms) is compiled here when
it is defined; `genmcp.wire.arguments` and `genmcp.wire.output` check with it. The
rules a schema must keep are in `genmcp.wire.schema_rules`, the words for what a
value does wrong in `genmcp.wire.violation`.

The dialect is 2020-12 unless `$schema` names 2019-09, draft-07, draft-06 or
draft-04 by its exact URI. `format` and `contentEncoding` are annotations, as
2020-12 has it: they tell, they are not checked. (A typed class that declares a
`datetime` does check it, when it reads the value.) Nothing is ever fetched.

Spec: basic/index#json-schema-usage
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

import jsonschema_rs
import orjson

from genmcp.wire.json_kinds import is_object
from genmcp.wire.schema_errors import read_errors
from genmcp.wire.schema_misfits import find_misfits, is_small
from genmcp.wire.schema_parts import Parts
from genmcp.wire.schema_references import References
from genmcp.wire.schema_rules import (
    SchemaError,
    check_dialects,
    copy_schema,
    find_subschemas,
    join_pointer,
)
from genmcp.wire.schema_spelling import check_spelling
from genmcp.wire.violation import MAX_PROBLEMS, Violation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["MAX_VALUE_DEPTH", "CompiledSchema", "SchemaError", "Violation", "compile_schema"]

MAX_VALUE_DEPTH: Final = 254
"""How deep a value may nest: what can still be written as JSON."""

_OUTWARD: Final = re.compile(r"Resource '([^']*)'")


class CompiledSchema:
    """A schema that values can be checked against. Immutable; share it freely.

    Attributes:
        schema: the schema as it was given, as plain JSON.
        references: what its `$ref`s name.
        parts: its subschemas.
    """

    def __init__(
        self,
        schema: dict[str, Any] | bool,
        references: References,
        documents: Mapping[str, dict[str, Any] | bool],
    ) -> None:
        registry = _register(documents) if documents else None
        self.schema = schema
        self.references = references
        self.parts = Parts(schema, references, registry)
        self._validator = _compile(schema, references, registry)

    def is_valid(self, value: object) -> bool:
        """Tell whether `value` fits. What is not JSON does not."""
        try:
            # The validator recurses with the value, on a stack it does not watch.
            if self.references.recursive and nests_too_deep(value):
                return False
            return self._validator.is_valid(value)
        except ValueError:
            return False

    def violations(self, value: object) -> list[Violation]:
        """Return what is wrong with `value`: nothing if it fits.

        Of a large value not everything is told. The time this takes is bounded,
        whatever the value.
        """
        return [] if self.is_valid(value) else self.explain(value)

    def explain(self, value: object) -> list[Violation]:
        """Return what is wrong with a value that does not fit."""
        if nests_too_deep(value):
            return [_describe_whole(f"nests deeper than {MAX_VALUE_DEPTH} levels")]
        try:
            if is_small(value, self.references):
                errors = self._validator.iter_errors(value)
                read = read_errors(errors, [self.schema], value)
                found = list(islice(read, MAX_PROBLEMS + 1))
            else:
                found = find_misfits(self.parts, self.references, value)
        except ValueError as error:
            return [_describe_whole(f"is not JSON: {error}")]
        return found or [_describe_whole("is not JSON")]


def _describe_whole(reason: str) -> Violation:
    return Violation(path=(), keyword="", message=reason, reason=reason)


def compile_schema(
    schema: Mapping[str, Any] | bool,
    *,
    documents: Mapping[str, Mapping[str, Any] | bool] | None = None,
) -> CompiledSchema:
    """Compile a schema, refusing what would not be enforced.

    Args:
        schema: the schema. It is copied: changing it later changes nothing.
        documents: schemas it may refer to, by their URI; nothing else is known,
            and nothing is fetched.

    Raises:
        TypeError: `schema` is neither a mapping nor a bool.
        SchemaError: not JSON, too large, an unknown dialect, a reference to
            something that is neither in the schema nor in `documents`, or a
            keyword used or spelt wrongly. Names the JSON pointer.

    Spec: basic/index#json-schema-usage
    """
    known = {uri: copy_schema(document) for uri, document in (documents or {}).items()}
    copied = copy_schema(schema)
    subschemas = find_subschemas(copied)
    for found in (subschemas, *map(find_subschemas, known.values())):
        check_dialects(found, known)
    check_spelling(subschemas)
    references = References(copied, subschemas)
    references.check_targets()
    references.check_size()
    return CompiledSchema(copied, references, known)


def _register(documents: Mapping[str, dict[str, Any] | bool]) -> jsonschema_rs.Registry:
    try:
        return jsonschema_rs.Registry(documents.items())
    except ValueError as error:
        raise SchemaError(f"the documents beside it cannot be used: {error}") from None


def _compile(
    schema: dict[str, Any] | bool,
    references: References,
    registry: jsonschema_rs.Registry | None,
) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(
            schema, registry=registry, offline=True, validate_formats=False
        )
    except jsonschema_rs.ValidationError as error:
        if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Referencing):
            uri = _OUTWARD.search(error.message)
            if uri is None:
                raise SchemaError(f"a $ref cannot be resolved: {error.message}") from None
            raise SchemaError(
                f"refers to {uri[1]}, which is another document, and nothing is fetched; "
                "put what it needs under $defs",
                references.find_outward(uri[1]),
            ) from None
        reason = "; ".join(found.message for found in read_errors([error], [], schema))
        raise SchemaError(reason, join_pointer("", *error.instance_path)) from None


def nests_too_deep(value: object) -> bool:
    """Tell whether `value` nests deeper than `MAX_VALUE_DEPTH`, or holds itself."""
    try:
        # Refuses at exactly that depth, a hundred times faster than looking; but
        # it refuses for other reasons too.
        orjson.dumps(value)
    except TypeError:
        return _is_deeper(value, MAX_VALUE_DEPTH)
    return False


def _is_deeper(value: object, limit: int) -> bool:
    level = _find_containers([value])
    for _ in range(limit):
        level = _find_containers(
            item
            for container in level
            for item in (container.values() if is_object(container) else container)
        )
    return bool(level)


def _find_containers(items: Iterable[Any]) -> list[Any]:
    # By identity: a value that holds one list many times must not be walked as often.
    containers = cast("Iterable[Any]", filter(_is_container, items))
    return list({id(container): container for container in containers}.values())


def _is_container(item: object) -> bool:
    return isinstance(item, dict | list | tuple)
