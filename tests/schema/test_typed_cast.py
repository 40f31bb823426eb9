"""JSON is read into typed classes strictly: nothing is converted that JSON tells apart."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from decimal import Decimal
from typing import Any, Generic, Literal, NotRequired, TypedDict

import attrs
import pytest
from attrs import validators
from typing_extensions import TypeVar

from genmcp.wire.typed import CastError, Shapes, build_reader


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.Enum):
    LOW = 1
    HALF = 1.5
    ON = True


@attrs.frozen
class Point:
    x: float
    y: float


def read(cls: Any, value: Any) -> Any:
    return build_reader(Shapes(cls))(value)


def read_as(annotation: Any, value: Any) -> Any:
    cls = attrs.define(type("Args", (), {"__annotations__": {"value": annotation}}))
    return read(cls, {"value": value}).value


def fail(cls: Any, value: Any) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(CastError) as caught:
        read(cls, value)
    return [(found.path, found.message) for found in caught.value.violations]


DIGITS = "must be an integer written with all its digits"
EXACT = "must be a number that a 64-bit float holds exactly"


@pytest.mark.parametrize(
    ("annotation", "value", "path", "message"),
    [
        (int, 1e30, (), f"{DIGITS}, got 1e+30"),
        (int, -(2.0**53), (), f"{DIGITS}, got -9007199254740992.0"),
        (int | str, 1e30, (), f"{DIGITS}, got 1e+30"),
        (list[int], [1, 1e30], (1,), f"{DIGITS}, got 1e+30"),
        (float, 2**53 + 1, (), f"{EXACT}, got 9007199254740993"),
        (float, 10**400, (), f"{EXACT}, got a very large integer"),
        (float | str, 2**53 + 1, (), f"{EXACT}, got 9007199254740993"),
        (float | None, 2**53 + 1, (), f"{EXACT}, got 9007199254740993"),
        (list[float], [1.0, 2**53 + 1], (1,), f"{EXACT}, got 9007199254740993"),
        (dict[str, float], {"a": 2**53 + 1}, ("a",), f"{EXACT}, got 9007199254740993"),
        (tuple[float, int], [2**53 + 1, 1], (0,), f"{EXACT}, got 9007199254740993"),
    ],
)
def test_number_that_would_change_is_refused(
    annotation: Any, value: Any, path: tuple[str | int, ...], message: str
) -> None:
    cls = attrs.define(type("Args", (), {"__annotations__": {"value": annotation}}))
    assert fail(cls, {"value": value}) == [(("value", *path), message)]


UTC = datetime.UTC
UUID_TEXT = "123e4567-e89b-12d3-a456-426614174000"


@pytest.mark.parametrize(
    ("annotation", "value", "result"),
    [
        (str, "1", "1"),
        (int, 1, 1),
        (int, 1.0, 1),
        (int, 2**70, 2**70),
        (int, float(2**53 - 1), 2**53 - 1),
        (float, 2**53, 2.0**53),
        (float, 2**60, 2.0**60),
        (int | float, 2**53 + 1, 2**53 + 1),
        (list[float], [1, 0.5], [1.0, 0.5]),
        (list[str], ["a", "b"], ["a", "b"]),
        (set[bool], [True, False], {True, False}),
        (float, 1, 1.0),
        (float, 1.5, 1.5),
        (bool, True, True),
        (None, None, None),
        (Any, [{"a": None}], [{"a": None}]),
        (list[int], [1, 2.0], [1, 2]),
        (tuple[int, ...], [1], (1,)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (tuple[()], [], ()),
        (set[int], [1, 2], {1, 2}),
        (frozenset[str], ["a"], frozenset({"a"})),
        (dict[str, float], {"a": 1}, {"a": 1.0}),
        (Literal["a", 1], 1.0, 1),
        (Color, "red", Color.RED),
        (Level, 1, Level.LOW),
        (Level, 1.5, Level.HALF),
        (Literal[Color.RED], "red", Color.RED),
        (int | float, 1, 1),
        (int | float, 1.5, 1.5),
        (int | None, None, None),
        (int | str, "1", "1"),
        (int | str, 1.0, 1),
        (float | str, 1, 1.0),
        (Literal["auto"] | int, "auto", "auto"),
        (str | Color, "red", Color.RED),
        (str | Color, "green", "green"),
        (int | list[int], [1], [1]),
        (int | None | Point, {"x": 1, "y": 2}, Point(1, 2)),
        (
            datetime.datetime,
            "2026-07-28T09:30:00Z",
            datetime.datetime(2026, 7, 28, 9, 30, tzinfo=UTC),
        ),
        (
            datetime.datetime,
            "2026-07-28t09:30:00.25+02:00",
            datetime.datetime(
                2026, 7, 28, 9, 30, 0, 250000, datetime.timezone(datetime.timedelta(hours=2))
            ),
        ),
        (datetime.date, "2026-07-28", datetime.date(2026, 7, 28)),
        (datetime.time, "09:30:00", datetime.time(9, 30)),
        (datetime.time, "09:30:00Z", datetime.time(9, 30, tzinfo=UTC)),
        (datetime.timedelta, "PT1H30M", datetime.timedelta(hours=1, minutes=30)),
        (datetime.timedelta, "P2W", datetime.timedelta(weeks=2)),
        (datetime.timedelta, "-P1DT0.5S", -datetime.timedelta(days=1, seconds=0.5)),
        (uuid.UUID, UUID_TEXT, uuid.UUID(UUID_TEXT)),
        (Decimal, "-12.50", Decimal("-12.50")),
    ],
    ids=repr,
)
def test_value_is_read(annotation: Any, value: Any, result: Any) -> None:
    found = read_as(annotation, value)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (str, 1),
        (str, None),
        (str, ["a"]),
        (int, True),
        (int, 1.9),
        (int, "1"),
        (int, None),
        (int, float("inf")),
        (int, float("nan")),
        (float, True),
        (float, "1.5"),
        (float, float("nan")),
        (float, 10**400),
        (bool, 1),
        (bool, 0.0),
        (bool, "true"),
        (bool, None),
        (None, 0),
        (list[int], "[1]"),
        (list[int], {"0": 1}),
        (list[int], (1,)),
        (list[int], [True]),
        (list[int], None),
        (tuple[int, str], [1]),
        (tuple[int, str], [1, "a", 2]),
        (tuple[()], [1]),
        (set[int], [1, 1.0]),
        (set[Any], [[]]),
        (set[Any], [1, True]),
        (dict[str, int], [["a", 1]]),
        (dict[str, int], {"a": "1"}),
        (Literal[1], True),
        (Literal[1], "1"),
        (Literal[True], 1),
        (Literal["a"], ["a"]),
        (Literal["a"], {"a": 1}),
        (Color, "RED"),
        (Color, 1),
        (Level, 2),
        (int | str, True),
        (int | str, 1.5),
        (int | str, None),
        (Point, {"x": 1}),
        (Point, {"x": 1, "y": 2, "z": 3}),
        (Point, [1, 2]),
        (datetime.datetime, "2026-07-28T09:30:00"),
        (datetime.datetime, "2026-07-28"),
        (datetime.datetime, "2026-02-30T00:00:00Z"),
        (datetime.datetime, "20260728T093000Z"),
        (datetime.datetime, "2026-07-28T09:30:00Z\n"),
        (datetime.datetime, "٢٠٢٦-07-28T09:30:00Z"),
        (datetime.datetime, 1785231000),
        (datetime.date, "2026-W31-2"),
        (datetime.date, "2026-07-28T00:00:00Z"),
        (datetime.time, "25:00:00"),
        (datetime.time, "09"),
        (datetime.timedelta, "P"),
        (datetime.timedelta, "PT"),
        (datetime.timedelta, "P1M"),
        (datetime.timedelta, "P1W2D"),
        (datetime.timedelta, "P999999999W"),
        (datetime.timedelta, 60),
        (uuid.UUID, UUID_TEXT.replace("-", "")),
        (uuid.UUID, f"{{{UUID_TEXT}}}"),
        (Decimal, "NaN"),
        (Decimal, "1e5"),
        (Decimal, 1.5),
    ],
    ids=repr,
)
def test_value_is_refused(annotation: Any, value: Any) -> None:
    with pytest.raises(CastError):
        read_as(annotation, value)


@attrs.frozen
class AttrsArgs:
    _private: int
    optional: int | None
    limit: int = 10
    defaulted: int | None = 3
    anything: Any = 5
    items: list[int | None] = attrs.field(factory=list)


@dataclasses.dataclass(frozen=True)
class DataArgs:
    private: int
    optional: int | None
    limit: int = 10
    defaulted: int | None = 3
    anything: Any = 5
    items: list[int | None] = dataclasses.field(default_factory=list)


class DictArgs(TypedDict):
    private: int
    optional: int | None
    limit: NotRequired[int]
    defaulted: NotRequired[int | None]
    anything: NotRequired[Any]
    items: NotRequired[list[int | None]]


@pytest.mark.parametrize("make", [AttrsArgs, DataArgs])
def test_defaults_are_those_of_the_class(make: Any) -> None:
    assert read(make, {"private": 1}) == make(1, None)
    assert read(make, {"private": 1}).items is not read(make, {"private": 1}).items


@pytest.mark.parametrize("make", [AttrsArgs, DataArgs])
def test_null_is_not_given_wherever_there_is_a_default(make: Any) -> None:
    value = {"private": 1, "optional": None, "limit": None, "defaulted": None}
    assert read(make, value) == make(1, None)
    assert read(make, {"private": 1, "anything": None}) == make(1, None, anything=None)
    assert read(make, {"private": 1, "items": [None, 1]}) == make(1, None, items=[None, 1])


def test_typed_dict_holds_what_was_given() -> None:
    assert read(DictArgs, {"private": 1}) == {"private": 1, "optional": None}
    value = {"private": 1, "limit": None, "defaulted": None, "items": None, "anything": None}
    assert read(DictArgs, value) == {"private": 1, "optional": None, "anything": None}


def test_null_is_no_required_value() -> None:
    assert fail(AttrsArgs, {"private": None}) == [(("private",), "expected integer, got null")]


def test_value_that_was_read_is_left_as_it_is() -> None:
    value = {"private": 1, "items": [1, None], "limit": None, "anything": {"a": [1]}}
    copy = {"private": 1, "items": [1, None], "limit": None, "anything": {"a": [1]}}
    read(AttrsArgs, value)
    assert value == copy


@attrs.frozen
class Line:
    start: Point
    points: tuple[Point, ...]
    names: dict[str, Color] = attrs.field(factory=dict)
    pair: tuple[int, str] | None = None


def test_everything_that_is_wrong_is_told_with_its_place() -> None:
    value = {
        "start": {"x": "a", "z": 1},
        "points": [{"x": 1, "y": 2}, {"x": 1, "y": None}, 7],
        "names": {"a": "red", "b": "green"},
        "pair": ["1", 1],
        "colour": 1,
    }
    assert fail(Line, value) == [
        (("start", "x"), 'expected number, got string "a"'),
        (("start",), 'unknown field "z"'),
        (("start",), 'missing required field "y"'),
        (("points", 1, "y"), "expected number, got null"),
        (("points", 2), "expected object, got integer 7"),
        (("names", "b"), 'must be one of "red" or "blue", got "green"'),
        (("pair", 0), 'expected integer, got string "1"'),
        (("pair", 1), "expected string, got integer 1"),
        ((), 'unknown field "colour"'),
    ]


@attrs.frozen
class Circle:
    kind: Literal["circle"]
    size: float


@attrs.frozen
class Box:
    kind: Literal["box", "crate"]
    size: float


@attrs.frozen
class Upload:
    url: str
    name: str | None = None


@attrs.frozen
class Inline:
    text: str
    name: str | None = None


@attrs.frozen
class Shapes3:
    shapes: list[Circle | Box]
    source: Upload | Inline | str | None = None


def test_member_of_a_union_is_told_by_its_tag() -> None:
    value = {"shapes": [{"kind": "crate", "size": 1}, {"kind": "circle", "size": 2}]}
    assert read(Shapes3, value).shapes == [Box("crate", 1.0), Circle("circle", 2.0)]


def test_member_of_a_union_is_told_by_the_names_of_its_fields() -> None:
    def read_source(source: Any) -> Any:
        return read(Shapes3, {"shapes": [], "source": source}).source

    assert read_source({"url": "u"}) == Upload("u")
    assert read_source({"name": "n", "text": "t"}) == Inline("t", "n")
    assert read_source("plain") == "plain"


@pytest.mark.parametrize(
    ("value", "violation"),
    [
        ({"kind": "ball", "size": 1}, ("kind", 'must be one of "circle", "box" or "crate"')),
        ({"kind": ["box"], "size": 1}, ("kind", 'must be one of "circle", "box" or "crate"')),
        ({"kind": "box", "size": "1"}, ("size", "expected number")),
        ({"size": 1}, (None, 'missing required field "kind"')),
        ("box", (None, "expected object")),
    ],
)
def test_member_of_a_union_that_is_wrong_is_told(value: Any, violation: Any) -> None:
    name, words = violation
    ((path, message),) = fail(Shapes3, {"shapes": [value]})
    assert path == (("shapes", 0) if name is None else ("shapes", 0, name))
    assert message.startswith(words)


def test_object_closest_to_a_member_is_told_about_that() -> None:
    violations = fail(Shapes3, {"shapes": [], "source": {"text": "t", "nam": "n"}})
    assert violations == [(("source",), 'unknown field "nam"')]


T = TypeVar("T")


@attrs.frozen
class Node(Generic[T]):
    value: T
    kids: list[Node[T]] = attrs.field(factory=list)


@attrs.frozen
class Trees:
    ints: Node[int]
    texts: Node[str] | None = None


def test_class_that_holds_itself_is_read() -> None:
    value: dict[str, Any] = {
        "ints": {"value": 1, "kids": [{"value": 2.0, "kids": []}]},
        "texts": {"value": "a"},
    }
    assert read(Trees, value) == Trees(Node(1, [Node(2)]), Node("a"))
    value["ints"]["kids"] = [{"value": "b"}]
    assert fail(Trees, value) == [
        (("ints", "kids", 0, "value"), 'expected integer, got string "b"')
    ]


def test_deep_value_is_read_once_however_wrong() -> None:
    value: dict[str, Any] = {"value": "bad"}
    for _ in range(120):
        value = {"value": 1, "kids": [value]}
    ((path, _),) = fail(Node[int], value)
    assert len(path) == 2 * 120 + 1


def test_many_faults_are_not_all_collected() -> None:
    assert len(fail(Line, {"start": {"x": 1, "y": 1}, "points": ["bad"] * 10_000})) < 100


def double(value: int) -> int:
    return value * 2


@attrs.frozen
class Checked:
    small: int = attrs.field(default=1, validator=validators.le(9))
    name: str = attrs.field(default="x", validator=validators.instance_of(str))
    choice: str = attrs.field(default="a", validator=validators.in_(["a", "b"]))
    even: int = attrs.field(default=2)
    doubled: int = attrs.field(default=2, converter=double)
    _hidden: int = attrs.field(default=0, validator=[validators.ge(0), validators.lt(5)])

    @even.validator
    def _check_even(self, _attribute: object, value: int) -> None:
        if value % 2:
            raise ValueError(f"must be even, and {value} is odd")


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        ({"small": 10}, ("small",), "'small' must be <= 9: 10"),
        ({"choice": "c"}, ("choice",), "must be in ['a', 'b']"),
        ({"even": 3}, ("even",), "must be even, and 3 is odd"),
        ({"hidden": 5}, ("hidden",), "must be < 5: 5"),
    ],
)
def test_what_an_attrs_validator_refuses_is_told_with_its_field(
    value: Any, path: tuple[str, ...], words: str
) -> None:
    ((found, message),) = fail(Checked, value)
    assert found == path
    assert words in message


def test_converter_of_the_class_runs() -> None:
    assert read(Checked, {"doubled": 4}).doubled == 8


def parse_port(text: str) -> int:
    if not text.isdigit():
        raise ValueError("a port is digits")
    return int(text)


@attrs.frozen
class Address:
    port: Any = attrs.field(converter=parse_port)


@dataclasses.dataclass
class Span:
    start: int
    end: int

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError("end must not be before start")
        if self.end > 100:
            raise KeyError("a fault of the class")
        if self.end == 50:
            raise TypeError


@pytest.mark.parametrize(
    ("cls", "value", "message"),
    [
        (Address, {"port": "x"}, "a port is digits"),
        (Span, {"start": 2, "end": 1}, "end must not be before start"),
        (Span, {"start": 2, "end": 50}, "is not allowed"),
    ],
)
def test_what_a_class_refuses_as_a_whole_is_told_without_a_field(
    cls: Any, value: Any, message: str
) -> None:
    assert fail(cls, value) == [((), message)]


def test_reason_has_nothing_of_what_the_class_says() -> None:
    with pytest.raises(CastError) as caught:
        read(Checked, {"even": 31337})
    (violation,) = caught.value.violations
    assert "31337" in violation.message
    assert violation.reason == "refused by Checked"


def test_other_errors_of_a_class_are_its_own() -> None:
    with pytest.raises(KeyError, match="a fault of the class"):
        read(Span, {"start": 1, "end": 101})
