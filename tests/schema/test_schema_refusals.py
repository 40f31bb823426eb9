"""Schemas that would not be enforced are refused, naming place and fix."""

from __future__ import annotations

import enum
import socket
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from genmcp.wire.schema import MAX_VALUE_DEPTH, SchemaError, compile_schema
from genmcp.wire.schema_references import MAX_EXPANDED_DEPTH
from genmcp.wire.schema_rules import DIALECTS, MAX_DEPTH, MAX_OBJECTS, MAX_VALUES


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("fragment", ["", "#"])
def test_known_dialect_is_accepted(dialect: str, fragment: str) -> None:
    assert compile_schema({"$schema": dialect + fragment, "type": "null"}).is_valid(None)


@pytest.mark.parametrize(
    "dialect",
    [
        "http://json-schema.org/draft-03/schema#",
        "https://json-schema.org/draft-07/schema",
        "http://json-schema.org/schema",
        "https://json-schema.org/draft/2020-12",
        "https://example.com/mine",
        "2020-12",
        "",
        7,
        None,
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_unknown_dialect_is_refused(dialect: Any, nested: object) -> None:
    schema: dict[str, Any] = {"$schema": dialect, "$id": "urn:x:a"}
    with pytest.raises(SchemaError, match="dialect") as caught:
        compile_schema({"properties": {"a": schema}} if nested else schema)
    assert caught.value.pointer == ("/properties/a/$schema" if nested else "/$schema")


def test_other_dialect_inside_needs_an_id() -> None:
    inner = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}]}
    with pytest.raises(SchemaError, match=r"/items/\$schema.*\$id"):
        compile_schema({"items": inner})
    assert not compile_schema({"items": {"$id": "urn:x:a", **inner}}).is_valid([[1]])


def test_data_that_looks_like_a_schema_is_data() -> None:
    odd = {"$schema": "https://example.com/mine", "$ref": "https://example.com/other"}
    schema = {"enum": [odd], "const": odd, "default": odd, "examples": [odd], "x-mine": odd}
    assert compile_schema(schema).is_valid(odd)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        yield server


def place_reference(keyword: str, place: str, url: str) -> dict[str, Any]:
    schema = {keyword: url, "$id": "urn:x:a"}
    return schema if place == "root" else {place: {"a": schema}}


@pytest.mark.parametrize(
    ("keyword", "place"),
    [
        ("$ref", "root"),
        ("$ref", "properties"),
        ("$ref", "$defs"),
        ("$dynamicRef", "root"),
        ("$dynamicRef", "properties"),
        ("$schema", "root"),
        ("$schema", "properties"),
        ("$schema", "$defs"),
    ],
)
def test_nothing_is_fetched(listener: socket.socket, keyword: str, place: str) -> None:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
    with pytest.raises(SchemaError):
        compile_schema(place_reference(keyword, place, url))
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_nothing_is_fetched_for_what_nothing_uses(listener: socket.socket) -> None:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json#node"
    assert compile_schema(place_reference("$dynamicRef", "$defs", url)).is_valid(1)
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.com/a.json",
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
        "ftp://example.com/a",
        "urn:example:a",
        "other.json",
        "//example.com/a",
        "https://example.com/a.json#/$defs/a",
    ],
)
def test_reference_to_another_document_is_refused(reference: str) -> None:
    with pytest.raises(SchemaError, match=r"fetched.*\$defs") as caught:
        compile_schema({"properties": {"a": {"$ref": reference}}})
    assert caught.value.pointer == "/properties/a/$ref"


def test_document_given_along_can_be_referred_to() -> None:
    documents = {"https://example.com/int.json": {"type": "integer"}}
    schema = {"items": {"$ref": "https://example.com/int.json"}}
    compiled = compile_schema(schema, documents=documents)
    assert compiled.is_valid([1])
    assert not compiled.is_valid(["1"])
    with pytest.raises(SchemaError, match=r"other\.json"):
        compile_schema({"$ref": "https://example.com/other.json"}, documents=documents)


@pytest.mark.parametrize(
    ("uri", "document", "words"),
    [
        ("urn:x:a", {"$schema": "urn:x:unknown"}, "dialect"),
        ("urn:x:a", {"$ref": "urn:x:other"}, "documents beside it"),
        ("urn:x:a", {"enum": [float("nan")]}, "JSON number"),
        ("urn:x:a", {"type": "int"}, "schema /type"),
        ("no uri", {}, "documents beside it"),
    ],
)
def test_document_given_along_is_checked_too(uri: str, document: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        compile_schema({"$ref": uri}, documents={uri: document})


def test_nothing_is_fetched_for_a_document_given_along(listener: socket.socket) -> None:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
    with pytest.raises(SchemaError):
        compile_schema({"$ref": "urn:x:a"}, documents={"urn:x:a": {"$ref": url}})
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.mark.parametrize("reference", ["#/$defs/b", "#b", "#/$defs/a/nope", "#/properties/0"])
@pytest.mark.parametrize("place", ["properties", "$defs", "then"])
def test_reference_to_nothing_is_refused_when_compiled(reference: str, place: str) -> None:
    inner: dict[str, Any] = {"$ref": reference}
    schema: dict[str, Any] = {"$defs": {"a": {}}}
    schema[place] = inner if place == "then" else {**schema.get(place, {}), "x": inner}
    with pytest.raises(SchemaError, match="names nothing"):
        compile_schema(schema)


def test_reference_to_nothing_is_refused_beside_an_id() -> None:
    with pytest.raises(SchemaError, match="names nothing"):
        compile_schema({"$id": "urn:x:a", "properties": {"a": {"$ref": "urn:x:a#/$defs/b"}}})
    inner = {"$id": "urn:x:b", "items": {"$ref": "#/$defs/c"}}
    with pytest.raises(SchemaError, match="cannot be resolved"):
        compile_schema({"properties": {"a": inner}, "$defs": {"c": {}}})


def test_reference_that_only_leads_round_is_harmless() -> None:
    schema = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    }
    assert compile_schema(schema).is_valid(1)


@pytest.mark.parametrize("value", [None, 1, "{}", [], {1, 2}, object()])
def test_schema_that_is_no_mapping_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match="mapping or a bool"):
        compile_schema(value)


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        pytest.param({"a": float("nan")}, "/a", id="nan"),
        pytest.param({"a": float("-inf")}, "/a", id="infinity"),
        pytest.param({"a": 2**64}, "/a", id="integer beyond 64 bits"),
        pytest.param({"a": ["\ud800"]}, "/a/0", id="surrogate"),
        pytest.param({"a": {"\udfff": 1}}, "/a", id="surrogate in a key"),
        pytest.param({"a": {1: 2}}, "/a", id="key"),
        pytest.param({"a/b": {"c~d": b"x"}}, "/a~1b/c~0d", id="bytes"),
        pytest.param({"a": {1, 2}}, "/a", id="set"),
        pytest.param({"a": int}, "/a", id="class"),
    ],
)
def test_schema_that_is_not_json_is_refused(schema: Any, pointer: str) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    assert caught.value.pointer == pointer
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("schema", "pointer", "words"),
    [
        ({"type": "int"}, "/type", '"integer"'),
        ({"properties": {"a": {"minimum": "1"}}}, "/properties/a/minimum", "expected number"),
        ({"required": "a"}, "/required", "expected array"),
        ({"pattern": "("}, "/pattern", "regex"),
        ({"minLength": -1}, "/minLength", "at least 0"),
        ({"properties": []}, "/properties", "expected object"),
        ({"allOf": []}, "/allOf", "at least 1 item"),
    ],
)
def test_keyword_used_wrongly_is_refused(schema: Any, pointer: str, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    assert caught.value.pointer == pointer
    assert words in str(caught.value)


def nest(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth - 1):
        schema = {"not": schema}
    return schema


def test_depth_of_a_schema_is_bounded() -> None:
    assert compile_schema(nest(MAX_DEPTH))
    with pytest.raises(SchemaError, match="deeper"):
        compile_schema(nest(MAX_DEPTH + 1))


def test_schema_that_holds_itself_is_refused() -> None:
    schema: dict[str, Any] = {}
    schema["not"] = schema
    with pytest.raises(SchemaError, match="deeper"):
        compile_schema(schema)


def test_size_of_a_schema_is_bounded() -> None:
    shared: dict[str, Any] = {}
    with pytest.raises(SchemaError, match=f"{MAX_OBJECTS} objects"):
        compile_schema({"allOf": [shared] * MAX_OBJECTS})
    with pytest.raises(SchemaError, match=f"{MAX_VALUES} values"):
        compile_schema({"enum": list(range(MAX_VALUES))})
    assert compile_schema({"enum": list(range(MAX_VALUES // 2))}).is_valid(7)


def test_size_is_bounded_with_references_followed() -> None:
    levels = 40
    defs: dict[str, Any] = {
        f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(levels)
    }
    defs[f"d{levels}"] = {"type": "integer"}
    with pytest.raises(SchemaError, match="stands for more"):
        compile_schema({"$ref": "#/$defs/d0", "$defs": defs})


def test_chain_of_references_is_bounded() -> None:
    links = MAX_EXPANDED_DEPTH * 4
    defs: dict[str, Any] = {f"d{link}": {"$ref": f"#/$defs/d{link + 1}"} for link in range(links)}
    defs[f"d{links}"] = {}
    with pytest.raises(SchemaError, match="deeper"):
        compile_schema({"$ref": "#/$defs/d0", "$defs": defs})


@pytest.mark.parametrize("recursive", [True, False])
@pytest.mark.parametrize("depth", [MAX_VALUE_DEPTH + 1, 50_000])
def test_value_of_any_depth_is_survived(recursive: object, depth: int) -> None:
    value: Any = None
    for _ in range(depth):
        value = [value]
    compiled = compile_schema({"items": {"$ref": "#"}} if recursive else {"type": "array"})
    assert compiled.is_valid(value) is not recursive
    assert bool(compiled.violations(value)) is recursive


@pytest.mark.parametrize("schema", [{"items": {"$ref": "#"}}, {"type": "string"}])
def test_value_that_holds_itself_fits_nothing_that_looks_inside(schema: Any) -> None:
    value: list[Any] = []
    value.append(value)
    assert not compile_schema(schema).is_valid(value)
    assert compile_schema(schema).violations(value)


def test_value_as_deep_as_can_be_written_is_checked_to_the_bottom() -> None:
    value: Any = "bottom"
    for _ in range(MAX_VALUE_DEPTH):
        value = [value]
    compiled = compile_schema({"type": ["array", "null"], "items": {"$ref": "#"}})
    assert not compiled.is_valid(value)
    (violation,) = compiled.violations(value)
    assert len(violation.path) == MAX_VALUE_DEPTH


class Kind(str, enum.Enum):  # noqa: UP042 - its `str` is another than that of StrEnum
    TEXT = "string"


def test_values_of_enums_that_are_text_are_taken_for_text() -> None:
    compiled = compile_schema({"type": Kind.TEXT, Kind.TEXT: 1})
    assert compiled.schema == {"type": "string", "string": 1}
    assert [type(text) for item in compiled.schema.items() for text in item] == [str, str, str, int]


def test_mappings_and_tuples_are_taken_for_json() -> None:
    inner: Mapping[str, Any] = MappingProxyType({"enum": (1, 2)})
    compiled = compile_schema(MappingProxyType({"items": inner}))
    assert compiled.schema == {"items": {"enum": [1, 2]}}
