"""What a server's own code hands over and JSON does not have: masked, logged, never changed.

What clients send is in the table of requests (`tests/request_table/rows_json.py`); what
the writer itself refuses, in `tests/wire/test_json_text.py`. Here is all the way from a
hook to the bytes of the response.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import math
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from genmcp import (
    Channel,
    Error,
    InputRequired,
    McpError,
    PromptRepo,
    ResourceRepo,
    Stream,
    StreamableHTTP,
    SubscriptionCapabilities,
    SubscriptionHandler,
    Suite,
    Tool,
    ToolError,
    elicit_form,
    mcp,
)
from tests.request_table.checking import Response, check_equal, read_events, read_whole
from tests.request_table.sending import Request, call, good
from tests.transport.test_request_table import connect, read_response

HALF = "secret \ud800"
"""A text that UTF-8 cannot hold."""


class Half(float):
    pass


class Number(enum.IntEnum):
    ONE = 1


@attrs.frozen
class Record:
    x: int = 1


def nest(levels: int) -> Any:
    value: Any = "secret"
    for _ in range(levels):
        value = [value]
    return value


CYCLE: dict[str, Any] = {}
CYCLE["secret"] = [CYCLE]

NOT_JSON: dict[str, Any] = {
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "NaN beside null": [None, {"a": (None, math.nan)}],
    "set": {"secret"},
    "frozenset": frozenset(),
    "bytes": b"secret",
    "bytearray": bytearray(b"secret"),
    "integer beyond 64 bits": 2**64,
    "integer beyond any": 10**5000,
    "negative integer beyond 64 bits": -(2**63) - 1,
    "half a surrogate pair": HALF,
    "half a surrogate pair inside": {"a": ["ok", HALF]},
    "half a surrogate pair as a name": {HALF: 1},
    "integer as a name": {1: "secret"},
    "null as a name": {None: "secret"},
    "true as a name": {True: "secret"},
    "tuple as a name": {("secret",): 1},
    "what holds itself": CYCLE,
    "nested too deep": nest(300),
    "nested beyond the stack": nest(100_000),
    "subclass of float": Half(1.5),
    "datetime": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    "date": datetime.date(2026, 1, 1),
    "decimal": decimal.Decimal("1.1"),
    "uuid": uuid.UUID(int=7),
    "enum": Number.ONE,
    "complex": 1j,
    "range": range(3),
    "generator": (item for item in "secret"),
    "attrs instance": Record(),
    "class": Record,
    "object": object(),
    "NotImplemented": NotImplemented,
}

KEPT: dict[str, Any] = {
    "null": None,
    "minus zero": -0.0,
    "float without a fraction": 1.0,
    "greatest integer": 2**64 - 1,
    "least integer": -(2**63),
    "least float": 5e-324,
    "line ends": "a\nb\rc\r\nd\u2028e\u2029f\u0085g\x0bh\x0ci\x1cj\x1dk\x1el",
    "event in a text": "\n\ndata: {}\n\n: \r\rid: 7\n",
    "NUL and DEL": "\0\x7f",
    "beyond the first plane": "\U0001f600\U0010ffff",
    "noncharacters": "\ufffe\uffff",
    "null in a name": {"\0": {"": None}},
    "names that are line ends": {"\n": 1, "\u2028": 2, "\r": 3},
    "tuple": (1, (2,)),
    "ordered members": OrderedDict(b=1, a=2),
    "as deep as can be": nest(200),
}


class Give(Tool[dict[str, Any]], name="give", description="Gives a value in one of the ways."):
    def __init__(self, value: Any) -> None:
        self.value = value

    async def call(self, request: Any, channel: Channel) -> Any:
        way, value = request.params.arguments["way"], self.value
        if request.params.arguments.get("late"):
            await channel.start_stream()
        match way:
            case "content":
                return mcp.CallToolResult(structured_content=value)
            case "meta":
                meta = mcp.ResultMetaObject(extra={"com.example/a": value})
                return mcp.CallToolResult(meta=meta)
            case "block meta":
                block = mcp.TextContent(text="", meta={"com.example/a": value})
                return mcp.CallToolResult(content=[block])
            case "error":
                raise McpError("told to", code=7, data=value)
            case "returned error":
                return Error(McpError("told to", code=7, data=value))
            case "log":
                await channel.send_log("info", value)
            case "state":
                return InputRequired({"a": elicit_form("?", Record)}, value)
            case "child":
                channel.start_soon(channel.send_log, "info", value)
                await trio.sleep_forever()
        return "done"


WAYS = ["content", "meta", "block meta", "error", "returned error", "log", "state", "child"]


def make_app(**providers: Any) -> StreamableHTTP:
    return StreamableHTTP(
        Suite(server_name="s", server_version="1", **providers), secret_key="k" * 32
    )


async def put(app: StreamableHTTP, request: Request) -> Response:
    connection = connect(request)
    with trio.fail_after(600):
        await connection.run(app)
    assert app.mux.open_calls == 0
    assert b"secret" not in connection.body
    return read_response(connection)


def give(way: str, *, late: bool) -> Request:
    request = call("give", {"way": way, "late": late}).able(elicitation={})
    return request.meta(logLevel="debug", progressToken=0).member("id", "the id")


def check_masked(response: Response, caplog: pytest.LogCaptureFixture, what: str) -> None:
    """Fail unless it is masked, and logged once under the same error id, saying what it was."""
    if response.headers["content-type"] == "text/event-stream":
        assert response.status == 200
        [message] = read_events(response.body)
    else:
        assert response.status == 500
        message = read_whole(response)
    error = message["error"]
    assert (error["code"], error["message"]) == (-32603, "Internal server error")
    assert error["data"].keys() == {"errorId"}
    [logged] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert what in logged.getMessage()
    assert error["data"]["errorId"] in logged.getMessage()
    assert message["id"] in ("the id", 1)


@pytest.mark.parametrize("late", [False, True], ids=["at once", "on an open stream"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NOT_JSON)
async def test_what_is_not_json_is_masked_and_logged_once(
    name: str,
    way: str,
    late: bool,
    autojump_clock: trio.testing.MockClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = make_app(tools=[Give(NOT_JSON[name])])
    response = await put(app, give(way, late=late))
    check_masked(response, caplog, "tools/call 'give' (request 'the id')")
    # It cost nothing but itself.
    assert (await put(app, good("tools/list"))).status == 200


@pytest.mark.parametrize("late", [False, True], ids=["at once", "on an open stream"])
@pytest.mark.parametrize("way", ["content", "meta", "error", "log"])
@pytest.mark.parametrize("name", KEPT)
async def test_what_is_json_arrives_as_it_is(
    name: str, way: str, late: bool, autojump_clock: trio.testing.MockClock
) -> None:
    value = KEPT[name]
    connection = connect(give(way, late=late))
    with trio.fail_after(600):
        await connection.run(make_app(tools=[Give(value)]))
    response = read_response(connection)
    if response.headers["content-type"] == "text/event-stream":
        messages = read_events(response.body)
    else:
        messages = [read_whole(response)]
    match way:
        case "content":
            found = messages[-1]["result"]["structuredContent"]
        case "meta":
            found = messages[-1]["result"]["_meta"]["com.example/a"]
        case "error":
            found = messages[-1]["error"]["data"]
        case _:
            found = messages[0]["params"]["data"]
    check_equal(_with_lists(value), found)


def _with_lists(value: Any) -> Any:
    """As JSON has it: tuples are lists."""
    if isinstance(value, tuple | list):
        return [_with_lists(item) for item in value]
    return {**value} if isinstance(value, dict) else value


# -- data=, which writes more than JSON has ------------------------------------------


class Data(Tool[dict[str, Any]], name="data", description="Gives a value as data."):
    def __init__(self, value: Any) -> None:
        self.value = value

    async def call(self, request: Any, channel: Channel) -> Any:
        return mcp.call_tool_result(data=self.value)


WRITTEN = {"set", "frozenset", "subclass of float", "datetime", "date", "decimal", "uuid", "enum",
           "attrs instance"}  # fmt: skip
"""What `data=` has a form for."""


@pytest.mark.parametrize("name", [name for name in NOT_JSON if name not in WRITTEN])
async def test_data_that_has_no_form_is_masked(
    name: str, autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    response = await put(make_app(tools=[Data(NOT_JSON[name])]), call("data"))
    check_masked(response, caplog, "tools/call 'data' (request 1)")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b", "a"}, ["a", "b"]),
        (Half(1.5), 1.5),
        (Half(-0.0), -0.0),
        (datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), "2026-01-01T00:00:00Z"),
        (decimal.Decimal("1.10"), "1.10"),
        (decimal.Decimal("1e30"), "1" + "0" * 30),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (Number.ONE, 1),
        (Record(), {"x": 1}),
        ({"a": 2**64 - 1}, {"a": 2**64 - 1}),
    ],
    ids=repr,
)
async def test_data_says_the_same_as_text_and_as_structure(
    value: Any, written: Any, autojump_clock: trio.testing.MockClock
) -> None:
    response = await put(make_app(tools=[Data(value)]), call("data"))
    result = read_whole(response)["result"]
    check_equal(written, result["structuredContent"])
    check_equal(written, json.loads(result["content"][0]["text"]))


# -- texts, in all the places where a hook gives one ---------------------------------


class Say(Tool[dict[str, Any]], name="say", description="Says a text in one of the ways."):
    async def call(self, request: Any, channel: Channel) -> Any:
        match request.params.arguments["way"]:
            case "text":
                return HALF
            case "tool error":
                raise ToolError(HALF)
            case "error message":
                raise McpError(HALF, code=7)
            case "progress":
                await channel.send_progress(1, message=HALF)
            case "logger":
                await channel.send_log("info", None, logger=HALF)
            case "question":
                return InputRequired({"a": elicit_form(HALF, Record)})
            case "question key":
                return InputRequired({HALF: elicit_form("?", Record)})
            case "link":
                return mcp.call_tool_result(link={"uri": f"x:{HALF}", "name": "x"})
            case "NaN progress":
                await channel.send_progress(math.nan)
            case "NaN total":
                await channel.send_progress(1, total=math.nan)
            case "great progress":
                await channel.send_progress(2**63)
        return "done"


@pytest.mark.parametrize(
    "way",
    [
        "text", "tool error", "error message", "progress", "logger", "question", "question key",
        "link", "NaN progress", "NaN total", "great progress",
    ],
)  # fmt: skip
async def test_text_that_utf8_cannot_hold_is_masked(
    way: str, autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    request = call("say", {"way": way}).able(elicitation={}).meta(progressToken=1, logLevel="debug")
    response = await put(make_app(tools=[Say]), request)
    check_masked(response, caplog, "tools/call 'say' (request 1)")


class HalfPrompts(PromptRepo):
    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Prompt(name="p", description=HALF)], {"next": HALF} if cursor else None

    async def find_prompt(self, name: str, channel: Channel) -> Any:
        return mcp.Prompt(name=name, arguments=[mcp.PromptArgument(name="a")])

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> Any:
        return HALF

    async def complete(
        self, name: str, argument: Any, context: dict[str, str], channel: Channel
    ) -> Any:
        return ["fine", HALF]


class HalfNotes(ResourceRepo, prefix="note://", template="note://{id}", name="note"):
    async def list_resources(self, cursor: Any, channel: Channel) -> Any:
        meta = {"com.example/a": math.nan}
        return [mcp.Resource(uri="note://1", name="x", meta=meta)]

    async def read(self, target: Any, channel: Channel) -> Any:
        if target["id"] == "text":
            return HALF
        contents = mcp.TextResourceContents(
            uri="note://1", text="", meta={"com.example/a": {1: "secret"}}
        )
        return mcp.ReadResourceResult(contents=[contents])


_PROMPT: Mapping[str, Any] = {"type": "ref/prompt", "name": "p"}


@pytest.mark.parametrize(
    ("request_", "what"),
    [
        (good("prompts/list"), "prompts/list (request 1)"),
        (good("prompts/get", {"name": "p"}), "prompts/get 'p' (request 1)"),
        (
            good("completion/complete", {"ref": _PROMPT, "argument": {"name": "a", "value": ""}}),
            "completion/complete (request 1)",
        ),
        (good("resources/list"), "resources/list (request 1)"),
        (good("resources/read", {"uri": "note://text"}), "resources/read 'note://text'"),
        (good("resources/read", {"uri": "note://meta"}), "resources/read 'note://meta'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_prompts_and_resources_give_is_masked_too(
    request_: Request,
    what: str,
    autojump_clock: trio.testing.MockClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = make_app(prompts=[HalfPrompts], resources=[HalfNotes])
    check_masked(await put(app, request_), caplog, what)


class Spoiling(SubscriptionHandler[Any]):
    """Tells of a change, in a notification that is not JSON."""

    def subscription_capabilities(self, channel: Channel) -> SubscriptionCapabilities:
        return SubscriptionCapabilities(tools_list_changed=True)

    async def subscribe(self, offered: mcp.SubscriptionFilter, channel: Channel) -> Any:
        channel.post("changed")
        return Stream(None)

    async def handle_message(self, message: object, channel: Channel, state: Any) -> Any:
        meta = mcp.NotificationMetaObject(extra={"com.example/a": math.nan})
        params = mcp.NotificationParams(meta=meta)
        await channel.send_notification(mcp.ToolListChangedNotification(params=params))
        return Stream(None)


async def test_what_a_listen_stream_tells_is_masked_too(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    app = make_app(tools=[Say], subscription_handler=Spoiling)
    request = good("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    response = await put(app, request)
    acknowledged, rest = response.body.split(b"data: ")[1:]
    assert b"subscriptions/acknowledged" in acknowledged
    ending = attrs.evolve(response, body=b"data: " + rest)
    check_masked(ending, caplog, "subscriptions/listen (request 1)")


# -- what is known when the server is built ------------------------------------------


@pytest.mark.parametrize(
    "option", ["server_name", "server_version", "server_title", "instructions"]
)
def test_suite_refuses_texts_that_utf8_cannot_hold(option: str) -> None:
    options: dict[str, Any] = {"server_name": "s", "server_version": "1", option: HALF}
    with pytest.raises(ValueError, match=f"{option}.*surrogate"):
        Suite(**options)


@pytest.mark.parametrize(
    "keywords",
    [
        {"description": HALF},
        {"title": HALF},
        {"description": "d", "input_schema": {"type": "object", "title": HALF}},
        {"description": "d", "input_schema": {"type": "object", "default": {"a": math.nan}}},
        {"description": "d", "meta": {"com.example/a": {1: 2}}},
    ],
    ids=["description", "title", "schema", "schema default", "meta"],
)
def test_tool_that_cannot_be_listed_is_refused_when_the_suite_is_built(
    keywords: dict[str, Any],
) -> None:
    with pytest.raises((TypeError, ValueError), match="ToolOfMine"):
        Suite(server_name="s", server_version="1", tools=[make_tool(keywords)])


def make_tool(keywords: dict[str, Any]) -> type[Tool[Any, Any]]:
    class ToolOfMine(Tool, name="mine", **keywords):
        async def call(self, request: Any, channel: Channel) -> str:
            return ""

    return ToolOfMine
