"""Clients of 2025 on a pipe: the session, what it is served, and both eras side by side."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from genmcp import EventBus, EventSubscriptions, Suite, Tool, mcp
from genmcp.transport.stdio.refusals import MOST_WAITING
from tests.legacy.client import JUNE, NOVEMBER
from tests.legacy.server import Lists, Notes, Served
from tests.telemetry.recording import Recorder
from tests.transport.stdio.legacy_peer import (
    LegacyPeer,
    call,
    handshake,
    notification,
    request,
    session,
    text_of,
)
from tests.transport.stdio.peer import connected
from tests.transport.stdio.peer import request as modern
from tests.transport.stdio.served import Journal, make_suite

LIST_CHANGED = "notifications/tools/list_changed"


def updated(uri: str) -> mcp.ResourceUpdatedNotification:
    params = mcp.ResourceUpdatedNotificationParams(uri=uri)
    return mcp.ResourceUpdatedNotification(params=params)


# -- the handshake -----------------------------------------------------------------


@pytest.mark.parametrize("version", [NOVEMBER, JUNE])
async def test_a_session_is_opened_in_the_version_asked_for(
    autojump_clock: Any, version: str
) -> None:
    async with connected(Served().make_suite()) as peer:
        assert await LegacyPeer(peer).open(version) == {
            "protocolVersion": version,
            "capabilities": {
                "completions": {},
                "logging": {},
                "prompts": {"listChanged": True},
                "resources": {"listChanged": True, "subscribe": True},
                "tools": {"listChanged": True},
            },
            "serverInfo": {"name": "both", "version": "1"},
            "instructions": "Ask.",
        }


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2026-07-28", "2099-01-01", ""])
async def test_other_versions_are_answered_with_the_newest_of_2025(
    autojump_clock: Any, version: str
) -> None:
    async with connected(Served().make_suite()) as peer:
        assert (await LegacyPeer(peer).open(version))["protocolVersion"] == NOVEMBER


@pytest.mark.parametrize(
    "change", [{"protocolVersion": None}, {"capabilities": 1}, {"clientInfo": {}}]
)
async def test_a_handshake_that_lacks_something_opens_nothing(
    autojump_clock: Any, change: dict[str, Any]
) -> None:
    async with connected(Served().make_suite()) as peer:
        await peer.send(handshake(**change))
        refused = await peer.receive()
        assert (refused["id"], refused["error"]["code"]) == (0, -32602)
        assert (await LegacyPeer(peer).ask("tools/list"))["error"]["code"] == -32602
        # It may try again.
        assert (await LegacyPeer(peer).open())["protocolVersion"] == NOVEMBER


async def test_before_the_handshake_only_a_ping_is_answered(autojump_clock: Any) -> None:
    recorder = Recorder()
    async with connected(Served().make_suite(), observers=[recorder]) as peer:
        client = LegacyPeer(peer)
        assert await client.result("ping") == {}
        for method in ("tools/list", "tools/call", "logging/setLevel", "resources/subscribe", "x"):
            error = (await client.ask(method, _meta={"progressToken": 1}))["error"]
            assert error["code"] == -32602
            # Whichever era it is of, it can read what it has forgotten.
            assert "protocolVersion" in error["message"]
            assert "initialize" in error["message"]
        await peer.send(notification("initialized"), notification("roots/list_changed"))
        assert await peer.end() == []
    assert {refused.reason.value for refused in recorder.refusals} == {"meta"}


async def test_what_comes_with_the_handshake_belongs_to_the_session(autojump_clock: Any) -> None:
    async with connected(Served().make_suite()) as peer:
        await peer.send(handshake(JUNE), notification("initialized"), call(1, "who"))
        messages = {message["id"]: message for message in await peer.end()}
    assert messages[0]["result"]["protocolVersion"] == JUNE
    assert messages[1]["result"]["structuredContent"]["version"] == JUNE


async def test_a_second_handshake_begins_the_session_anew(autojump_clock: Any) -> None:
    served = Served()
    async with session(served.make_suite()) as client:
        await client.result("logging/setLevel", level="error")
        await client.result("resources/subscribe", uri="note:a")
        await client.peer.send(call(1, "wait"))
        assert (await client.open(JUNE))["protocolVersion"] == JUNE
        who = (await client.result("tools/call", name="who"))["structuredContent"]
        assert (who["version"], who["level"]) == (JUNE, "info")
        served.bus.publish(updated("note:a"))
        served.bus.publish(mcp.ToolListChangedNotification())
        # Told once, to the new session, and nothing that only the old one watched.
        assert (await client.peer.receive())["method"] == LIST_CHANGED
        served.wait.finish.set()
        assert text_of(await client.peer.receive()) == "waited"
        assert await client.peer.end() == []


async def test_without_legacy_nothing_of_2025_is_there(autojump_clock: Any) -> None:
    async with connected(Served().make_suite(), legacy=False) as peer:
        client = LegacyPeer(peer)
        assert (await client.ask("ping"))["error"]["code"] == -32602
        assert (await client.ask("initialize"))["error"]["code"] == -32022
        assert (await client.ask("tools/list"))["error"]["code"] == -32602


# -- what is served ----------------------------------------------------------------


@pytest.mark.parametrize("version", [NOVEMBER, JUNE])
async def test_all_that_2025_has_is_served(autojump_clock: Any, version: str) -> None:
    async with session(Served().make_suite(), version) as client:
        result = client.result
        first = await result("tools/list")
        assert [tool["name"] for tool in first["tools"]] == ["greet"]
        second = await result("tools/list", cursor=first["nextCursor"])
        assert [tool["name"] for tool in second["tools"]] == ["ask_all"]
        assert (await result("resources/list"))["resources"] == [{"uri": "note:a", "name": "A"}]
        assert await result("resources/templates/list") == {"resourceTemplates": []}
        read = await result("resources/read", uri="note:a")
        assert [entry["text"] for entry in read["contents"]] == ["note"]
        assert [prompt["name"] for prompt in (await result("prompts/list"))["prompts"]] == [
            "greeting"
        ]
        got = await result("prompts/get", name="greeting", arguments={"who": "Ada"})
        assert got["messages"][0]["content"]["text"] == "Hello, Ada"
        reference = {"type": "ref/prompt", "name": "greeting"}
        completed = await result(
            "completion/complete", ref=reference, argument={"name": "who", "value": "a"}
        )
        assert completed["completion"]["values"] == ["ada", "eve"]
        who = await result("tools/call", name="who")
        assert who["structuredContent"] == {
            "version": version,
            "client": "old",
            "level": "info",
            "principal": None,
        }
        for answered in (first, read, got, completed, who):
            assert not {"resultType", "ttlMs", "cacheScope", "_meta"} & set(answered)


async def test_errors_have_the_codes_of_2025(autojump_clock: Any) -> None:
    async with session(Served().make_suite()) as client:
        table: list[tuple[str, dict[str, Any], int]] = [
            ("resources/read", {"uri": "note:none"}, -32002),
            ("tools/call", {"name": "none"}, -32602),
            ("tools/call", {"name": "who", "arguments": []}, -32602),
            ("tools/call", {}, -32602),
            ("tools/list", {"cursor": "forged"}, -32602),
            ("logging/setLevel", {"level": "loud"}, -32602),
            ("resources/subscribe", {}, -32602),
            ("no/such", {}, -32601),
            ("server/discover", {}, -32601),
            ("subscriptions/listen", {"notifications": {}}, -32601),
            ("tools/call", {"name": "crash"}, -32603),
        ]
        for method, params, code in table:
            response = await client.ask(method, **params)
            assert response["error"]["code"] == code, method
            assert "secret" not in json.dumps(response)


async def test_a_list_is_an_object_for_2025(autojump_clock: Any) -> None:
    async with session(Served().make_suite()) as client:
        listed = await client.result("tools/call", name="lists")
    assert listed["structuredContent"] == {"result": [1, 2]}


async def test_handlers_find_assigns_and_scopes_are_not_asked_for(autojump_clock: Any) -> None:
    class Guarded(Tool, name="guarded", description="Needs a scope.", required_scopes=["x"]):
        async def call(self, request: Any, channel: Any) -> str:
            return f"{channel.assigns['user']} {channel.principal}"

    suite = Suite(server_name="s", server_version="1", tools=[Guarded])
    async with session(suite, assigns={"user": "ada"}) as client:
        await client.peer.send(call(1, "guarded"))
        assert text_of(await client.peer.receive()) == "ada None"


async def test_progress_and_logs_come_before_the_answer(autojump_clock: Any) -> None:
    served = Served()
    served.work.finish.set()
    async with session(served.make_suite()) as client:
        await client.peer.send(call(1, "work", token="p"))
        messages = [await client.peer.receive() for _ in range(4)]
    methods = ["notifications/progress", "notifications/message", "notifications/progress"]
    assert [message.get("method") for message in messages] == [*methods, None]
    assert [messages[index]["params"]["progress"] for index in (0, 2)] == [1, 2]
    assert {messages[index]["params"]["progressToken"] for index in (0, 2)} == {"p"}
    assert messages[1]["params"] == {"level": "info", "data": "working"}
    assert text_of(messages[3]) == "finished"


@pytest.mark.parametrize(
    ("level", "heard"), [("debug", ["working", "thinking"]), ("error", []), ("info", ["working"])]
)
async def test_the_log_level_is_honoured_from_its_line_on(
    autojump_clock: Any, level: str, heard: list[str]
) -> None:
    served = Served()
    served.work.finish.set()
    async with session(served.make_suite()) as client:
        # In one go: the level counts for what comes after it, not only once it is answered.
        await client.peer.send(request(1, "logging/setLevel", level=level), call(2, "work"))
        messages = [await client.peer.receive() for _ in range(2 + len(heard))]
    logs = [message["params"]["data"] for message in messages if "method" in message]
    assert logs == heard
    assert {message["id"]: message["result"] for message in messages if "id" in message}[1] == {}


# -- changes -----------------------------------------------------------------------


async def test_changes_of_lists_are_told_unasked(autojump_clock: Any) -> None:
    served = Served()
    async with session(served.make_suite()) as client:
        await wait_all_tasks_blocked()
        served.bus.publish(mcp.ToolListChangedNotification())
        assert await client.peer.receive() == {"jsonrpc": "2.0", "method": LIST_CHANGED}
        served.bus.publish(updated("note:a"))
        assert await client.peer.end() == []


async def test_watched_resources_are_told_of_from_the_answer_on_and_until_they_are_not(
    autojump_clock: Any,
) -> None:
    served = Served()
    async with session(served.make_suite()) as client:
        for uri in ("note:a", "note:b"):
            assert await client.result("resources/subscribe", uri=uri) == {}
            # Not a moment later: whoever has the answer is told of everything.
            served.bus.publish(updated(uri))
            told = await client.peer.receive()
            assert told["method"] == "notifications/resources/updated"
            assert told["params"] == {"uri": uri}
        assert await client.result("resources/subscribe", uri="note:a") == {}
        assert await client.result("resources/unsubscribe", uri="note:a") == {}
        assert await client.result("resources/unsubscribe", uri="note:a") == {}
        for uri in ("note:a", "note:b"):
            served.bus.publish(updated(uri))
        assert (await client.peer.receive())["params"] == {"uri": "note:b"}
        assert await client.peer.end() == []


async def test_nothing_is_told_before_the_client_has_had_its_handshake(autojump_clock: Any) -> None:
    served = Served()
    async with connected(served.make_suite()) as peer:
        await peer.send(handshake())
        assert (await peer.receive())["id"] == 0
        await wait_all_tasks_blocked()
        served.bus.publish(mcp.ToolListChangedNotification())
        await peer.send(request(1, "ping"))
        assert (await peer.receive())["id"] == 1
        await peer.send(notification("initialized"))
        await wait_all_tasks_blocked()
        served.bus.publish(mcp.ToolListChangedNotification())
        assert (await peer.receive())["method"] == LIST_CHANGED
        assert await peer.end() == []


async def test_a_client_that_forgets_to_say_it_is_initialized_hears_of_changes_too(
    autojump_clock: Any,
) -> None:
    served = Served()
    async with connected(served.make_suite()) as peer:
        await peer.send(handshake())
        await peer.receive()
        assert await LegacyPeer(peer).result("resources/subscribe", uri="note:a") == {}
        served.bus.publish(updated("note:a"))
        assert (await peer.receive())["params"] == {"uri": "note:a"}


async def test_subscribing_is_not_there_without_a_handler(autojump_clock: Any) -> None:
    suite = Suite(server_name="s", server_version="1", tools=[Lists])
    async with connected(suite) as peer:
        client = LegacyPeer(peer)
        assert (await client.open())["capabilities"] == {"logging": {}, "tools": {}}
        assert (await client.ask("resources/subscribe", uri="a:b"))["error"]["code"] == -32601


async def test_a_session_watches_no_more_than_a_thousand_resources(autojump_clock: Any) -> None:
    async with session(Served().make_suite()) as client:
        for number in range(1_000):
            assert await client.result("resources/subscribe", uri=f"note:{number}") == {}
        more = await client.ask("resources/subscribe", uri="note:more")
        assert more["error"]["code"] == -32602


class Ending(EventSubscriptions):
    """Ends the listening at the first change it hears of; by a failure, or in good order."""

    def __init__(self, bus: EventBus, *, fails: bool) -> None:
        super().__init__(bus)
        self.fails = fails
        self.begun = 0

    async def subscribe(self, wanted: Any, channel: Any) -> Any:
        self.begun += 1
        return await super().subscribe(wanted, channel)

    async def handle_message(self, message: Any, channel: Any, state: Any) -> Any:
        if self.begun > 1:
            return await super().handle_message(message, channel, state)
        if self.fails:
            raise RuntimeError("broken")
        channel.close()
        return state


@pytest.mark.parametrize("fails", [True, False])
async def test_listening_that_the_handler_ends_is_begun_again(
    autojump_clock: Any, *, fails: bool
) -> None:
    bus = EventBus()
    handler = Ending(bus, fails=fails)
    suite = Suite(server_name="s", server_version="1", tools=[Lists], subscription_handler=handler)
    async with session(suite) as client:
        await wait_all_tasks_blocked()
        bus.publish(mcp.ToolListChangedNotification())
        await trio.sleep(5)
        assert handler.begun == 2
        bus.publish(mcp.ToolListChangedNotification())
        assert (await client.peer.receive())["method"] == LIST_CHANGED
        assert await client.peer.end() == []


async def test_a_handler_that_always_fails_is_tried_less_and_less(autojump_clock: Any) -> None:
    class Failing(EventSubscriptions):
        tries = 0

        async def subscribe(self, wanted: Any, channel: Any) -> Any:
            Failing.tries += 1
            raise RuntimeError("broken")

    suite = Suite(
        server_name="s",
        server_version="1",
        resources=[],
        tools=[Lists],
        subscription_handler=Failing(EventBus()),
    )
    async with session(suite) as client:
        await trio.sleep(200)
        assert 7 < Failing.tries < 10
        assert await client.result("ping") == {}


async def test_a_cancelled_subscribe_is_not_answered_and_holds_nothing(autojump_clock: Any) -> None:
    class Slow(EventSubscriptions):
        async def subscribe(self, wanted: Any, channel: Any) -> Any:
            await trio.sleep(0.5)
            return await super().subscribe(wanted, channel)

    served = Served()
    suite = Suite(
        server_name="s",
        server_version="1",
        resources=[Notes],
        subscription_handler=Slow(served.bus),
    )
    async with session(suite, max_calls=2) as client:
        await client.peer.send(request(1, "resources/subscribe", uri="note:a"))
        await wait_all_tasks_blocked()
        await client.peer.send(notification("cancelled", requestId=1))
        await trio.sleep(5)
        assert (await client.result("resources/list"))["resources"]
        served.bus.publish(updated("note:a"))
        assert (await client.peer.receive())["params"] == {"uri": "note:a"}
        assert await client.peer.end() == []


async def test_end_of_input_is_not_put_off_by_the_listening(autojump_clock: Any) -> None:
    async with session(Served().make_suite()) as client:
        await wait_all_tasks_blocked()
        before = trio.current_time()
        assert await client.peer.end() == []
        assert trio.current_time() - before < 0.05


# -- both eras on one pipe ---------------------------------------------------------


async def test_both_eras_are_served_side_by_side(autojump_clock: Any) -> None:
    served = Served()
    async with session(served.make_suite()) as client:
        peer = client.peer
        for _ in range(2):
            about = {"io.modelcontextprotocol/clientInfo": {"name": "new", "version": "1"}}
            await peer.send(modern(1, name="who", meta=about))
            today = (await peer.receive())["result"]
            assert today["structuredContent"]["version"] == "2026-07-28"
            assert today["resultType"] == "complete"
            before = await client.result("tools/call", name="who")
            assert before["structuredContent"]["version"] == NOVEMBER
            assert "resultType" not in before
        for method in ("ping", "initialize", "logging/setLevel", "resources/subscribe"):
            await peer.send(modern(2, method))
            assert (await peer.receive())["error"]["code"] == -32601
        await peer.send(modern(3, "tools/list", meta={"progressToken": 1}))
        assert "ttlMs" in (await peer.receive())["result"]


async def test_each_era_hears_of_changes_in_its_way(autojump_clock: Any) -> None:
    served = Served()
    async with session(served.make_suite()) as client:
        wanted = {"toolsListChanged": True}
        await client.peer.send(modern("s", "subscriptions/listen", notifications=wanted))
        acknowledged = await client.peer.receive()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        await wait_all_tasks_blocked()
        served.bus.publish(mcp.ToolListChangedNotification())
        told = [await client.peer.receive(), await client.peer.receive()]
        assert {message["method"] for message in told} == {LIST_CHANGED}
        assert [("params" in message) for message in told].count(True) == 1
        assert await client.peer.end() == []


async def test_both_eras_share_the_ids(autojump_clock: Any) -> None:
    journal = Journal()
    async with session(make_suite(journal)) as client:
        peer = client.peer
        await peer.send(call(1, "wait"), modern(1, name="echo", arguments={"text": "x"}))
        refused = await peer.receive()
        assert (refused["id"], refused["error"]["code"]) == (1, -32600)
        await peer.send(modern("1", name="wait"), call("1", "wait"), call("1", "echo", text="x"))
        for _ in range(2):
            refused = await peer.receive()
            assert (refused["id"], refused["error"]["code"]) == ("1", -32600)
        await peer.send(notification("cancelled", requestId=1))
        await trio.sleep(1)
        assert len(journal.cleaned) == 1
        journal.release.set()
        assert (await peer.receive())["id"] == "1"
        assert await peer.end() == []


async def test_observers_hear_of_requests_of_2025(autojump_clock: Any) -> None:
    recorder = Recorder()
    async with session(Served().make_suite(), observers=[recorder]) as client:
        await client.result("tools/call", name="who")
        assert (await client.ask("no/such"))["error"]["code"] == -32601
    assert [str(ended.outcome) for ended in recorder.ends].count("ok") >= 2
    assert [refused.reason.value for refused in recorder.refusals] == ["method"]


# -- a client that does not read ---------------------------------------------------


async def test_pings_that_nobody_reads_stop_the_reading_and_are_not_lost(
    autojump_clock: Any,
) -> None:
    async with connected(Served().make_suite(), lockstep=True) as peer:
        many = MOST_WAITING + 50
        ping = json.dumps(request("p", "ping")).encode() + b"\n"
        await peer.send(ping * many)
        await wait_all_tasks_blocked()
        for _ in range(many):
            assert await peer.receive() == {"jsonrpc": "2.0", "id": "p", "result": {}}
        assert await LegacyPeer(peer).result("ping") == {}
