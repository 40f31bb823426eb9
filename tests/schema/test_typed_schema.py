"""Typed classes become schemas that every model vendor takes."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import uuid
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, Generic, Literal, NewType, NotRequired, Required, Self, TypedDict

import attrs
import pydantic
import pytest
import typing_extensions
from attrs import validators
from typing_extensions import Doc, ReadOnly, TypeVar

from genmcp.wire.schema import compile_schema
from genmcp.wire.typed import is_typed, result_schema_of, schema_of


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    ONE = 1
    A = "a"


UserId = NewType("UserId", int)
Names = typing_extensions.TypeAliasType("Names", list[str])


@attrs.frozen
class Point:
    """A place on the map."""

    x: float
    y: float


POINT = {
    "description": "A place on the map.",
    "type": "object",
    "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
    "required": ["x", "y"],
    "additionalProperties": False,
}


@dataclasses.dataclass
class Size:
    width: int
    height: int = 1


class Extra(TypedDict, total=False):
    name: Required[str]
    age: int
    seen: ReadOnly[bool]


def schema_of_type(annotation: Any) -> Any:
    cls = attrs.define(type("Args", (), {"__annotations__": {"value": annotation}}))
    schema = schema_of(cls)
    compile_schema(schema)
    return schema["properties"]["value"]


ARRAY_OF_TEXT = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        (list[str], ARRAY_OF_TEXT),
        (Sequence[str], ARRAY_OF_TEXT),
        (tuple[str, ...], ARRAY_OF_TEXT),
        (set[str], {**ARRAY_OF_TEXT, "uniqueItems": True}),
        (frozenset[str], {**ARRAY_OF_TEXT, "uniqueItems": True}),
        (AbstractSet[str], {**ARRAY_OF_TEXT, "uniqueItems": True}),
        (list, {"type": "array", "items": {}}),
        (tuple, {"type": "array", "items": {}}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "items": False,
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (tuple[()], {"type": "array", "items": False, "minItems": 0, "maxItems": 0}),
        (dict, {"type": "object", "additionalProperties": {}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Mapping[str, Any], {"type": "object", "additionalProperties": {}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1], {"type": "integer", "enum": [1]}),
        (Literal[True], {"type": "boolean", "enum": [True]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Literal["a"] | None, {"type": "string", "enum": ["a"]}),
        (Literal[None], {"type": "null"}),  # noqa: PYI061 - authors may write it so
        (Literal[None, "a"], {"type": "string", "enum": ["a"]}),  # noqa: PYI061 - as above
        (Literal[Color.RED], {"type": "string", "enum": ["red"]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Mixed, {"enum": [1, "a"]}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (datetime.time, {"type": "string", "format": "time"}),
        (datetime.timedelta, {"type": "string", "format": "duration"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (decimal.Decimal, {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}),
        (UserId, {"type": "integer"}),
        (Names, ARRAY_OF_TEXT),
        (Point, POINT),
        (list[Point], {"type": "array", "items": POINT}),
        (int | None, {"type": "integer"}),
        (None | Point, POINT),
        (list[int | None], {"type": "array", "items": {"type": "integer"}}),
        (int | float, {"type": "number"}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (int | Any, {}),
        (
            Literal["auto"] | int,
            {"anyOf": [{"type": "string", "enum": ["auto"]}, {"type": "integer"}]},
        ),
        (Annotated[int, {"minimum": 1}], {"type": "integer", "minimum": 1}),
        (Annotated[int, "How many"], {"description": "How many", "type": "integer"}),
        (Annotated[int, Doc("How many")], {"description": "How many", "type": "integer"}),
        (Annotated[int, object()], {"type": "integer"}),
        (Annotated[Point, "Here"], {**POINT, "description": "Here"}),
        (Annotated[int | None, {"minimum": 1}], {"type": "integer", "minimum": 1}),
        (Annotated[Any, {"type": ["string", "integer"]}], {"type": ["string", "integer"]}),
        (
            list[Annotated[str, {"maxLength": 3}]],
            {"type": "array", "items": {"type": "string", "maxLength": 3}},
        ),
        (
            Annotated[str, {"x-mcp-header": "Region"}, "Where"],
            {"description": "Where", "type": "string", "x-mcp-header": "Region"},
        ),
    ],
    ids=repr,
)
def test_annotation_becomes_a_schema(annotation: Any, schema: Any) -> None:
    assert schema_of_type(annotation) == schema


@attrs.frozen(kw_only=True)
class AttrsArgs:
    text: str
    _limit: int = 10
    ratio: float | None = None
    needed: int | None
    color: Color = Color.BLUE
    tags: list[str] = attrs.field(factory=list, metadata={"description": "Any tags"})
    kinds: frozenset[int] = frozenset({2, 1})
    size: int = attrs.field(default=1, metadata={"schema": {"minimum": 1, "x-mine": []}})
    start: bool = attrs.field(alias="begin", default=False)
    made: str = attrs.field(init=False, default="x")
    fresh: uuid.UUID = attrs.field(factory=uuid.uuid4)
    point: Point = Point(1, 2)
    endless: float = float("inf")


def test_attrs_class_becomes_an_object() -> None:
    schema = schema_of(AttrsArgs)
    point = schema["properties"].pop("point")
    assert schema == {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "limit": {"type": "integer", "default": 10},
            "ratio": {"type": "number"},
            "needed": {"type": "integer"},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "blue"},
            "tags": {"description": "Any tags", **ARRAY_OF_TEXT, "default": []},
            "kinds": {
                "type": "array",
                "items": {"type": "integer"},
                "uniqueItems": True,
                "default": [1, 2],
            },
            "size": {"type": "integer", "default": 1, "minimum": 1, "x-mine": []},
            "begin": {"type": "boolean", "default": False},
            "fresh": {"type": "string", "format": "uuid"},
            "endless": {"type": "number"},
        },
        "required": ["text"],
        "additionalProperties": False,
    }
    assert point == POINT
    assert list(schema["properties"])[:3] == ["text", "limit", "ratio"]


@dataclasses.dataclass(frozen=True)
class DataArgs:
    text: str
    size: Size
    limit: int = 10
    tags: list[str] = dataclasses.field(
        default_factory=list, metadata={"description": "Any tags", "schema": {"maxItems": 3}}
    )
    made: int = dataclasses.field(default=0, init=False)
    needed: int | None = dataclasses.field(kw_only=True)


def test_dataclass_becomes_an_object_without_its_generated_docstring() -> None:
    assert schema_of(DataArgs) == {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "size": {
                "type": "object",
                "properties": {
                    "width": {"type": "integer"},
                    "height": {"type": "integer", "default": 1},
                },
                "required": ["width"],
                "additionalProperties": False,
            },
            "limit": {"type": "integer", "default": 10},
            "tags": {"description": "Any tags", **ARRAY_OF_TEXT, "default": [], "maxItems": 3},
            "needed": {"type": "integer"},
        },
        "required": ["text", "size"],
        "additionalProperties": False,
    }


class Base(TypedDict):
    a: int
    b: NotRequired[int]


class Derived(Base, total=False):
    c: int
    d: Required[Annotated[str, "The d"]]
    e: Annotated[Required[int], {"minimum": 0}]


class OldStyle(typing_extensions.TypedDict):
    a: ReadOnly[NotRequired[int]]
    b: int | None


@pytest.mark.parametrize(
    ("cls", "required"),
    [(Base, ["a"]), (Derived, ["a", "d", "e"]), (Extra, ["name"]), (OldStyle, None)],
)
def test_typed_dict_requires_what_it_says(cls: Any, required: list[str] | None) -> None:
    assert schema_of(cls).get("required") == required


def test_typed_dict_becomes_an_object() -> None:
    assert schema_of(Derived)["properties"] == {
        "a": {"type": "integer"},
        "b": {"type": "integer"},
        "c": {"type": "integer"},
        "d": {"description": "The d", "type": "string"},
        "e": {"type": "integer", "minimum": 0},
    }


def test_docstring_is_cleaned() -> None:
    @attrs.frozen
    class Args:
        """What to do.

        And how.
        """

    @attrs.frozen
    class Silent(Args):
        pass

    assert schema_of(Args)["description"] == "What to do.\n\nAnd how."
    assert "description" not in schema_of(Silent)


@attrs.frozen
class Node:
    name: str
    kids: list[Node] = attrs.field(factory=list)
    parent: Node | None = None


NODE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []},
        "parent": {"$ref": "#/$defs/Node"},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def test_class_that_holds_itself_is_referred_to_and_stands_at_the_root_too() -> None:
    assert schema_of(Node) == {**NODE, "$defs": {"Node": NODE}}


@attrs.frozen
class Parent:
    one: Child
    other: Child | None = None


@attrs.frozen
class Child:
    parents: list[Parent]
    itself: Self | None = None


def test_classes_that_hold_each_other_are_referred_to() -> None:
    schema = schema_of(Parent)
    compile_schema(schema)
    assert schema["properties"]["one"] == {"$ref": "#/$defs/Child"}
    assert set(schema["$defs"]) == {"Parent", "Child"}
    assert schema["$defs"]["Child"]["properties"]["parents"]["items"] == {"$ref": "#/$defs/Parent"}
    assert schema["$defs"]["Child"]["properties"]["itself"] == {"$ref": "#/$defs/Child"}


T = TypeVar("T")
D = TypeVar("D", default=str)


@attrs.frozen
class Page(Generic[T, D]):
    items: list[T]
    extra: D | None = None


@attrs.frozen
class PointPage(Page[Point, int]):
    more: bool = False


@dataclasses.dataclass
class Box(Generic[T]):
    content: T
    next: Box[T] | None = None


def test_type_parameters_are_filled_in() -> None:
    items = schema_of(Page[Point, int])["properties"]
    assert items == {"items": {"type": "array", "items": POINT}, "extra": {"type": "integer"}}
    assert schema_of(PointPage)["properties"] == {
        **items,
        "more": {"type": "boolean", "default": False},
    }
    assert schema_of(Page)["properties"] == {
        "items": {"type": "array", "items": {}},
        "extra": {"type": "string"},
    }


class Titled(TypedDict, Generic[T]):
    content: T


class TitledPoint(Titled[Point]):
    title: str


def test_type_parameters_of_typed_dicts_are_filled_in() -> None:
    assert schema_of(Titled[int])["properties"] == {"content": {"type": "integer"}}
    assert schema_of(TitledPoint)["properties"] == {"content": POINT, "title": {"type": "string"}}


def test_each_form_of_a_generic_class_has_a_definition_of_its_own() -> None:
    @attrs.frozen
    class Boxes:
        ints: Box[int]
        texts: Box[str]

    definitions = schema_of(Boxes)["$defs"]
    assert definitions["Box_int"]["properties"]["content"] == {"type": "integer"}
    assert definitions["Box_str"]["properties"]["content"] == {"type": "string"}


def test_type_parameter_may_carry_keywords() -> None:
    schema = schema_of(Page[Annotated[int, {"minimum": 1}]])
    assert schema["properties"]["items"]["items"] == {"type": "integer", "minimum": 1}


def test_classes_of_one_name_have_definitions_of_their_own() -> None:
    def make(annotation: Any) -> Any:
        return attrs.frozen(type("Tree", (), {"__annotations__": annotation}))

    branches: Any = list[Self]  # type: ignore[misc]
    trees = {name: make({"branches": branches}) for name in ("one", "other")}
    assert set(schema_of(make(trees))["$defs"]) == {"Tree", "Tree_2"}


def test_classes_inside_a_function_know_each_other() -> None:
    @attrs.frozen
    class Inner:
        value: int

    @attrs.frozen
    class Outer:
        inner: Inner
        optional: list[Inner] | None = None

    def further_in() -> dict[str, Any]:
        return schema_of(Outer)

    assert further_in()["properties"]["inner"]["properties"] == {"value": {"type": "integer"}}


def test_class_inside_a_class_is_known() -> None:
    @attrs.frozen
    class Args:
        @attrs.frozen
        class Part:
            value: int

        part: Part

    assert schema_of(Args)["properties"]["part"]["required"] == ["value"]


def test_field_may_hide_the_type_it_is_named_after() -> None:
    @attrs.frozen
    class Args:
        Color: Color | None = None

    assert schema_of(Args)["properties"]["Color"]["enum"] == ["red", "blue"]


@attrs.frozen(kw_only=True)
class Rules:
    a: int = attrs.field(validator=validators.and_(validators.ge(1), validators.lt(9)))
    b: float = attrs.field(validator=[validators.gt(0.5), validators.le(2)])  # type: ignore[arg-type]
    c: str = attrs.field(validator=[validators.min_len(1), validators.max_len(3)])
    d: list[int] = attrs.field(validator=validators.min_len(1))
    e: dict[str, int] = attrs.field(validator=validators.max_len(2))
    f: str = attrs.field(validator=validators.in_(["x", "y"]))
    g: int | None = attrs.field(validator=validators.optional(validators.in_({3, 1})))
    h: str = attrs.field(validator=validators.matches_re("[a-z]+"))
    i: str = attrs.field(validator=validators.matches_re(r"\d+"))
    j: int = attrs.field(converter=abs, validator=validators.le(9))
    k: str = attrs.field(validator=validators.in_("xyz"))
    l: int = attrs.field(validator=validators.instance_of(int))  # noqa: E741 - one of a row
    m: float = attrs.field(validator=validators.ge(float("-inf")))
    n: Any = attrs.field(validator=validators.in_(["x", 1]))
    o: str = attrs.field(validator=validators.in_(["x", Color.RED]))  # type: ignore[assignment]


RULES = {
    "a": {"type": "integer", "minimum": 1, "exclusiveMaximum": 9},
    "b": {"type": "number", "exclusiveMinimum": 0.5, "maximum": 2},
    "c": {"type": "string", "minLength": 1, "maxLength": 3},
    "d": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
    "e": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2},
    "f": {"type": "string", "enum": ["x", "y"]},
    "g": {"type": "integer", "enum": [1, 3]},
    "h": {"type": "string", "pattern": "^(?:[a-z]+)$"},
    # Told by nothing that means exactly the same: checked by the class only.
    "i": {"type": "string"},
    "j": {"type": "integer"},
    "k": {"type": "string"},
    "l": {"type": "integer"},
    "m": {"type": "number"},
    "n": {},
    "o": {"type": "string"},
}


def test_rules_of_attrs_validators_are_told_where_exact() -> None:
    assert schema_of(Rules)["properties"] == RULES
    assert schema_of(Rules)["required"] == [name for name in RULES if name != "g"]


@attrs.frozen
class Result:
    total: int
    note: str | None
    label: Literal["a", "b"] | None = None
    ratio: float = 1.0
    parts: list[int | None] = attrs.field(factory=list)
    either: int | str | None = None
    where: Point | None = None
    ruled: Annotated[int | None, {"minimum": 0}] = None


def test_result_schema_allows_null_exactly_where_the_class_says_none() -> None:
    schema = result_schema_of(Result)
    compile_schema(schema)
    assert schema["required"] == ["total"]
    assert schema["properties"] == {
        "total": {"type": "integer"},
        "note": {"type": ["string", "null"]},
        "label": {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]},
        "ratio": {"type": "number", "default": 1.0},
        "parts": {"type": "array", "items": {"type": ["integer", "null"]}, "default": []},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
        "where": {**POINT, "type": ["object", "null"]},
        "ruled": {"type": ["integer", "null"], "minimum": 0},
    }


def find_schemas(schema: Any) -> list[Any]:
    if isinstance(schema, list):
        return [found for item in schema for found in find_schemas(item)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(found for item in schema.values() for found in find_schemas(item))]


@pytest.mark.parametrize(
    "cls", [AttrsArgs, DataArgs, Derived, Node, Parent, PointPage, Result, Rules]
)
def test_argument_schema_has_one_type_and_no_null_anywhere(cls: Any) -> None:
    for schema in find_schemas(schema_of(cls)):
        assert not isinstance(schema.get("type"), list)
        assert schema.get("type") != "null"
        assert None not in schema.get("enum", [])


@pytest.mark.parametrize("cls", [Point, Size, Extra, Page[int], Page, OldStyle], ids=repr)
def test_typed_classes_are_told_from_others(cls: Any) -> None:
    assert is_typed(cls)


@pytest.mark.parametrize(
    "other", [int, dict, dict[str, int], list[int], Color, Any, None], ids=repr
)
def test_other_things_are_no_typed_classes(other: Any) -> None:
    assert not is_typed(other)
    with pytest.raises(TypeError, match=r"is no attrs class, .*; decorate it"):
        schema_of(other)


def test_instance_is_no_typed_class() -> None:
    point: Any = Point(1, 2)
    assert not is_typed(point)
    with pytest.raises(TypeError, match=r"is an instance; give its class, Point$"):
        schema_of(point)


def test_pydantic_model_is_told_by_its_schema() -> None:
    class Model(pydantic.BaseModel):
        a: int

    with pytest.raises(TypeError, match=r"Model is no attrs .*Model\.model_json_schema\(\)"):
        schema_of(Model)


@pytest.mark.parametrize("factory", [list, list[str], set[str], tuple[str, ...]], ids=str)
def test_empty_default_is_told_whatever_its_type_parameters(factory: Any) -> None:
    @attrs.frozen
    class One:
        value: list[str] = attrs.field(factory=factory)

    @dataclasses.dataclass
    class Two:
        value: list[str] = dataclasses.field(default_factory=factory)

    for cls in (One, Two):
        assert schema_of(cls)["properties"]["value"]["default"] == []


def test_empty_map_is_told_as_the_default() -> None:
    @attrs.frozen
    class Args:
        value: dict[str, int] = attrs.field(factory=dict[str, int])

    assert schema_of(Args)["properties"]["value"]["default"] == {}
