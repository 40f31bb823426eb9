"""Schema and reader of a class agree, and what was written is read back, for any class."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal, NotRequired, TypedDict, get_args, get_origin

import attrs
from hypothesis import assume, given
from hypothesis import strategies as st

from genmcp.wire.arguments import ArgumentReader
from genmcp.wire.schema import compile_schema
from genmcp.wire.typed import (
    CastError,
    Shapes,
    build_reader,
    is_typed,
    result_schema_of,
    schema_of,
    write_schema,
)
from genmcp.wire.typed_fields import read_fields
from genmcp.wire.violation import Violation


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.Enum):
    LOW = 1
    HALF = 1.5


INTS = st.integers(min_value=-(2**63), max_value=2**64 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
UTC = st.just(datetime.UTC)

PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=5),
    int: INTS,
    float: FLOATS,
    bool: st.booleans(),
    Color: st.sampled_from(Color),
    Level: st.sampled_from(Level),
    Literal["a", 1, True]: st.sampled_from(["a", 1, True]),
    int | str: INTS | st.text(max_size=5),
    int | float: INTS | FLOATS,
    Literal["auto"] | int: st.just("auto") | INTS,
}
TEXTS: dict[Any, st.SearchStrategy[Any]] = {
    datetime.date: st.dates(),
    # Which of two equal times of a day is meant has no form in JSON.
    datetime.time: st.times().map(lambda time: time.replace(fold=0)),
    datetime.datetime: st.datetimes(timezones=UTC).map(lambda moment: moment.replace(fold=0)),
    uuid.UUID: st.uuids(),
    Decimal: st.decimals(allow_nan=False, allow_infinity=False, places=2),
}


OPTIONALS: dict[Any, st.SearchStrategy[Any]] = {
    one | None: st.none() | values for one, values in PLAIN.items()
}
TUPLE: Any = tuple


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of a type, as Python has them."""
    if is_typed(annotation):
        fields = {field.name: values_of(field.annotation) for field in read_fields(annotation)}
        return st.fixed_dictionaries(fields).map(lambda given: annotation(**given))
    for table in (PLAIN, TEXTS, OPTIONALS):
        if annotation in table:
            return table[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is dict:
        return st.dictionaries(st.text(max_size=3), values_of(arguments[1]), max_size=3)
    if origin is tuple and arguments[1:] != (Ellipsis,):
        return st.tuples(*map(values_of, arguments))
    return st.lists(values_of(arguments[0]), max_size=3).map(origin)


def write(value: Any) -> Any:
    """The JSON of a value of a typed class; what is None is left out."""
    match value:
        case enum.Enum():
            return value.value
        case datetime.date() | datetime.time():
            return value.isoformat()
        case uuid.UUID() | Decimal():
            return str(value)
        case list() | tuple() | frozenset():
            return [write(item) for item in value]
        case dict():
            return {key: write(item) for key, item in value.items()}
        case _ if attrs.has(type(value)):
            return write_members(
                {f.alias: getattr(value, f.name) for f in attrs.fields(type(value))}
            )
        case _ if dataclasses.is_dataclass(value):
            return write_members(vars(value))
        case _:
            return value


def write_members(members: dict[Any, Any]) -> Any:
    return {key: write(item) for key, item in members.items() if item is not None}


def exactly(value: Any) -> Any:
    """The value with the type of everything in it: to Python 1, 1.0 and True are equal."""
    match value:
        case list() | tuple():
            return type(value), [exactly(item) for item in value]
        case frozenset():
            return type(value), {exactly(item) for item in value}
        case dict():
            return type(value), {key: exactly(item) for key, item in value.items()}
        case _ if attrs.has(type(value)):
            return exactly({f.name: getattr(value, f.name) for f in attrs.fields(type(value))})
        case _ if dataclasses.is_dataclass(value):
            return exactly(vars(value))
        case _:
            return type(value), value


def make_attrs(fields: dict[str, Any]) -> Any:
    return attrs.frozen(type("Attrs", (), {"__annotations__": fields}))


def make_dataclass(fields: dict[str, Any]) -> Any:
    return dataclasses.make_dataclass("Data", fields.items(), frozen=True)


def types_from(leaves: list[Any]) -> st.SearchStrategy[Any]:
    """Types that hold each other."""

    def extend(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(
            inner.map(list.__class_getitem__),
            inner.map(lambda one: TUPLE[one, ...]),
            st.tuples(inner, inner).map(TUPLE.__class_getitem__),
            inner.map(lambda one: dict.__class_getitem__((str, one))),
            st.sampled_from([str, bool, Color]).map(frozenset.__class_getitem__),
            classes(inner),
        )

    return st.recursive(st.sampled_from([*leaves, *OPTIONALS]), extend, max_leaves=6)


def classes(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    makers: list[Callable[[dict[str, Any]], Any]] = [make_attrs, make_dataclass]
    fields = st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
    return st.builds(lambda make, given: make(given), st.sampled_from(makers), fields)


ROOTS = classes(types_from([*PLAIN, *TEXTS]))
ROOTS_WITHOUT_TEXTS = classes(types_from([*PLAIN]))


@given(data=st.data(), cls=ROOTS)
def test_what_was_written_is_read_back(data: st.DataObject, cls: Any) -> None:
    value = data.draw(values_of(cls))
    written = write(value)
    read = ArgumentReader.compile(cls).read(written)
    assert read == value
    assert exactly(read) == exactly(value)
    # Nothing needed repair: a class and its schema are of one mind.
    assert ArgumentReader.compile(cls, repair=False).read(written) == value


@given(data=st.data(), cls=ROOTS)
def test_published_schemas_take_what_was_written(data: st.DataObject, cls: Any) -> None:
    written = write(data.draw(values_of(cls)))
    assert compile_schema(result_schema_of(cls)).is_valid(written)
    if "None" not in repr(written):
        # An item that may be None has no form in a schema that every vendor takes.
        assert compile_schema(schema_of(cls)).is_valid(written)


JSON = st.recursive(
    st.none() | st.booleans() | INTS | FLOATS | st.sampled_from(["a", "auto", "red", "1", ""]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcde"), inner, max_size=4)
    ),
    max_leaves=8,
)


def change(data: st.DataObject, value: Any) -> Any:
    """The value, one place of it replaced by any JSON."""
    if isinstance(value, list) and value and data.draw(st.booleans()):
        index = data.draw(st.integers(min_value=0, max_value=len(value) - 1))
        return [*value[:index], change(data, value[index]), *value[index + 1 :]]
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: change(data, value[key])}
    return data.draw(JSON)


@given(data=st.data(), cls=ROOTS_WITHOUT_TEXTS)
def test_schema_accepts_what_the_reader_reads_and_nothing_else(
    data: st.DataObject, cls: Any
) -> None:
    shapes = Shapes(cls)
    value = change(data, write(data.draw(values_of(cls))))
    accepted = compile_schema(write_schema(shapes, "tolerated")).is_valid(value)
    violations: list[Violation] = []
    try:
        build_reader(shapes)(value)
    except CastError as error:
        violations = error.violations
    assert accepted is not bool(violations)


class Given(TypedDict):
    a: NotRequired[int]
    b: NotRequired[str]
    c: NotRequired[list[bool]]


@given(value=st.from_type(Given))
def test_typed_dict_is_read_as_it_was(value: Any) -> None:
    assume(all(-(2**63) <= item < 2**64 for item in [value.get("a", 0)]))
    assert ArgumentReader.compile(Given).read(value) == value
