"""Whether an answer is the one a row expects, and well-formed besides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, assert_never

import attrs

from tests.request_table.row import (
    ABSENT,
    Answered,
    Bare,
    Expected,
    Headers,
    Matching,
    Refused,
    Streamed,
)
from tests.request_table.served import SERVER_INFO

SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"

_NEVER_SENT: Final = ("mcp-session-id", "last-event-id", "set-cookie", "location")


@attrs.frozen
class Response:
    """What came back.

    Attributes:
        headers: by lower-case name; the reader fails where one comes twice.
        complete: whether the body came to its end.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    complete: bool


def check(expected: Expected, response: Response) -> None:
    """Fail unless `response` is what is expected, to the last member."""
    for name in _NEVER_SENT:
        assert name not in response.headers
    match expected:
        case Bare():
            assert response.status == expected.status
            assert response.body == b""
            assert response.complete
            check_headers(expected.headers, response)
        case Streamed():
            check_stream(expected, response)
        case Refused() | Answered():
            status = expected.status if isinstance(expected, Refused) else 200
            assert response.status == status, response.body
            assert response.complete
            check_headers(expected.headers, response)
            check_ending(expected, read_whole(response))
        case _:
            assert_never(expected)


def read_whole(response: Response) -> Any:
    """Return the message in a response that is one JSON text."""
    assert response.headers["content-type"] == "application/json"
    assert response.headers["content-length"] == str(len(response.body))
    return read_message(response.body)


def read_events(body: bytes) -> list[Any]:
    """Return the messages on a stream, comments left out; each is one line of data."""
    *frames, rest = body.split(b"\n\n")
    assert rest == b"", "an event without its end"
    messages = []
    for frame in frames:
        assert b"\n" not in frame
        assert b"\r" not in frame
        if not frame.startswith(b":"):
            assert frame.startswith(b"data: "), frame
            # Every line end that some client knows.
            assert len(frame.decode().splitlines()) == 1
            messages.append(read_message(frame[len(b"data: ") :]))
    return messages


def read_message(text: bytes) -> Any:
    """Return one JSON-RPC message, which has all that such a message must have."""
    message = json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
    assert message["jsonrpc"] == "2.0"
    assert message.get("id", "") is not None, "the id of an unreadable message is left out"
    assert len(message.keys() & {"result", "error", "method"}) == 1, message
    if "error" in message:
        error = message["error"]
        assert type(error["code"]) is int
        assert type(error["message"]) is str
        assert error["message"]
        assert error.keys() <= {"code", "message", "data"}
    elif "result" in message:
        assert "id" in message
        assert type(message["result"]["resultType"]) is str
    else:
        assert "id" not in message
    return message


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def check_headers(expected: Headers, response: Response) -> None:
    """Fail unless the response has these headers."""
    for name, value in expected.items():
        assert response.headers.get(name) == value, name


def check_stream(expected: Streamed, response: Response) -> None:
    """Fail unless the response is this stream."""
    assert response.status == 200, response.body
    assert response.headers["content-type"] == "text/event-stream"
    assert response.headers["x-accel-buffering"] == "no"
    assert response.headers["cache-control"] == "no-cache, no-transform"
    assert "content-length" not in response.headers
    messages = read_events(response.body)
    end = expected.end
    assert response.complete is (end is not None)
    if end is not None:
        check_ending(end, messages.pop())
    check_equal(list(expected.notifications), messages)


def check_ending(expected: Refused | Answered, message: Any) -> None:
    """Fail unless a message is this error or result."""
    if isinstance(expected, Refused):
        found = dict(message["error"])
        text = found.pop("message")
        for part in expected.says:
            assert part in text
        assert len(text) < 400
        body: dict[str, Any] = {"code": expected.code}
        if expected.data is not ABSENT:
            body["data"] = expected.data
        check_equal(body, found)
    else:
        check_equal(_sign(expected), message["result"])
    if expected.id is ABSENT:
        assert "id" not in message
    else:
        check_equal(expected.id, message["id"])


def _sign(expected: Answered) -> dict[str, Any]:
    result = dict(expected.result)
    if expected.server_info:
        result["_meta"] = {**result.get("_meta", {}), SERVER_INFO_KEY: SERVER_INFO}
    return result


def check_equal(expected: Any, found: Any, path: str = "$") -> None:
    """Fail unless two JSON values are the same; 1, 1.0 and true are three values."""
    if isinstance(expected, Matching):
        assert expected == found, (path, found)
        return
    assert type(expected) is type(found), (path, expected, found)
    if isinstance(expected, dict):
        assert expected.keys() == found.keys(), (path, expected, found)
        for key, value in expected.items():
            check_equal(value, found[key], f"{path}.{key}")
    elif isinstance(expected, list):
        assert len(expected) == len(found), (path, expected, found)
        for index, value in enumerate(expected):
            check_equal(value, found[index], f"{path}[{index}]")
    else:
        # Their text tells -0.0 from 0.0 too.
        assert repr(expected) == repr(found), (path, expected, found)
