"""Structured content is written as arguments are read."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.mcp import v2607 as mcp
from genmcp.wire.arguments import ArgumentReader
from genmcp.wire.output import OutputChecker


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Everything:
    moment: datetime.datetime
    day: datetime.date
    hour: datetime.time
    span: datetime.timedelta
    amount: decimal.Decimal
    key: uuid.UUID
    color: Color
    tags: frozenset[str]
    pair: tuple[int, str]
    inner: Everything | None = None


NAIVE = datetime.datetime(2026, 7, 28, tzinfo=datetime.UTC).replace(tzinfo=None)

OFFSETS = st.integers(-14 * 60, 14 * 60).map(
    lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))
)
EVERYTHING = st.builds(
    Everything,
    moment=st.datetimes(min_value=NAIVE.replace(year=1000), timezones=OFFSETS),
    day=st.dates(min_value=datetime.date(1000, 1, 1)),
    hour=st.times(),
    span=st.timedeltas(datetime.timedelta(0), datetime.timedelta(days=10_000)),
    amount=st.decimals(allow_nan=False, allow_infinity=False, places=3),
    key=st.uuids(),
    color=st.sampled_from(Color),
    tags=st.frozensets(st.text()),
    pair=st.tuples(st.integers(-(2**53), 2**53), st.text()),
    inner=st.none(),
)

READER = ArgumentReader.compile(Everything)
CHECKER = OutputChecker.compile(Everything)


@given(value=EVERYTHING)
def test_what_is_written_fits_the_published_schema_and_is_read_back(value: Everything) -> None:
    written = mcp.call_tool_result(data=attrs.evolve(value, inner=value)).structured_content
    CHECKER.check(written)
    assert READER.read(written) == attrs.evolve(value, inner=value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime.timedelta(0), "P0D"),
        (datetime.timedelta(days=2, hours=1), "P2DT3600S"),
        (datetime.timedelta(milliseconds=1_500), "PT1.5S"),
        (datetime.timedelta(microseconds=1), "PT0.000001S"),
        (decimal.Decimal("1E+2"), "100"),
        (datetime.datetime(2026, 7, 28, 9, 30, tzinfo=datetime.UTC), "2026-07-28T09:30:00Z"),
    ],
)
def test_forms_of_time_and_decimals(value: Any, text: str) -> None:
    assert mcp.call_tool_result(data=[value]).structured_content == [text]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            NAIVE,
            r"data\[0\] is a datetime without an offset",
        ),
        (datetime.timedelta(seconds=-1), r"data\[0\] is a negative timedelta"),
        (decimal.Decimal("NaN"), r"data\[0\] is Decimal"),
    ],
)
def test_what_has_no_form_is_refused_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mcp.call_tool_result(data=[value])


def test_sets_have_one_order() -> None:
    assert mcp.call_tool_result(data={"c", "a", "b"}).structured_content == ["a", "b", "c"]


def test_subclasses_of_scalars_are_their_plain_values() -> None:
    class Half(float):
        def __float__(self) -> float:
            return 0.0

    class Count(int):
        pass

    class Text(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "other"

    result = mcp.call_tool_result(data=[Half(1.5), Half(-0.0), Count(7), Text("a")])
    assert repr(result.structured_content) == "[1.5, -0.0, 7, 'a']"
    assert result.text == '[1.5,-0.0,7,"a"]'
    assert [type(item) for item in result.structured_content] == [float, float, int, str]
