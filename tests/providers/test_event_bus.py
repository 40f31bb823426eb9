"""The event bus, what tells changes apart, and the outbox between it and a stream."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp import EventBus, EventSubscriptions, SubscriptionCapabilities, mcp
from genmcp.event_bus import Change, ChangeKey, narrow_filter, read_key, read_keys
from genmcp.providers.event_subscriptions import Outbox
from genmcp.testing import RecordingBus
from genmcp.wire.codec import encode

URIS = ["file:///a", "file:///b", "x:"]


def updated(uri: str) -> mcp.ResourceUpdatedNotification:
    return mcp.ResourceUpdatedNotification(params=mcp.ResourceUpdatedNotificationParams(uri=uri))


CHANGES: list[Change] = [
    mcp.ToolListChangedNotification(),
    mcp.PromptListChangedNotification(),
    mcp.ResourceListChangedNotification(),
    *map(updated, URIS),
]
KEYS = frozenset(map(read_key, CHANGES))


def filters() -> st.SearchStrategy[mcp.SubscriptionFilter]:
    flag = st.sampled_from([None, False, True])
    return st.builds(
        mcp.SubscriptionFilter,
        tools_list_changed=flag,
        prompts_list_changed=flag,
        resources_list_changed=flag,
        resource_subscriptions=st.none() | st.lists(st.sampled_from(URIS)),
    )


# -- the bus ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("publish", "expected"),
    [
        (lambda bus: bus.tools_changed(), CHANGES[0]),
        (lambda bus: bus.prompts_changed(), CHANGES[1]),
        (lambda bus: bus.resources_changed(), CHANGES[2]),
        (lambda bus: bus.resource_updated("file:///a"), CHANGES[3]),
        (lambda bus: bus.publish(CHANGES[4]), CHANGES[4]),
    ],
    ids=["tools", "prompts", "resources", "resource", "ready"],
)
def test_every_listener_hears_what_is_published(
    publish: Callable[[EventBus], None], expected: Change
) -> None:
    bus = EventBus()
    first: list[Change] = []
    second: list[Change] = []
    publish(bus)  # before anybody listens
    bus.attach(first.append)
    bus.attach(second.append)
    publish(bus)
    assert first == second == [expected]


def test_detached_listener_hears_nothing_more_and_the_others_do() -> None:
    bus = EventBus()
    heard: list[Change] = []
    # The same function twice: each attachment is one of its own.
    detach_first = bus.attach(heard.append)
    detach_second = bus.attach(heard.append)
    assert bus.listener_count == 2
    detach_first()
    detach_first()
    assert bus.listener_count == 1
    bus.tools_changed()
    assert heard == CHANGES[:1]
    detach_second()
    assert bus.listener_count == 0
    bus.tools_changed()
    assert heard == CHANGES[:1]


def test_listener_that_raises_is_logged_and_the_others_hear(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus = EventBus()
    heard: list[Change] = []

    def fail(change: Change) -> None:
        raise RuntimeError("the listener is broken")

    bus.attach(fail)
    bus.attach(heard.append)
    with caplog.at_level(logging.ERROR, "genmcp"):
        bus.resource_updated("file:///a")
    assert heard == [updated("file:///a")]
    assert "a listener failed on notifications/resources/updated" in caplog.text
    assert "the listener is broken" in caplog.text


def test_listener_may_attach_detach_and_publish_while_it_is_called() -> None:
    bus = EventBus()
    heard: list[Change] = []

    def once(change: Change) -> None:
        detach()
        bus.attach(heard.append)
        bus.prompts_changed()

    detach = bus.attach(once)
    bus.tools_changed()
    assert heard == [CHANGES[1]]
    assert bus.listener_count == 1


@pytest.mark.parametrize("wrong", ["tools", None, mcp.ToolListChangedNotification, 5])
def test_what_is_no_change_is_a_type_error_for_whoever_publishes(wrong: Any) -> None:
    bus = RecordingBus()
    with pytest.raises(TypeError, match="a change is one of ToolListChangedNotification"):
        bus.publish(wrong)
    with pytest.raises(TypeError, match="uri"):
        bus.resource_updated(wrong if wrong != "tools" else b"tools")  # type: ignore[arg-type]
    assert bus.published == []


def test_listener_hears_only_the_keys_it_names() -> None:
    bus = EventBus()
    one: list[Change] = []
    two: list[Change] = []
    everything: list[Change] = []
    detach = bus.attach(one.append, [read_key(CHANGES[0]), read_key(CHANGES[3])])
    bus.attach(two.append, [read_key(CHANGES[3])])
    bus.attach(lambda change: pytest.fail("it named nothing"), [])
    bus.attach(everything.append)
    assert bus.listener_count == 4
    for change in CHANGES:
        bus.publish(change)
    assert (one, two, everything) == ([CHANGES[0], CHANGES[3]], [CHANGES[3]], CHANGES)
    detach()
    for change in CHANGES:
        bus.publish(change)
    assert (one, two) == ([CHANGES[0], CHANGES[3]], [CHANGES[3], CHANGES[3]])
    assert bus.listener_count == 3


def test_publishing_and_attaching_in_many_threads_loses_nothing() -> None:
    bus = RecordingBus()
    steady: list[Change] = []
    bus.attach(steady.append, KEYS)
    rounds, workers = 200, 4
    start = threading.Barrier(workers)

    def work(number: int) -> None:
        start.wait()
        for turn in range(rounds):
            detach = bus.attach(lambda change: None, KEYS)
            bus.resource_updated(f"file:///{number}/{turn}")
            bus.tools_changed()
            detach()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bus.listener_count == 1
    assert steady == CHANGES[:1] * (rounds * workers)
    assert sorted(bus.updated_uris) == sorted(
        f"file:///{number}/{turn}" for number in range(workers) for turn in range(rounds)
    )
    for number in range(workers):
        own = [uri for uri in bus.updated_uris if uri.startswith(f"file:///{number}/")]
        assert own == [f"file:///{number}/{turn}" for turn in range(rounds)]


def test_recording_bus_remembers_and_passes_on() -> None:
    bus = RecordingBus()
    heard: list[Change] = []
    assert bus.listener_count == 0
    bus.attach(heard.append)
    assert bus.listener_count == 1
    bus.tools_changed()
    bus.resource_updated("file:///a")
    assert bus.published == heard == [CHANGES[0], CHANGES[3]]
    assert bus.updated_uris == ["file:///a"]


# -- keys and filters ---------------------------------------------------------------


def test_meta_does_not_make_another_change() -> None:
    meta = mcp.NotificationMetaObject(extra={"com.example/list": [1]})
    params = mcp.NotificationParams(meta=meta)
    assert read_key(mcp.ToolListChangedNotification(params=params)) == read_key(CHANGES[0])
    assert len(KEYS) == len(CHANGES)


@given(filters(), filters())
def test_narrowing_is_the_intersection(
    wanted: mcp.SubscriptionFilter, allowed: mcp.SubscriptionFilter
) -> None:
    both = narrow_filter(wanted, read_keys(allowed))
    assert read_keys(both) == read_keys(wanted) & read_keys(allowed)
    assert narrow_filter(both, read_keys(allowed)) == both
    assert narrow_filter(wanted, KEYS) == narrow_filter(wanted, read_keys(wanted))
    # What is not served is absent, and each URI stands where it stood first.
    written = encode(both)
    assert all(written.values())
    uris = [
        uri
        for uri in wanted.resource_subscriptions or ()
        if ("notifications/resources/updated", uri) in read_keys(both)
    ]
    assert written.get("resourceSubscriptions", []) == list(dict.fromkeys(uris))


# -- the outbox ---------------------------------------------------------------------


class Stream:
    """Counts wake-ups, and takes what waits when the test says so."""

    def __init__(self, keys: frozenset[ChangeKey] = KEYS) -> None:
        self.bus = EventBus()
        self.wakes = 0
        self.outbox = Outbox(self.bus, keys, self.wake)

    def wake(self) -> None:
        self.wakes += 1

    def drain(self) -> list[Change]:
        self.outbox.allow_wake()
        return [self.outbox.take() for _ in range(len(self.outbox))]


def test_stream_is_woken_once_until_it_has_looked() -> None:
    stream = Stream()
    stream.bus.tools_changed()
    # Whoever makes an outbox has the first look coming.
    assert stream.wakes == 0
    assert stream.drain() == CHANGES[:1]
    for expected in (1, 2):
        for _ in range(3):
            stream.bus.prompts_changed()
            stream.bus.resource_updated("file:///a")
        assert stream.wakes == expected
        assert stream.drain() == [CHANGES[1], CHANGES[3]]


def test_change_that_comes_while_the_stream_takes_wakes_it_again() -> None:
    stream = Stream()
    stream.bus.tools_changed()
    stream.outbox.allow_wake()
    stream.bus.prompts_changed()
    assert stream.wakes == 1
    assert [stream.outbox.take(), stream.outbox.take()] == CHANGES[:2]


@given(st.lists(st.none() | st.sampled_from(CHANGES), max_size=40))
def test_each_change_waits_once_in_the_order_of_its_first_publication(
    steps: list[Change | None],
) -> None:
    stream = Stream()
    expected: list[Change] = []
    for step in steps:
        if step is None:
            assert stream.drain() == expected
            expected = []
        else:
            stream.bus.publish(step)
            expected += [step] if step not in expected else []
            assert len(stream.outbox) == len(expected) <= len(KEYS)
    assert stream.drain() == expected


@given(filters())
def test_only_what_the_filter_names_waits(wanted: mcp.SubscriptionFilter) -> None:
    keys = read_keys(wanted)
    stream = Stream(keys)
    assert stream.bus.listener_count == 1
    for change in CHANGES:
        stream.bus.publish(change)
    assert [read_key(change) for change in stream.drain()] == [
        key for key in map(read_key, CHANGES) if key in keys
    ]
    stream.outbox.detach()
    assert stream.bus.listener_count == 0


def test_publishers_in_many_threads_lose_no_last_change() -> None:
    """After the last publication of each change, it is taken at least once."""
    awake = threading.Event()
    bus = EventBus()
    outbox = Outbox(bus, KEYS, awake.set)
    awake.set()
    rounds = 3_000
    taken: list[Change] = []
    deepest = 0
    done = threading.Event()

    def publish(number: int) -> None:
        for turn in range(rounds):
            bus.publish(CHANGES[(turn * (number + 1)) % len(CHANGES)])
        bus.publish(CHANGES[number])

    def consume() -> None:
        nonlocal deepest
        while True:
            last = done.is_set()
            if awake.is_set():
                awake.clear()
                outbox.allow_wake()
                deepest = max(deepest, len(outbox))
                taken.extend(outbox.take() for _ in range(len(outbox)))
            elif last:
                return
            else:
                awake.wait(0.01)

    consumer = threading.Thread(target=consume)
    publishers = [threading.Thread(target=publish, args=(number,)) for number in range(4)]
    for thread in (consumer, *publishers):
        thread.start()
    for thread in publishers:
        thread.join()
    done.set()
    consumer.join()
    assert len(outbox) == 0
    assert deepest <= len(CHANGES)
    assert {read_key(change) for change in taken} == KEYS


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"bus": EventBus}, TypeError, "takes an EventBus"),
        ({"max_age_seconds": 0}, ValueError, "max_age_seconds must be positive, got 0"),
        ({"max_uris": 0}, ValueError, "max_uris must be positive, got 0"),
        ({"capabilities": {"tools": True}}, TypeError, "capabilities"),
    ],
)
def test_wrong_options_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        EventSubscriptions(**{"bus": EventBus(), **arguments})


def test_capabilities_are_true_if_there_is_any() -> None:
    assert not SubscriptionCapabilities()
    assert SubscriptionCapabilities(resource_updated=True)
