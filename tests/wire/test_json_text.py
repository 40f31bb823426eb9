"""JSON text: what is read, what is refused and why, what is written."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import math
import timeit
import types
import uuid
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import attrs
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.errors import ParseError
from genmcp.events import EncodeError
from genmcp.mcp.unset import UNSET
from genmcp.mcp.v2607 import PARSE_ERROR
from genmcp.wire.json_text import read_json, write_json
from tests.vocabulary.samples import JSON

MANY_MEMBERS = 130
"""More objects than may be nested, so that depth is really looked at."""


# -- reading -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"null", None),
        (b" [1, 2.5, true, null] \n", [1, 2.5, True, None]),
        (b'{"a":{"a":{"a":1}}}', {"a": {"a": {"a": 1}}}),
        (b'[{"a":1},{"a":2}]', [{"a": 1}, {"a": 2}]),
        (b'"\\u003a\\ud83d\\ude00 \xc3\xa9"', ":\U0001f600 é"),
        (b'{"\\u003a":":\\u003A::"}', {":": "::::"}),
        (b'{"a":"\\"b\\":1,\\"b\\":2"}', {"a": '"b":1,"b":2'}),
        (b"18446744073709551615", 2**64 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b'["99999999999999999999999"]', ["99999999999999999999999"]),
        (b"[0.1000000000000000055511151231257827]", [0.1]),
        (b"[12345678901234567890.5, 1e30]", [12345678901234567890.5, 1e30]),
        (b"1e-400", 0.0),
        (b"-0", 0),
    ],
)
def test_json_is_read(text: bytes, value: Any) -> None:
    found = read_json(text)
    assert found == value
    assert type(found) is type(value)


@given(JSON)
def test_what_is_written_is_read_as_it_was(value: Any) -> None:
    assert read_json(write_json(value)) == value


@given(JSON)
def test_what_other_libraries_write_is_read(value: Any) -> None:
    assert read_json(json.dumps(value).encode()) == value
    assert read_json(json.dumps(value, ensure_ascii=False, indent=1).encode()) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "There is no JSON: the text is empty"),
        (b" \r\n", "There is no JSON: the text is empty"),
        (
            b"\xef\xbb\xbf{}",
            "The text starts with a byte order mark; JSON must be plain UTF-8",
        ),
        ('{"a":1}'.encode("utf-16-le"), "The text is not JSON: "),
        ('{"a":1}'.encode("utf-16"), "The text is not UTF-8: byte 0 (0xff) is wrong"),
        (b'{"a":"\xff"}', "The text is not UTF-8: byte 6 (0xff) is wrong"),
        (b'["\xed\xa0\x80"]', "The text is not UTF-8: byte 2 (0xed) is wrong"),
        (b'{"a": NaN}', "JSON has no NaN (at line 1 column 7)"),
        (b"[\n Infinity]", "JSON has no Infinity (at line 2 column 2)"),
        (b"[-Infinity]", "JSON has no Infinity (at line 1 column 3)"),
        (b'["\\ud800"]', "A string has half of a surrogate pair at line 1 column 3"),
        (b'["\\udc00\\ud800"]', "A string has half of a surrogate pair at line 1 column 3"),
        (b"[1e400]", "A number is too great for a 64-bit float"),
        (b"[-1e400]", "A number is too great for a 64-bit float"),
        (b"9" * 5000, "A number is too great for a 64-bit float"),
        (b"[18446744073709551616]", "The integer 18446744073709551616 exceeds 64 bits"),
        (b"-9223372036854775809", "The integer -9223372036854775809 exceeds 64 bits"),
        (
            b"[" + b"1" * 300 + b"]",
            "The integer " + "1" * 60 + "... exceeds 64 bits",
        ),
        (b'{"a":1,"a":1}', 'The member "a" appears twice in one object'),
        (b'{"b":[{"c":1,"\\u0063":2}]}', 'The member "c" appears twice in one object'),
        (b'{"x":"\\u003a","":1,"":2}', 'The member "" appears twice in one object'),
        (b'{"x":"\\\\u003a","d":{"a":1},"d":2}', 'The member "d" appears twice in one object'),
        (
            b'{"' + b"k" * 99 + b'":1,"' + b"k" * 99 + b'":1}',
            'The member "' + "k" * 60 + '..." appears twice in one object',
        ),
        (b"[1,2", "The text is not JSON: unexpected end of data at line 1 column 5"),
        (b"{} x", "The text is not JSON: unexpected content after document at line 1 column 4"),
        (b'{"a":1}{"a":1}', "The text is not JSON: unexpected content after document"),
        (b"{a:1}", "The text is not JSON: "),
        (b"['a']", "The text is not JSON: "),
        (b"[1,]", "The text is not JSON: trailing comma"),
        (b"[01]", "The text is not JSON: number with leading zero"),
        (b'["a\nb"]', "The text is not JSON: unexpected control character"),
        (b"[1] // comment", "The text is not JSON: "),
        (b"nul", "The text is not JSON: "),
        (b"[\x00]", "The text is not JSON: "),
    ],
)
def test_what_is_no_json_is_refused_with_its_cause(text: bytes, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_json(text)
    assert caught.value.code == PARSE_ERROR
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("open_", "close"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")], ids=["[", "{", "[{"]
)
@pytest.mark.parametrize("max_depth", [2, 128])
def test_depth_is_capped(open_: bytes, close: bytes, max_depth: int) -> None:
    levels = open_.count(b"[") + open_.count(b"{")
    fits = open_ * (max_depth // levels) + b"1" + close * (max_depth // levels)
    assert read_json(fits, max_depth=max_depth) is not None
    with pytest.raises(ParseError, match=f"nested deeper than {max_depth} levels"):
        read_json(b"[" + fits + b"]", max_depth=max_depth)


@pytest.mark.parametrize("depth", [1024, 1025, 100_000])
def test_hostile_depth_is_refused(depth: int) -> None:
    with pytest.raises(ParseError, match="nested deeper than 128 levels"):
        read_json(b"[" * depth + b"]" * depth)


def test_depth_is_not_the_number_of_objects() -> None:
    text = b"[" + b",".join([b'{"a":[]}'] * MANY_MEMBERS) + b"]"
    assert read_json(text, max_depth=3) == [{"a": []}] * MANY_MEMBERS
    with pytest.raises(ParseError, match="nested deeper than 2 levels"):
        read_json(text, max_depth=2)


def test_nothing_is_read_that_could_not_be_written_again() -> None:
    assert write_json(read_json(b"[" * 254 + b"]" * 254, max_depth=1000))
    with pytest.raises(ParseError, match="nested deeper than 254 levels"):
        read_json(b"[" * 255 + b"]" * 255, max_depth=1000)


@given(st.lists(st.text(alphabet='a:"\\\u2028', max_size=3), min_size=2, max_size=5), st.randoms())
def test_a_member_given_twice_is_found_wherever_it_is(names: list[str], random: Any) -> None:
    items = [(name, random.choice([":", "x::", {"a:": 1}, [":"], 1])) for name in names]
    pairs = ",".join(
        json.dumps(name, ensure_ascii=random.random() < 0.5) + ":" + json.dumps(value)
        for name, value in items
    )
    text = f"[{{{pairs}}}]".encode()
    if len(set(names)) == len(names):
        assert read_json(text) == [dict(items)]
    else:
        with pytest.raises(ParseError, match="appears twice in one object"):
            read_json(text)


@given(st.integers(-(2**70), 2**70))
def test_integers_are_exact_or_refused(number: int) -> None:
    text = f'{{"n":[{number}]}}'.encode()
    if -(2**63) <= number < 2**64:
        assert read_json(text) == {"n": [number]}
        assert type(read_json(text)["n"][0]) is int
    else:
        with pytest.raises(ParseError, match="exceeds 64 bits"):
            read_json(text)


@pytest.mark.parametrize("before", range(20))
@pytest.mark.parametrize("padding", ["a", ": ", "7 ", "{[", "12345678 "])
def test_what_is_odd_is_found_in_long_texts_as_well(before: int, padding: str) -> None:
    filler = padding * (40_000 // len(padding))
    long = '{"f":"' + " " * before + filler + '","n":%s,"m":[%s],"g":"' + filler + '"}'
    for number in (2**64, -(2**63) - 1, 10**30):
        with pytest.raises(ParseError, match="exceeds 64 bits"):
            read_json((long % (number, "")).encode())
    for members in ('{"a":1,"a":1}', r'{"a":1,"\u0061":1}', r'{"x":"\u003a","":1,"":2}'):
        with pytest.raises(ParseError, match="appears twice in one object"):
            read_json((long % (1, members)).encode())
    read = read_json((long % (2**64 - 1, '{"a":1,"b":1}')).encode())
    assert (read["n"], read["m"]) == (2**64 - 1, [{"a": 1, "b": 1}])


MEGABYTE = 2**20

HOSTILE: dict[str, Callable[[int], bytes]] = {
    "letters": lambda size: b'["' + b"a" * size + b'"]',
    "digits in a string": lambda size: b'["' + b"9" * size + b'"]',
    "runs of eighteen digits": lambda size: b'["' + b"9" * 18 * (size // 19) + b' "]',
    "colons in a string": lambda size: b'["' + b":" * size + b'"]',
    "escaped colons": lambda size: b'["' + rb"\u003a" * (size // 6) + b'"]',
    "escaped quotes": lambda size: b'["' + rb"\"" * (size // 2) + b'"]',
    "backslashes": lambda size: b'["' + b"\\\\" * (size // 2) + b'"]',
    "empty objects": lambda size: b"[" + b"{}," * (size // 3) + b"{}]",
    "deep objects": lambda size: (
        b"[" + b",".join([b'{"a":' * 120 + b"1" + b"}" * 120] * (size // 721)) + b"]"
    ),
    "small members": lambda size: (
        b"{" + b",".join(b'"%07d":1' % index for index in range(size // 12)) + b"}"
    ),
    "long integers": lambda size: b"[" + b"1111111111111111111," * (size // 20) + b"1]",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_reading_takes_time_in_proportion_to_the_length(kind: str) -> None:
    def fastest(size: int) -> float:
        text = HOSTILE[kind](size)
        # Collecting garbage is the interpreter's work, and not in proportion.
        return min(timeit.repeat(lambda: read_json(text), number=1, repeat=4))

    # Quadratic work would take 64 times as long; the rest is noise of the machine.
    assert fastest(MEGABYTE) < 45 * max(fastest(MEGABYTE // 8), 1e-4)


# -- writing -------------------------------------------------------------------------


WRITTEN: list[Any] = [
    (None, b"null"),
    ({"a": [1, 2.5, True, None], "b": "\u2028é"}, '{"a":[1,2.5,true,null],"b":"\u2028é"}'),
    ((1, (2,)), b"[1,[2]]"),
    ({"a": 2**64 - 1, "b": -(2**63)}, b'{"a":18446744073709551615,"b":-9223372036854775808}'),
    ("\x7f\x00\n", b'"\x7f\\u0000\\n"'),
    (OrderedDict(b=1, a=2), b'{"b":1,"a":2}'),
    ({}, b"{}"),
]


@pytest.mark.parametrize(("value", "text"), WRITTEN, ids=repr)
def test_json_is_written_in_one_compact_line(value: Any, text: bytes | str) -> None:
    assert write_json(value) == (text.encode() if isinstance(text, str) else text)


class Colour(enum.Enum):
    RED = "red"


class Name(enum.StrEnum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


class Point(NamedTuple):
    x: int


class Half(float):
    pass


@attrs.frozen
class Record:
    x: int = 1


@dataclasses.dataclass
class Data:
    x: int = 1


ITSELF: list[Any] = []
ITSELF.append(ITSELF)


def nest(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


REFUSED: list[Any] = [
    (math.nan, "the value is nan, which JSON does not have"),
    ({"a": [None, -math.inf]}, "a[1] is -inf, which JSON does not have"),
    ({"a": (1, math.nan)}, "a[1] is nan, which JSON does not have"),
    ([None, {"b": {"c": math.nan}}], "[1].b.c is nan, which JSON does not have"),
    ({"a": 2**64}, "a is an integer beyond 64 bits; send it as a string"),
    ({"b": -(2**63) - 1}, "b is an integer beyond 64 bits; send it as a string"),
    (["\ud800"], "[0] is a text with half of a surrogate pair, which UTF-8 cannot hold"),
    ({"a\udfff": 1}, "the value has the key 'a\\udfff' with half of a surrogate pair"),
    ({"a": {1: 2}}, "a has the key 1; the keys of a JSON object are of type str"),
    ({"a": {Name.RED: 2}}, "a has the key <Name.RED: 'red'>; "),
    ({"a": {None: 2}}, "a has the key None; the keys of a JSON object are of type str"),
    ({"a": {1}}, "a is a set, not JSON"),
    ([b"x"], "[0] is a bytes, not JSON"),
    ([memoryview(b"x")], "[0] is a memoryview, not JSON"),
    ({"a": decimal.Decimal(1)}, "a is a Decimal, not JSON"),
    ({"a": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)}, "a is a datetime, not JSON"),
    ({"a": datetime.date(2026, 1, 1)}, "a is a date, not JSON"),
    ({"a": datetime.time()}, "a is a time, not JSON"),
    ({"a": uuid.UUID(int=0)}, "a is a UUID, not JSON"),
    ({"a": Colour.RED}, "a is the enum member Colour.RED, not JSON; use its value"),
    ({"a": Name.RED}, "a is the enum member Name.RED, not JSON; use its value"),
    ({"a": [Number.ONE]}, "a[0] is the enum member Number.ONE, not JSON; use its value"),
    ({"a": Record()}, "a is a Record, not JSON"),
    ({"a": Data()}, "a is a Data, not JSON"),
    ({"a": Point(1)}, "a is a Point, not JSON"),
    ({"a": Half(1)}, "a is a Half, not JSON"),
    ({"a": types.MappingProxyType({})}, "a is a mappingproxy, not JSON"),
    ({"a": orjson.Fragment(b"1")}, "a is a Fragment, not JSON"),
    ({"a": UNSET}, "a is the enum member _Unset.UNSET"),
    ({"a": object}, "a is a type, not JSON"),
]


@pytest.mark.parametrize(
    ("value", "message"), REFUSED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_is_not_json_is_refused_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(EncodeError) as caught:
        write_json(value)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [nest(255), ITSELF], ids=["deep", "itself"])
def test_what_is_too_deep_to_write_is_said(value: Any) -> None:
    with pytest.raises(
        EncodeError, match=r"^(\[0\]){66}.*\.\.\. is nested deeper than 254 levels$"
    ):
        write_json(value)


def test_the_deepest_that_can_be_written_is_written() -> None:
    assert write_json(nest(254)) == b"[" * 254 + b"0" + b"]" * 254


def test_subclasses_of_plain_types_are_what_they_extend() -> None:
    class Text(str):
        __slots__ = ()

    class Count(int):
        pass

    assert write_json({"a": Text("b"), "n": Count(1), "l": [None]}) == b'{"a":"b","n":1,"l":[null]}'


@given(JSON)
def test_nan_is_found_at_any_place(value: Any) -> None:
    assert write_json([value, None, {"x": value}])
    with pytest.raises(EncodeError, match="is nan"):
        write_json([value, None, {"x": [value, math.nan]}])
