"""Listening to an event bus: slow readers, fast publishers, and a thousand streams."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from genmcp import (
    Channel,
    EventBus,
    EventSubscriptions,
    Stream,
    SubscriptionCapabilities,
    Tool,
    mcp,
)
from genmcp.event_bus import read_key
from genmcp.events import Event, Notified
from genmcp.limits import Limits
from genmcp.mux import Mux
from genmcp.testing import Client, RecordingBus, RecordingSink
from tests.suite.listening import (
    RESOURCES,
    TOOLS,
    listening,
    make_suite,
    updated,
)

ACKNOWLEDGED = mcp.SubscriptionsAcknowledgedNotification.method


class Watched(EventSubscriptions):
    """Keeps the outboxes, to see how much waits in them."""

    def __init__(self, bus: EventBus, **options: Any) -> None:
        super().__init__(bus, **options)
        self.outboxes: dict[Any, Any] = {}

    async def subscribe(self, filter: mcp.SubscriptionFilter, channel: Channel, /) -> Any:  # noqa: A002
        accepted = await super().subscribe(filter, channel)
        self.outboxes[channel.request_id] = accepted.state
        return accepted


async def test_client_hears_what_is_published_by_tools_tasks_and_threads() -> None:
    bus = RecordingBus()

    class Save(Tool, name="save", description="Saves."):
        async def call(self, request: Any, channel: Channel) -> str:
            bus.resource_updated("file:///a")
            return "saved"

    suite = make_suite(EventSubscriptions(bus), tools=[Save])
    async with (
        Client(suite) as client,
        client.listen(tools_list_changed=True, resource_subscriptions=["file:///a"]) as heard,
    ):
        await client.call_tool("save")
        assert (await heard.next_change()).params.uri == "file:///a"
        thread = threading.Thread(target=bus.tools_changed)
        thread.start()
        assert (await heard.next_change()).method == TOOLS.method
        thread.join()
        bus.resources_changed()
        bus.resource_updated("file:///b")
        bus.resource_updated("file:///a")
        assert (await heard.next_change()).params.uri == "file:///a"
        assert bus.updated_uris == ["file:///a", "file:///b", "file:///a"]
        assert bus.listener_count == 1
    assert bus.listener_count == 0


async def test_what_is_published_before_the_stream_is_open_is_heard() -> None:
    bus = EventBus()

    class Early(EventSubscriptions):
        async def subscribe(self, filter: mcp.SubscriptionFilter, channel: Channel, /) -> Any:  # noqa: A002
            accepted = await super().subscribe(filter, channel)
            bus.tools_changed()
            return accepted

    for limit in (1, 2, 1_000):
        mux = Mux(make_suite(Early(bus)), limits=Limits(max_queued_messages=limit))
        async with listening(mux) as listen:
            listener = listen(tools_list_changed=True)
            assert await listener.accepted() == {"toolsListChanged": True}
            assert (await listener.next()).method == TOOLS.method
            bus.tools_changed()
            assert (await listener.next()).method == TOOLS.method


async def test_slow_reader_gets_each_change_once_in_order() -> None:
    bus = EventBus()
    handler = Watched(bus)
    async with listening(make_suite(handler)) as listen:
        uris = ["file:///a", "file:///b", "file:///c"]
        listener = listen(tools_list_changed=True, resource_subscriptions=uris)
        await listener.accepted()
        gate = listener.sink.gate = trio.Event()
        bus.tools_changed()
        await trio.testing.wait_all_tasks_blocked()  # this one is on its way
        for _ in range(100):
            for change in (updated("file:///c"), TOOLS, updated("file:///a"), RESOURCES):
                bus.publish(change)
            await trio.lowlevel.checkpoint()
        assert len(handler.outboxes[1]) == 3
        assert len(listener.call.mailbox._messages) <= 1
        gate.set()
        await trio.testing.wait_all_tasks_blocked()
        heard = [read_key(note) for note in listener.sink.notifications[1:]]  # type: ignore[arg-type]
        assert heard == [
            read_key(change)
            for change in (TOOLS, updated("file:///c"), TOOLS, updated("file:///a"))
        ]
        assert len(handler.outboxes[1]) == 0


async def test_empty_filter_hears_nothing_and_stays_open() -> None:
    bus = EventBus()
    async with listening(make_suite(EventSubscriptions(bus))) as listen:
        listener = listen(prompts_list_changed=True)
        assert await listener.accepted() == {}
        bus.prompts_changed()
        bus.tools_changed()
        await trio.testing.wait_all_tasks_blocked()
        assert not listener.ended.is_set()
        assert len(listener.sink.events) == 1
        await listener.leave()


async def test_every_way_out_detaches() -> None:
    bus = EventBus()

    class Breaks(EventSubscriptions):
        async def handle_message(self, message: Any, channel: Channel, state: Any, /) -> Any:
            if message == "break":
                raise RuntimeError("broken")
            if message == "close":
                channel.close()
                return Stream(state)
            return await super().handle_message(message, channel, state)

    mux = Mux(make_suite(Breaks(bus)))
    async with listening(mux) as listen:
        listeners = [listen(number, tools_list_changed=True) for number in range(6)]
        for listener in listeners:
            await listener.accepted()
        assert bus.listener_count == 6
        leaves, breaks, closes, unknown, *drained = listeners
        await leaves.leave()
        for listener, message in ((breaks, "break"), (closes, "close"), (unknown, "what?")):
            listener.call.mailbox.post(message)
            await listener.ended.wait()
        assert bus.listener_count == 2
        assert (await closes.result())["resultType"] == "complete"
        assert (await unknown.error()).code == -32603
        await mux.drain(grace_seconds=5)
        assert bus.listener_count == mux.open_calls == 0
        for listener in drained:
            assert (await listener.result())["resultType"] == "complete"


async def test_capabilities_and_limits_are_options() -> None:
    handler = EventSubscriptions(
        EventBus(), capabilities=SubscriptionCapabilities(resource_updated=True), max_uris=2
    )
    async with listening(make_suite(handler)) as listen:
        uris = ["file:///a", "file:///b"]
        listener = listen(tools_list_changed=True, resource_subscriptions=uris)
        assert await listener.accepted() == {"resourceSubscriptions": uris}
        error = await listen(2, resource_subscriptions=[*uris, "file:///c"]).error()
        assert (error.code, "at most 2 URIs" in error.message) == (-32602, True)


async def test_subclass_can_narrow_what_a_caller_hears() -> None:
    bus = EventBus()

    class OwnFilesOnly(EventSubscriptions):
        async def subscribe(self, filter: mcp.SubscriptionFilter, channel: Channel, /) -> Any:  # noqa: A002
            mine = f"file:///{channel.request_id}/"
            uris = [uri for uri in filter.resource_subscriptions or () if uri.startswith(mine)]
            narrower = attrs.evolve(filter, resource_subscriptions=uris or None)
            return await super().subscribe(narrower, channel)

    async with listening(make_suite(OwnFilesOnly(bus))) as listen:
        uris = ["file:///1/x", "file:///2/x"]
        listener = listen(1, resource_subscriptions=uris)
        assert await listener.accepted() == {"resourceSubscriptions": uris[:1]}
        for uri in reversed(uris):
            bus.resource_updated(uri)
        assert (await listener.next()).params.uri == "file:///1/x"


def test_publishing_after_the_event_loop_has_ended_does_nothing() -> None:
    bus = EventBus()

    class NeverDetaches(EventSubscriptions):
        async def handle_close(self, channel: Channel, state: Any, /) -> None:
            pass

    async def main() -> None:
        async with listening(make_suite(NeverDetaches(bus))) as listen:
            await listen(tools_list_changed=True).accepted()
            await trio.testing.wait_all_tasks_blocked()

    trio.run(main)
    assert bus.listener_count == 1
    bus.tools_changed()
    thread = threading.Thread(target=bus.tools_changed)
    thread.start()
    thread.join()


async def test_streams_live_no_longer_than_they_may(
    autojump_clock: trio.testing.MockClock,
) -> None:
    bus = EventBus()
    suite = make_suite(EventSubscriptions(bus, max_age_seconds=60))
    async with Client(suite) as client:
        async with client.listen(tools_list_changed=True) as heard:
            result = await heard.result()
            assert result.result_type == "complete"
            assert trio.current_time() == pytest.approx(60, abs=1)
        assert bus.listener_count == 0


# -- many ---------------------------------------------------------------------------


class CountingSink(RecordingSink):
    """Counts what is heard and forgets it."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: Counter[Any] = Counter()

    async def write(self, event: Event) -> None:
        await super().write(event)
        if isinstance(event, Notified):
            self.heard[name(event.notification)] += 1
            self.events.clear()
            await self.next_event()


def name(notification: Any) -> str:
    """Return the URI of an update, or else the method."""
    uri: str = getattr(notification.params, "uri", notification.method)
    return uri


STREAMS, STUCK, ROUNDS, URIS_EACH = 1_000, 10, 100, 3


async def test_a_thousand_streams_hear_a_publisher_at_full_speed_beside_stuck_readers() -> None:
    bus = EventBus()
    handler = Watched(bus)
    mux = Mux(make_suite(handler))
    uris = [f"file:///{number}" for number in range(STREAMS + URIS_EACH)]

    def publish() -> None:
        for turn in range(ROUNDS):
            bus.tools_changed()
            for uri in uris[turn::ROUNDS]:
                bus.resource_updated(uri)

    async with listening(mux) as listen:
        wanted = [uris[number : number + URIS_EACH] for number in range(STREAMS)]
        sinks = [CountingSink() for _ in range(STREAMS)]
        listeners = [
            listen(number, sink=sinks[number], tools_list_changed=True, resource_subscriptions=own)
            for number, own in enumerate(wanted)
        ]
        await trio.testing.wait_all_tasks_blocked()
        assert bus.listener_count == mux.open_calls == STREAMS
        for sink in sinks[:STUCK]:
            sink.gate = trio.Event()

        # Returns, though ten readers never read.
        await trio.to_thread.run_sync(publish)
        await trio.testing.wait_all_tasks_blocked()

        for number in range(STREAMS):
            waiting = len(handler.outboxes[number])
            assert len(listeners[number].call.mailbox._messages) <= 1
            if number < STUCK:
                assert 1 <= waiting <= 1 + URIS_EACH
                continue
            assert waiting == 0
            heard = sinks[number].heard
            assert heard.keys() == {ACKNOWLEDGED, TOOLS.method, *wanted[number]}
            assert heard[TOOLS.method] <= ROUNDS
            assert all(heard[uri] == 1 for uri in wanted[number])

        await mux.drain(grace_seconds=60)
        assert bus.listener_count == mux.open_calls == 0
        assert [len(sink.endings) for sink in sinks] == [0] * STUCK + [1] * (STREAMS - STUCK)
