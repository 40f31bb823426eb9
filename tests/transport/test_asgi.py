from __future__ import annotations

import asyncio
import json
import logging
import math
from typing import TYPE_CHECKING, Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from genmcp.errors import InvalidParams, McpError
from genmcp.mcp import v2607 as mcp
from genmcp.telemetry import CallEnded, CallInfo, Observer, Outcome
from genmcp.testing import Client
from genmcp.tokens import Keyring
from genmcp.transport.asgi import StreamableHTTP
from genmcp.transport.asgi_exchange import LAST_SEND_SECONDS
from tests.transport.asgi_server import CALL_HEADERS, Connection, HandlerServer, call_body

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from genmcp.channel import Channel

SECRET = "0123456789abcdef0123456789abcdef"
DONE = mcp.call_tool_result(text="done")


def make_app(
    handle: Callable[[Channel], Awaitable[Any]] | None = None, **settings: Any
) -> StreamableHTTP:
    return StreamableHTTP(HandlerServer(handle), **{"secret_key": SECRET, **settings})


def error_of(connection: Connection) -> tuple[int | None, int, str]:
    error = connection.json["error"]
    return connection.status, error["code"], error["message"]


# -- one call ----------------------------------------------------------------------


async def test_quick_call_is_answered_as_plain_json() -> None:
    connection = await Connection(call_body("a")).run(make_app())
    assert connection.status == 200
    assert connection.json["id"] == "a"
    assert connection.json["result"]["content"] == [{"type": "text", "text": "42"}]


async def test_notifications_come_before_the_answer_on_a_stream() -> None:
    async def handle(channel: Channel) -> mcp.Result:
        await channel.send_progress(1)
        await channel.send_progress(2)
        return DONE

    connection = await Connection(call_body()).run(make_app(handle))
    assert connection.status == 200
    assert [event.get("id") for event in connection.events] == [None, None, 1]
    assert connection.complete
    assert len(connection.chunks) == 3


async def test_opened_stream_is_seen_before_anything_is_said() -> None:
    release = trio.Event()

    async def handle(channel: Channel) -> mcp.Result:
        await channel.start_stream()
        await release.wait()
        return DONE

    connection = Connection(call_body())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run, make_app(handle))
        await wait_all_tasks_blocked()
        assert connection.status == 200
        assert connection.events == [None]
        release.set()
    assert connection.events[1]["id"] == 1


async def test_error_before_the_stream_has_its_status() -> None:
    async def handle(_channel: Channel) -> mcp.Result:
        raise InvalidParams("no such tool")

    connection = await Connection(call_body()).run(make_app(handle))
    assert error_of(connection) == (200, -32602, "no such tool")


async def test_crash_of_a_handler_is_masked(caplog: pytest.LogCaptureFixture) -> None:
    async def handle(_channel: Channel) -> mcp.Result:
        raise ValueError("secret")

    connection = await Connection(call_body()).run(make_app(handle))
    assert error_of(connection) == (500, -32603, "Internal server error")
    assert b"secret" not in connection.body
    assert "secret" in caplog.text


async def test_result_that_is_not_json_is_a_server_error() -> None:
    async def handle(_channel: Channel) -> mcp.Result:
        return mcp.CallToolResult(content=[], structured_content={"a": float("nan")})

    connection = await Connection(call_body()).run(make_app(handle))
    assert error_of(connection)[:2] == (500, -32603)


async def test_calls_do_not_touch_each_other() -> None:
    async def handle(channel: Channel) -> mcp.Result:
        if channel.request_id == "crash":
            raise ValueError
        await trio.lowlevel.checkpoint()
        return DONE

    app = make_app(handle)
    connections = {key: Connection(call_body(key)) for key in ("1", "crash", "2", "gone")}
    connections["gone"].disconnect()
    async with trio.open_nursery() as nursery:
        for connection in connections.values():
            nursery.start_soon(connection.run, app)
    assert connections["1"].json["id"] == "1"
    assert connections["2"].json["id"] == "2"
    assert connections["crash"].status == 500
    assert app.mux.open_calls == 0


# -- notifications and refusals ----------------------------------------------------


@pytest.mark.parametrize("method", ["notifications/cancelled", "notifications/crash"])
async def test_notification_is_accepted_whatever_the_server_makes_of_it(method: str) -> None:
    server = HandlerServer()
    app = StreamableHTTP(server, secret_key=SECRET)
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": {"requestId": 1}}).encode()
    connection = await Connection(body, {b"host": b"localhost"}).run(app)
    assert (connection.status, connection.body) == (202, b"")
    assert connection.headers == {b"content-length": b"0", b"vary": b"Origin"}
    assert [notification.method for notification in server.notifications] == [method]


async def test_posted_cancellation_cancels_nothing() -> None:
    release = trio.Event()

    async def handle(_channel: Channel) -> mcp.Result:
        await release.wait()
        return DONE

    app = make_app(handle)
    call = Connection(call_body(7))
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}'
    async with trio.open_nursery() as nursery:
        nursery.start_soon(call.run, app)
        await wait_all_tasks_blocked()
        assert (await Connection(cancel).run(app)).status == 202
        release.set()
    assert call.json["result"]["content"] == [{"type": "text", "text": "done"}]


async def test_refusal_of_a_read_body_keeps_the_connection() -> None:
    connection = await Connection(b"{").run(make_app())
    assert error_of(connection)[:2] == (400, -32700)
    assert "id" not in connection.json
    assert b"connection" not in connection.headers


async def test_unknown_method_is_404_with_the_id() -> None:
    headers = {**CALL_HEADERS, b"mcp-method": b"prompts/list"}
    body = call_body("x").replace(b"tools/call", b"prompts/list")
    connection = await Connection(body, headers).run(make_app())
    assert error_of(connection)[:2] == (404, -32601)
    assert connection.json["id"] == "x"


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT", "OPTIONS"])
async def test_other_verbs_are_405(verb: str) -> None:
    app = make_app(legacy=False)
    connection = await Connection(b"", {b"host": b"localhost"}, method=verb).run(app)
    assert error_of(connection)[:2] == (405, -32600)
    assert connection.headers[b"allow"] == b"POST"


async def test_other_verbs_than_those_of_2025_are_405() -> None:
    connection = await Connection(b"", {b"host": b"localhost"}, method="PUT").run(make_app())
    assert error_of(connection)[:2] == (405, -32600)
    assert connection.headers[b"allow"] == b"POST, GET, DELETE"


async def test_head_is_405_without_a_body() -> None:
    connection = await Connection(b"", {b"host": b"localhost"}, method="HEAD").run(make_app())
    assert (connection.status, connection.body) == (405, b"")
    assert int(connection.headers[b"content-length"]) > 0


async def test_foreign_origin_is_403_and_the_configured_one_is_not() -> None:
    headers = {**CALL_HEADERS, b"origin": b"https://app.example.com"}
    refused = await Connection(call_body(), headers).run(make_app())
    assert error_of(refused)[:2] == (403, -32600)
    app = make_app(allowed_origins=["https://app.example.com"])
    assert (await Connection(call_body(), headers).run(app)).status == 200


async def test_foreign_host_is_403_and_the_configured_one_is_not() -> None:
    headers = {**CALL_HEADERS, b"host": b"mcp.example.com"}
    refused = await Connection(call_body(), headers).run(make_app())
    assert error_of(refused)[:2] == (403, -32600)
    app = make_app(allowed_hosts=["mcp.example.com"])
    assert (await Connection(call_body(), headers).run(app)).status == 200


async def test_refusals_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "genmcp.refusals"):
        await Connection(b"{").run(make_app())
    assert "refused with 400 (parse): error -32700: " in caplog.text


# -- where it is mounted -----------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "path", "root_path", "served"),
    [
        ("/mcp", "/mcp", "", True),
        ("/mcp", "/mcp/", "", True),
        ("/mcp/", "/mcp", "", True),
        ("/mcp/", "/mcp/", "", True),
        ("/mcp", "/", "", False),
        ("/mcp", "", "", False),
        ("/mcp", "/mcp//", "", False),
        ("/mcp", "/mcpx", "", False),
        ("/mcp", "/x/mcp", "", False),
        ("/mcp", "/MCP", "", False),
        ("/mcp", "/mcp/x", "", False),
        ("/", "/", "", True),
        ("/", "", "", True),
        ("/", "/mcp", "", False),
        ("/a/b", "/a/b/", "", True),
        # Below a mount, in servers that keep the mounted part in the path...
        ("/mcp", "/api/mcp", "/api", True),
        ("/mcp", "/api/mcp/", "/api", True),
        ("/mcp", "/api/mcp", "/api/", True),
        ("/mcp", "/mcp/", "/mcp", True),
        ("/mcp", "/mcp", "/mcp", True),
        ("/mcp", "/tools/", "/tools", True),
        ("/mcp", "/api/other", "/api", False),
        ("/mcp", "/apimcp", "/api", False),
        # ... and in those that take it away.
        ("/mcp", "/mcp", "/api", True),
        ("/mcp", "/", "/api", True),
        ("/mcp", "", "/api", True),
        ("/mcp", "/other", "/api", False),
    ],
)
async def test_endpoint_is_found_wherever_it_is_mounted(
    setting: str,
    path: str,
    root_path: str,
    served: bool,
) -> None:
    connection = await Connection(call_body(), path=path, root_path=root_path).run(
        make_app(path=setting)
    )
    if served:
        assert connection.status == 200
    else:
        assert error_of(connection)[:2] == (404, -32600)


async def test_scope_without_root_path_is_served() -> None:
    connection = Connection(call_body())
    del connection.scope["root_path"]
    assert (await connection.run(make_app())).status == 200


async def test_starlette_mounts_it() -> None:
    applications = pytest.importorskip("starlette.applications")
    routing = pytest.importorskip("starlette.routing")
    app = applications.Starlette(
        routes=[
            routing.Route("/exact", make_app(path="/exact")),
            routing.Mount("/api", make_app()),
            routing.Mount("/mcp", make_app()),
        ]
    )
    for path in ("/exact", "/api/mcp", "/api/mcp/", "/mcp/"):
        connection = await Connection(call_body(), path=path).run(app)
        assert connection.status == 200, path


# -- bodies ------------------------------------------------------------------------


async def test_body_may_come_in_pieces() -> None:
    body = call_body()
    connection = await Connection([body[:10], b"", body[10:], b""]).run(make_app())
    assert connection.status == 200


async def test_body_of_exactly_the_limit_is_read() -> None:
    body = call_body()
    app = make_app(max_body_bytes=len(body))
    assert (await Connection(body).run(app)).status == 200
    assert (await Connection(body + b" ").run(app)).status == 413


async def test_body_over_the_limit_is_refused_while_it_arrives() -> None:
    connection = await Connection([b" " * 600] * 2, ends=False).run(make_app(max_body_bytes=1000))
    assert error_of(connection)[:2] == (413, -32600)
    assert "max_body_bytes" in connection.json["error"]["message"]
    assert connection.headers[b"connection"] == b"close"


async def test_declared_body_over_the_limit_is_refused_unread() -> None:
    headers = {**CALL_HEADERS, b"content-length": b"5000000"}
    connection = await Connection([], headers, ends=False).run(make_app())
    assert error_of(connection)[:2] == (413, -32600)
    assert connection.headers[b"connection"] == b"close"


async def test_slow_body_is_refused(autojump_clock: trio.testing.MockClock) -> None:
    connection = await Connection([b"{"], ends=False).run(make_app(body_timeout_seconds=7))
    assert trio.current_time() == pytest.approx(7)
    assert error_of(connection)[:2] == (408, -32600)
    assert "body_timeout_seconds" in connection.json["error"]["message"]
    assert connection.headers[b"connection"] == b"close"


async def test_client_that_leaves_before_its_body_is_complete_gets_nothing() -> None:
    connection = Connection([b"{"], ends=False)
    connection.disconnect()
    await connection.run(make_app())
    assert connection.status is None


# -- leaving -----------------------------------------------------------------------


@pytest.mark.parametrize("streaming", [False, True], ids=["plain", "stream"])
async def test_client_that_leaves_cancels_its_call(streaming: bool) -> None:
    ended: list[str] = []

    async def handle(channel: Channel) -> mcp.Result:
        try:
            if streaming:
                await channel.start_stream()
            await trio.sleep_forever()
        finally:
            await trio.lowlevel.checkpoint()
            ended.append("cleaned up")
        return DONE

    app = make_app(handle)
    connection = Connection(call_body())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run, app)
        await wait_all_tasks_blocked()
        sent = list(connection.chunks)
        connection.disconnect()
    assert ended == ["cleaned up"]
    assert connection.chunks == sent
    assert not connection.complete
    assert app.mux.open_calls == 0


class Hasty(Connection):
    """Tells that the response is complete before its last send returns, as Hypercorn does."""

    last_send_seconds = 0.0

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message.get("more_body") is False:
            self.disconnect()
            await trio.sleep(self.last_send_seconds)
            await wait_all_tasks_blocked()


class Outcomes(Observer):
    """Takes down how calls end."""

    def __init__(self) -> None:
        self.seen: list[Outcome] = []

    def call_ended(self, call: CallInfo, ended: CallEnded) -> None:
        self.seen.append(ended.outcome)


@pytest.mark.parametrize("streaming", [False, True])
async def test_call_whose_answer_is_out_is_not_cancelled_by_the_end_of_its_response(
    streaming: bool,
) -> None:
    async def handle(channel: Channel) -> mcp.Result:
        if streaming:
            await channel.send_progress(1)
        return DONE

    outcomes = Outcomes()
    connection = await Hasty(call_body()).run(make_app(handle, observers=[outcomes]))
    assert connection.complete
    assert outcomes.seen == [Outcome.OK]


async def test_last_send_that_goes_on_without_a_client_is_cut_off(
    autojump_clock: trio.testing.MockClock,
) -> None:
    class Stuck(Hasty):
        last_send_seconds = math.inf

    outcomes = Outcomes()
    await Stuck(call_body()).run(make_app(observers=[outcomes]))
    assert trio.current_time() == LAST_SEND_SECONDS
    assert outcomes.seen == [Outcome.CANCELLED]


async def test_messages_other_than_disconnect_are_ignored() -> None:
    release = trio.Event()

    async def handle(_channel: Channel) -> mcp.Result:
        await release.wait()
        return DONE

    connection = Connection(call_body())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run, make_app(handle))
        connection.feed({"type": "http.request", "body": b"", "more_body": False})
        connection.feed({"type": "http.unheard.of"})
        await wait_all_tasks_blocked()
        release.set()
    assert connection.status == 200


async def test_receive_that_never_waits_stops_nothing() -> None:
    class Eager(Connection):
        async def receive(self) -> Any:
            return {"type": "http.request", "body": call_body(), "more_body": False}

    async def handle(_channel: Channel) -> mcp.Result:
        for _ in range(10):
            await trio.lowlevel.checkpoint()
        return DONE

    assert (await Eager().run(make_app(handle))).status == 200


async def test_receive_that_fails_is_a_client_that_left(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Connection):
        async def receive(self) -> Any:
            message = await super().receive()
            if message["type"] == "http.disconnect":
                raise ValueError("broken middleware")
            return message

    async def handle(_channel: Channel) -> mcp.Result:
        await trio.sleep_forever()
        return DONE

    connection = Broken(call_body())
    connection.disconnect()
    await connection.run(make_app(handle))
    assert connection.status is None
    assert "broken middleware" in caplog.text


async def test_host_that_is_cancelled_ends_the_call_with_its_clean_up() -> None:
    ended: list[str] = []

    async def handle(_channel: Channel) -> mcp.Result:
        try:
            await trio.sleep_forever()
        finally:
            await trio.lowlevel.checkpoint()
            ended.append("cleaned up")
        return DONE

    connection = Connection(call_body())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run, make_app(handle))
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert ended == ["cleaned up"]
    assert connection.status is None


# -- silence -----------------------------------------------------------------------


async def test_silent_call_becomes_a_stream_that_is_kept_alive(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def handle(_channel: Channel) -> mcp.Result:
        await trio.sleep(40)
        return DONE

    start = trio.current_time()
    connection = await Connection(call_body()).run(make_app(handle))
    assert [event and event["id"] for event in connection.events] == [None, None, 1]
    times = [time - start for time, _ in connection.chunks]
    assert times == pytest.approx([15, 30, 40])


async def test_whatever_is_said_puts_the_next_comment_off(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def handle(channel: Channel) -> mcp.Result:
        for step in range(1, 4):
            await trio.sleep(4)
            await channel.send_progress(step)
        await trio.sleep(6)
        return DONE

    start = trio.current_time()
    connection = await Connection(call_body()).run(make_app(handle, keepalive_seconds=5))
    times = [time - start for time, _ in connection.chunks]
    assert times == pytest.approx([4, 8, 12, 17, 18])
    assert connection.events[3] is None


async def test_slow_clean_up_after_the_answer_is_not_kept_alive(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def linger() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(4)

    async def handle(channel: Channel) -> mcp.Result:
        channel.start_soon(linger)
        await trio.lowlevel.checkpoint()
        return DONE

    connection = await Connection(call_body()).run(make_app(handle, keepalive_seconds=1))
    assert connection.status == 200
    assert connection.json["id"] == 1


# -- assigns -----------------------------------------------------------------------


async def read_tenant(scope: Any) -> dict[str, Any]:
    await trio.lowlevel.checkpoint()
    return {"tenant": scope["tenant"]}


@pytest.mark.parametrize(
    "assigns",
    [{"tenant": "acme"}, lambda scope: {"tenant": scope["tenant"]}, read_tenant],
    ids=["mapping", "function", "async function"],
)
async def test_assigns_reach_the_handler(assigns: Any) -> None:
    async def handle(channel: Channel) -> mcp.Result:
        return mcp.call_tool_result(text=str(channel.assigns["tenant"]))

    app = make_app(handle, assigns=assigns)
    connection = await Connection(call_body(), tenant="acme").run(app)
    assert connection.json["result"]["content"][0]["text"] == "acme"


@pytest.mark.parametrize(
    ("error", "status"),
    [(McpError("Not for you", code=1), 403), (InvalidParams("Not for you"), 403)],
    ids=["own code", "protocol code"],
)
async def test_assigns_may_refuse_the_request(error: McpError, status: int) -> None:
    def assigns(_scope: Any) -> dict[str, Any]:
        raise error

    connection = await Connection(call_body("i")).run(make_app(assigns=assigns))
    assert error_of(connection) == (status, error.code, "Not for you")
    assert connection.json["id"] == "i"


@pytest.mark.parametrize("wrong", [None, ["a"]], ids=repr)
async def test_assigns_that_give_no_mapping_are_a_server_error(
    wrong: Any, caplog: pytest.LogCaptureFixture
) -> None:
    connection = await Connection(call_body("i")).run(make_app(assigns=lambda _scope: wrong))
    assert error_of(connection) == (500, -32603, "Internal server error")
    assert connection.json["id"] == "i"
    assert connection.json["error"]["data"]["errorId"] in caplog.text
    assert "assigns must give a mapping" in caplog.text


async def read_user(scope: Any) -> str:
    await trio.lowlevel.checkpoint()
    return str(scope["user"])


@pytest.mark.parametrize(
    "principal", [lambda scope: scope["user"], read_user], ids=["function", "async function"]
)
async def test_principal_reaches_the_handler(principal: Any) -> None:
    async def handle(channel: Channel) -> mcp.Result:
        return mcp.call_tool_result(text=repr(channel.principal))

    connection = await Connection(call_body(), user="ada").run(
        make_app(handle, principal=principal)
    )
    assert connection.json["result"]["content"][0]["text"] == "'ada'"


@pytest.mark.parametrize(
    "crash",
    [KeyError("x"), SystemExit(1), GeneratorExit(), BaseExceptionGroup("g", [SystemExit(1)])],
)
async def test_crash_of_assigns_is_a_server_error(
    crash: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def assigns(_scope: Any) -> dict[str, Any]:
        raise crash

    connection = await Connection(call_body("i")).run(make_app(assigns=assigns))
    assert error_of(connection) == (500, -32603, "Internal server error")
    assert connection.json["error"]["data"]["errorId"] in caplog.text


async def test_assigns_that_take_too_long_are_given_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def assigns(_scope: Any) -> dict[str, Any]:
        await trio.sleep_forever()
        raise AssertionError

    connection = await Connection(call_body("i")).run(make_app(assigns=assigns))
    status, code, message = error_of(connection)
    assert (status, code) == (503, -32603)
    assert "who is calling" in message


async def test_assigns_end_when_the_client_leaves(nursery: trio.Nursery) -> None:
    ended = trio.Event()

    async def assigns(_scope: Any) -> dict[str, Any]:
        try:
            await trio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError

    async with Client(make_app(assigns=assigns)) as client:
        with trio.move_on_after(60):
            async with trio.open_nursery() as inner:
                inner.start_soon(client.call_tool, "any")
                await trio.testing.wait_all_tasks_blocked()
                inner.cancel_scope.cancel()
    assert ended.is_set()


async def test_principal_may_refuse_the_request() -> None:
    def principal(_scope: Any) -> str:
        raise McpError("Who are you?", code=1)

    connection = await Connection(call_body("i")).run(make_app(principal=principal))
    assert error_of(connection) == (403, 1, "Who are you?")


async def test_principal_that_is_no_name_is_a_server_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection = await Connection(call_body("i")).run(make_app(principal=lambda _scope: 5))
    assert error_of(connection) == (500, -32603, "Internal server error")
    assert "principal must give a str or None" in caplog.text


# -- shutting down -----------------------------------------------------------------


async def test_drain_gives_open_streams_a_last_frame_and_refuses_new_calls(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def handle(channel: Channel) -> mcp.Result:
        await channel.start_stream()
        await trio.sleep_forever()
        return DONE

    app = make_app(handle)
    connection = Connection(call_body())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run, app)
        await wait_all_tasks_blocked()
        await app.drain(3)
    assert connection.complete
    assert connection.events[-1]["error"]["code"] == -32603
    late = await Connection(call_body("late")).run(app)
    assert error_of(late)[:2] == (503, -32603)


async def test_call_that_is_cut_off_is_still_answered() -> None:
    async def handle(_channel: Channel) -> mcp.Result:
        await trio.sleep_forever()
        return DONE

    app = make_app(handle)
    connection = Connection(call_body())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run, app)
        await wait_all_tasks_blocked()
        app.mux.abort()
    assert error_of(connection) == (500, -32603, "The server is shutting down")


# -- faults of this library and its host -------------------------------------------


async def test_call_that_ends_without_an_answer_is_answered_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handle(_channel: Channel) -> mcp.Result:
        await trio.sleep_forever()
        return DONE

    app = make_app(handle)
    connection = Connection(call_body("x"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run, app)
        await wait_all_tasks_blocked()
        (call,) = app.mux._calls
        call.abort()
    assert error_of(connection) == (500, -32603, "Internal server error")
    assert connection.json["id"] == "x"
    assert connection.json["error"]["data"]["errorId"] in caplog.text
    assert "(request 'x') ended without an answer" in caplog.text


async def test_scope_that_is_not_asgi_is_answered_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection = Connection(call_body())
    del connection.scope["path"]
    await connection.run(make_app())
    assert error_of(connection) == (500, -32603, "Internal server error")
    assert connection.json["error"]["data"]["errorId"] in caplog.text


async def test_crash_nobody_can_be_told_of_is_only_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Deaf(Connection):
        async def send(self, message: Any) -> None:
            raise OSError

    connection = Deaf(call_body())
    await connection.run(make_app(assigns=lambda _scope: None))
    assert connection.status is None
    assert "assigns must give a mapping" in caplog.text


# -- other scopes and loops --------------------------------------------------------


class Scripted:
    """Plays messages to an application and records what it sends."""

    def __init__(self, scope_type: str, *messages: str) -> None:
        self.scope: dict[str, Any] = {"type": scope_type, "path": "/mcp", "headers": []}
        self.messages = [{"type": message} for message in messages]
        self.sent: list[Any] = []

    async def receive(self) -> Any:
        return self.messages.pop(0)

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    async def run(self, app: StreamableHTTP) -> list[str]:
        await app(self.scope, self.receive, self.send)
        return [message["type"] for message in self.sent]


async def test_lifespan_is_answered() -> None:
    scripted = Scripted("lifespan", "lifespan.startup", "lifespan.shutdown")
    assert await scripted.run(make_app()) == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]


async def test_websocket_is_closed() -> None:
    assert await Scripted("websocket", "websocket.connect").run(make_app()) == ["websocket.close"]


async def test_unknown_scope_is_an_error() -> None:
    with pytest.raises(ValueError, match="smtp"):
        await Scripted("smtp").run(make_app())


def test_on_asyncio_every_request_is_told_what_to_do() -> None:
    scripted = Scripted("http")
    assert asyncio.run(scripted.run(make_app())) == ["http.response.start", "http.response.body"]
    assert scripted.sent[0]["status"] == 500
    assert "genmcp serve" in json.loads(scripted.sent[1]["body"])["error"]["message"]


def test_on_asyncio_start_up_fails_with_what_to_do() -> None:
    scripted = Scripted("lifespan", "lifespan.startup")
    assert asyncio.run(scripted.run(make_app())) == ["lifespan.startup.failed"]
    assert "genmcp serve" in scripted.sent[0]["message"]


# -- settings ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("path", "mcp"),
        ("keepalive_seconds", 0),
        ("body_timeout_seconds", -1),
        ("max_body_bytes", 0),
        ("max_json_depth", 0),
        ("max_threads", 0),
        ("allowed_hosts", ["https://x"]),
        ("allowed_origins", ["x"]),
    ],
)
def test_setting_that_makes_no_sense_is_named(setting: str, value: Any) -> None:
    with pytest.raises(ValueError, match=setting):
        make_app(**{setting: value})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"publc_url": "https://mcp.example.com/mcp"},
            "StreamableHTTP has no option 'publc_url'; did you mean public_url?",
        ),
        (
            {"allowed_origin": ["https://app.example.com"]},
            "StreamableHTTP has no option 'allowed_origin'; did you mean allowed_origins?",
        ),
        ({"max_call": 3}, "StreamableHTTP has no option 'max_call'; did you mean max_calls?"),
        ({"workers": 2}, "StreamableHTTP has no option 'workers'"),
        (
            {"certfile": "server.pem"},
            (
                "StreamableHTTP has no option 'certfile', which is about the port; "
                "serve() and genmcp serve have it"
            ),
        ),
        (
            {"principal": "ada"},
            (
                "principal must be a function that gets the ASGI scope and returns who is "
                "calling, got 'ada'"
            ),
        ),
        ({"assigns": ["ada"]}, "assigns must give a mapping, got ['ada']"),
        ({"secret_key": 5}, "a secret must be str or bytes, got int"),
    ],
)
def test_option_that_cannot_be_is_refused_with_what_was_meant(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(TypeError) as caught:
        make_app(**options)
    assert str(caught.value) == said


def test_class_instead_of_a_server_is_refused() -> None:
    with pytest.raises(TypeError, match=r"takes a Server, such as a Suite, got .*HandlerServer"):
        StreamableHTTP(HandlerServer)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_secret_keys_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = Keyring(["old" * 10]).seal("p", b"x", ttl_seconds=60)
    monkeypatch.setenv("GENMCP_SECRET_KEY", f"{'new' * 10} {'old' * 10}")
    app = make_app(secret_key=None)
    assert app.mux.keyring.unseal("p", sealed) == b"x"
    given = make_app(secret_key=SECRET).mux.keyring.seal("p", b"y", ttl_seconds=60)
    assert Keyring([SECRET]).unseal("p", given) == b"y"


def test_missing_secret_key_is_said_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GENMCP_SECRET_KEY", raising=False)
    caplog.set_level("INFO")
    make_app()
    assert not caplog.records
    make_app(secret_key=None)
    assert [record.name for record in caplog.records] == ["genmcp.transport"]
    assert "secret_key" in caplog.text


def test_several_secret_keys_open_what_the_old_one_sealed() -> None:
    sealed = Keyring(["old" * 10]).seal("p", b"x", ttl_seconds=60)
    app = make_app(secret_key=["new" * 10, "old" * 10])
    assert app.mux.keyring.unseal("p", sealed) == b"x"
