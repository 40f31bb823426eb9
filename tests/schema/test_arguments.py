"""Arguments are read into what a tool declared, or told wrong in a model's terms."""

from __future__ import annotations

import copy
import datetime
import enum
import time
import typing
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypedDict

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.wire.arguments import ArgumentReader, ArgumentsError
from genmcp.wire.schema import SchemaError
from genmcp.wire.typed import schema_of
from genmcp.wire.violation import MAX_PROBLEMS


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Item:
    name: str
    amount: int = 1


@attrs.frozen
class Args:
    text: str
    limit: int | None = 10
    ratio: float | None = None
    color: Color = Color.RED
    items: list[Item] = attrs.field(factory=list)
    when: datetime.datetime | None = None
    short: Annotated[str, {"maxLength": 3}] = "abc"


class Nothing(TypedDict):
    pass


ADD: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
}


def fail(schema: Any, value: Any, **options: Any) -> list[str]:
    with pytest.raises(ArgumentsError) as caught:
        ArgumentReader.compile(schema, **options).read(value)
    assert str(caught.value) == "\n".join(caught.value.problems)
    assert caught.value.reasons
    return caught.value.problems


@pytest.mark.parametrize("arguments", [None, {}, MappingProxyType({})])
def test_no_arguments_are_an_empty_object(arguments: Mapping[str, Any] | None) -> None:
    assert ArgumentReader.compile({"type": "object"}).read(arguments) == {}
    assert ArgumentReader.compile(Nothing).read(arguments) == {}
    assert fail(Args, arguments) == ['missing required argument "text"']


@pytest.mark.parametrize("arguments", [[], [["a", 1]], "{}", 0, False, 1.5])
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    (line,) = fail({"type": "object"}, arguments)
    assert line.startswith("arguments: must be an object, got ")


def test_typed_arguments_are_an_instance_of_the_class() -> None:
    value = {"text": "a", "color": "blue", "items": [{"name": "b", "amount": 2.0}], "ratio": 1}
    result = ArgumentReader.compile(Args).read(value)
    assert result == Args("a", color=Color.BLUE, items=[Item("b", 2)], ratio=1.0)
    assert type(result.items[0].amount) is int


def test_plain_schema_is_published_as_it_is() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "other": {"$ref": "#/$defs/other"},
        },
        "$defs": {"other": {"$anchor": "o", "anyOf": [{"type": "null"}, {"const": 1}]}},
        "additionalProperties": False,
        "x-mine": [1, None],
    }
    assert ArgumentReader.compile(copy.deepcopy(schema)).schema == schema


def test_typed_schema_is_published_without_null() -> None:
    assert ArgumentReader.compile(Args).schema == schema_of(Args)


OLD_SPELLING: Any = typing.Dict[str, Any]  # noqa: UP006 - authors may still write it


@pytest.mark.parametrize("anything", [dict, dict[str, Any], OLD_SPELLING], ids=repr)
def test_dict_stands_for_any_arguments(anything: Any) -> None:
    reader = ArgumentReader.compile(anything)
    assert reader.schema == {"type": "object"}
    assert reader.read({"a": "1", "b": None}) == {"a": "1", "b": None}


@pytest.mark.parametrize(
    "schema", [{}, {"type": "array"}, {"properties": {}}, {"type": ["object"]}]
)
def test_schema_without_an_object_at_its_root_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaError, match='"type": "object"'):
        ArgumentReader.compile(schema)


@pytest.mark.parametrize("schema", [True, 1, None, list, int, "object", dict[str, int]], ids=repr)
def test_what_is_neither_schema_nor_class_is_a_type_error(schema: Any) -> None:
    with pytest.raises(TypeError):
        ArgumentReader.compile(schema)


def test_keyword_of_a_class_that_is_used_wrongly_is_refused() -> None:
    @attrs.frozen
    class Wrong:
        value: Annotated[int, {"minimum": "1"}]

    with pytest.raises(SchemaError, match="/properties/value/minimum"):
        ArgumentReader.compile(Wrong)


MOMENT = "a date and time with its offset, such as 2026-07-28T09:30:00Z"


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ({"text": 1}, ["text: expected string, got integer 1"]),
        ({"text": None}, ["text: expected string, got null"]),
        ({"text": "a", "limit": "x"}, ['limit: expected integer, got string "x"']),
        ({"text": "a", "limit": True}, ["limit: expected integer, got boolean true"]),
        ({"text": "a", "limit": 1.9}, ["limit: expected integer, got number 1.9"]),
        ({"text": "a", "color": "pink"}, ['color: must be one of "red" or "blue", got "pink"']),
        ({"text": "a", "short": "abcd"}, ["short: must have at most 3 characters"]),
        ({"text": "a", "items": [{}]}, ['items[0]: missing required field "name"']),
        (
            {"text": "a", "items": [{"name": "b"}, {"name": 2}]},
            ["items[1].name: expected string, got integer 2"],
        ),
        (
            {"text": "a", "when": "noon"},
            [f'when: expected {MOMENT}, got "noon"'],
        ),
        (
            {"text": "a", "items": [{"name": "b", "amout": 1}]},
            ['items[0]: unknown field "amout"; did you mean "amount"? Valid fields: name, amount'],
        ),
    ],
)
def test_problem_is_told_in_a_line_of_its_own(value: Any, lines: list[str]) -> None:
    assert fail(Args, value) == lines


NAMES = "text, limit, ratio, color, items, when, short"


def test_unknown_argument_is_refused_with_the_nearest_and_the_valid_names() -> None:
    assert fail(Args, {"text": "a", "colour": "red"}) == [
        f'unknown argument "colour"; did you mean "color"? Valid arguments: {NAMES}'
    ]
    assert fail(Args, {"text": "a", "zzz": 1}) == [
        f'unknown argument "zzz". Valid arguments: {NAMES}'
    ]
    assert fail(Nothing, {"a": 1}) == ['unknown argument "a"']


def test_valid_names_are_told_once() -> None:
    lines = fail(Args, {"text": "a", "colour": 1, "zzz": 1, "txt": 1})
    assert len(lines) == 3
    assert sum("Valid arguments" in line for line in lines) == 1


def test_unknown_argument_of_a_plain_schema_is_refused_only_where_the_schema_does() -> None:
    assert ArgumentReader.compile(ADD).read({"a": 1, "b": 2, "c": 3}) == {"a": 1, "b": 2, "c": 3}
    closed = {**ADD, "additionalProperties": False}
    assert fail(closed, {"a": 1, "b": 2, "bb": 3}) == [
        'unknown argument "bb"; did you mean "b"? Valid arguments: a, b'
    ]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    value = {
        "limit": "x",
        "color": "pink",
        "items": [{"name": 1}, {}],
        "when": "noon",
        "nope": 1,
    }
    lines = fail(Args, value)
    assert len(lines) == 7
    starts = {line.split(" ")[0] for line in lines}
    assert starts == {
        "limit:",
        "color:",
        "items[0].name:",
        "items[1]:",
        "when:",
        "missing",
        "unknown",
    }


@attrs.frozen
class Circle:
    kind: Literal["circle"]
    radius: float


@attrs.frozen
class Box:
    kind: Literal["box"]
    sides: list[int]


@attrs.frozen
class Draw:
    shape: Circle | Box | str
    size: int | Literal["auto"] | None = None


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ({"shape": {"kind": "circle"}}, ['shape: missing required field "radius"']),
        (
            {"shape": {"kind": "box", "sides": ["x"]}},
            ['shape.sides[0]: expected integer, got string "x"'],
        ),
        (
            {"shape": {"kind": "ball", "radius": 1}},
            ['shape.kind: must be one of "circle" or "box", got "ball"'],
        ),
        ({"shape": 1}, ["shape: expected object or string, got integer 1"]),
        ({"shape": "a", "size": "big"}, ['size: must be "auto", got "big"']),
        ({"shape": "a", "size": []}, ["size: expected integer or string, got array"]),
    ],
)
def test_union_is_told_by_the_closest_member(value: Any, lines: list[str]) -> None:
    assert fail(Draw, value) == lines


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ({"text": "a", "limit": "5"}, Args("a", limit=5)),
        ({"text": "5", "ratio": "0.5"}, Args("5", ratio=0.5)),
        ({"text": "a", "items": '[{"name": "1", "amount": "2"}]'}, Args("a", items=[Item("1", 2)])),
        ({"text": '{"a": 1}'}, Args('{"a": 1}')),
        ({"text": "1e234567"}, Args("1e234567")),
    ],
)
def test_quoted_values_are_repaired_without_loss(given: Any, result: Any) -> None:
    kept = copy.deepcopy(given)
    assert ArgumentReader.compile(Args).read(given) == result
    assert given == kept


@pytest.mark.parametrize("ratio", [2**53 + 1, "9007199254740993"], ids=["plain", "quoted"])
def test_number_that_would_change_is_refused_quoted_or_not(ratio: Any) -> None:
    assert fail(Args, {"text": "a", "ratio": ratio}) == [
        "ratio: must be a number that a 64-bit float holds exactly, got 9007199254740993"
    ]
    assert fail(Args, {"text": "a", "limit": 1e30}) == [
        "limit: must be an integer written with all its digits, got 1e+30"
    ]


def test_member_of_a_union_is_repaired() -> None:
    reader = ArgumentReader.compile(Draw)
    assert reader.read({"shape": {"kind": "circle", "radius": "1.5"}}).shape == Circle(
        "circle", 1.5
    )
    # Text is allowed there, whatever it holds.
    assert reader.read({"shape": '{"kind": "circle", "radius": 1}'}).shape == (
        '{"kind": "circle", "radius": 1}'
    )


def test_repair_can_be_switched_off() -> None:
    assert fail(ADD, {"a": "1", "b": 2}, repair=False) == ['a: expected number, got string "1"']
    assert fail(Args, {"text": "a", "limit": "5"}, repair=False) == [
        'limit: expected integer, got string "5"'
    ]


def test_problems_after_a_repair_are_those_of_the_repaired_value() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 5}}}
    assert fail(schema, {"a": "1"}) == ["a: must be at least 5, got 1"]


@pytest.mark.parametrize("name", ["limit", "ratio", "color", "items", "when", "short"])
def test_null_of_what_need_not_be_given_is_not_given(name: str) -> None:
    assert ArgumentReader.compile(Args).read({"text": "a", name: None}) == Args("a")
    assert ArgumentReader.compile(Args, repair=False).read({"text": "a", name: None}) == Args("a")


def test_null_is_tolerated_inside_and_beside_other_repairs() -> None:
    value = {"text": "a", "limit": "5", "ratio": None, "items": [{"name": "b", "amount": None}]}
    assert ArgumentReader.compile(Args).read(value) == Args("a", limit=5, items=[Item("b")])


def test_null_of_a_plain_schema_is_a_value() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert fail(schema, {"a": None}) == ["a: expected integer, got null"]


def test_plain_arguments_are_a_dict_of_their_own() -> None:
    given = {"a": 1, "b": "2"}
    result = ArgumentReader.compile(ADD).read(given)
    assert result == {"a": 1, "b": 2}
    result["a"] = 7
    assert given == {"a": 1, "b": "2"}


@attrs.frozen
class Strict:
    even: int = attrs.field(default=2)

    @even.validator
    def _check_even(self, _attribute: object, value: int) -> None:
        if value % 2:
            raise ValueError(f"must be even, and {value} is odd")


def test_what_the_class_refuses_is_told_in_its_words() -> None:
    assert fail(Strict, {"even": 3}) == ["even: must be even, and 3 is odd"]
    assert fail(Strict, {"even": "3"}) == ["even: must be even, and 3 is odd"]


def take_first(items: list[int]) -> int:
    return items[0]


@attrs.frozen
class Fragile:
    first: Annotated[list[int], {"minItems": 1}] = attrs.field(converter=take_first)
    when: datetime.date | None = None


def test_code_of_the_class_that_meets_what_the_schema_forbids_does_no_harm() -> None:
    assert fail(Fragile, {"first": [], "when": None}) == ["first: must have at least 1 item"]


def test_reasons_are_for_a_log_and_hold_no_values() -> None:
    with pytest.raises(ArgumentsError) as caught:
        ArgumentReader.compile(Args).read(
            {"text": 1, "items": [{"name": "b", "amount": "s3cr3t"}], "when": "s3cr3t"}
        )
    assert caught.value.reasons == [
        "/text: expected string, got integer",
        "/items/0/amount: expected integer, got string",
        f"/when: expected {MOMENT}",
    ]


def test_problems_are_few_and_short() -> None:
    value = {"text": "x" * 5000, **{f"{'n' * 500}{number}": 1 for number in range(99)}}
    lines = fail(Args, value)
    assert len(lines) == MAX_PROBLEMS + 1
    assert lines[-1].startswith("… and ")
    assert max(map(len, lines)) < 300
    many = fail(Args, {"text": "a", "items": [{"name": 1}] * 40})
    assert len(many) == MAX_PROBLEMS + 1


def test_line_end_of_a_name_starts_no_line() -> None:
    (line,) = fail(Nothing, {"a\nb": 1})
    assert "\n" not in line


@attrs.frozen
class Tree:
    value: int | str
    left: Tree | None = None
    right: Tree | None = None


def nest(depth: int, leaf: Any) -> Any:
    value = leaf
    for _ in range(depth):
        value = {"value": 1, "left": value}
    return value


def test_deep_arguments_are_read() -> None:
    result = ArgumentReader.compile(Tree).read(nest(120, {"value": "x"}))
    for _ in range(120):
        result = result.left
    assert result == Tree("x")


class Chain(TypedDict):
    links: list[list[dict[str, Chain | None] | None]]


def test_arguments_deeper_than_the_stack_are_refused() -> None:
    value: Any = {"links": []}
    for _ in range(62):
        value = {"links": [[{"next": value}]]}
    reader = ArgumentReader.compile(Chain)

    def read_from(frames: int) -> Any:
        return reader.read(value) if frames == 0 else read_from(frames - 1)

    assert read_from(0) == value
    with pytest.raises(ArgumentsError, match="nested too deeply"):
        read_from(600)


@pytest.mark.parametrize("depth", [120, 260, 100_000])
def test_deep_arguments_that_are_wrong_are_told_in_bounded_time(depth: int) -> None:
    reader = ArgumentReader.compile(Tree)
    value = nest(depth, {"value": []})
    start = time.process_time()
    with pytest.raises(ArgumentsError) as caught:
        reader.read(value)
    assert time.process_time() - start < 1.5
    if depth == 120:
        (line,) = caught.value.problems
        assert line.endswith(".left.value: expected integer or string, got array")
    else:
        assert caught.value.problems == ["arguments: nests deeper than 254 levels"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("1"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["text", "limit", "items", "when", "shape", "kind", "value", "left", "x"]
            )
            | st.text(max_size=2),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
READERS = [ArgumentReader.compile(source) for source in (Args, Draw, Tree, Strict, Nothing, ADD)]


@given(value=JSON, number=st.integers(min_value=0, max_value=len(READERS) - 1))
def test_any_json_is_read_or_refused(value: Any, number: int) -> None:
    kept = copy.deepcopy(value)
    error = ArgumentsError(["none"])
    try:
        READERS[number].read(value)
    except ArgumentsError as raised:
        error = raised
    assert error.problems
    assert all(line.strip() for line in error.problems)
    assert str(error).encode()
    assert repr(value) == repr(kept)
