"""Rows: bodies that are not JSON, and values that must arrive as they were sent."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.request_table.row import ABSENT, Answered, Refused, Row, limit_data
from tests.request_table.rows_sender import ADD
from tests.request_table.sending import Request, call
from tests.request_table.served import STRICT_DEPTH, data_result

MAX_DEPTH: Final = 128
_HOLE: Final = b'"HOLE"'
_ECHO: Final = call("echo", {"x": "HOLE"})


def unparsable(*says: str) -> Refused:
    return Refused(status=400, code=-32700, id=ABSENT, says=says)


def too_deep(limit: int, *says: str) -> Refused:
    data = limit_data("max_json_depth", limit)
    return Refused(status=400, code=-32700, id=ABSENT, data=data, says=says)


def _echo(text: bytes) -> Request:
    """A call with this JSON text as an argument."""
    return _ECHO.swap(_HOLE, text)


def _echoed(value: Any) -> Answered:
    return Answered(result=data_result({"x": value}))


def _bad(name: str, body: bytes, *says: str) -> Row:
    return Row(name, ADD.saying(body), unparsable(*says))


def _bad_value(name: str, text: bytes, *says: str) -> Row:
    return Row(name, _echo(text), unparsable(*says))


def _nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


_TEXTS = (
    _bad("empty body is not JSON", b"", "empty"),
    _bad("blank body is not JSON", b" \r\n\t", "empty"),
    _bad("half a message is not JSON", ADD.body[:-1]),
    _bad("message with more after it is not JSON", ADD.body + b"x"),
    _bad("two messages are not JSON", ADD.body + b"\n" + ADD.body),
    _bad("byte order mark is refused", b"\xef\xbb\xbf" + ADD.body, "byte order mark"),
    _bad("UTF-16 is refused", ADD.body.decode().encode("utf-16")),
    _bad("UTF-16 without a mark is refused", ADD.body.decode().encode("utf-16-le")),
    _bad("UTF-32 is refused", ADD.body.decode().encode("utf-32-be")),
    _bad("Latin-1 is refused", ADD.body.replace(b"add", b"\xe4dd"), "UTF-8"),
    _bad("form is not JSON", b"jsonrpc=2.0&id=1&method=tools%2Fcall"),
    _bad("NUL between members is refused", ADD.body.replace(b",", b",\x00", 1)),
    _bad("comment is refused", b"/* hello */" + ADD.body),
    _bad("trailing comma is refused", ADD.body[:-1] + b",}"),
    _bad("single quotes are refused", ADD.body.replace(b'"', b"'")),
    _bad("names without quotes are refused", ADD.body.replace(b'"id"', b"id")),
    _bad("record separator is refused", b"\x1e" + ADD.body),
)

_VALUES = (
    *(
        _bad_value(f"{text.decode()} is no number", text)
        for text in (
            b"NaN",
            b"Infinity",
            b"-Infinity",
            b"nan",
            b"+1",
            b"01",
            b".5",
            b"1.",
            b"0x10",
            b"1_000",
            b"1e",
            b"--1",
            b"undefined",
            b"True",
        )
    ),
    _bad_value("float greater than any is refused", b"1e999", "64-bit float"),
    _bad_value("float less than any is refused", b"-1e999", "64-bit float"),
    _bad_value("integer beyond 64 bits is refused", b"18446744073709551616", "64 bits"),
    _bad_value("negative integer beyond 64 bits is refused", b"-9223372036854775809", "64 bits"),
    _bad_value("integer of thirty digits is refused", b"1" * 30, "64 bits"),
    _bad_value("integer of 5000 digits is refused", b"9" * 5000),
    _bad_value("integer of 5000 digits inside a list is refused", b"[" + b"1" * 5000 + b"]"),
    _bad_value("integer of 300 digits is refused as one", b"1" + b"0" * 299, "64 bits"),
    _bad_value("half a surrogate pair is refused", rb'"\ud800"', "surrogate"),
    _bad_value("second half of a surrogate pair is refused", rb'"\udc00x"', "surrogate"),
    _bad_value("surrogates in the wrong order are refused", rb'"\udc00\ud800"', "surrogate"),
    _bad_value("half a surrogate pair as a name is refused", rb'{"\udfff":1}', "surrogate"),
    _bad_value("raw surrogate is not UTF-8", b'"\xed\xa0\x80"', "UTF-8"),
    _bad_value("overlong UTF-8 is refused", b'"\xc0\xaf"', "UTF-8"),
    _bad_value("UTF-8 beyond Unicode is refused", b'"\xf4\x90\x80\x80"', "UTF-8"),
    _bad_value("half a character of UTF-8 is refused", b'"\xe2\x82"', "UTF-8"),
    _bad_value("raw line end in a string is refused", b'"a\nb"'),
    _bad_value("raw NUL in a string is refused", b'"a\x00b"'),
    _bad_value("raw tab in a string is refused", b'"a\tb"'),
    _bad_value("unknown escape is refused", rb'"\x41"'),
    _bad_value("string without its end is refused", b'"a'),
    _bad_value("member given twice is refused", b'{"a":1,"a":1}', '"a" appears twice'),
    _bad_value("member given twice by an escape is refused", rb'{"a":1,"\u0061":2}', '"a"'),
    _bad_value("empty name given twice is refused", b'{"":1,"":2}', '"" appears twice'),
    Row(
        "id given twice is refused under none",
        ADD.swap(b'"id":1', b'"id":1,"id":2'),
        unparsable('"id" appears twice'),
    ),
    Row(
        "method given twice is refused",
        ADD.swap(b'"method":', b'"method":"tools/list","method":'),
        unparsable('"method" appears twice'),
    ),
    Row(
        "name of the tool given twice is refused",
        ADD.swap(b'"name":', b'"name":"echo","name":'),
        unparsable('"name" appears twice'),
    ),
    # The message, params and arguments are three levels of their own.
    Row(
        "value nested too deep is refused",
        _echo(_nested(MAX_DEPTH - 2)),
        too_deep(MAX_DEPTH, f"deeper than {MAX_DEPTH}"),
    ),
    Row("value nested without end is refused", _echo(b"[" * 50_000), too_deep(MAX_DEPTH, "deeper")),
    Row(
        "objects nested too deep are refused",
        _echo(b'{"a":' * 2000 + b"1" + b"}" * 2000),
        too_deep(MAX_DEPTH),
    ),
    Row(
        "depth may be limited further",
        _echo(_nested(STRICT_DEPTH - 2)).at(b"/strict"),
        too_deep(STRICT_DEPTH, f"deeper than {STRICT_DEPTH}"),
    ),
    Row("JSON wins over the message", ADD.saying(b'[{"jsonrpc":"1.0"}'), unparsable()),
    Row("JSON wins over missing headers", ADD.without(b"Mcp-Method").saying(b"{"), unparsable()),
)

_KEPT: tuple[tuple[str, bytes, Any], ...] = (
    ("greatest integer", b"18446744073709551615", 2**64 - 1),
    ("least integer", b"-9223372036854775808", -(2**63)),
    ("integer beyond the exact floats", b"9007199254740993", 2**53 + 1),
    ("float without a fraction", b"1.0", 1.0),
    ("exponent", b"1e2", 100.0),
    ("minus zero", b"-0.0", -0.0),
    ("fraction", b"0.1", 0.1),
    ("least float", b"5e-324", 5e-324),
    ("null", b"null", None),
    ("true", b"true", True),
    ("false", b"false", False),
    ("zero", b"0", 0),
    ("empty string", b'""', ""),
    ("empty list", b"[]", []),
    ("empty object", b"{}", {}),
    ("NUL as an escape", rb'"a\u0000b"', "a\0b"),
    ("surrogate pair", rb'"\ud83d\ude00"', "\U0001f600"),
    ("separators that some take for line ends", rb'"\u2028\u2029\u0085"', "\u2028\u2029\u0085"),
    ("control characters", rb'"\u0001\u001f\u007f"', "\x01\x1f\x7f"),
    ("noncharacter", b'"\xef\xbf\xbf"', "\uffff"),
    ("decomposed letter", b'"e\xcc\x81"', "e\u0301"),
    ("name of a prototype", b'{"__proto__":1}', {"__proto__": 1}),
    ("names that differ in case", b'{"a":1,"A":2}', {"a": 1, "A": 2}),
    ("order of members", b'{"b":1,"a":2}', {"b": 1, "a": 2}),
    ("mixed list", b'[1,"1",1.0,true]', [1, "1", 1.0, True]),
)

_DEEPEST = _nested(MAX_DEPTH - 3)

ROWS: Final = (
    *_TEXTS,
    *_VALUES,
    *(Row(f"{name} arrives as it was sent", _echo(text), _echoed(v)) for name, text, v in _KEPT),
    Row("value as deep as is allowed arrives", _echo(_DEEPEST), _echoed(json.loads(_DEEPEST))),
    Row(
        "space around the message is no part of it",
        _echo(b"1").saying(b"\r\n\t " + _echo(b"1").body + b"\n"),
        _echoed(1),
    ),
)
