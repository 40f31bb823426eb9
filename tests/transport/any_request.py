"""Requests of every kind, for properties: any bytes, any JSON, good requests spoiled."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from tests.request_table.rows_listen import ROWS as LISTEN_ROWS
from tests.request_table.rows_pages import ROWS as PAGE_ROWS
from tests.request_table.rows_questions import ROWS as QUESTION_ROWS
from tests.request_table.sending import DISCOVER, Request, call, good, notify

Headers: TypeAlias = list[tuple[bytes, bytes]]

GOOD: Final[tuple[Request, ...]] = (
    DISCOVER,
    call("echo", {"a": [1, {"b": None}], "c": "d"}),
    call("add", {"a": 1, "b": 2}),
    call("route", {"region": "eu", "count": 7}).line(
        b"Mcp-Param-Region: eu", b"Mcp-Param-Count: 7"
    ),
    call("report").meta(progressToken="t", logLevel="debug"),
    good("tools/list"),
    good("resources/templates/list"),
    notify("notifications/cancelled", {"requestId": 1}),
    # Of the table, those that are answered with a result.
    *(row.request for row in (*PAGE_ROWS, *QUESTION_ROWS, *LISTEN_ROWS) if "crash" not in row.name),
)

good_requests: Final = st.sampled_from(GOOD)

# -- bytes ---------------------------------------------------------------------------

_TOKENS: Final = [
    *(bytes([code]) for code in b'{}[]:,"\\-+.eE0123456789 \t\r\n/\x00\x1f\x7f\x80\xff'),
    b'""', b'"a"', b'"\\u', b"\\ud800", b"\\udc00", b"\\u0000", b"null", b"true", b"false", b"NaN",
    b"Infinity", b"1e999", b"0e999", b"-0", b"1" * 19, b"9" * 20, b"9" * 400, b"\xef\xbb\xbf",
    b"\xed\xa0\x80", b"\xc3\xa9", b"\xe2\x80\xa8", b'"jsonrpc":"2.0"', b'"id":1', b'"method"',
    b'"params":{', b'{"a":' * 130, b"[" * 200,
]  # fmt: skip

fragments: Final = st.lists(st.sampled_from(_TOKENS), max_size=12).map(b"".join)
any_bytes: Final = st.binary(max_size=200) | fragments


def _insert(body: bytes, at: int, _length: int, piece: bytes) -> bytes:
    return body[:at] + piece + body[at:]


def _cut(body: bytes, at: int, length: int, _piece: bytes) -> bytes:
    return body[:at] + body[at + length :]


def _overwrite(body: bytes, at: int, length: int, piece: bytes) -> bytes:
    return body[:at] + piece + body[at + length :]


def _repeat(body: bytes, at: int, length: int, _piece: bytes) -> bytes:
    return body[: at + length] + body[at:]


def _flip(body: bytes, at: int, length: int, _piece: bytes) -> bytes:
    return body[:at] + bytes(code ^ 1 << length % 8 for code in body[at : at + 1]) + body[at + 1 :]


_EDITS: Final = [_insert, _cut, _overwrite, _repeat, _flip]


@st.composite
def spoiled_bodies(draw: st.DrawFn) -> Request:
    """A good request, some bytes of whose body were lost, changed, or came twice."""
    request = draw(good_requests)
    body = request.body
    for _ in range(draw(st.integers(1, 3))):
        edit: Callable[[bytes, int, int, bytes], bytes] = draw(st.sampled_from(_EDITS))
        at = draw(st.integers(0, max(len(body) - 1, 0)))
        body = edit(body, at, draw(st.integers(1, 40)), draw(st.sampled_from(_TOKENS)))
    return request.saying(body)


# -- JSON ----------------------------------------------------------------------------

_NAMES: Final = [
    "jsonrpc", "id", "method", "params", "_meta", "name", "arguments", "uri", "cursor", "result",
    "error", "ref", "argument", "notifications", "requestState", "inputResponses", "progressToken",
    "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel", "extra", "", "a",
]  # fmt: skip
_TEXTS: Final = [
    "", "2.0", "2026-07-28", "tools/call", "tools/list", "subscriptions/listen", "echo", "add",
    "note://1", "a\u2028b\u0085", "\0", "\ud7ff\ue000", "\U0010ffff",
]  # fmt: skip

_texts: Final = st.sampled_from(_TEXTS) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=8
)
_scalars: Final = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.sampled_from([0, 1, -1, 2**53, 2**63])
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts
)
any_json: Final[st.SearchStrategy[Any]] = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_NAMES) | _texts, inner, max_size=6)
    ),
    max_leaves=12,
)


def _find_places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every member and item inside a JSON value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    found: list[tuple[Any, ...]] = []
    for key, item in items:
        found += [(*place, key), *_find_places(item, (*place, key))]
    return found


@st.composite
def spoiled_messages(draw: st.DrawFn) -> Request:
    """A good request, some members of whose message are gone, renamed, or other values."""
    request = draw(good_requests)
    message = json.loads(request.body)
    for _ in range(draw(st.integers(1, 3))):
        places = _find_places(message)
        if not places:
            break
        *way, key = draw(st.sampled_from(places))
        holder: Any = message
        for step in way:
            holder = holder[step]
        match draw(st.sampled_from(["drop", "replace", "rename", "copy"])):
            case "drop":
                del holder[key]
            case "rename" if isinstance(holder, dict):
                holder[draw(st.sampled_from(_NAMES))] = holder.pop(key)
            case "copy":
                holder[key] = copy.deepcopy(message)
            case _:
                holder[key] = draw(any_json)
    return request.saying(json.dumps(message).encode())


# -- headers -------------------------------------------------------------------------

_HEADERS: Final = [
    b"host", b"origin", b"content-type", b"content-encoding", b"accept", b"authorization",
    b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"mcp-param-region", b"mcp-param-count",
    b"mcp-param-", b"mcp-session-id", b"cookie", b"x",
]  # fmt: skip
_VALUES: Final = [
    b"", b" ", b"\t", b"2026-07-28", b"2025-11-25", b"tools/call", b"tools/list", b"echo", b"add",
    b"localhost", b"localhost:1", b"http://localhost", b"null", b"*", b"application/json", b"eu",
    b"7", b"7.0", b"=?base64?ZXU=?=", b"=?base64?YWRk?=", b"=?base64?YWR?=", b"=?base64?=", b"\xff",
    b"\xc3\xa9", b"[::1]", b"[::1", b"a" * 5000,
]  # fmt: skip

# What parsers let through: no line ends and no NUL in values, tokens as names.
_header_values: Final = st.sampled_from(_VALUES) | st.binary(max_size=20).map(
    lambda value: value.translate(None, b"\r\n\0")
)
_header_names: Final = st.sampled_from(_HEADERS) | st.text(
    "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~", min_size=1, max_size=12
).map(str.encode)


@st.composite
def spoiled_headers(draw: st.DrawFn) -> tuple[Request, Headers]:
    """A good request, and headers that are good but for some added, changed or lost."""
    request = draw(good_requests)
    headers = read_headers(request)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(headers)))
        match draw(st.sampled_from(["add", "add", "drop", "change", "repeat", "case", "many"])):
            case "drop" if at < len(headers):
                del headers[at]
            case "change" if at < len(headers):
                headers[at] = (headers[at][0], draw(_header_values))
            case "repeat" if at < len(headers):
                headers.append(headers[at])
            case "case" if at < len(headers):
                headers[at] = (headers[at][0].upper(), headers[at][1])
            case "many":
                headers += [(draw(_header_names), draw(_header_values))] * 300
            case _:
                headers.insert(at, (draw(_header_names), draw(_header_values)))
    return request, headers


def read_headers(request: Request) -> Headers:
    """The headers of a request as an ASGI server hands them over."""
    pairs = (line.partition(b":") for line in request.lines)
    return [(name.lower(), value.strip()) for name, _, value in pairs]
