"""Whatever is sent, the application answers, and stays as it was.

`make test GENMCP_EXAMPLES=20000 ARGS=tests/transport/test_any_request.py` looks for
longer, and elsewhere every time.
"""

from __future__ import annotations

import binascii
import gc
import json
import logging
import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from genmcp import EventBus, EventSubscriptions, StreamableHTTP, Suite
from tests.request_table.checking import Response, check_equal, read_events, read_whole
from tests.request_table.sending import Request, call, good, notify
from tests.request_table.served import Greetings, Notes
from tests.request_table.served_tools import TOOLS, Constant, Crash, Lie, Nothing, Refuse
from tests.transport import any_request
from tests.transport.any_request import Headers, read_headers
from tests.transport.asgi_server import Connection
from tests.transport.reference_json import read_reference
from tests.transport.test_request_table import read_response

EXAMPLES = int(os.environ.get("GENMCP_EXAMPLES", "0"))
SETTINGS = settings(
    max_examples=EXAMPLES or 300,
    derandomize=not EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

HANG_GUARD_SECONDS = 3600
"""On a clock that jumps: what has not ended by then never will."""

BEFORE_THE_BODY = {403, 405, 413, 415}
OK_STATUS = {200, 202, 400, 404, *BEFORE_THE_BODY}


def make_app() -> StreamableHTTP:
    """An application none of whose tools fails by itself."""
    failing = (Constant, Crash, Lie, Nothing, Refuse)
    return StreamableHTTP(
        Suite(
            server_name="table",
            server_version="1",
            tools=[tool for tool in TOOLS if tool not in failing],
            prompts=[Greetings],
            resources=[Notes],
            subscription_handler=EventSubscriptions(EventBus()),
            page_size=3,
        ),
        secret_key="k" * 32,
        legacy=False,
    )


APP = make_app()


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What is refused is logged, and a property refuses hundreds."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


async def serve(app: StreamableHTTP, connection: Connection) -> Response:
    """Put one request to the application; a stream that stays open is left by its client."""
    tasks = trio.lowlevel.current_statistics().tasks_living
    with trio.fail_after(HANG_GUARD_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.run, app)
            await trio.testing.wait_all_tasks_blocked()
            response = read_response(connection)
            connection.disconnect()
    assert app.mux.open_calls == 0
    assert trio.lowlevel.current_statistics().tasks_living == tasks
    # Nothing came after it was taken for complete, or for blocked.
    assert connection.body == response.body
    return response


def put(
    body: bytes, headers: Headers, split: int = 0, verb: bytes = b"POST", path: str = "/mcp"
) -> Response:
    async def main() -> Response:
        connection = Connection([body[:split], body[split:]], method=verb.decode(), path=path)
        connection.scope["headers"] = headers
        return await serve(APP, connection)

    clock = trio.testing.MockClock(autojump_threshold=0)
    return trio.run(main, clock=clock)


def check(body: bytes, response: Response) -> Any:
    """Fail unless the answer is whole and under the right id; return its last message."""
    assert response.status in OK_STATUS
    if response.status == 202:
        assert response.body == b""
        assert response.complete
        return None
    if response.headers["content-type"] == "text/event-stream":
        return check_stream(body, response)
    assert response.complete
    message = read_whole(response)
    check_id(body, response, message)
    return message


def check_stream(body: bytes, response: Response) -> Any:
    assert response.status == 200
    messages = read_events(response.body)
    sent = json.loads(body)
    assert response.complete is (sent["method"] != "subscriptions/listen")
    last = messages[-1]
    if response.complete:
        assert "method" not in last
        check_id(body, response, last)
    assert all("method" in message for message in messages[:-1])
    return last


def check_id(body: bytes, response: Response, message: Any) -> None:
    readable = find_id(body)
    if "id" in message:
        assert type(message["id"]) is type(readable)
        assert message["id"] == readable
        return
    error = message["error"]
    unread = response.status in BEFORE_THE_BODY or "header" in error["message"]
    assert readable is None or (unread and error["code"] == -32600)


def find_id(body: bytes) -> str | int | None:
    """The id that an answer must have; `None` if none can be read, or is any of ours."""
    try:
        sent = read_reference(body)
    except ValueError:
        return None
    if not isinstance(sent, dict):
        return None
    is_response = sent.get("method") is None and ("result" in sent or "error" in sent)
    found = sent.get("id")
    return found if type(found) in (str, int) and not is_response else None


def check_parsed(body: bytes, message: Any) -> None:
    """Fail unless what is refused as no JSON is none, and nothing else is."""
    try:
        read_reference(body)
    except ValueError:
        assert message is not None
        assert message["error"]["code"] == -32700
    else:
        assert message is None or message.get("error", {}).get("code") != -32700


@SETTINGS
@given(any_request.any_bytes)
@example(b"")
@example(b"[" * 100_000)
@example(b"9" * 5000)
@example(b'{"a":' * 200 + b"1" + b"}" * 200)
@example(b'{"jsonrpc":"2.0","id":1e999}')
@example(b"0e999")
def test_any_bytes_are_answered(body: bytes) -> None:
    headers = read_headers(call("echo"))
    check_parsed(body, check(body, put(body, headers)))


@SETTINGS
@given(any_request.spoiled_bodies(), st.integers(0, 500))
def test_spoiled_bytes_are_answered(request: Request, split: int) -> None:
    headers = read_headers(request)
    response = put(request.body, headers, split)
    check_parsed(request.body, check(request.body, response))


@SETTINGS
@given(any_request.any_json, any_request.good_requests)
def test_any_json_is_answered(value: Any, request: Request) -> None:
    body = json.dumps(value).encode()
    message = check(body, put(body, read_headers(request)))
    check_parsed(body, message)


@SETTINGS
@given(any_request.spoiled_messages())
def test_spoiled_messages_are_answered(request: Request) -> None:
    message = check(request.body, put(request.body, read_headers(request)))
    check_parsed(request.body, message)


@SETTINGS
@given(any_request.spoiled_headers())
def test_spoiled_headers_are_answered(spoiled: tuple[Request, Headers]) -> None:
    request, headers = spoiled
    response = put(request.body, headers)
    message = check(request.body, response)
    if response.status == 200 and "error" not in message:
        check_mirrors(json.loads(request.body), headers)


@SETTINGS
@given(any_request.any_json)
def test_any_argument_comes_back_as_it_was(value: Any) -> None:
    request = call("echo", {"x": value})
    result = check(request.body, put(request.body, read_headers(request)))["result"]
    check_equal({"x": value}, result["structuredContent"])
    check_equal({"x": value}, json.loads(result["content"][0]["text"]))


def check_mirrors(sent: Any, headers: Headers) -> None:
    """Fail unless whoever reads the headers sees the request that was run."""
    assert find_values(headers, b"mcp-protocol-version") == ["2026-07-28"]
    assert find_values(headers, b"mcp-method") == [sent["method"]]
    params = sent["params"]
    target = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
    if sent["method"] in target:
        assert find_values(headers, b"mcp-name") == [params[target[sent["method"]]]]
    if params.get("name") == "route":
        for key in ("region", "count"):
            argument = params["arguments"].get(key)
            mirrored = [
                value.removesuffix(".0")
                for value in find_values(headers, b"mcp-param-" + key.encode())
            ]
            assert mirrored == ([] if argument is None else [str(argument)])
    assert len(find_values(headers, b"host")) <= 1
    assert find_values(headers, b"origin") in ([], ["http://localhost"])
    assert len(find_values(headers, b"content-type")) <= 1


def find_values(headers: Headers, name: bytes) -> list[str]:
    """All values that a header was sent with, unwrapped."""
    values = [value.strip(b" \t").decode() for key, value in headers if key.lower() == name]
    return [
        binascii.a2b_base64(value[9:-2]).decode()
        if value.startswith("=?base64?") and value.endswith("?=") and len(value) > 10
        else value
        for value in values
    ]


@SETTINGS
@given(
    any_request.good_requests,
    st.sampled_from([b"GET", b"HEAD", b"PUT", b"OPTIONS", b"DELETE", b"POST", b"BREW"]),
    st.sampled_from(["/mcp", "/mcp/", "/", "", "*", "/mcp/\u2028", "/\udcff", "//", "/mcp\0"]),
)
def test_any_verb_and_path_are_answered(request: Request, verb: bytes, path: str) -> None:
    response = put(request.body, read_headers(request), verb=verb, path=path)
    if verb == b"HEAD":
        assert response.body == b""
        assert response.status in {404, 405}
    elif path not in {"/mcp", "/mcp/"}:
        assert response.status == 404
        read_whole(response)
    elif verb != b"POST":
        assert response.status == 405
        assert response.headers["allow"] == "POST"
        read_whole(response)
    else:
        check(request.body, response)


def test_the_good_requests_are_good() -> None:
    for request in (call("echo"), good("tools/list"), notify("notifications/x")):
        response = put(request.body, read_headers(request))
        assert response.status in {200, 202}
    answered = [put(one.body, read_headers(one)).status for one in any_request.GOOD]
    assert Counter(answered)[200] > len(answered) / 2


async def test_thousands_of_spoiled_requests_leave_nothing_behind(
    autojump_clock: trio.testing.MockClock,
) -> None:
    app, chance = make_app(), random.Random(7)  # noqa: S311 - no secret
    before = Counter[str]()
    for number in range(3_500):
        if number == 500:
            before = count_objects()
        request = chance.choice(any_request.GOOD)
        body = bytearray(request.body)
        for _ in range(number % 3):
            body[chance.randrange(len(body))] = chance.randrange(256)
        connection = Connection(bytes(body))
        connection.scope["headers"] = [*read_headers(request), (b"x-%d" % number, b"")]
        await serve(app, connection)
    grown = {name: count - before[name] for name, count in count_objects().items()}
    assert {name: by for name, by in grown.items() if by > 300} == {}


def count_objects() -> Counter[str]:
    """Living objects by type, of everything the garbage collector tracks."""
    gc.collect()
    return Counter(type(item).__name__ for item in gc.get_objects())
