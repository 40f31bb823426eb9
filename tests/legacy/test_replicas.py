"""Two applications with one key: what goes over by itself, and what needs a shared store.

Here they are in one process, and know nothing of each other; `tests.e2e.test_replicas` has
two processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio
import trio.testing

from genmcp import MemoryReplayStore, MemorySessionStore
from tests.legacy.client import ASKABLE, LegacyClient, messages, read_events
from tests.legacy.server import Served
from tests.legacy.shared_stores import SharedReplayStore, SharedSessionStore

if TYPE_CHECKING:
    from genmcp import StreamableHTTP
    from tests.transport.asgi_server import Connection

WORK = {"name": "work"}


@attrs.define
class Replica:
    """One of the two: its server, and the client's way to it."""

    served: Served
    app: StreamableHTTP
    client: LegacyClient


async def open_two(*, shared: bool) -> tuple[Replica, Replica]:
    """Open a session at the first, and take it to the second."""
    sessions, streams = MemorySessionStore(), MemoryReplayStore()
    replicas: list[Replica] = []
    for _ in range(2):
        served = Served()
        stores: dict[str, Any] = {
            "session_store": SharedSessionStore(sessions),
            "replay_store": SharedReplayStore(streams),
        }
        app = served.make_app(**(stores if shared else {}))
        replicas.append(Replica(served, app, LegacyClient(app)))
    first, second = replicas
    await first.client.open(ASKABLE)
    second.client.session_id = first.client.session_id
    second.client.ids = 1_000
    return first, second


async def settle() -> None:
    """Let the stores take their time, and everything that follows from it."""
    await trio.sleep(1)


def call(client: LegacyClient, tool: str) -> Connection:
    return client.connect(client.request("tools/call", {"name": tool}))


def text_of(connection: Connection) -> str:
    text: str = messages(connection)[-1]["result"]["content"][0]["text"]
    return text


def name_of(name: str) -> Any:
    return {"action": "accept", "content": {"name": name}}


async def level_at(replica: Replica) -> str:
    told = await replica.client.result("tools/call", {"name": "who"})
    level: str = told["structuredContent"]["level"]
    return level


# -- with the key alone ----------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
async def test_all_that_needs_no_memory_goes_on_at_the_other(
    shared: bool, autojump_clock: trio.testing.MockClock
) -> None:
    _, second = await open_two(shared=shared)
    client = second.client
    assert await client.result("ping") == {}
    assert (await client.result("tools/list"))["tools"]
    assert (await client.result("prompts/list"))["prompts"]
    page = await client.result("resources/list")
    more = await client.result("resources/list", {"cursor": page["nextCursor"]})
    assert [item["name"] for item in page["resources"] + more["resources"]] == ["A", "B"]
    assert (await client.result("resources/read", {"uri": "note:a"}))["contents"]
    greeting = {"name": "greeting", "arguments": {"who": "you"}}
    assert (await client.result("prompts/get", greeting))["messages"]
    who = (await client.result("tools/call", {"name": "who"}))["structuredContent"]
    assert who["client"] == "old"


async def test_a_cursor_of_one_is_good_at_the_other(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=False)
    page = await first.client.result("resources/list")
    more = await second.client.result("resources/list", {"cursor": page["nextCursor"]})
    assert [item["name"] for item in more["resources"]] == ["B"]


async def test_a_question_is_asked_and_answered_where_the_call_is(
    autojump_clock: trio.testing.MockClock,
) -> None:
    _, second = await open_two(shared=False)
    client = second.client
    async with client.running(call(client, "greet")) as connection:
        for name in ("Ada", "Lovelace"):
            await settle()
            await client.answer(messages(connection)[-1]["id"], result=name_of(name))
    assert text_of(connection) == "Ada Lovelace (2)"


async def test_an_answer_to_a_question_of_the_other_is_refused_with_words(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=False)
    async with first.client.running(call(first.client, "greet")) as connection:
        question = messages(connection)[-1]["id"]
        answer = {"jsonrpc": "2.0", "id": question, "result": name_of("Ada")}
        refused = await second.client.post(answer)
        assert (refused.status, refused.json["error"]["code"]) == (400, -32600)
        assert "another process" in refused.json["error"]["message"]
        assert "session_store" in refused.json["error"]["message"]
        # It is still asked, and can be answered where it was.
        for name in ("Ada", "Lovelace"):
            await first.client.answer(messages(connection)[-1]["id"], result=name_of(name))
            await settle()
    assert text_of(connection) == "Ada Lovelace (2)"


async def test_an_answer_that_comes_late_is_still_taken_and_ignored(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, _ = await open_two(shared=False)
    async with first.client.running(call(first.client, "greet")) as connection:
        question = messages(connection)[-1]["id"]
        await first.client.notify("notifications/cancelled", {"requestId": first.client.ids})
    await first.client.answer(question, result=name_of("Ada"))


async def test_a_stream_of_the_other_is_refused_with_words(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=False)
    first.served.work.finish.set()
    done = await first.client.post(first.client.request("tools/call", WORK))
    event_id = (read_events(done.body)[0].id or "").encode()
    refused = await second.client.verb("GET", last_event_id=event_id)
    assert (refused.status, refused.json["error"]["code"]) == (400, -32600)
    assert "another process" in refused.json["error"]["message"]
    assert "replay_store" in refused.json["error"]["message"]
    replayed = await first.client.verb("GET", last_event_id=event_id)
    assert replayed.status == 200


async def test_a_session_that_ended_at_one_is_served_by_the_other(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=False)
    async with second.client.running(call(second.client, "wait")) as connection:
        assert (await first.client.verb("DELETE")).status == 204
        assert (await first.client.post(first.client.request("ping"))).status == 404
        assert await second.client.result("ping") == {}
        second.served.wait.finish.set()
    assert text_of(connection) == "waited"


async def test_a_log_level_is_that_of_the_process_it_was_set_at(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=False)
    await first.client.result("logging/setLevel", {"level": "error"})
    assert (await level_at(first), await level_at(second)) == ("error", "info")


async def test_watched_resources_are_told_of_by_the_process_they_are_watched_at(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=False)
    await first.client.result("resources/subscribe", {"uri": "note:a"})
    here, there = first.client.stream(), second.client.stream()
    async with first.client.running(here), second.client.running(there):
        for replica in (first, second):
            replica.served.bus.resource_updated("note:a")
            replica.served.bus.tools_changed()
        await settle()
        here.disconnect()
        there.disconnect()
    methods = [[message["method"] for message in messages(stream)] for stream in (here, there)]
    assert methods == [
        ["notifications/resources/updated", "notifications/tools/list_changed"],
        ["notifications/tools/list_changed"],
    ]


async def test_a_cancellation_at_the_other_does_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=False)
    async with first.client.running(call(first.client, "work")) as connection:
        cancel = {"requestId": first.client.ids}
        assert await second.client.notify("notifications/cancelled", cancel) == 202
        await settle()
        assert first.served.work.cancelled == 0
        first.served.work.finish.set()
    assert text_of(connection) == "finished"


# -- with shared stores ----------------------------------------------------------


async def test_the_answer_finds_the_call_that_asked(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    async with first.client.running(call(first.client, "greet")) as connection:
        for name in ("Ada", "Lovelace"):
            await settle()
            await second.client.answer(messages(connection)[-1]["id"], result=name_of(name))
    assert text_of(connection) == "Ada Lovelace (2)"


async def test_a_cancellation_finds_the_call_it_means(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    async with first.client.running(call(first.client, "work")):
        await settle()
        cancel = {"requestId": first.client.ids}
        assert await second.client.notify("notifications/cancelled", cancel) == 202
    assert first.served.work.cancelled == 1


async def test_a_session_that_ended_has_ended_everywhere(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    stream = first.client.stream()
    async with first.client.running(stream), first.client.running(call(first.client, "work")):
        await settle()
        assert stream.status == 200
        assert (await second.client.verb("DELETE")).status == 204
    assert stream.complete
    assert first.served.work.cancelled == 1
    for replica in (first, second):
        assert (await replica.client.post(replica.client.request("ping"))).status == 404
        assert (await replica.client.verb("GET")).status == 404
        assert (await replica.client.verb("DELETE")).status == 404


async def test_a_log_level_is_the_sessions(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    await first.client.result("logging/setLevel", {"level": "error"})
    assert await level_at(second) == "error"


async def test_changes_at_the_same_time_do_not_undo_each_other(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    async with trio.open_nursery() as nursery:
        level = {"level": "error"}
        nursery.start_soon(first.client.result, "logging/setLevel", level)
        for replica, uri in ((first, "note:a"), (second, "note:b")):
            request = replica.client.request("resources/subscribe", {"uri": uri})
            nursery.start_soon(replica.client.post, request)
    assert await level_at(second) == "error"
    async with first.client.running(first.client.stream()) as stream:
        await settle()
        for uri in ("note:a", "note:b"):
            first.served.bus.resource_updated(uri)
        await settle()
        stream.disconnect()
    assert [message["params"]["uri"] for message in messages(stream)] == ["note:a", "note:b"]


async def test_a_stream_tells_of_what_is_watched_from_elsewhere(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    async with first.client.running(first.client.stream()) as stream:
        await settle()
        await second.client.result("resources/subscribe", {"uri": "note:a"})
        await settle()
        first.served.bus.resource_updated("note:a")
        await settle()
        await second.client.result("resources/unsubscribe", {"uri": "note:a"})
        await settle()
        first.served.bus.resource_updated("note:a")
        await settle()
        stream.disconnect()
    assert len(messages(stream)) == 1


async def test_a_session_has_one_stream_wherever_it_is(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    before, after = first.client.stream(), second.client.stream()
    async with first.client.running(before):
        await settle()
        async with second.client.running(after):
            await settle()
            assert (before.complete, after.complete) == (True, False)
            after.disconnect()


async def test_of_two_streams_at_once_one_stays(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    streams = [first.client.stream(), second.client.stream()]
    async with first.client.running(streams[0]), second.client.running(streams[1]):
        await settle()
        assert [stream.complete for stream in streams].count(True) == 1
        for stream in streams:
            stream.disconnect()


async def test_a_client_comes_back_to_whichever(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    async with first.client.running(call(first.client, "work")) as connection:
        await settle()
        seen = read_events(connection.body)
        connection.disconnect()
        last = (seen[0].id or "").encode()
        async with second.client.running(second.client.stream(last_event_id=last)) as again:
            await settle()
            assert read_events(again.body) == seen[1:]
            # As long as somebody reads, nobody gives the call up.
            await trio.sleep(1_000)
            assert first.served.work.cancelled == 0
            first.served.work.finish.set()
    assert again.complete
    assert text_of(again) == "finished"
    assert read_events(connection.body) == seen


async def test_who_comes_back_elsewhere_takes_the_stream_from_the_old_connection(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    async with first.client.running(call(first.client, "work")) as connection:
        await settle()
        last = (read_events(connection.body)[-1].id or "").encode()
        async with second.client.running(second.client.stream(last_event_id=last)) as again:
            await settle()
            first.served.work.finish.set()
    assert text_of(again) == "finished"
    assert len(read_events(connection.body)) == 2


async def test_who_came_back_may_leave_and_come_back_once_more(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    async with first.client.running(call(first.client, "work")) as connection:
        await settle()
        last = (read_events(connection.body)[-1].id or "").encode()
        connection.disconnect()
        async with second.client.running(second.client.stream(last_event_id=last)) as again:
            await settle()
            again.disconnect()
        async with first.client.running(first.client.stream(last_event_id=last)) as once_more:
            await settle()
            first.served.work.finish.set()
    assert read_events(again.body) == []
    assert text_of(once_more) == "finished"


async def test_who_came_back_and_left_for_good_is_given_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    async with first.client.running(call(first.client, "work")) as connection:
        await settle()
        last = (read_events(connection.body)[-1].id or "").encode()
        connection.disconnect()
        async with second.client.running(second.client.stream(last_event_id=last)) as again:
            await trio.sleep(1_000)
            again.disconnect()
    assert first.served.work.cancelled == 1
    assert 1_500 < trio.current_time() < 1_700


async def test_the_end_of_a_session_ends_what_is_read_elsewhere(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    async with first.client.running(call(first.client, "work")) as connection:
        await settle()
        last = (read_events(connection.body)[-1].id or "").encode()
        connection.disconnect()
        async with second.client.running(second.client.stream(last_event_id=last)) as again:
            await settle()
            assert (await first.client.verb("DELETE")).status == 204
    assert again.complete
    assert first.served.work.cancelled == 1


async def test_of_two_who_come_back_at_once_one_stays(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    async with first.client.running(call(first.client, "work")) as connection:
        await settle()
        last = (read_events(connection.body)[-1].id or "").encode()
        again = [one.client.stream(last_event_id=last) for one in (first, second)]
        async with first.client.running(again[0]), second.client.running(again[1]):
            await settle()
            assert [stream.complete for stream in again].count(True) == 1
            first.served.work.finish.set()
    assert sorted(len(read_events(stream.body)) for stream in again) == [0, 1]


async def test_a_question_is_answered_by_who_came_back_elsewhere(
    autojump_clock: trio.testing.MockClock,
) -> None:
    first, second = await open_two(shared=True)
    async with first.client.running(call(first.client, "greet")) as connection:
        await settle()
        primed = (read_events(connection.body)[0].id or "").encode()
        connection.disconnect()
        async with second.client.running(second.client.stream(last_event_id=primed)) as again:
            for name in ("Ada", "Lovelace"):
                await settle()
                question = messages(again)[-1]["id"]
                await second.client.answer(question, result=name_of(name))
    assert text_of(again) == "Ada Lovelace (2)"
