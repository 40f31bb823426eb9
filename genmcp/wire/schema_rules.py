"""What a schema must be before it is compiled: JSON, bounded, known, closed.

Layer: wire, below `genmcp.wire.schema`. An author's schema is checked here once,
when the class that carries it is defined: it is JSON that can be written into
`tools/list`, not deeper or larger than anyone writes by hand, in a dialect this
library enforces, and it refers only to itself. What is left for the compiler is
whether the keywords are used well.

Spec: basic/index#json-schema-usage
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, cast, overload

import attrs

from genmcp.value import Value
from genmcp.wire.json_kinds import is_array, is_object

MAX_DEPTH: Final = 64
"""How deep objects and arrays may nest in a schema."""

MAX_OBJECTS: Final = 10_000
"""How many objects a schema may hold, subschemas and others together."""

MAX_VALUES: Final = 100_000
"""How many values of any kind a schema may hold; long `enum` lists need room."""

DEFAULT_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

DIALECTS: Final = frozenset(
    {
        DEFAULT_DIALECT,
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-04/schema",
    }
)
"""The dialects that are enforced, by `$schema`; an empty fragment (`#`) may follow."""

_Way = Literal["one", "list", "named"]

_WAYS: Final[Mapping[str, frozenset[_Way]]] = {
    **dict.fromkeys(
        (
            "additionalItems",
            "additionalProperties",
            "contains",
            "contentSchema",
            "else",
            "if",
            "not",
            "propertyNames",
            "then",
            "unevaluatedItems",
            "unevaluatedProperties",
        ),
        frozenset[_Way]({"one"}),
    ),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), frozenset[_Way]({"list"})),
    **dict.fromkeys(
        (
            "$defs",
            "definitions",
            "dependencies",
            "dependentSchemas",
            "patternProperties",
            "properties",
        ),
        frozenset[_Way]({"named"}),
    ),
    "items": frozenset({"one", "list"}),
}
"""In which way a keyword holds schemas, over all dialects."""

_INT_RANGE: Final = range(-(2**63), 2**64)


class SchemaError(ValueError):
    """A schema cannot be used. Names the place and the fix.

    Raised while a class is being defined or a suite is built, never by a call:
    it has no wire form.

    Attributes:
        pointer: where in the schema, as a JSON pointer such as `/properties/a`.
    """

    def __init__(self, problem: str, pointer: str = "") -> None:
        super().__init__(f"schema {pointer or 'root'}: {problem}")
        self.pointer = pointer


def join_pointer(pointer: str, *steps: str | int) -> str:
    """Return `pointer` with `steps` appended, escaped as JSON pointers are."""
    for step in steps:
        pointer += "/" + str(step).replace("~", "~0").replace("/", "~1")
    return pointer


@overload
def copy_schema(schema: Mapping[str, Any]) -> dict[str, Any]: ...


@overload
def copy_schema(schema: Mapping[str, Any] | bool) -> dict[str, Any] | bool: ...


def copy_schema(schema: Mapping[str, Any] | bool) -> dict[str, Any] | bool:
    """Return `schema` as plain JSON, detached from what the author may change later.

    Raises:
        TypeError: not a mapping and not a bool.
        SchemaError: too deep, too large, or holds what JSON cannot: a number that
            is not finite or beyond 64 bits, a lone surrogate, a key that is no
            string, a Python object.
    """
    if isinstance(schema, bool):
        return schema
    # The type says mapping, but this is where whatever an author wrote arrives.
    if not isinstance(schema, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a schema is a mapping or a bool, got {schema!r}")
    copied: dict[str, Any] = _Copier().copy(schema, "", 1)
    return copied


class _Copier:
    """One copy of a schema, and the counts that bound it."""

    def __init__(self) -> None:
        self._objects = 0
        self._values = 0

    def copy(self, value: Any, pointer: str, depth: int) -> Any:
        self._values += 1
        if self._values > MAX_VALUES:
            raise SchemaError(f"holds more than {MAX_VALUES} values; split it", pointer)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return _check_text(value, pointer)
        if isinstance(value, int | float):
            return _check_number(value, pointer)
        if isinstance(value, Mapping):
            return self._copy_mapping(cast("Mapping[Any, Any]", value), pointer, depth)
        if not isinstance(value, list | tuple):
            raise SchemaError(
                f"{value!r:.80} is no JSON value; "
                "write text, numbers, booleans, null, lists and dicts",
                pointer,
            )
        self._check_depth(depth, pointer)
        items = cast("Iterable[Any]", value)
        return [
            self.copy(item, join_pointer(pointer, index), depth + 1)
            for index, item in enumerate(items)
        ]

    def _copy_mapping(self, value: Mapping[Any, Any], pointer: str, depth: int) -> dict[str, Any]:
        self._check_depth(depth, pointer)
        self._objects += 1
        if self._objects > MAX_OBJECTS:
            raise SchemaError(f"holds more than {MAX_OBJECTS} objects; split it", pointer)
        copied: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise SchemaError(f"the key {key!r} is not a string; quote it", pointer)
            name = _check_text(key, pointer)
            copied[name] = self.copy(item, join_pointer(pointer, key), depth + 1)
        return copied

    def _check_depth(self, depth: int, pointer: str) -> None:
        if depth > MAX_DEPTH:
            raise SchemaError(f"nests deeper than {MAX_DEPTH} levels; flatten it", pointer)


def _check_text(text: str, pointer: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SchemaError(
            f"{text!a:.80} holds a lone surrogate, which UTF-8 cannot carry", pointer
        ) from None
    # Of an enum that is text, `str` would give the name.
    return str.__str__(text)


def _check_number(number: float, pointer: str) -> int | float:
    if isinstance(number, int):
        if number not in _INT_RANGE:
            raise SchemaError("this integer is beyond 64 bits; use a float", pointer)
        return int(number)
    if not math.isfinite(number):
        raise SchemaError(f"{number!r} is not a JSON number; leave the keyword out", pointer)
    return float(number)


@attrs.frozen(eq=False, repr=False)
class Subschema(Value):
    """One schema inside a schema, and where."""

    pointer: str
    schema: dict[str, Any] | bool


def find_children(schema: Mapping[str, Any], pointer: str = "") -> Iterator[tuple[str, str, Any]]:
    """Yield the schemas directly inside `schema` as (keyword, pointer, schema).

    Only where a keyword takes a schema: what an `enum` or `default` holds is data,
    whatever it looks like.
    """
    for keyword, held in schema.items():
        ways = _WAYS.get(keyword, ())
        if "named" in ways and is_object(held):
            for name, child in held.items():
                yield keyword, join_pointer(pointer, keyword, name), child
        elif "list" in ways and is_array(held):
            for index, child in enumerate(held):
                yield keyword, join_pointer(pointer, keyword, index), child
        elif "one" in ways and (is_object(held) or isinstance(held, bool)):
            yield keyword, join_pointer(pointer, keyword), held


def find_subschemas(schema: dict[str, Any] | bool) -> dict[str, dict[str, Any]]:
    """Return every object that is a schema, by its pointer, the root first."""
    found: dict[str, dict[str, Any]] = {}
    waiting: list[tuple[str, Any]] = [("", schema)]
    while waiting:
        pointer, node = waiting.pop()
        if is_object(node):
            found[pointer] = node
            waiting += [(where, child) for _, where, child in find_children(node, pointer)]
    return found


def check_dialects(subschemas: Mapping[str, Mapping[str, Any]], known: Collection[str]) -> None:
    """Refuse every `$schema` that is not enforced.

    Args:
        subschemas: what `find_subschemas` found.
        known: URIs of meta-schemas the caller brought along.

    Raises:
        SchemaError: an unknown dialect, at the root or inside; or one inside that
            differs from the root's without an `$id` that makes it a document of
            its own.

    Spec: basic/index#schema-dialect
    """
    root = subschemas.get("", {}).get("$schema", DEFAULT_DIALECT)
    for pointer, schema in subschemas.items():
        if "$schema" not in schema:
            continue
        dialect = schema["$schema"]
        where = join_pointer(pointer, "$schema")
        if not isinstance(dialect, str):
            raise SchemaError("$schema must be the URI of a dialect", where)
        if dialect.removesuffix("#") not in DIALECTS and dialect not in known:
            raise SchemaError(
                f"the dialect {dialect!r:.200} is not supported; "
                f"leave $schema out for 2020-12, or use one of {', '.join(sorted(DIALECTS))}",
                where,
            )
        if dialect != root and not ({"$id", "id"} & schema.keys()):
            raise SchemaError("another dialect inside a schema needs an $id beside it", where)
