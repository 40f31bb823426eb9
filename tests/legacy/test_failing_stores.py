"""Stores that fail or hang: one client is told, the others notice nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing
from trio.testing import wait_all_tasks_blocked

from genmcp import MemoryReplayStore, MemorySessionStore, SessionStore, StreamableHTTP
from tests.legacy.client import ASKABLE, JUNE, NOVEMBER, LegacyClient, messages, read_events
from tests.legacy.server import Served
from tests.legacy.shared_stores import Fault, FaultyReplayStore, FaultySessionStore

if TYPE_CHECKING:
    from tests.transport.asgi_server import Connection

WORK = {"name": "work"}
TIMEOUT_SECONDS = SessionStore.timeout_seconds


async def open_client(
    fault: Fault, served: Served | None = None, **settings: Any
) -> tuple[LegacyClient, FaultySessionStore]:
    """Open a session while nothing fails yet."""
    store = FaultySessionStore(fault)
    served = served or Served()
    client = LegacyClient(served.make_app(session_store=store, **settings))
    await client.open(ASKABLE)
    return client, store


def errors_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == "genmcp.legacy" and record.levelno == logging.ERROR
    ]


def assert_unavailable(connection: Connection, request_id: int | None = None) -> None:
    error = connection.json["error"]
    assert (connection.status, error["code"]) == (503, -32603)
    assert connection.headers[b"retry-after"] == b"1"
    assert error["data"] == {"retryAfterSeconds": 1}
    assert connection.json.get("id") == request_id
    assert "database" not in connection.body.decode()


NOTE = {"uri": "note:a"}
REQUESTS: list[tuple[str, str, Any]] = [
    ("find", "ping", None),
    ("find", "tools/list", None),
    ("attach", "tools/list", None),
    ("set_log_level", "logging/setLevel", {"level": "error"}),
    ("watch", "resources/subscribe", NOTE),
    ("unwatch", "resources/unsubscribe", NOTE),
    ("publish", "resources/subscribe", NOTE),
]


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize("case", REQUESTS)
async def test_a_request_that_needs_it_is_told_503(
    autojump_clock: trio.testing.MockClock,
    caplog: pytest.LogCaptureFixture,
    case: tuple[str, str, Any],
    hangs: bool,
) -> None:
    caplog.set_level("INFO", "genmcp.legacy")
    method, request_method, params = case
    fault = Fault(hangs=hangs)
    client, store = await open_client(fault)
    fault.methods.add(method)
    for _ in range(3):
        began = trio.current_time()
        refused = await client.post(client.request(request_method, params))
        assert_unavailable(refused, client.ids)
        assert trio.current_time() - began <= TIMEOUT_SECONDS
    [logged] = errors_in(caplog)
    assert f"FaultySessionStore.{method}" in logged
    fault.methods.clear()
    assert "result" in await client.ask(request_method, params)
    assert f"FaultySessionStore.{method} works again" in caplog.text
    assert store.attached == 0


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize(
    ("method", "verb"),
    [
        ("find", "DELETE"),
        ("end", "DELETE"),
        ("publish", "DELETE"),
        ("find", "GET"),
        ("attach", "GET"),
        ("publish", "GET"),
    ],
)
async def test_get_and_delete_are_told_503(
    autojump_clock: trio.testing.MockClock, method: str, verb: str, hangs: bool
) -> None:
    fault = Fault(hangs=hangs)
    client, store = await open_client(fault)
    fault.methods.add(method)
    assert_unavailable(await client.verb(verb))
    assert store.attached == 0


@pytest.mark.parametrize("hangs", [False, True])
async def test_no_session_is_opened_that_could_not_be_reached(
    autojump_clock: trio.testing.MockClock, hangs: bool
) -> None:
    fault = Fault(hangs=hangs)
    fault.methods.add("attach")
    client = LegacyClient(Served().make_app(session_store=FaultySessionStore(fault)))
    info = {"name": "old", "version": "1"}
    params = {"protocolVersion": NOVEMBER, "capabilities": {}, "clientInfo": info}
    refused = await client.post(client.request("initialize", params))
    assert_unavailable(refused, client.ids)
    assert b"mcp-session-id" not in refused.headers


@pytest.mark.parametrize("hangs", [False, True])
async def test_what_cannot_be_handed_on_is_not_accepted(
    autojump_clock: trio.testing.MockClock, hangs: bool
) -> None:
    fault = Fault(hangs=hangs)
    client, _ = await open_client(fault)
    greet = client.request("tools/call", {"name": "greet"})
    async with client.running(client.connect(greet)) as connection:
        question = messages(connection)[-1]["id"]
        result = {"action": "decline"}
        answer = {"jsonrpc": "2.0", "id": question, "result": result}
        fault.methods.add("publish")
        assert_unavailable(await client.post(answer))
        assert await client.notify("notifications/cancelled", {"requestId": greet["id"]}) == 503
        fault.methods.clear()
        await client.answer(question, result=result)
    assert messages(connection)[-1]["result"]["content"][0]["text"] == "nobody"


async def test_the_others_notice_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """A call at work goes on, whoever else waits for the store in vain."""
    fault = Fault(hangs=True)
    served = Served()
    client, _ = await open_client(fault, served)
    async with client.running(client.connect(client.request("tools/call", WORK))) as connection:
        fault.methods |= {"find", "publish"}
        assert_unavailable(await client.post(client.request("ping")), client.ids)
        served.work.finish.set()
    assert messages(connection)[-1]["result"]["content"][0]["text"] == "finished"


async def test_a_slow_leave_delays_no_answer_for_ever(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    fault = Fault(hangs=True)
    client, _ = await open_client(fault)
    fault.methods.add("leave")
    assert await client.result("tools/list")
    assert trio.current_time() == pytest.approx(TIMEOUT_SECONDS)
    assert len(errors_in(caplog)) == 1


async def test_a_leave_that_fails_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    fault = Fault()
    client, _ = await open_client(fault)
    fault.methods.add("leave")
    assert await client.result("tools/list")
    assert len(errors_in(caplog)) == 1


@pytest.mark.parametrize(("tool", "status"), [("work", 200), ("wait", 503)])
async def test_a_call_that_nobody_could_reach_any_more_is_ended_with_an_error(
    caplog: pytest.LogCaptureFixture, tool: str, status: int
) -> None:
    served = Served()
    client, store = await open_client(Fault(), served)
    call = client.request("tools/call", {"name": tool})
    async with client.running(client.connect(call)) as connection:
        store.broken_off.set()
    assert (connection.status, connection.complete) == (status, True)
    last = messages(connection)[-1]
    assert (last["id"], last["error"]["code"]) == (call["id"], -32603)
    assert served.work.cancelled + served.wait.cancelled == 1
    assert "the signals broke off" in caplog.text
    if tool == "work":
        # Who comes back finds the same end.
        first = (read_events(connection.body)[0].id or "").encode()
        store.broken_off = trio.Event()
        again = await client.verb("GET", last_event_id=first)
        assert messages(again)[-1] == last


async def test_a_stream_whose_signals_break_off_ends() -> None:
    client, store = await open_client(Fault())
    async with client.running(client.stream()) as stream:
        assert stream.status == 200
        store.broken_off.set()
    assert stream.complete


async def test_a_stream_that_cannot_find_what_is_watched_ends() -> None:
    fault = Fault()

    class FailingAfterwards(FaultySessionStore):
        async def watch(self, key: str, uri: str, expires_at: float) -> None:
            fault.methods.add("find")

    client = LegacyClient(Served().make_app(session_store=FailingAfterwards(fault)))
    await client.open()
    async with client.running(client.stream()) as stream:
        assert await client.result("resources/subscribe", {"uri": "note:a"}) == {}
    assert stream.complete


async def test_what_a_store_must_not_return_is_its_fault(caplog: pytest.LogCaptureFixture) -> None:
    class Careless(MemorySessionStore):
        async def find(self, key: str) -> Any:
            return None

    client = LegacyClient(Served().make_app(session_store=Careless()))
    info = {"name": "old", "version": "1"}
    params = {"protocolVersion": NOVEMBER, "capabilities": {}, "clientInfo": info}
    opened = await client.post(client.request("initialize", params))
    client.session_id = opened.headers[b"mcp-session-id"]
    assert_unavailable(await client.post(client.request("ping")), client.ids)
    assert "Careless.find returned None" in caplog.text


# -- streams ---------------------------------------------------------------------


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize(("method", "ids"), [("keep", 0), ("append", 1), ("end", 3)])
async def test_a_stream_that_cannot_be_kept_goes_on(
    autojump_clock: trio.testing.MockClock,
    caplog: pytest.LogCaptureFixture,
    method: str,
    ids: int,
    hangs: bool,
) -> None:
    fault = Fault(hangs=hangs)
    fault.methods.add(method)
    served = Served()
    served.work.finish.set()
    client, _ = await open_client(fault, served, replay_store=FaultyReplayStore(fault))
    began = trio.current_time()
    connection = await client.post(client.request("tools/call", WORK))
    assert trio.current_time() - began <= TIMEOUT_SECONDS
    assert connection.complete
    assert messages(connection)[-1]["result"]["content"][0]["text"] == "finished"
    # There is nothing to come back to from where it failed on.
    assert sum(event.id is not None for event in read_events(connection.body)) == ids
    assert len(errors_in(caplog)) == 1


async def test_a_stream_that_cannot_be_kept_is_not_handed_over(
    autojump_clock: trio.testing.MockClock,
) -> None:
    fault = Fault()
    fault.methods.add("keep")
    served = Served()
    client, _ = await open_client(
        fault, served, replay_store=FaultyReplayStore(fault), legacy_stream_seconds=20
    )
    async with client.running(client.connect(client.request("tools/call", WORK))) as connection:
        await trio.sleep(100)
        assert not connection.complete
        served.work.finish.set()
    assert messages(connection)[-1]["result"]["content"][0]["text"] == "finished"


@pytest.mark.parametrize("hangs", [False, True])
async def test_who_comes_back_to_a_store_that_fails_is_told_503(
    autojump_clock: trio.testing.MockClock, hangs: bool
) -> None:
    fault = Fault(hangs=hangs)
    served = Served()
    served.work.finish.set()
    client, _ = await open_client(fault, served, replay_store=FaultyReplayStore(fault))
    done = await client.post(client.request("tools/call", WORK))
    last = (read_events(done.body)[0].id or "").encode()
    for method in ("read", "publish", "attach"):
        fault.methods = {method}
        assert_unavailable(await client.verb("GET", last_event_id=last))
    fault.methods.clear()
    assert (await client.verb("GET", last_event_id=last)).status == 200


@pytest.mark.parametrize("method", ["wait", "read"])
async def test_who_reads_on_is_cut_off_and_can_come_back(method: str) -> None:
    fault = Fault()
    served = Served()
    client, _ = await open_client(fault, served, replay_store=FaultyReplayStore(fault))
    async with client.running(client.connect(client.request("tools/call", WORK))) as connection:
        last = (read_events(connection.body)[0].id or "").encode()
        connection.disconnect()
        async with client.running(client.stream(last_event_id=last)) as cut:
            await wait_all_tasks_blocked()
            # One who waits already waits in a method that worked.
            fault.methods.add(method)
            served.work.finish.set()
        if method == "read":
            assert (cut.status, cut.complete) == (200, False)
        else:
            assert cut.complete
    fault.methods.clear()
    again = await client.verb("GET", last_event_id=last)
    assert messages(again)[-1]["result"]["content"][0]["text"] == "finished"


async def test_one_who_waits_in_vain_is_cut_off() -> None:
    fault = Fault()
    served = Served()
    client, _ = await open_client(fault, served, replay_store=FaultyReplayStore(fault))
    async with client.running(client.connect(client.request("tools/call", WORK))) as connection:
        last = (read_events(connection.body)[0].id or "").encode()
        connection.disconnect()
        fault.methods.add("wait")
        cut = await client.verb("GET", last_event_id=last)
        assert (cut.status, cut.complete) == (200, False)
        served.work.finish.set()


async def test_who_reads_a_stream_that_is_forgotten_is_cut_off() -> None:
    """What it got is not all there is: its writer has died, or others needed the room."""
    store = MemoryReplayStore(max_bytes=4_000)
    served = Served()
    client = LegacyClient(served.make_app(replay_store=store))
    await client.open()
    async with client.running(client.connect(client.request("tools/call", WORK))) as connection:
        last = (read_events(connection.body)[0].id or "").encode()
        connection.disconnect()
        async with client.running(client.stream(last_event_id=last)) as cut:
            for number in range(10):
                await store.keep(f"other.{number}")
        assert (cut.status, cut.complete) == (200, False)
        refused = await client.verb("GET", last_event_id=last)
        assert (refused.status, refused.json["error"]["code"]) == (400, -32600)
        served.work.finish.set()


# -- what is no store ------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"session_store": MemorySessionStore}, "session_store must be a SessionStore"),
        ({"replay_store": MemorySessionStore()}, "replay_store must be a ReplayStore"),
    ],
)
def test_what_is_no_store_is_refused(settings: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        StreamableHTTP(Served().make_suite(), **settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [("timeout_seconds", 0), ("reach", "a.b"), ("reach", "x" * 33), ("reach", None)],
)
def test_a_store_whose_attributes_make_no_sense_is_refused(name: str, value: Any) -> None:
    store = MemorySessionStore()
    setattr(store, name, value)
    with pytest.raises(ValueError, match=f"{name} of session_store must be"):
        StreamableHTTP(Served().make_suite(), session_store=store)


async def test_clients_of_june_have_streams_that_are_kept_too() -> None:
    served = Served()
    served.work.finish.set()
    client = LegacyClient(served.make_app(), version=JUNE)
    await client.open()
    done = await client.post(client.request("tools/call", WORK))
    first = (read_events(done.body)[0].id or "").encode()
    again = await client.verb("GET", last_event_id=first)
    assert messages(again) == messages(done)[1:]
