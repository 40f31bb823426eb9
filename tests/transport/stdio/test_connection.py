"""One client in memory: calls, cancellation, and what is refused."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from genmcp import Server, Suite, Tool, mcp, serve_stdio
from genmcp.transport.stdio.refusals import MOST_WAITING
from tests.telemetry.recording import Recorder
from tests.transport.stdio.peer import Peer, cancelled, connected, request
from tests.transport.stdio.served import Journal, make_suite

PROGRESS = {"progressToken": "p"}


def call(request_id: Any, tool: str, *, meta: Any = None, **arguments: Any) -> dict[str, Any]:
    return request(request_id, name=tool, arguments=arguments, meta=meta)


def listen(request_id: Any) -> dict[str, Any]:
    wanted = {"toolsListChanged": True}
    return request(request_id, "subscriptions/listen", notifications=wanted)


def ids(messages: list[dict[str, Any]]) -> list[Any]:
    return [message.get("id") for message in messages]


async def sync(peer: Peer) -> None:
    """Wait until the server has read all that was sent."""
    await wait_all_tasks_blocked()


# -- calls -------------------------------------------------------------------------


async def test_discovery_is_the_first_exchange(autojump_clock: Any) -> None:
    async with connected(make_suite()) as peer:
        await peer.send(request(1, "server/discover"))
        answer = await peer.receive()
    assert answer["id"] == 1
    assert answer["result"]["supportedVersions"] == ["2026-07-28", "2025-11-25", "2025-06-18"]


async def test_without_legacy_discovery_names_one_version(autojump_clock: Any) -> None:
    async with connected(make_suite(), legacy=False) as peer:
        await peer.send(request(1, "server/discover"))
        assert (await peer.receive())["result"]["supportedVersions"] == ["2026-07-28"]


async def test_a_call_that_waits_holds_up_nothing(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal)) as peer:
        await peer.send(call(1, "wait"), listen(2), call(3, "echo", text="quick"))
        meanwhile = [await peer.receive(), await peer.receive()]
        assert {m.get("id") for m in meanwhile} == {None, 3}
        journal.release.set()
        assert (await peer.receive())["id"] == 1


async def test_calls_begin_in_the_order_of_their_lines(autojump_clock: Any) -> None:
    async with connected(make_suite()) as peer:
        lines = [json.dumps(call(n, "echo", text="x")).encode() + b"\n" for n in range(50)]
        await peer.send(b"".join(lines))
        assert [(await peer.receive())["id"] for _ in range(50)] == list(range(50))


async def test_notifications_belong_to_their_request(autojump_clock: Any) -> None:
    meta = {"progressToken": 7, "io.modelcontextprotocol/logLevel": "info"}
    async with connected(make_suite()) as peer:
        await peer.send(call("r", "report", meta=meta))
        messages = [await peer.receive() for _ in range(7)]
        await peer.send(call("quiet", "report"))
        assert (await peer.receive())["id"] == "quiet"
    assert [m["params"].get("progressToken") for m in messages[:6:2]] == [7, 7, 7]
    assert [m["params"].get("data") for m in messages[1:6:2]] == [0, 1, 2]
    assert messages[6]["id"] == "r"


async def test_crash_is_masked_and_the_next_call_works(autojump_clock: Any) -> None:
    async with connected(make_suite()) as peer:
        await peer.send(call(1, "fail", how="crash"), call(2, "echo", text="on"))
        answers = [await peer.receive(), await peer.receive()]
        crashed, fine = sorted(answers, key=lambda answer: answer["id"])
    assert crashed["error"]["code"] == -32603
    assert "secret" not in json.dumps(crashed)
    assert fine["result"]["content"][0]["text"] == "on"


async def test_handlers_find_assigns_and_nobody(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal), assigns={"user": "ada"}) as peer:
        await peer.send(call(1, "wait"))
        await sync(peer)
    assert journal.facts == [({"user": "ada"}, None)]


async def test_scopes_are_not_asked_for(autojump_clock: Any) -> None:
    class Guarded(Tool, name="guarded", description="Needs a scope.", required_scopes=["x"]):
        async def call(self, request: Any, channel: Any) -> str:
            return "let in"

    suite = Suite(server_name="s", server_version="1", tools=[Guarded])
    async with connected(suite) as peer:
        await peer.send(call(1, "guarded"))
        assert (await peer.receive())["result"]["content"][0]["text"] == "let in"


async def test_notifications_reach_the_server_in_order(autojump_clock: Any) -> None:
    heard: list[str] = []

    class Hearing(Server):
        def methods(self) -> set[str]:
            return {"server/discover"}

        async def handle_request(self, request: Any, channel: Any) -> Any:
            raise AssertionError

        async def handle_notification(self, notification: mcp.ClientNotification) -> None:
            await trio.sleep(1)
            heard.append(notification.method)

    async with connected(Hearing()) as peer:
        for method in ("own/one", "notifications/initialized", "own/two"):
            await peer.send({"jsonrpc": "2.0", "method": method})
        await trio.sleep(10)
    assert heard == ["own/one", "notifications/initialized", "own/two"]


# -- ids ---------------------------------------------------------------------------


async def test_ids_of_two_types_are_two_ids(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal)) as peer:
        await peer.send(call(1, "wait", name="number"), call("1", "wait", name="string"))
        await peer.send(call(1.0, "echo", text="x"), call(True, "echo", text="x"))
        refused = [await peer.receive(), await peer.receive()]
        assert [(m["error"]["code"], "id" in m) for m in refused] == [(-32600, False)] * 2
        await peer.send(cancelled("1"))
        await sync(peer)
        journal.release.set()
        answer = await peer.receive()
        assert (answer["id"], answer["result"]["content"][0]["text"]) == (1, "number")
    assert sorted(journal.cleaned) == ["number", "string"]


async def test_id_that_is_still_open_is_refused_and_the_first_goes_on(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal)) as peer:
        await peer.send(call("a", "wait"), call("a", "echo", text="x"))
        refused = await peer.receive()
        assert (refused["id"], refused["error"]["code"]) == ("a", -32600)
        assert "still open" in refused["error"]["message"]
        journal.release.set()
        answer = await peer.receive()
        assert (answer["id"], answer["result"]["content"][0]["text"]) == ("a", "wait")
    assert journal.started == ["wait"]


async def test_id_may_be_used_again_after_its_answer(autojump_clock: Any) -> None:
    async with connected(make_suite()) as peer:
        for text in ("one", "two", "three"):
            await peer.send(call(1, "echo", text=text))
            assert (await peer.receive())["result"]["content"][0]["text"] == text


async def test_id_of_a_cancelled_call_may_be_used_while_that_cleans_up(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal)) as peer:
        await peer.send(call(1, "wait"), cancelled(1), call(1, "echo", text="second"))
        answer = await peer.receive()
        assert answer["result"]["content"][0]["text"] == "second"
        assert journal.cleaned == []
        await trio.sleep(1)
        assert journal.cleaned == ["wait"]
        assert await peer.end() == []


# -- cancellation ------------------------------------------------------------------


async def test_cancelled_call_cleans_up_and_writes_nothing_more(
    autojump_clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal()
    caplog.set_level(logging.INFO, "genmcp.transport")
    async with connected(make_suite(journal)) as peer:
        await peer.send(call(1, "wait", meta=PROGRESS))
        await sync(peer)
        await peer.send(cancelled(1, reason="changed\nmy mind"))
        await trio.sleep(10)
        assert journal.cleaned == ["wait"]
        assert await peer.end() == []
    assert r"request 1 is cancelled: changed\nmy mind" in caplog.text


async def test_cancelling_a_call_that_talks_stops_it_at_once(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal), lockstep=True) as peer:
        await peer.send(call(1, "chatter", meta=PROGRESS))
        assert [(await peer.receive())["params"]["progress"] for _ in range(3)] == [1, 2, 3]
        await sync(peer)
        await peer.send(cancelled(1))
        await sync(peer)
        assert journal.cleaned == ["chatter"]
        assert await peer.end() == []


async def test_answer_that_waits_to_be_written_can_be_cancelled(autojump_clock: Any) -> None:
    async with connected(make_suite(), lockstep=True) as peer:
        await peer.send(call(1, "echo", text="a"), call(2, "echo", text="b"))
        await sync(peer)
        await peer.send(cancelled(1))
        await sync(peer)
        assert ids([await peer.receive()]) == [2]
        assert await peer.end() == []


@pytest.mark.parametrize(
    "notification",
    [
        pytest.param(cancelled("1"), id="other type"),
        pytest.param(cancelled(2), id="unknown"),
        pytest.param(cancelled(True), id="true"),
        pytest.param(cancelled(1.0), id="fraction"),
        pytest.param(cancelled(None), id="null"),
        pytest.param({"jsonrpc": "2.0", "method": "notifications/cancelled"}, id="no params"),
        pytest.param(cancelled(0), id="finished"),
    ],
)
async def test_cancellation_of_something_else_is_ignored(
    autojump_clock: Any, notification: dict[str, Any]
) -> None:
    journal = Journal()
    async with connected(make_suite(journal)) as peer:
        await peer.send(call(0, "echo", text="finished"), call(1, "wait"))
        assert (await peer.receive())["id"] == 0
        await peer.send(notification)
        await sync(peer)
        journal.release.set()
        assert (await peer.receive())["id"] == 1
        assert await peer.end() == []


# -- subscriptions -----------------------------------------------------------------


async def test_subscription_is_acknowledged_first_and_named_in_all(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal)) as peer:
        await peer.send(listen("s"), listen(5))
        acknowledged = [await peer.receive(), await peer.receive()]
        journal.bus.publish(mcp.ToolListChangedNotification())
        changed = [await peer.receive(), await peer.receive()]
    key = "io.modelcontextprotocol/subscriptionId"
    methods = {m["method"] for m in acknowledged}
    assert methods == {"notifications/subscriptions/acknowledged"}
    for messages in (acknowledged, changed):
        assert {m["params"]["_meta"][key] for m in messages} == {"s", 5}


async def test_client_ends_a_subscription_without_a_word(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal)) as peer:
        await peer.send(listen("s"))
        await peer.receive()
        await peer.send(cancelled("s"))
        await sync(peer)
        journal.bus.publish(mcp.ToolListChangedNotification())
        assert await peer.end() == []


async def test_stopped_server_ends_a_subscription_with_its_result_and_a_cancellation(
    autojump_clock: Any,
) -> None:
    stop = trio.Event()
    async with connected(make_suite(), stop=stop) as peer:
        await peer.send(listen("s"))
        await peer.receive()
        stop.set()
        result, told = await peer.receive_rest()
    assert result["id"] == "s"
    assert result["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "s"
    assert (told["method"], told["params"]) == ("notifications/cancelled", {"requestId": "s"})


# -- what is refused ---------------------------------------------------------------


async def test_bad_lines_are_answered_and_survived(autojump_clock: Any) -> None:
    async with connected(make_suite(), max_body_bytes=300) as peer:
        await peer.send(b"nonsense\r\n", b"\r\n", b"[1]\n", b"x" * 500, b"x" * 500 + b"\n")
        await peer.send(b'{"jsonrpc":"2.0","id":1,"result":{}}\n', call(2, "echo", text="on"))
        messages = [await peer.receive() for _ in range(4)]
        assert await peer.end() == []
    refused = [m for m in messages if "error" in m]
    assert [m["error"]["code"] for m in refused] == [-32700, -32600, -32600]
    assert all("id" not in m for m in refused)
    assert [m["id"] for m in messages if "result" in m] == [2]


async def test_request_that_is_too_long_is_refused_under_its_id(autojump_clock: Any) -> None:
    async with connected(make_suite(), max_body_bytes=300) as peer:
        await peer.send(call("big", "echo", text="x" * 1000))
        refused = await peer.receive()
    assert (refused["id"], refused["error"]["data"]["limit"]) == ("big", 300)


async def test_without_legacy_initialize_is_told_which_version_is_served(
    autojump_clock: Any,
) -> None:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}}
    async with connected(make_suite(), legacy=False) as peer:
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        await peer.send(message)
        answer = await peer.receive()
    assert (answer["id"], answer["error"]["code"]) == (0, -32022)
    assert answer["error"]["data"]["supported"] == ["2026-07-28"]


async def test_more_calls_than_allowed_are_refused(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal), max_calls=2) as peer:
        await peer.send(call(1, "wait"), call(2, "wait"), call(3, "echo", text="x"))
        refused = await peer.receive()
        assert (refused["id"], refused["error"]["data"]["setting"]) == (3, "max_calls")
        await peer.send(cancelled(1))
        await trio.sleep(1)
        await peer.send(call(4, "echo", text="x"))
        assert (await peer.receive())["id"] == 4


async def test_observers_hear_of_calls_and_refusals(autojump_clock: Any) -> None:
    recorder = Recorder()
    async with connected(make_suite(), observers=[recorder]) as peer:
        await peer.send(call(1, "echo", text="x"), b"nonsense\n", call(2, "wait"))
        await sync(peer)
        await peer.send(cancelled(2))
        await trio.sleep(1)
    assert sorted(str(ended.outcome) for ended in recorder.ends) == ["cancelled", "ok"]
    assert [refused.reason.value for refused in recorder.refusals] == ["parse"]


# -- a client that does not read ---------------------------------------------------


async def test_client_that_does_not_read_can_still_cancel(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal), lockstep=True) as peer:
        await peer.send(*(call(n, "chatter", meta=PROGRESS) for n in range(20)))
        await sync(peer)
        await peer.send(*(cancelled(n) for n in range(20)), call("after", "echo", text="x"))
        await sync(peer)
        assert journal.cleaned == ["chatter"] * 20
        assert (await peer.receive())["id"] == "after"


async def test_client_that_does_not_read_cannot_delay_the_end(autojump_clock: Any) -> None:
    journal = Journal()
    async with connected(make_suite(journal), lockstep=True) as peer:
        await peer.send(call(1, "chatter", meta=PROGRESS), call(2, "wait"))
        await sync(peer)
        before = trio.current_time()
        await peer.stdin.aclose()
        await peer.ended.wait()
        assert trio.current_time() - before < 5
    assert sorted(journal.cleaned) == ["chatter", "wait"]


async def test_refusals_that_nobody_reads_stop_the_reading(autojump_clock: Any) -> None:
    async with connected(make_suite(), lockstep=True) as peer:
        many = MOST_WAITING + 50
        await peer.send(b"x\n" * many)
        await sync(peer)
        # None is lost where the client reads after all.
        for _ in range(many):
            assert (await peer.receive())["error"]["code"] == -32700
        await peer.send(call(1, "echo", text="x"))
        assert (await peer.receive())["id"] == 1


async def test_client_that_never_reads_its_refusals_is_given_up(autojump_clock: Any) -> None:
    async with connected(make_suite(), lockstep=True) as peer:
        before = trio.current_time()
        await peer.send(b"x\n" * (MOST_WAITING + 50))
        await peer.ended.wait()
        # And nobody waits for it to read its last lines.
        assert 29 < trio.current_time() - before < 31


# -- options -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"grace_seconds": -1}, ValueError, "grace_seconds"),
        ({"max_calls": 0}, ValueError, "max_calls"),
        ({"body_timeout_seconds": 3}, TypeError, "body_timeout_seconds"),
        ({"keepalive_seconds": 3}, TypeError, "keepalive_seconds"),
        ({"max_call": 3}, TypeError, r"serve_stdio\(\) .*'max_call'; did you mean max_calls\?"),
        ({"stdin": object()}, TypeError, "stdout"),
        ({"stdout": object()}, TypeError, "stdin"),
    ],
)
async def test_options_that_make_no_sense(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        await serve_stdio(make_suite(), **options)


async def test_what_is_no_server_is_refused() -> None:
    nothing: Any = "app:suite"
    with pytest.raises(TypeError, match="takes a Server"):
        await serve_stdio(nothing)
