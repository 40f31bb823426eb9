"""However large the arguments, the work of refusing them is bounded. Counted, never timed."""

from __future__ import annotations

import difflib
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import attrs
import pytest

from genmcp.wire.arguments import ArgumentReader, ArgumentsError
from genmcp.wire.json_kinds import count_values
from genmcp.wire.repair import MAX_VALUES, TooManyValues, repair
from genmcp.wire.schema import compile_schema
from genmcp.wire.violation import MAX_PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

TOO_MANY = (
    "arguments: hold too many values for any to be taken out of quotes; "
    "send numbers, booleans, arrays and objects without quotes"
)


@attrs.frozen
class Node:
    value: int
    kids: list[Node] = attrs.field(factory=list)


@attrs.frozen
class Circle:
    kind: Literal["circle"]


@attrs.frozen
class Box:
    kind: Literal["box"]


@attrs.frozen
class Args:
    numbers: tuple[int, ...] = ()
    ratios: list[float] = attrs.field(factory=list)
    named: dict[str, int] = attrs.field(factory=dict)
    shapes: list[Circle | Box] = attrs.field(factory=list)
    limit: int = 0


RECURSIVE: dict[str, Any] = {
    "type": "object",
    "properties": {"x": {"$ref": "#/$defs/n"}},
    "$defs": {
        "n": {
            "anyOf": [
                {"type": "array", "items": {"$ref": "#/$defs/n"}},
                {"type": "array", "prefixItems": [{"$ref": "#/$defs/n"}]},
                {"type": "integer"},
            ]
        }
    },
}
CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {}},
    "additionalProperties": False,
}


def nest(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = [leaf]
    return leaf


def count_calls(work: Callable[[], object]) -> int:
    """Return how many calls `work` makes, of Python functions and of others."""
    counted: Counter[str] = Counter()
    sys.setprofile(lambda _frame, event, _arg: counted.update((event,)))
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted["call"] + counted["c_call"]


def refuse(reader: ArgumentReader, value: Any) -> list[str]:
    with pytest.raises(ArgumentsError) as caught:
        reader.read(value)
    return caught.value.problems


@pytest.mark.parametrize(
    ("schema", "make", "limit"),
    [
        pytest.param(Node, lambda n: {"value": 1, "kids": [{}] * n}, 20_000, id="missing"),
        pytest.param(
            Node, lambda n: {"value": 1, "kids": [{"value": "x"}] * n}, 150_000, id="wrong members"
        ),
        pytest.param(
            Node,
            lambda n: {"value": 1, "kids": [{"value": 1, "z": 1}] * n},
            150_000,
            id="unknown members",
        ),
        pytest.param(
            Node,
            lambda n: {"value": 1, "kids": [{f"k{i}": 1 for i in range(n)}]},
            20_000,
            id="unknown names inside",
        ),
        pytest.param(Args, lambda n: {"numbers": ["1"] * n}, 20_000, id="quoted"),
        pytest.param(Args, lambda n: {"numbers": ["x"] * n}, 20_000, id="wrong"),
        pytest.param(Args, lambda n: {"numbers": [True] * n}, 20_000, id="wrong kind"),
        pytest.param(Args, lambda n: {"numbers": "[" + "1," * n + "x]"}, 20_000, id="quoted array"),
        pytest.param(
            Args,
            lambda n: {"named": dict.fromkeys(map(str, range(n)), "x")},
            20_000,
            id="wrong map",
        ),
        pytest.param(
            Args, lambda n: dict.fromkeys(map(str, range(n)), 1), 20_000, id="unknown names"
        ),
        pytest.param(Args, lambda n: {"shapes": [{"kind": "x"}] * n}, 150_000, id="wrong tags"),
        pytest.param(Args, lambda n: {"ratios": [2**60 + 1] * n}, 20_000, id="inexact"),
        pytest.param(
            CLOSED,
            lambda n: dict.fromkeys(map(str, range(n)), 1),
            20_000,
            id="unknown names of a schema",
        ),
        pytest.param(RECURSIVE, lambda n: {"x": ["x"] * n}, 20_000, id="alternatives"),
        pytest.param(
            RECURSIVE, lambda n: {"x": nest(60, ["x"] * n)}, 20_000, id="deep alternatives"
        ),
    ],
)
def test_work_of_refusing_does_not_grow_with_the_arguments(
    schema: Any, make: Callable[[int], Any], limit: int
) -> None:
    reader = ArgumentReader.compile(schema)
    refuse(reader, make(60_000))
    few, many = make(60_000), make(240_000)
    at_least = count_calls(lambda: refuse(reader, few))
    at_most = count_calls(lambda: refuse(reader, many))
    assert at_most <= at_least + 200
    assert at_most < limit


def test_work_of_trying_alternatives_is_bounded() -> None:
    reader = ArgumentReader.compile(RECURSIVE)
    value = {"x": nest(40, ["x"] * 15_000)}
    refuse(reader, value)
    assert count_calls(lambda: refuse(reader, value)) < 100_000


def test_items_of_a_simple_type_are_read_without_a_call_for_each() -> None:
    reader = ArgumentReader.compile(Args)
    value = {"numbers": list(range(100_000)), "ratios": [0.5] * 100_000}
    found: list[Any] = []
    assert count_calls(lambda: found.append(reader.read(value))) < 100
    assert found == [Args(numbers=tuple(range(100_000)), ratios=[0.5] * 100_000)]


def test_each_object_costs_few_calls() -> None:
    reader = ArgumentReader.compile(Node)
    value = {"value": 1, "kids": [{"value": 1}] * 10_000}
    assert count_calls(lambda: reader.read(value)) < 10 * 10_000


def test_class_is_not_read_further_than_problems_are_told() -> None:
    made: list[int] = []

    @attrs.frozen
    class Counted:
        value: int

        def __attrs_post_init__(self) -> None:
            made.append(self.value)
            raise ValueError("not this one")

    @attrs.frozen
    class Many:
        items: list[Counted]

    lines = refuse(ArgumentReader.compile(Many), {"items": [{"value": i} for i in range(500)]})
    assert len(made) == MAX_PROBLEMS + 1
    assert len(lines) == MAX_PROBLEMS + 1
    assert lines[-1] == "… and more"


def test_names_are_compared_only_for_the_lines_that_are_told() -> None:
    compared: list[tuple[str, list[str]]] = []

    def watch(frame: FrameType, event: str, _arg: object) -> None:
        if event == "call" and frame.f_code is difflib.get_close_matches.__code__:
            compared.append((frame.f_locals["word"], frame.f_locals["possibilities"]))

    known: dict[str, Any] = {f"name{number}": {} for number in range(500)}
    reader = ArgumentReader.compile({**CLOSED, "properties": known})
    value = {"x" * 5000: 1, **{f"nam{number}": 1 for number in range(200)}}
    sys.setprofile(watch)
    try:
        lines = refuse(reader, value)
    finally:
        sys.setprofile(None)
    assert len(lines) == MAX_PROBLEMS + 1
    assert 0 < len(compared) < MAX_PROBLEMS
    assert max(len(names) for _, names in compared) <= 50
    assert max(len(name) for name, _ in compared) <= 40


def test_beyond_the_budget_nothing_is_repaired_and_that_is_told() -> None:
    reader = ArgumentReader.compile(Args)
    fits = {"numbers": ["1"] * (MAX_VALUES - 1)}
    assert reader.read(fits) == Args(numbers=(1,) * (MAX_VALUES - 1))
    lines = refuse(reader, {"numbers": ["1"] * MAX_VALUES})
    assert lines[:2] == [TOO_MANY, 'numbers[0]: expected integer, got string "1"']
    without = ArgumentReader.compile(Args, repair=False)
    assert TOO_MANY not in refuse(without, {"numbers": ["1"] * MAX_VALUES})


def test_budget_is_not_told_of_where_no_quotes_are_the_trouble() -> None:
    lines = refuse(ArgumentReader.compile(Args), {"numbers": [True] * (2 * MAX_VALUES)})
    assert lines[0] == "numbers[0]: expected integer, got boolean true"


def test_large_argument_that_fits_is_not_in_the_way_of_repair() -> None:
    value = {"numbers": [1] * (3 * MAX_VALUES), "limit": "5"}
    assert ArgumentReader.compile(Args).read(value).limit == 5


def test_large_argument_in_quotes_that_then_fits_is_repaired() -> None:
    text = "[" + ",".join(["1"] * 100_000) + "]"
    assert len(ArgumentReader.compile(Args).read({"numbers": text}).numbers) == 100_000


def test_quotes_in_quotes_are_read_for_a_bounded_time() -> None:
    parts = compile_schema({"properties": {"x": {"type": "array"}}}).parts
    with pytest.raises(TooManyValues):
        repair(parts, {"x": "[" + "1," * 3_000_000 + "x]"})


def test_late_fault_of_a_large_argument_is_found() -> None:
    value = {"numbers": [*([1] * 500_000), True]}
    assert refuse(ArgumentReader.compile(Args), value) == [
        "numbers[500000]: expected integer, got boolean true"
    ]


def test_large_object_is_told_what_it_misses_and_what_it_must_not_have() -> None:
    schema: dict[str, Any] = {**CLOSED, "required": ["b"]}
    lines = refuse(ArgumentReader.compile(schema), dict.fromkeys(map(str, range(5000)), 1))
    assert lines[:2] == [
        'missing required argument "b"',
        'unknown argument "0". Valid arguments: a',
    ]


SIZES: list[tuple[Any, int]] = [
    (1, 1),
    ("abc", 1),
    ([], 1),
    ({}, 1),
    ([1, [2, {"a": 3}]], 6),
    ([[]] * 5, 6),
]


@pytest.mark.parametrize(("value", "size"), SIZES)
def test_values_are_counted_up_to_a_limit(value: Any, size: int) -> None:
    assert count_values(value, size) == size
    assert count_values(value, 100) == size
    assert count_values(value, size - 1) == size
    assert count_values([value] * 50, 10) == 11
