from __future__ import annotations

import gc
import json
import sys
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import wait_all_tasks_blocked

from genmcp import InternalError, MemorySessionStore, SessionState, Suite, mcp
from genmcp.limits import RateLimit
from genmcp.transport.asgi import StreamableHTTP
from tests.legacy.client import (
    ASKABLE,
    HEADERS,
    JUNE,
    NOVEMBER,
    LegacyClient,
    messages,
    read_events,
)
from tests.legacy.server import Served
from tests.transport.asgi_server import Connection, HandlerServer


async def open_client(served: Served, **settings: Any) -> LegacyClient:
    client = LegacyClient(served.make_app(**settings))
    await client.open(ASKABLE)
    return client


def text_of(result: Any) -> str:
    text: str = result["content"][0]["text"]
    return text


# -- the handshake -------------------------------------------------------------


@pytest.mark.parametrize("version", [NOVEMBER, JUNE])
async def test_a_session_is_opened_in_the_version_asked_for(version: str) -> None:
    client = LegacyClient(Served().make_app(), version)
    assert await client.open() == {
        "protocolVersion": version,
        "capabilities": {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "completions": {},
            "logging": {},
        },
        "serverInfo": {"name": "both", "version": "1"},
        "instructions": "Ask.",
    }
    assert (await client.result("tools/call", {"name": "who"}))["structuredContent"] == {
        "version": version,
        "client": "old",
        "level": "info",
        "principal": None,
    }


async def test_other_versions_are_answered_with_the_newest_of_2025() -> None:
    for version in ("2024-11-05", mcp.PROTOCOL_VERSION, "2031-01-01"):
        client = LegacyClient(Served().make_app(), version)
        assert (await client.open())["protocolVersion"] == NOVEMBER


async def test_a_handshake_that_lacks_something_opens_nothing() -> None:
    client = LegacyClient(Served().make_app())
    connection = await client.post(client.request("initialize", {"protocolVersion": NOVEMBER}))
    assert (connection.status, connection.json["error"]["code"]) == (200, -32602)
    assert b"mcp-session-id" not in connection.headers


async def test_without_legacy_the_handshake_names_what_is_served() -> None:
    client = LegacyClient(Served().make_app(legacy=False))
    connection = await client.post(client.request("initialize", {"protocolVersion": NOVEMBER}))
    assert connection.status == 400
    assert connection.json["error"]["data"]["supported"] == [mcp.PROTOCOL_VERSION]
    assert (await client.verb("GET", mcp_session_id=b"x")).status == 405


async def test_both_lists_of_versions_are_the_same() -> None:
    app = Served().make_app()
    supported = [mcp.PROTOCOL_VERSION, NOVEMBER, JUNE]
    meta = {mcp.PROTOCOL_VERSION_KEY: mcp.PROTOCOL_VERSION, mcp.CLIENT_CAPABILITIES_KEY: {}}

    async def discover(version: str) -> Connection:
        told = {**meta, mcp.PROTOCOL_VERSION_KEY: version}
        params = {"_meta": told}
        body = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": params}
        headers = {
            **HEADERS,
            b"mcp-protocol-version": version.encode(),
            b"mcp-method": b"server/discover",
            b"mcp-session-id": b"ignored",
        }
        return await Connection(json.dumps(body).encode(), headers).run(app)

    found = await discover(mcp.PROTOCOL_VERSION)
    assert found.json["result"]["supportedVersions"] == supported
    refused = await discover("2099-01-01")
    assert (refused.status, refused.json["error"]["code"]) == (400, -32022)
    assert refused.json["error"]["data"]["supported"] == supported


# -- sessions ------------------------------------------------------------------


async def test_a_replica_takes_up_a_session_it_has_never_heard_of() -> None:
    client = await open_client(Served())
    client.app = Served().make_app()
    assert await client.result("ping") == {}


@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE"])
async def test_unknown_sessions_are_404_and_missing_ones_400(verb: str) -> None:
    client = await open_client(Served())

    async def send(**headers: bytes | None) -> int | None:
        if verb == "POST":
            return (await client.post(client.request("tools/list"), **headers)).status
        return (await client.verb(verb, **headers)).status

    assert await send(mcp_session_id=b"no such") == 404
    assert await send(mcp_session_id=b"\xff") == 404
    assert await send(mcp_session_id=b"") == 404
    assert await send(mcp_session_id=None) == 400
    client.app = Served().make_app(secret_key="another secret of many bytes")
    assert await send() == 404


async def test_an_ended_session_is_404_for_good() -> None:
    client = await open_client(Served())
    assert (await client.verb("DELETE")).status == 204
    assert (await client.post(client.request("tools/list"))).status == 404
    assert (await client.verb("GET")).status == 404
    assert (await client.verb("DELETE")).status == 404
    assert await client.notify("notifications/initialized") == 404


async def test_a_session_is_bound_to_its_principal() -> None:
    def principal(scope: Any) -> str:
        user: str = dict(scope["headers"])[b"x-user"].decode()
        return user

    client = LegacyClient(Served().make_app(principal=principal), headers={b"x-user": b"ada"})
    await client.open()
    told = await client.result("tools/call", {"name": "who"})
    assert told["structuredContent"]["principal"] == "ada"
    assert (await client.post(client.request("ping"), x_user=b"eve")).status == 404


async def test_the_version_header_must_be_the_sessions() -> None:
    client = await open_client(Served())
    ping = client.request("ping")
    assert (await client.post(ping, mcp_protocol_version=None)).status == 200
    assert (await client.post(ping, mcp_protocol_version=JUNE.encode())).status == 400
    for version in (b"2025-03-26", b"x", b""):
        refused = await client.post(ping, mcp_protocol_version=version)
        assert (refused.status, refused.json["error"]["code"]) == (400, -32022)
    modern = await client.post(ping, mcp_protocol_version=mcp.PROTOCOL_VERSION.encode())
    assert (modern.status, modern.json["error"]["code"]) == (400, -32602)


async def test_headers_sent_twice_are_refused() -> None:
    client = await open_client(Served())
    headers = [*client.make_headers().items(), (b"mcp-session-id", b"another")]
    connection = client.connect(client.request("ping"))
    connection.scope["headers"] = headers
    assert (await connection.run(client.app)).status == 400


async def test_strangers_may_ping_and_nothing_else() -> None:
    client = LegacyClient(Served().make_app())
    assert await client.result("ping") == {}
    version = NOVEMBER.encode()
    listed = await client.post(client.request("tools/list"), mcp_protocol_version=version)
    assert listed.status == 400
    assert "Mcp-Session-Id" in listed.json["error"]["message"]
    bare = await client.post(client.request("tools/list"))
    assert (bare.status, bare.json["error"]["code"]) == (400, -32602)
    other = await client.post(client.request("ping"), mcp_protocol_version=b"2025-03-26")
    assert (other.status, other.json["error"]["code"]) == (400, -32022)
    response = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert (await client.post(response)).status == 400


async def abandon_sessions(app: StreamableHTTP, count: int) -> int:
    """Open sessions, use each a little, and leave it; return how many blocks are allocated."""
    for _ in range(count):
        client = LegacyClient(app)
        await client.open()
        await client.result("tools/call", {"name": "who"})
        async with client.running(client.stream()) as stream:
            stream.disconnect()
    del client, stream
    gc.collect()
    return sys.getallocatedblocks()


async def test_a_thousand_abandoned_sessions_leave_nothing() -> None:
    app = Served().make_app()
    await abandon_sessions(app, 100)
    before = await abandon_sessions(app, 1)
    grown = await abandon_sessions(app, 1_000) - before
    # Less than one block for each: their keys alone would be as many.
    assert grown < 500
    legacy: Any = app._legacy
    assert len(legacy.store) == 0
    assert legacy.store.attached == 0
    assert len(legacy.replay) == 0
    assert not legacy._conversations
    assert app.mux.open_calls == 0


async def test_sessions_that_left_something_would_be_noticed() -> None:
    class Forgetless(MemorySessionStore):
        async def find(self, key: str) -> SessionState:
            kept.append(key)
            return await super().find(key)

    kept: list[str] = []
    app = Served().make_app(session_store=Forgetless())
    before = await abandon_sessions(app, 100)
    assert await abandon_sessions(app, 500) - before > 500


# -- requests ------------------------------------------------------------------


async def test_all_that_2025_has_is_served() -> None:
    client = await open_client(Served())
    assert await client.result("ping") == {}
    tools: list[str] = []
    page: Any = {}
    while "nextCursor" in page or not tools:
        cursor = {"cursor": page["nextCursor"]} if page else {}
        page = await client.result("tools/list", cursor)
        assert page.keys() <= {"tools", "nextCursor"}
        tools += [tool["name"] for tool in page["tools"]]
    assert tools == ["greet", "ask_all", "patient", "who", "work", "wait", "crash", "lists"]
    assert await client.result("prompts/list") == {
        "prompts": [{"name": "greeting", "arguments": [{"name": "who", "required": True}]}]
    }
    greeting = await client.result("prompts/get", {"name": "greeting", "arguments": {"who": "ada"}})
    assert greeting["messages"][0]["content"]["text"] == "Hello, ada"
    reference = {"type": "ref/prompt", "name": "greeting"}
    argument = {"name": "who", "value": ""}
    completed = await client.result("completion/complete", {"ref": reference, "argument": argument})
    assert completed["completion"]["values"] == ["ada", "eve"]
    assert (await client.result("resources/list"))["resources"][0]["uri"] == "note:a"
    read = await client.result("resources/read", {"uri": "note:a"})
    assert read == {"contents": [{"uri": "note:a", "text": "note"}]}


async def test_errors_of_requests_are_200_with_the_codes_of_2025() -> None:
    client = await open_client(Served())

    async def code(method: str, params: Any = None) -> int:
        response = await client.ask(method, params)
        assert response["id"] == client.ids
        found: int = response["error"]["code"]
        return found

    assert await code("no/such") == -32601
    assert await code("server/discover") == -32601
    assert await code("subscriptions/listen", {"notifications": {}}) == -32601
    assert await code("initialize/x") == -32601
    assert await code("tools/call") == -32602
    assert await code("tools/call", {"name": "none"}) == -32602
    assert await code("tools/call", {"name": "crash"}) == -32603
    assert await code("prompts/get", {"name": "none"}) == -32602
    assert await code("logging/setLevel", {"level": "loud"}) == -32602
    assert await code("logging/setLevel") == -32602
    assert await code("resources/subscribe", {"uri": 1}) == -32602
    missing = await client.ask("resources/read", {"uri": "note:none"})
    assert missing["error"]["code"] == -32002
    assert missing["error"]["data"] == {"uri": "note:none"}


async def test_limits_hold_for_both_eras() -> None:
    client = await open_client(Served(), rate_limit=RateLimit(calls=1, per_seconds=60))
    await client.result("tools/call", {"name": "who"})
    connection = await client.post(client.request("tools/call", {"name": "who"}))
    assert connection.status == 429
    assert connection.headers[b"retry-after"] == b"60"


async def test_a_list_is_an_object_for_2025() -> None:
    client = await open_client(Served())
    result = await client.result("tools/call", {"name": "lists"})
    assert result["structuredContent"] == {"result": [1, 2]}


async def test_subscribing_is_not_there_without_a_handler() -> None:
    client = LegacyClient(StreamableHTTP(Suite(server_name="s", server_version="1")))
    assert (await client.open())["capabilities"] == {"logging": {}}
    response = await client.ask("resources/subscribe", {"uri": "a:b"})
    assert response["error"]["code"] == -32601
    refused = await client.verb("GET")
    assert refused.status == 405
    assert refused.headers[b"allow"] == b"POST, DELETE"


async def test_the_log_level_is_the_sessions() -> None:
    served = Served()
    served.work.finish.set()
    client, other = await open_client(served), await open_client(served)

    async def heard(who: LegacyClient) -> list[str]:
        connection = await who.post(who.request("tools/call", {"name": "work"}))
        return [
            message["params"]["data"]
            for message in messages(connection)
            if message.get("method") == "notifications/message"
        ]

    assert await heard(client) == ["working"]
    assert await client.result("logging/setLevel", {"level": "debug"}) == {}
    assert await heard(client) == ["working", "thinking"]
    await client.result("logging/setLevel", {"level": "error"})
    assert await heard(client) == []
    other.app = client.app
    await other.open()
    assert await heard(other) == ["working"]


# -- streams -------------------------------------------------------------------

WORK = {"name": "work", "_meta": {"progressToken": "t"}}


async def test_a_stream_begins_with_an_event_to_come_back_to() -> None:
    served = Served()
    served.work.finish.set()
    client = await open_client(served)
    connection = await client.post(client.request("tools/call", WORK))
    first, *events = read_events(connection.body)
    assert (first.data, first.retry) == (None, "1000")
    assert first.id is not None
    name, _, number = first.id.rpartition(".")
    assert number == "0"
    assert [event.id for event in events] == [f"{name}.{n}" for n in range(1, 5)]
    assert [event.data.get("method") for event in events] == [
        "notifications/progress",
        "notifications/message",
        "notifications/progress",
        None,
    ]
    assert connection.complete


async def test_clients_of_june_get_no_event_without_data() -> None:
    served = Served()
    served.work.finish.set()
    client = LegacyClient(served.make_app(), JUNE)
    await client.open()
    connection = await client.post(client.request("tools/call", WORK))
    assert all(event.data is not None for event in read_events(connection.body))


async def test_a_cancellation_is_a_notification_of_the_same_session() -> None:
    served = Served()
    client = await open_client(served)
    other = LegacyClient(client.app)
    await other.open()
    request = client.request("tools/call", WORK)
    async with client.running(client.connect(request)) as connection:
        cancel = {"requestId": request["id"]}
        assert await other.notify("notifications/cancelled", cancel) == 202
        assert await client.notify("notifications/cancelled", {"requestId": str(request["id"])})
        assert await client.notify("notifications/cancelled", {}) == 202
        await wait_all_tasks_blocked()
        assert served.work.cancelled == 0
        assert await client.notify("notifications/cancelled", cancel) == 202
    assert served.work.cancelled == 1
    assert connection.complete
    assert [m.get("id") for m in messages(connection)] == [None, None]


async def test_a_silent_call_is_cancelled_without_an_answer() -> None:
    served = Served()
    client = await open_client(served)
    request = client.request("tools/call", {"name": "wait"})
    async with client.running(client.connect(request)) as connection:
        await client.notify("notifications/cancelled", {"requestId": request["id"]})
    assert served.wait.cancelled == 1
    assert messages(connection) == []


async def test_the_end_of_a_session_ends_its_calls() -> None:
    served = Served()
    client = await open_client(served)
    async with client.running(client.connect(client.request("tools/call", WORK))):
        assert (await client.verb("DELETE")).status == 204
    assert served.work.cancelled == 1


@pytest.mark.parametrize("tool", ["work", "wait"])
async def test_a_lost_connection_cancels_nothing(tool: str) -> None:
    served = Served()
    client = await open_client(served)
    call = client.request("tools/call", {"name": tool})
    async with client.running(client.connect(call)) as connection:
        connection.disconnect()
        await wait_all_tasks_blocked()
        served.work.finish.set()
        served.wait.finish.set()
    assert (served.work.started, served.wait.started).count(1) == 1
    assert (served.work.cancelled, served.wait.cancelled) == (0, 0)


async def test_nobody_is_waited_for_for_ever(autojump_clock: trio.testing.MockClock) -> None:
    served = Served()
    client = await open_client(served)
    async with client.running(client.connect(client.request("tools/call", WORK))) as connection:
        connection.disconnect()
    assert served.work.cancelled == 1
    assert 500 < trio.current_time() < 700


async def test_what_was_missed_is_told_to_who_comes_back() -> None:
    served = Served()
    client = await open_client(served)
    call = client.request("tools/call", WORK)
    async with client.running(client.connect(call)) as connection:
        seen = read_events(connection.body)
        assert len(seen) == 3
        connection.disconnect()
        await wait_all_tasks_blocked()
        last = (seen[1].id or "").encode()
        async with client.running(client.stream(last_event_id=last)) as again:
            [missed] = read_events(again.body)
            assert missed == seen[2]
            served.work.finish.set()
    rest = read_events(again.body)
    assert again.complete
    assert rest[-1].data["id"] == call["id"]
    assert text_of(rest[-1].data["result"]) == "finished"
    # And once more, as it may have been lost again; the connection it had got nothing.
    assert read_events((await client.verb("GET", last_event_id=last)).body) == rest
    assert read_events(connection.body) == seen


async def test_who_comes_back_takes_the_stream_from_the_old_connection() -> None:
    served = Served()
    client = await open_client(served)
    async with client.running(client.connect(client.request("tools/call", WORK))) as connection:
        seen = read_events(connection.body)
        last = (seen[-1].id or "").encode()
        async with client.running(client.stream(last_event_id=last)) as again:
            served.work.finish.set()
    assert len(read_events(again.body)) == 2
    assert read_events(connection.body) == seen
    # Cut off, as whoever comes back has lost it.
    assert not connection.complete


async def test_streams_of_other_sessions_are_not_replayed() -> None:
    served = Served()
    served.work.finish.set()
    client = await open_client(served)
    connection = await client.post(client.request("tools/call", WORK))
    event_id = (read_events(connection.body)[0].id or "").encode()
    other = LegacyClient(client.app)
    await other.open()
    for last in (event_id, b"x.1", b"nonsense", event_id[:-1] + b"99"):
        refused = await other.verb("GET", last_event_id=last)
        assert (refused.status, refused.json["error"]["code"]) == (400, -32600)


async def test_a_resumed_stream_shows_that_it_lives(
    autojump_clock: trio.testing.MockClock,
) -> None:
    served = Served()
    client = await open_client(served)
    async with client.running(client.connect(client.request("tools/call", WORK))) as connection:
        last = (read_events(connection.body)[-1].id or "").encode()
        connection.disconnect()
        async with client.running(client.stream(last_event_id=last)) as again:
            # Somebody listens: it is not given up.
            await trio.sleep(3_000)
            assert served.work.cancelled == 0
            assert again.body.count(b": keep-alive") > 100
            served.work.finish.set()
    assert read_events(again.body)[-1].data["result"]


async def test_calls_are_refused_and_ended_in_a_shutdown(
    autojump_clock: trio.testing.MockClock,
) -> None:
    served = Served()
    app = served.make_app()
    client = LegacyClient(app)
    await client.open(ASKABLE)
    async with client.running(client.connect(client.request("tools/call", WORK))) as working:
        greet = client.connect(client.request("tools/call", {"name": "greet"}))
        async with client.running(greet):
            async with client.running(client.stream()) as stream:
                await app.drain(3)
            assert stream.complete
            assert (await client.post(client.request("tools/list"))).status == 503
            assert (await client.verb("GET")).status == 503
    for connection in (working, greet):
        assert messages(connection)[-1]["error"]["message"] == "The server is shutting down"


async def test_a_long_stream_is_handed_over_to_the_next_connection(
    autojump_clock: trio.testing.MockClock,
) -> None:
    served = Served()
    client = await open_client(served, legacy_stream_seconds=5.0)
    async with client.running(client.connect(client.request("tools/call", WORK))) as connection:
        await trio.sleep(4)
        assert not connection.complete
        await trio.sleep(2)
        assert connection.complete
        seen = read_events(connection.body)
        last = (seen[-1].id or "").encode()
        async with client.running(client.stream(last_event_id=last)) as again:
            await trio.sleep(3_000)
            served.work.finish.set()
    assert len(seen) == 3
    assert connection.headers[b"connection"] == b"close"
    assert text_of(read_events(again.body)[-1].data["result"]) == "finished"


async def test_a_short_stream_and_one_of_june_are_not_handed_over(
    autojump_clock: trio.testing.MockClock,
) -> None:
    served = Served()
    for version in (JUNE, NOVEMBER):
        client = LegacyClient(served.make_app(legacy_stream_seconds=5.0), version)
        await client.open()
        async with client.running(client.connect(client.request("tools/call", WORK))) as stream:
            await trio.sleep(10 if version == JUNE else 1)
            served.work.finish.set()
        assert messages(stream)[-1]["id"] == client.ids
        served.work.finish = trio.Event()


@pytest.mark.parametrize("seconds", [0, -1.0])
def test_a_stream_lives_for_a_positive_time(seconds: float) -> None:
    with pytest.raises(ValueError, match="legacy_stream_seconds must be positive"):
        Served().make_app(legacy_stream_seconds=seconds)


async def test_pages_may_use_sessions() -> None:
    client = LegacyClient(
        Served().make_app(allowed_origins=["https://app.example.com"]),
        headers={b"origin": b"https://app.example.com"},
    )
    await client.open()
    connection = await client.verb("DELETE")
    assert connection.headers[b"access-control-allow-origin"] == b"https://app.example.com"
    assert b"Mcp-Session-Id" in connection.headers[b"access-control-expose-headers"]
    preflight = await Connection(
        b"",
        {
            b"host": b"localhost",
            b"origin": b"https://app.example.com",
            b"access-control-request-method": b"GET",
            b"access-control-request-headers": b"last-event-id,mcp-session-id",
        },
        method="OPTIONS",
    ).run(client.app)
    assert preflight.status == 204
    allowed = preflight.headers[b"access-control-allow-headers"]
    assert allowed == b"last-event-id, mcp-session-id"


async def test_a_silent_call_becomes_a_stream(autojump_clock: trio.testing.MockClock) -> None:
    served = Served()
    client = await open_client(served)
    call = client.connect(client.request("tools/call", {"name": "wait"}))
    async with client.running(call) as connection:
        assert connection.status is None
        await trio.sleep(50)
        assert connection.headers[b"content-type"] == b"text/event-stream"
        served.wait.finish.set()
    first, last = read_events(connection.body)
    assert (first.data, first.retry) == (None, "1000")
    assert text_of(last.data["result"]) == "waited"
    assert connection.body.count(b": keep-alive") == 2


async def test_a_send_that_fails_loses_the_client_and_not_the_call() -> None:
    served = Served()
    client = await open_client(served)
    connection = client.connect(client.request("tools/call", WORK))

    async def send(message: Any) -> None:
        if connection.chunks:
            raise OSError("gone")
        await connection.send(message)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.app, connection.scope, connection.receive, send)
        await wait_all_tasks_blocked()
        last = (read_events(connection.body)[0].id or "").encode()
        async with client.running(client.stream(last_event_id=last)) as again:
            served.work.finish.set()
    assert len(messages(again)) == 4
    assert served.work.cancelled == 0


async def test_a_session_id_comes_with_a_result_only() -> None:
    class Broken(HandlerServer):
        async def handle_request(self, request: Any, channel: Any) -> Any:
            return mcp.call_tool_result(text="no discovery")

    for server in (Broken(), HandlerServer(refuse)):
        client = LegacyClient(StreamableHTTP(server, secret_key="k" * 32))
        info = {"name": "c", "version": "1"}
        params = {"protocolVersion": NOVEMBER, "capabilities": {}, "clientInfo": info}
        connection = await client.post(client.request("initialize", params))
        assert connection.status == 200
        assert connection.json["error"]["code"] == -32603
        assert b"mcp-session-id" not in connection.headers


async def refuse(channel: Any) -> Any:
    raise InternalError("not today")


async def test_a_call_that_is_cut_off_in_a_shutdown_has_an_end(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def handle(channel: Any) -> Any:
        if channel.caller.meta.get("progressToken") is None:
            return mcp.discover_result(name="s", version="1")
        with trio.CancelScope(shield=True):
            await trio.sleep(100)
        return mcp.call_tool_result(text="late")

    app = StreamableHTTP(HandlerServer(handle), secret_key="k" * 32)
    client = LegacyClient(app)
    await client.open()
    async with client.running(client.connect(client.request("tools/call", WORK))) as connection:
        await app.drain(1)
    assert messages(connection)[-1]["error"]["message"] == "The server is shutting down"


async def test_methods_of_the_servers_own_are_served_to_both_eras() -> None:
    class Own(HandlerServer):
        def methods(self) -> set[str]:
            return {"server/discover", "own/method"}

        async def handle_request(self, request: Any, channel: Any) -> Any:
            if request.method == "server/discover":
                return mcp.discover_result(name="s", version="1")
            assert isinstance(request, mcp.UnknownRequest)
            return mcp.Result(extra={"got": request.params["a"]})

    client = LegacyClient(StreamableHTTP(Own(), secret_key="k" * 32))
    await client.open()
    assert await client.result("own/method", {"a": 1}) == {"got": 1}
    wrong = await client.ask("own/method", {"_meta": {"progressToken": []}})
    assert wrong["error"]["code"] == -32602


async def test_a_stream_that_ends_just_then_is_not_handed_over(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    served = Served()
    client = await open_client(served, legacy_stream_seconds=5.0)
    connection = client.connect(client.request("tools/call", WORK))

    async def send_slowly(message: Any) -> None:
        if not message.get("more_body", True):
            await trio.sleep(10)
        await connection.send(message)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.app, connection.scope, connection.receive, send_slowly)
        await trio.sleep(4)
        served.work.finish.set()
    assert messages(connection)[-1]["id"] == client.ids
    assert connection.complete
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
