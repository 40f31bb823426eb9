"""JSON text: bytes into plain values and back, stricter than the parsers are.

Layer: wire. orjson does the work; what it lets pass is caught here, at a cost
that only odd texts pay. Reading: a member given twice (the last one would win,
and a proxy may have looked at the first), an integer that would quietly become a
float, depth that a later recursion could not take. Writing: NaN, which would
become null, and Python objects that happen to have a JSON form.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from genmcp.errors import ParseError
from genmcp.events import EncodeError
from genmcp.wire.json_faults import MAX_WRITE_DEPTH, find_fault, has_non_finite, is_plain

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_DEPTH: Final = 128
"""How many objects and lists may be nested in a message that is read."""

_LEAST_INTEGER: Final = -(2**63)
_GREATEST_INTEGER: Final = 2**64 - 1

_MOST_CHARACTERS: Final = len(str(_LEAST_INTEGER))
"""The most an integer within 64 bits is written with, its sign included."""

_DIGITS: Final = bytes(ord("0") if code in b"0123456789" else ord(" ") for code in range(256))
"""A table for `bytes.translate`: every digit becomes 0, and all else a space."""

_MANY_DIGITS: Final = b"0" * 19
"""The fewest digits an integer beyond 64 bits can have."""

_STEP: Final = 9
_TWO_DIGITS: Final = b"00"
"""In so many digits, there are two in a row even of every ninth character."""

_LONG: Final = 16 * 1024
"""From how many bytes on it pays to look before going through all of a text."""

_FEW: Final = 256
"""From how many of a character on counting them all beats looking for each."""

_MOST_SHOWN: Final = 60
"""How much of a name or a number an error repeats."""

_PLAIN_ONLY: Final = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


class TooDeepError(ParseError):
    """The JSON is nested deeper than is read.

    Wire form: -32700, as any `ParseError`.
    """

    def __init__(self, max_depth: int) -> None:
        super().__init__(f"The JSON is nested deeper than {max_depth} levels")
        self.max_depth = max_depth


def read_json(text: bytes, *, max_depth: int = MAX_DEPTH) -> Any:
    """Read one JSON text.

    Integers are exact from -2^63 to 2^64-1. The work is linear in the length of
    the text, whatever it holds.

    Args:
        text: the whole text, UTF-8.
        max_depth: how many objects and lists may be nested; never more than can be
            written again, which is 254.

    Raises:
        ParseError: it is not JSON, not UTF-8, has a member twice, or a number this
            machine cannot hold. Wire form: -32700.
        TooDeepError: it is nested deeper than `max_depth`; a `ParseError` too.
    """
    max_depth = min(max_depth, MAX_WRITE_DEPTH)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _make_parse_error(text, error, max_depth) from None
    count, looks_odd = (
        (bytes.count, _looks_odd) if len(text) < _LONG else (_count_few, _long_looks_odd)
    )
    # No text is deeper than it has brackets; few have this many.
    if count(text, b"{") + count(text, b"[") > max_depth and _is_deeper(value, max_depth):
        raise TooDeepError(max_depth)
    if looks_odd(text, value):
        _check_slowly(text)
    return value


def write_json(value: Any) -> bytes:
    """Write a plain JSON value as one compact line of UTF-8.

    Takes what JSON has: dicts with `str` keys, lists and tuples, `str`, `int` within
    64 bits, finite `float`, `bool` and None.

    Raises:
        EncodeError: there is something else in it; the message names the place.
    """
    try:
        text = orjson.dumps(value, option=_PLAIN_ONLY)
    except (TypeError, ValueError, RecursionError) as error:
        raise find_fault(value) or EncodeError(f"the value is not JSON: {error}") from None
    # orjson writes NaN as null, and UUIDs and enums by their value.
    if (b"null" in text and has_non_finite(value)) or not is_plain(value):
        fault = find_fault(value)
        if fault is not None:
            raise fault
    return text


# -- reading: what orjson lets pass ------------------------------------------------


def _is_deeper(value: Any, max_depth: int) -> bool:
    """Tell whether lists and objects are nested more than `max_depth` deep.

    Goes level by level, so that depth costs no stack.
    """
    level: list[Any] = [value] if type(value) in (dict, list) else []
    for _ in range(max_depth):
        if not level:
            return False
        level = [
            item
            for container in level
            for item in _items(container)
            if type(item) is dict or type(item) is list
        ]
    return bool(level)


def _items(container: object) -> Iterable[Any]:
    if type(container) is dict:
        return cast("dict[str, Any]", container).values()
    return cast("list[Any]", container)


def _looks_odd(text: bytes, value: Any) -> bool:
    """Tell whether a member may be there twice, or an integer too great.

    Most texts are what the value would be written as, and then nothing was lost. Of any
    other the value has, written out, as many colons as its text had: one for each member,
    and those inside strings. A member that was dropped took its colon with it. Only a
    colon written as an escape breaks the count.
    """
    written = orjson.dumps(value)
    if written == text:
        return False
    if text.count(b":") != written.count(b":") or b"\\u003" in text:
        return True
    return _MANY_DIGITS in text.translate(_DIGITS)


def _long_looks_odd(text: bytes, value: Any) -> bool:
    """Tell the same as `_looks_odd` of a long text, without going through all of it.

    Python finds that a byte is not there much faster than it counts or translates.
    """
    written = orjson.dumps(value)
    if written == text:
        return False
    if _count_few(text, b":") != _count_few(written, b":"):
        return True
    if b"\\" in text and b"\\u003" in text:
        return True
    if _TWO_DIGITS not in text[::_STEP].translate(_DIGITS):
        return False
    return _MANY_DIGITS in text.translate(_DIGITS)


def _count_few(text: bytes, character: bytes) -> int:
    """Return how often `character` stands in `text`, where it is probably rare."""
    at = -1
    for count in range(_FEW):
        at = text.find(character, at + 1)
        if at < 0:
            return count
    return text.count(character)


def _check_slowly(text: bytes) -> None:
    """Read the text once more, with a look at every member and integer."""
    json.loads(
        text, object_pairs_hook=_check_members, parse_int=_check_integer, parse_float=_skip_float
    )


def _check_members(members: list[tuple[str, Any]]) -> None:
    names: set[str] = set()
    for name, _ in members:
        if name in names:
            shown = json.dumps(_shorten(name))
            raise ParseError(f"The member {shown} appears twice in one object")
        names.add(name)


def _check_integer(digits: str) -> None:
    # By length first: Python refuses to convert thousands of digits.
    if len(digits) > _MOST_CHARACTERS or not _LEAST_INTEGER <= int(digits) <= _GREATEST_INTEGER:
        refused = ParseError(f"The integer {_shorten(digits)} exceeds 64 bits")
        refused.log_message = "An integer exceeds 64 bits"
        raise refused


def _skip_float(_digits: str) -> None:
    return None


def _shorten(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


# -- reading: saying what is wrong -------------------------------------------------


def _make_parse_error(text: bytes, error: orjson.JSONDecodeError, max_depth: int) -> ParseError:
    problem = _find_problem(text, error)
    return TooDeepError(max_depth) if problem is None else ParseError(problem)


def _find_problem(text: bytes, error: orjson.JSONDecodeError) -> str | None:
    """Say why the text is not JSON; `None` if it is just too deep to tell."""
    if not text.strip():
        return "There is no JSON: the text is empty"
    if text.startswith(b"\xef\xbb\xbf"):
        return "The text starts with a byte order mark; JSON must be plain UTF-8"
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as fault:
        return f"The text is not UTF-8: byte {fault.start} ({text[fault.start]:#04x}) is wrong"
    if "depth limit" in error.msg:
        return None
    if "infinity" in error.msg:
        return "A number is too great for a 64-bit float"
    place = f"line {error.lineno} column {error.colno}"
    if "surrogate" in error.msg:
        return f"A string has half of a surrogate pair at {place}"
    lines = decoded.split("\n")
    rest = lines[error.lineno - 1][error.colno - 1 :] if error.lineno <= len(lines) else ""
    for word in ("NaN", "Infinity"):
        if rest.startswith(word):
            return f"JSON has no {word} (at {place})"
    return f"The text is not JSON: {error.msg} at {place}"
