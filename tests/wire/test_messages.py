"""The JSON-RPC envelope: what is a message, and how answers are written."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.errors import (
    InternalError,
    InvalidParams,
    McpError,
    MethodNotFound,
    ParseError,
    UnsupportedProtocolVersion,
)
from genmcp.events import EncodeError
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.v2607 import INVALID_PARAMS, INVALID_REQUEST
from genmcp.wire.codec import decode, encode
from genmcp.wire.json_text import read_json
from genmcp.wire.messages import (
    MessageError,
    NotificationMessage,
    RequestMessage,
    decode_notification,
    decode_request,
    read_message,
    write_error,
    write_notification,
    write_result,
)
from tests.vocabulary.samples import JSON, instances, sample

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
PARAMS: dict[str, Any] = {"_meta": META, "name": "add", "arguments": {"a": 1}}


def request(**changes: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": PARAMS, **changes}


def without(*names: str, **changes: Any) -> dict[str, Any]:
    return {key: item for key, item in request(**changes).items() if key not in names}


# -- reading the envelope --------------------------------------------------------


@pytest.mark.parametrize("request_id", [0, -1, 2**53, 2**64 - 1, "", "0", "a"], ids=repr)
def test_a_request_keeps_its_id_with_its_type(request_id: str | int) -> None:
    message = read_message(request(id=request_id))
    assert isinstance(message, RequestMessage)
    assert message == RequestMessage(request_id, "tools/call", PARAMS)
    assert type(message.id) is type(request_id)


def test_a_message_without_an_id_is_a_notification_whatever_its_method() -> None:
    assert read_message(without("id")) == NotificationMessage("tools/call", PARAMS)


def test_parameters_may_be_absent() -> None:
    assert read_message(without("params")) == RequestMessage(1, "tools/call", None)
    assert read_message(without("id", "params")) == NotificationMessage("tools/call", None)


def test_members_of_the_envelope_that_are_not_known_are_ignored() -> None:
    assert read_message(request(extra=1)) == RequestMessage(1, "tools/call", PARAMS)


NO_FRACTION = (
    'The "id" of a request must be a string or an integer, '
    "got a number with a fraction or an exponent"
)


@pytest.mark.parametrize(
    ("value", "message", "request_id"),
    [
        (
            [request()],
            "Batches are not part of the protocol: send one message at a time",
            None,
        ),
        ([], "Batches are not part of the protocol: send one message at a time", None),
        ("text", "A message must be a JSON object, got a string", None),
        (None, "A message must be a JSON object, got null", None),
        (5, "A message must be a JSON object, got an integer", None),
        (
            {"jsonrpc": "2.0", "id": 1, "result": {}},
            "This server sends no requests, so it takes no responses",
            None,
        ),
        (
            {"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": "m"}},
            "This server sends no requests, so it takes no responses",
            None,
        ),
        ({}, 'The member "jsonrpc" must be "2.0"', None),
        (without("jsonrpc"), 'The member "jsonrpc" must be "2.0"', 1),
        (request(jsonrpc="1.0"), 'The member "jsonrpc" must be "2.0"', 1),
        (request(jsonrpc=2.0, id="a"), 'The member "jsonrpc" must be "2.0"', "a"),
        (
            request(id=None),
            'The "id" of a request must not be null; a notification has none',
            None,
        ),
        (
            request(id=True),
            'The "id" of a request must be a string or an integer, got a boolean',
            None,
        ),
        (
            request(id=1.0),
            NO_FRACTION,
            None,
        ),
        (
            request(id={"a": 1}),
            'The "id" of a request must be a string or an integer, got an object',
            None,
        ),
        (without("method"), 'The member "method" is required', 1),
        (request(method=None), 'The member "method" must be a string, got null', 1),
        (request(method=5), 'The member "method" must be a string, got an integer', 1),
        (request(params=[1]), 'The member "params" must be an object, got a list', 1),
        (request(params=None, id=0), 'The member "params" must be an object, got null', 0),
        (
            without("id", params="x"),
            'The member "params" must be an object, got a string',
            None,
        ),
    ],
    ids=str,
)
def test_what_is_no_message_is_refused_with_its_cause(
    value: Any, message: str, request_id: Any
) -> None:
    with pytest.raises(MessageError) as caught:
        read_message(value)
    assert (caught.value.error.code, str(caught.value.error)) == (INVALID_REQUEST, message)
    assert caught.value.request_id == request_id
    assert type(caught.value.request_id) is type(request_id)


@given(JSON | st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params"]), JSON))
def test_any_json_is_a_message_or_refused(value: Any) -> None:
    message: RequestMessage | NotificationMessage | MessageError
    try:
        message = read_message(value)
    except MessageError as error:
        message = error
    if isinstance(message, NotificationMessage):
        assert "id" not in value
    elif isinstance(message, RequestMessage):
        assert message.id == value["id"]
    else:
        assert message.request_id is None or message.request_id == value["id"]


# -- reading the parameters --------------------------------------------------------


@pytest.mark.parametrize("method", list(mcp.REQUESTS))
def test_parameters_are_read_as_the_class_of_the_method(method: str) -> None:
    expected = sample(mcp.REQUESTS[method])
    found = decode_request(method, encode(expected)["params"])
    assert found == expected
    assert found.method == method


def test_a_method_that_is_not_known_is_read_unchecked() -> None:
    params = {"anything": [1]}
    assert decode_request("tasks/get", params) == mcp.UnknownRequest("tasks/get", params)
    assert decode_request("tasks/get", None) == mcp.UnknownRequest("tasks/get", {})


WRONG: list[Any] = [
    (
        "tools/list",
        None,
        "params",
        "params: required, but missing; every request carries params._meta",
    ),
    ("tools/list", {}, "params._meta", "params._meta: required, but missing"),
    (
        "tools/list",
        {"_meta": None},
        "params._meta",
        "params._meta: expected an object, got null",
    ),
    (
        "server/discover",
        {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}},
        'params._meta["io.modelcontextprotocol/clientCapabilities"]',
        'params._meta["io.modelcontextprotocol/clientCapabilities"]: required, but missing',
    ),
    (
        "tools/list",
        {"_meta": META, "cursor": 5},
        "params.cursor",
        "params.cursor: expected a string, got an integer",
    ),
    (
        "tools/call",
        {"_meta": META, "name": "a", "arguments": []},
        "params.arguments",
        "params.arguments: expected an object, got a list",
    ),
    (
        "prompts/get",
        {"_meta": META, "name": "a", "arguments": {"a": 5}},
        "params.arguments.a",
        "params.arguments.a: expected a string, got an integer",
    ),
    (
        "completion/complete",
        {"_meta": META, "ref": {"type": "ref/x"}, "argument": {"name": "a", "value": ""}},
        "params.ref",
        "params.ref: its 'type' must be one of ref/prompt, ref/resource",
    ),
    (
        "subscriptions/listen",
        {"_meta": META, "notifications": {"resourceSubscriptions": ["a:", 5]}},
        "params.notifications.resourceSubscriptions[1]",
        "params.notifications.resourceSubscriptions[1]: expected a string, got an integer",
    ),
    (
        "resources/read",
        {"_meta": META, "uri": "a:", "inputResponses": []},
        "params.inputResponses",
        "params.inputResponses: expected an object, got a list",
    ),
]


@pytest.mark.parametrize(
    ("method", "params", "path", "message"),
    WRONG,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_parameters_are_refused_with_their_place(
    method: str, params: Any, path: str, message: str
) -> None:
    with pytest.raises(InvalidParams) as caught:
        decode_request(method, params)
    assert (caught.value.code, str(caught.value)) == (INVALID_PARAMS, message)
    assert caught.value.data == {"path": path}


def test_a_zero_cursor_and_an_empty_cursor_differ_from_none() -> None:
    first: Any = decode_request("tools/list", {"_meta": META})
    empty: Any = decode_request("tools/list", {"_meta": META, "cursor": ""})
    assert (first.params.cursor, empty.params.cursor) == (None, "")


@given(st.sampled_from(list(mcp.REQUESTS)), st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_any_parameters_are_read_or_refused(method: str, params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        decode_request(method, params)
    valid = encode(sample(mcp.REQUESTS[method]))["params"]
    assert decode_request(method, {**params, **valid})


def test_a_cancellation_is_read() -> None:
    assert decode_notification(
        "notifications/cancelled", {"requestId": 0, "reason": "r"}
    ) == mcp.CancelledNotification(params=mcp.CancelledNotificationParams(request_id=0, reason="r"))


@pytest.mark.parametrize("params", [None, {"a": 1}], ids=repr)
def test_other_notifications_are_read_unchecked(params: Any) -> None:
    assert decode_notification("notifications/other", params) == mcp.UnknownNotification(
        "notifications/other", params or {}
    )


@pytest.mark.parametrize(
    ("params", "path"),
    [(None, "params"), ({}, "params.requestId"), ({"requestId": True}, "params.requestId")],
)
def test_a_cancellation_of_nothing_is_refused(params: Any, path: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        decode_notification("notifications/cancelled", params)
    assert caught.value.data == {"path": path}


# -- writing -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_id", "written"), [(0, b"0"), ("", b'""'), ('a"\u2028', '"a\\"\u2028"'.encode())]
)
def test_a_result_goes_under_the_id_it_answers(request_id: Any, written: bytes) -> None:
    text = write_result(request_id, mcp.call_tool_result(text="3"))
    assert text == (
        b'{"jsonrpc":"2.0","id":' + written + b',"result":{"resultType":"complete",'
        b'"content":[{"type":"text","text":"3"}]}}'
    )


@pytest.mark.parametrize("cls", list(mcp.RESULTS.values()))
def test_every_result_is_written_with_its_type_and_read_again(cls: Any) -> None:
    result = sample(cls)
    message = read_json(write_result("a", result))
    assert message.keys() == {"jsonrpc", "id", "result"}
    assert message["result"]["resultType"] == result.result_type
    assert decode(cls, message["result"]) == result


@pytest.mark.parametrize(
    ("request_id", "error", "written"),
    [
        (
            None,
            ParseError("bad"),
            b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"bad"}}',
        ),
        (
            0,
            MethodNotFound("no"),
            b'{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}}',
        ),
        (
            "",
            InternalError("x", data=None),
            b'{"jsonrpc":"2.0","id":"","error":{"code":-32603,"message":"x","data":null}}',
        ),
        (
            1,
            McpError("mine", code=7, data={"a": [1]}),
            b'{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"mine","data":{"a":[1]}}}',
        ),
    ],
    ids=["no id", "zero", "null data", "own code"],
)
def test_an_error_is_written_and_an_unknown_id_left_out(
    request_id: Any, error: McpError, written: bytes
) -> None:
    assert write_error(request_id, error) == written


def test_an_error_is_read_as_the_vocabulary_has_it() -> None:
    written = write_error(1, UnsupportedProtocolVersion("2020-01-01", ["2026-07-28"]))
    found = decode(mcp.UnsupportedProtocolVersionError, read_json(written))
    assert found.error.data == mcp.UnsupportedProtocolVersionErrorData(
        supported=["2026-07-28"], requested="2020-01-01"
    )


@pytest.mark.parametrize("method", list(mcp.NOTIFICATIONS))
@given(data=st.data())
def test_notifications_are_written_without_an_id(method: str, data: st.DataObject) -> None:
    notification = data.draw(instances(mcp.NOTIFICATIONS[method]))
    message = read_json(write_notification(notification))
    assert message.keys() <= {"jsonrpc", "method", "params"}
    assert (message["jsonrpc"], message["method"]) == ("2.0", method)
    assert decode(mcp.ServerNotification, message) == notification


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (
            lambda: write_result(1, mcp.CallToolResult(structured_content={"t": math.nan})),
            "structuredContent.t is nan, which JSON does not have",
        ),
        (
            lambda: write_result(1, mcp.CallToolResult(extra={"content": []})),
            "CallToolResult.extra must not hold content",
        ),
        (
            lambda: write_error(1, InternalError("m", data={1})),
            "data is a set, not JSON",
        ),
        (
            lambda: write_notification(
                mcp.LoggingMessageNotification(
                    params=mcp.LoggingMessageNotificationParams(level="info", data=[b"x"])
                )
            ),
            "params.data[0] is a bytes, not JSON",
        ),
    ],
    ids=["result", "content", "error", "notification"],
)
def test_what_cannot_be_written_is_said_with_its_place(write: Any, message: str) -> None:
    with pytest.raises(EncodeError) as caught:
        write()
    assert str(caught.value).startswith(message)


def test_a_message_is_one_line() -> None:
    text = write_result(1, mcp.call_tool_result(text="a\nb\r\u2028\x85"))
    assert b"\n" not in text
    assert b"\r" not in text
