"""Telemetry through the whole stack: refusals, real tools, and nothing of what was sent."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from genmcp import (
    Channel,
    Error,
    InputRequired,
    McpError,
    NotFound,
    Observer,
    Outcome,
    PromptRepo,
    RefusalReason,
    RequestRefused,
    ResourceRepo,
    StreamableHTTP,
    Suite,
    Tool,
    ToolError,
    elicit_form,
    mcp,
)
from genmcp.errors import (
    InsufficientScope,
    InvalidParams,
    InvalidRequest,
    LimitExceeded,
    Overloaded,
)
from genmcp.testing import Client
from genmcp.transport.inbound import Refusal
from genmcp.transport.refused import read_reason
from genmcp.transport.serving import make_endpoint
from tests.telemetry.recording import Recorder
from tests.transport.asgi_server import CALL_HEADERS, META, Connection, HandlerServer, call_body

KEY = "a secret key for these tests"


def make_app(
    handle: Any = None, *, seen: Recorder | None = None, **settings: Any
) -> StreamableHTTP:
    observers = [] if seen is None else [seen]
    return StreamableHTTP(HandlerServer(handle), secret_key=KEY, observers=observers, **settings)


# -- refusals ----------------------------------------------------------------------


def message(**changed: Any) -> bytes:
    whole: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": "a\nb",
        "method": "tools/call",
        "params": {"name": "any", "_meta": META},
    }
    return json.dumps({**whole, **changed}).encode()


def headers(**changed: bytes) -> Mapping[bytes, bytes]:
    return {**CALL_HEADERS, **{k.replace("_", "-").encode(): v for k, v in changed.items()}}


VERSION = "1999-01-01"
OLD = {**META, mcp.PROTOCOL_VERSION_KEY: VERSION}
OTHER_METHOD = headers(mcp_method=b"tools/list")
TOO_BIG = headers(content_length=b"99999999")


@pytest.mark.parametrize(
    ("connection", "status", "code", "reason"),
    [
        (lambda: Connection(message(), path="/x"), 404, -32600, "path"),
        (lambda: Connection(message(), headers(origin=b"https://a.b")), 403, -32600, "origin"),
        (lambda: Connection(message(), headers(host=b"a.b")), 403, -32600, "host"),
        (lambda: Connection(b"", method="GET"), 405, -32600, "verb"),
        (
            lambda: Connection(message(), headers(content_type=b"text/plain")),
            415,
            -32600,
            "content_type",
        ),
        (lambda: Connection(message(), TOO_BIG), 413, -32600, "too_large"),
        (lambda: Connection(b"{", ends=False), 408, -32600, "timeout"),
        (lambda: Connection(b"{"), 400, -32700, "parse"),
        (lambda: Connection(message(jsonrpc="1")), 400, -32600, "invalid_request"),
        (lambda: Connection(message(params={})), 400, -32602, "meta"),
        (lambda: Connection(message(), OTHER_METHOD), 400, -32020, "header_mismatch"),
        (
            lambda: Connection(
                message(params={"name": "any", "_meta": OLD}),
                headers(mcp_protocol_version=VERSION.encode()),
            ),
            400,
            -32022,
            "version",
        ),
        (
            lambda: Connection(message(method="tools/list"), OTHER_METHOD),
            404,
            -32601,
            "method",
        ),
        (
            lambda: Connection(message(params={"name": "any", "arguments": 1, "_meta": META})),
            400,
            -32602,
            "params",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_refusal_is_told_and_logged_once(
    connection: Callable[[], Connection],
    status: int,
    code: int,
    reason: str,
    *,
    caplog: pytest.LogCaptureFixture,
    autojump_clock: trio.testing.MockClock,
) -> None:
    seen = Recorder()
    app = make_app(seen=seen)
    caplog.set_level("INFO")
    sent = await connection().run(app)
    assert sent.status == status
    [refused] = seen.refusals
    assert seen.hooks == ["request_refused"]
    assert (refused.status, refused.code, refused.reason) == (status, code, reason)
    [record] = caplog.records
    assert (record.name, record.levelname) == ("genmcp.refusals", "INFO")
    assert record.getMessage().startswith(f"refused with {status} ({reason}): error {code}: ")
    assert "\n" not in record.getMessage()
    facts = vars(record)
    assert (facts["genmcp_status"], facts["genmcp_code"], facts["genmcp_reason"]) == (
        status,
        code,
        reason,
    )
    assert facts["genmcp_request_id"] in {None, r"a\nb"}


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (Refusal(401, InvalidRequest("x")), RefusalReason.UNAUTHORIZED),
        (Refusal(403, InsufficientScope(["a"])), RefusalReason.FORBIDDEN),
        (Refusal(403, InvalidParams("x")), RefusalReason.FORBIDDEN),
        (
            Refusal(429, LimitExceeded("x", setting="s", retry_after_seconds=1)),
            RefusalReason.LIMIT,
        ),
        (
            Refusal(503, Overloaded("x", setting="s", retry_after_seconds=1)),
            RefusalReason.OVERLOADED,
        ),
        (Refusal(400, InvalidParams("x", data=["path"])), RefusalReason.PARAMS),
        (Refusal(400, InvalidParams("x", data={"path": 1})), RefusalReason.PARAMS),
        (Refusal(418, McpError("x", code=5)), RefusalReason.INVALID_REQUEST),
        (Refusal(500, InvalidRequest("x")), RefusalReason.CRASH),
        (Refusal(404, InvalidRequest("x"), reason=RefusalReason.HOST), RefusalReason.HOST),
    ],
    ids=str,
)
def test_reason_by_error_and_status(refusal: Refusal, reason: RefusalReason) -> None:
    assert read_reason(refusal) is reason


async def test_refusal_by_the_application_is_forbidden() -> None:
    def refuse(_scope: Any) -> Any:
        raise McpError("not you", code=7)

    seen = Recorder()
    await Connection(call_body()).run(make_app(seen=seen, assigns=refuse))
    assert seen.refusals == [
        RequestRefused(status=403, code=7, reason=RefusalReason.FORBIDDEN, request_id=1)
    ]


async def test_crash_before_the_call_is_told_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen = Recorder()
    app = make_app(seen=seen, assigns=lambda _scope: 7)
    caplog.set_level("INFO")
    connection = await Connection(call_body()).run(app)
    assert connection.status == 500
    [refused] = seen.refusals
    assert (refused.reason, refused.status) == (RefusalReason.CRASH, 500)
    [record] = caplog.records
    assert record.exc_info is not None


async def test_refusal_while_shutting_down() -> None:
    seen = Recorder()
    app = make_app(seen=seen)
    await app.drain(0)
    connection = await Connection(call_body()).run(app)
    assert connection.status == 503
    [refused] = seen.refusals
    assert refused.reason is RefusalReason.SHUTTING_DOWN
    assert refused.request_id == 1


async def test_observer_that_fails_spoils_no_refusal(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Observer):
        def request_refused(self, refused: RequestRefused) -> None:
            raise ValueError

    app = StreamableHTTP(HandlerServer(), secret_key=KEY, observers=[Broken()])
    for _ in range(2):
        assert (await Connection(b"{").run(app)).status == 400
    assert caplog.text.count("Broken.request_refused failed") == 1


async def test_result_that_is_not_json_is_a_crash() -> None:
    async def handle(_channel: Channel) -> mcp.Result:
        return mcp.CallToolResult(content=[], structured_content={"a": float("nan")})

    seen = Recorder()
    await Connection(call_body()).run(make_app(handle, seen=seen))
    assert (seen.end.outcome, seen.end.code) == (Outcome.CRASH, -32603)
    assert seen.refusals == []


async def test_what_fails_once_a_call_has_begun_is_no_refusal(nursery: trio.Nursery) -> None:
    async def handle(_channel: Channel) -> Any:
        await trio.sleep_forever()

    seen = Recorder()
    app = make_app(handle, seen=seen)
    connection = Connection(call_body())
    nursery.start_soon(connection.run, app)
    await wait_all_tasks_blocked()
    [call] = app.mux._calls
    call.abort()
    await wait_all_tasks_blocked()
    assert connection.status == 500
    assert seen.hooks == ["call_started", "call_ended"]


def test_serve_hands_observers_on() -> None:
    with pytest.raises(TypeError, match="observers must be Observer instances"):
        make_endpoint(HandlerServer(), "127.0.0.1", None, {"observers": [Recorder]})


async def test_client_that_hangs_up_is_a_cancelled_call(nursery: trio.Nursery) -> None:
    async def handle(channel: Channel) -> mcp.Result:
        await channel.start_stream()
        await trio.sleep_forever()
        raise AssertionError

    seen = Recorder()
    connection = Connection(call_body())
    nursery.start_soon(connection.run, make_app(handle, seen=seen))
    await wait_all_tasks_blocked()
    assert seen.hooks == ["call_started", "stream_opened"]
    connection.disconnect()
    await wait_all_tasks_blocked()
    assert seen.end.outcome is Outcome.CANCELLED
    assert seen.end.streamed


# -- what strangers send -----------------------------------------------------------


async def test_names_and_ids_can_forge_no_line(caplog: pytest.LogCaptureFixture) -> None:
    forged = "x\n2026-01-01 ERROR root: all is lost\x1b[31m %s %d" + "y" * 5_000
    suite = Suite(server_name="s", server_version="0", tools=[Careless])
    seen = Recorder()
    app = StreamableHTTP(suite, secret_key=KEY, observers=[seen])
    caplog.set_level("INFO")
    meta = {**META, mcp.CLIENT_INFO_KEY: {"name": forged, "version": forged}}
    body = message(id=forged, params={"name": forged, "_meta": meta})
    encoded = base64.b64encode(forged.encode())
    await Connection(body, headers(mcp_name=b"=?base64?%b?=" % encoded)).run(app)
    [record] = [one for one in caplog.records if one.name == "genmcp.calls"]
    for text in (record.getMessage(), *map(str, extras(record).values())):
        assert text.isprintable()
        assert len(text) < 1_500
    assert seen.end.served_target is None
    [call] = seen.calls
    assert call.target is not None
    assert len(call.target) == 200


async def test_attributes_of_the_records_are_the_documented_ones(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    await Connection(call_body()).run(make_app())
    await Connection(b"{").run(make_app())
    [of_call] = [one for one in caplog.records if one.name == "genmcp.calls"]
    [of_refusal] = [one for one in caplog.records if one.name == "genmcp.refusals"]
    page = (Path(__file__).parents[2] / "docs" / "telemetry.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:4] for line in page.splitlines() if line.startswith("| `genmcp_")]
    for column, record in ((1, of_call), (2, of_refusal)):
        documented = {row[0].strip(" `") for row in rows if row[column].strip()}
        assert documented == extras(record).keys()


def extras(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key.startswith("genmcp_")}


# -- nothing of the values ---------------------------------------------------------

SECRET = "hunter2-very-secret"
NUMBER = 998877665544332211
ASKABLE: dict[str, Any] = {mcp.CLIENT_CAPABILITIES_KEY: {"elicitation": {}}}


@attrs.frozen
class Args:
    how: str
    token: str = attrs.field(default="", metadata={})
    count: int = 0


class Careless(Tool[Args], name="careless", description="Fails in every way."):
    async def call(self, request: mcp.CallToolRequest[Args], channel: Channel) -> Any:
        token = request.params.arguments.token
        match request.params.arguments.how:
            case "crash":
                raise RuntimeError
            case "tool_error":
                raise ToolError(f"{token} does not work")
            case "error_result":
                return mcp.call_tool_result(error=f"{token} does not work")
            case "ask":
                return InputRequired({"name": elicit_form(token, Args)}, token)
            case "progress":
                await channel.send_progress(1, message=token)
                await channel.send_log("error", token)
                return token
            case "nothing":
                return None
            case _:
                return token


STRICT_SCHEMA = {
    "type": "object",
    "properties": {
        "token": {"type": "string", "x-mcp-header": "Token", "pattern": "^a*$"},
        "count": {"enum": [1, 2]},
    },
    "additionalProperties": False,
}


class Strict(Tool, name="strict", description="Wants little.", input_schema=STRICT_SCHEMA):
    async def call(self, request: Any, channel: Channel) -> Any:
        return "done"


class Prompts(PromptRepo, prefix="p"):
    def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Prompt(name="p1", arguments=[mcp.PromptArgument(name="a", required=True)])]

    def get(self, name: str, arguments: dict[str, str], channel: Channel) -> Any:
        if arguments["a"] == SECRET:
            return Error(NotFound())
        return "hello"


def call_of(**arguments: Any) -> tuple[str, dict[str, Any]]:
    return "tools/call", {"name": "careless", "arguments": arguments}


@pytest.mark.parametrize("invalid_arguments", ["tool_error", "protocol_error"])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        call_of(how="crash", token=SECRET),
        call_of(how="tool_error", token=SECRET),
        call_of(how="error_result", token=SECRET),
        call_of(how="ask", token=SECRET),
        call_of(how="progress", token=SECRET),
        call_of(how="nothing", token=SECRET),
        call_of(how="ok", token=SECRET),
        call_of(how="ok", token={SECRET: 1}),
        call_of(how="ok", count=SECRET),
        call_of(how=[SECRET]),
        ("tools/call", {"name": "careless", "arguments": SECRET}),
        ("tools/call", {"name": "careless", "arguments": [NUMBER]}),
        ("tools/call", {"name": "strict", "arguments": {"token": SECRET}}),
        ("tools/call", {"name": "strict", "arguments": {"count": NUMBER}}),
        ("tools/call", {"name": "strict", "arguments": {"count": [SECRET]}}),
        ("tools/call", {"name": "careless", "requestState": SECRET}),
        ("tools/call", {"name": "careless", "inputResponses": SECRET}),
        ("prompts/get", {"name": "p1", "arguments": {"a": SECRET}}),
        ("prompts/get", {"name": "p1", "arguments": {"b": SECRET}}),
        ("prompts/get", {"name": "p1", "arguments": {"a": {"b": SECRET}}}),
        ("tools/list", {"cursor": SECRET}),
        ("prompts/list", {"cursor": SECRET}),
    ],
    ids=str,
)
async def test_no_value_a_client_sends_is_logged_or_told(
    method: str, params: dict[str, Any], invalid_arguments: Any, caplog: pytest.LogCaptureFixture
) -> None:
    suite = Suite(
        server_name="s",
        server_version="0",
        tools=[Careless, Strict],
        prompts=[Prompts],
        invalid_arguments=invalid_arguments,
    )
    seen = Recorder()
    app = StreamableHTTP(
        suite,
        secret_key=KEY,
        observers=[seen],
        principal=lambda _scope: f"user {SECRET}",
        assigns={"token": SECRET},
    )
    caplog.set_level("DEBUG")
    async with Client(app) as client:
        with contextlib.suppress(McpError):
            await client.request(method, params, meta=ASKABLE)
    told = [one for one in caplog.records if one.name in {"genmcp.calls", "genmcp.refusals"}]
    assert len(told) == 1
    assert len(seen.ends) + len(seen.refusals) == 1
    for everything in (
        caplog.text,
        repr([extras(record) for record in caplog.records]),
        repr([seen.calls, seen.ends, seen.refusals]),
    ):
        assert SECRET not in everything
        assert str(NUMBER) not in everything


async def test_body_with_a_number_too_large_tells_no_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    body = b'{"jsonrpc": "2.0", "id": 1, "params": {"arguments": {"pin": %d}}}' % (NUMBER * 1000)
    connection = await Connection(body).run(make_app())
    assert str(NUMBER) in connection.json["error"]["message"]
    assert str(NUMBER) not in caplog.text
    assert "An integer exceeds 64 bits" in caplog.text


async def test_arguments_that_do_not_fit_are_one_warning_with_place_and_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    suite = Suite(server_name="s", server_version="0", tools=[Careless])
    caplog.set_level("INFO")
    async with Client(StreamableHTTP(suite, secret_key=KEY)) as client:
        await client.call_tool("careless", {"how": 3, "count": SECRET})
    [record] = [one for one in caplog.records if one.name == "genmcp.calls"]
    assert record.levelname == "WARNING"
    said = record.getMessage()
    assert "tool_error: invalid arguments: " in said
    assert "/count" in said


# -- names that exist --------------------------------------------------------------


class Files(ResourceRepo, prefix="file:///"):
    def list_resources(self, cursor: Any, channel: Channel) -> Any:
        return []

    def read(self, uri: str, channel: Channel) -> Any:
        return "text"


@pytest.mark.parametrize(
    ("method", "params", "target", "served"),
    [
        ("tools/call", {"name": "careless", "arguments": {"how": "x"}}, "careless", "careless"),
        ("tools/call", {"name": "careless", "arguments": {}}, "careless", "careless"),
        ("tools/call", {"name": "unknown"}, "unknown", None),
        ("prompts/get", {"name": "p1", "arguments": {"a": "b"}}, "p1", "p1"),
        ("prompts/get", {"name": "p1", "arguments": {"a": SECRET}}, "p1", None),
        ("prompts/get", {"name": "p2", "arguments": {"a": "b"}}, "p2", None),
        ("resources/read", {"uri": "file:///a"}, "file:///a", None),
        ("tools/list", {}, None, None),
    ],
    ids=str,
)
async def test_only_names_that_exist_are_served_targets(
    method: str, params: dict[str, Any], target: str | None, served: str | None
) -> None:
    suite = Suite(
        server_name="s",
        server_version="0",
        tools=[Careless],
        prompts=[Prompts],
        resources=[Files],
    )
    seen = Recorder()
    app = StreamableHTTP(suite, secret_key=KEY, observers=[seen])
    async with Client(app) as client:
        with contextlib.suppress(McpError):
            await client.request(method, params, meta=ASKABLE)
    assert seen.calls[0].target == target
    assert seen.end.served_target == served
