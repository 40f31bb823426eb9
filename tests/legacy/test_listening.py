from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import wait_all_tasks_blocked

from genmcp import EventSubscriptions, StreamableHTTP, Suite, mcp
from tests.legacy.client import LegacyClient, messages
from tests.legacy.server import Lists, Notes, Served
from tests.transport.asgi_server import Connection

TOOLS = mcp.ToolListChangedNotification()


def updated(uri: str) -> mcp.ResourceUpdatedNotification:
    params = mcp.ResourceUpdatedNotificationParams(uri=uri)
    return mcp.ResourceUpdatedNotification(params=params)


async def open_client(served: Served, **settings: Any) -> LegacyClient:
    client = LegacyClient(served.make_app(**settings))
    await client.open()
    return client


def heard(connection: Connection) -> list[str]:
    return [
        message["params"]["uri"] if "params" in message else message["method"]
        for message in messages(connection)
    ]


async def test_changes_of_lists_are_told_unasked() -> None:
    served = Served()
    client = await open_client(served)
    async with client.running(client.stream()) as stream:
        assert stream.status == 200
        assert messages(stream) == []
        served.bus.publish(TOOLS)
        served.bus.publish(updated("note:a"))
        await wait_all_tasks_blocked()
        assert heard(stream) == ["notifications/tools/list_changed"]
        assert messages(stream)[0] == {
            "jsonrpc": "2.0",
            "method": "notifications/tools/list_changed",
        }
        stream.disconnect()


async def test_watched_resources_are_told_of_until_they_are_not() -> None:
    served = Served()
    client = await open_client(served)
    assert await client.result("resources/subscribe", {"uri": "note:a"}) == {}
    async with client.running(client.stream()) as stream:
        assert await client.result("resources/subscribe", {"uri": "note:b"}) == {}
        await wait_all_tasks_blocked()
        for uri in ("note:a", "note:b"):
            served.bus.publish(updated(uri))
            await wait_all_tasks_blocked()
        assert heard(stream) == ["note:a", "note:b"]
        assert await client.result("resources/unsubscribe", {"uri": "note:a"}) == {}
        await wait_all_tasks_blocked()
        for uri in ("note:a", "note:b"):
            served.bus.publish(updated(uri))
            await wait_all_tasks_blocked()
        served.bus.publish(TOOLS)
        await wait_all_tasks_blocked()
        assert heard(stream)[2:] == ["note:b", "notifications/tools/list_changed"]
        stream.disconnect()


async def test_sessions_watch_for_themselves() -> None:
    served = Served()
    client = await open_client(served)
    other = LegacyClient(client.app)
    await other.open()
    await client.result("resources/subscribe", {"uri": "note:a"})
    async with other.running(other.stream()) as stream:
        served.bus.publish(updated("note:a"))
        await wait_all_tasks_blocked()
        assert messages(stream) == []
        stream.disconnect()


async def test_a_session_has_one_stream_the_latest() -> None:
    served = Served()
    client = await open_client(served)
    first, second = client.stream(), client.stream()
    async with client.running(first), client.running(second):
        assert first.complete
        served.bus.publish(TOOLS)
        await wait_all_tasks_blocked()
        second.disconnect()
    assert (heard(first), heard(second)) == ([], ["notifications/tools/list_changed"])


class Held(Connection):
    """A connection on which nothing goes out until it is let go."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.may_go = trio.Event()

    async def send(self, message: Any) -> None:
        await self.may_go.wait()
        await super().send(message)


async def test_a_stream_that_is_replaced_while_it_begins_is_a_whole_response() -> None:
    client = await open_client(Served())
    first = Held(b"", client.make_headers(), method="GET")
    second = client.stream()
    async with client.running(first), client.running(second):
        assert first.chunks == []
        first.may_go.set()
        await wait_all_tasks_blocked()
        assert (first.status, first.complete) == (200, True)
        assert (second.status, second.complete) == (200, False)
        second.disconnect()


async def test_the_end_of_a_session_ends_its_stream() -> None:
    client = await open_client(Served())
    async with client.running(client.stream()) as stream:
        await client.verb("DELETE")
    assert stream.complete


async def test_streams_count_and_leave_nothing_behind() -> None:
    served = Served()
    client = await open_client(served, max_streams_per_caller=1)
    other = LegacyClient(client.app)
    await other.open()
    async with client.running(client.stream()) as stream:
        refused = await other.verb("GET")
        assert refused.status == 429
        assert b"retry-after" in refused.headers
        stream.disconnect()
    app: Any = client.app
    assert app.mux.open_calls == 0
    assert app._legacy.store.attached == 0
    async with other.running(other.stream()) as stream:
        assert stream.status == 200
        stream.disconnect()


async def test_a_silent_stream_is_kept_alive_until_the_session_expires(
    autojump_clock: trio.testing.MockClock,
) -> None:
    client = await open_client(Served(), keepalive_seconds=600.0)
    stream = await client.stream().run(client.app)
    assert stream.complete
    assert stream.body.count(b": keep-alive") > 100
    assert 86_000 < trio.current_time() < 87_000


async def test_a_stream_must_be_asked_for() -> None:
    client = await open_client(Served())
    for accept in (None, b"application/json", b"*/*"):
        refused = await client.verb("GET", accept=accept)
        assert refused.status == 405
        assert refused.headers[b"allow"] == b"POST, DELETE"


async def test_a_session_watches_no_more_than_a_thousand_resources() -> None:
    client = await open_client(Served())
    for number in range(1_000):
        await client.result("resources/subscribe", {"uri": f"note:{number}"})
    again = await client.ask("resources/subscribe", {"uri": "note:0"})
    assert again["result"] == {}
    more = await client.ask("resources/subscribe", {"uri": "note:more"})
    assert more["error"]["code"] == -32602
    long = await client.ask("resources/subscribe", {"uri": "note:" + "x" * 3_000})
    assert long["error"]["code"] == -32602


async def test_who_may_have_one_stream_can_still_watch_more() -> None:
    served = Served()
    client = await open_client(served, max_streams_per_caller=1)
    async with client.running(client.stream()) as stream:
        for uri in ("note:a", "note:b"):
            await client.result("resources/subscribe", {"uri": uri})
            await wait_all_tasks_blocked()
        for uri in ("note:a", "note:b"):
            served.bus.publish(updated(uri))
            await wait_all_tasks_blocked()
        assert heard(stream) == ["note:a", "note:b"]
        assert not stream.complete
        stream.disconnect()


async def test_a_handler_that_fails_ends_the_stream(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(EventSubscriptions):
        async def handle_message(self, message: Any, channel: Any, state: Any) -> Any:
            raise RuntimeError("broken")

    served = Served()
    suite = Suite(
        server_name="s",
        server_version="1",
        tools=[Lists],
        subscription_handler=Failing(served.bus),
    )
    client = LegacyClient(StreamableHTTP(suite, secret_key="k" * 32))
    await client.open()
    async with client.running(client.stream()) as stream:
        served.bus.publish(TOOLS)
    assert stream.complete
    assert messages(stream) == []
    assert "broken" in caplog.text


async def test_the_listening_wanted_last_counts_whichever_is_acknowledged_last(
    autojump_clock: trio.testing.MockClock,
) -> None:
    class Slower(EventSubscriptions):
        """Takes the less time the more often it is asked."""

        seconds = 3.0

        async def subscribe(self, wanted: Any, channel: Any) -> Any:
            Slower.seconds -= 1
            await trio.sleep(Slower.seconds)
            return await super().subscribe(wanted, channel)

    served = Served()
    suite = Suite(
        server_name="s",
        server_version="1",
        resources=[Notes],
        subscription_handler=Slower(served.bus),
    )
    client = LegacyClient(StreamableHTTP(suite, secret_key="k" * 32))
    await client.open()
    async with client.running(client.stream()) as stream:
        await client.result("resources/subscribe", {"uri": "note:a"})
        await trio.sleep(10)
        served.bus.publish(updated("note:a"))
        await wait_all_tasks_blocked()
        assert heard(stream) == ["note:a"]
        stream.disconnect()
