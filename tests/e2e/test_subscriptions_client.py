"""The official Python client listens, over a real socket, to changes from threads."""

from __future__ import annotations

import gc
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import attrs
import pytest
import trio
from mcp import Client
from mcp.client.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    Subscription,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from genmcp import EventBus, EventSubscriptions, StreamableHTTP, SubscriptionCapabilities
from genmcp.transport.serve import serve
from tests.suite.listening import Greetings, make_suite

SECONDS = 30  # a guard against hanging, not a measure

# The client drops its response half-way when it hangs up, and leaves it to the collector.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")


@pytest.fixture(autouse=True)
async def collected() -> AsyncIterator[None]:
    """What the client leaves is collected here, not in a test that would fail for it."""
    yield
    gc.collect()


@attrs.frozen
class Served:
    """A server that runs, and what a test looks at."""

    url: str
    app: StreamableHTTP
    bus: EventBus
    stop: trio.Event


@pytest.fixture
async def served(nursery: trio.Nursery) -> AsyncIterator[Served]:
    bus = EventBus()
    suite = make_suite(EventSubscriptions(bus), prompts=[Greetings], send_server_info=True)
    app = StreamableHTTP(suite, secret_key="k" * 32)
    stop = trio.Event()
    [url] = await nursery.start(partial(serve, app, port=0, stop=stop))
    yield Served(url, app, bus, stop)
    stop.set()


def connect(url: str, mode: str = "2026-07-28") -> Client:
    return Client(url, mode=mode, cache=None)


async def publish_from_a_thread(publish: Callable[[], None]) -> None:
    """Publish in a thread that knows nothing of trio."""
    thread = threading.Thread(target=publish)
    thread.start()
    await trio.to_thread.run_sync(thread.join)


async def next_event(subscription: Subscription) -> ServerEvent:
    with trio.fail_after(SECONDS):
        return await anext(subscription)


async def wait_until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(SECONDS):
        while not condition():  # noqa: ASYNC110 - what it waits for tells nobody
            await trio.sleep(0.01)


@pytest.mark.parametrize("mode", ["auto", "2026-07-28"])
async def test_hears_changes_published_from_a_thread(served: Served, mode: str) -> None:
    async with (
        connect(served.url, mode) as client,
        client.listen(
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=["file:///a", "file:///ä b"],
        ) as subscription,
    ):
        honoured = subscription.honored
        assert honoured.tools_list_changed
        assert honoured.prompts_list_changed
        assert honoured.resources_list_changed
        assert honoured.resource_subscriptions == ["file:///a", "file:///ä b"]
        for publish, expected in (
            (served.bus.tools_changed, ToolsListChanged()),
            (served.bus.prompts_changed, PromptsListChanged()),
            (served.bus.resources_changed, ResourcesListChanged()),
            (partial(served.bus.resource_updated, "file:///a"), ResourceUpdated("file:///a")),
            (partial(served.bus.resource_updated, "file:///ä b"), ResourceUpdated("file:///ä b")),
        ):
            await publish_from_a_thread(publish)
            assert await next_event(subscription) == expected
    await wait_until(lambda: served.bus.listener_count == served.app.mux.open_calls == 0)


async def test_hears_nothing_it_did_not_ask_for(served: Served) -> None:
    async with (
        connect(served.url) as client,
        client.listen(
            prompts_list_changed=True, resource_subscriptions=["file:///a", "other:a"]
        ) as subscription,
    ):
        assert subscription.honored.resource_subscriptions == ["file:///a"]
        assert not subscription.honored.tools_list_changed

        def publish() -> None:
            served.bus.tools_changed()
            served.bus.resources_changed()
            served.bus.resource_updated("file:///b")
            served.bus.resource_updated("other:a")
            served.bus.prompts_changed()

        await publish_from_a_thread(publish)
        assert await next_event(subscription) == PromptsListChanged()


async def test_several_subscriptions_of_one_client_beside_its_calls(served: Served) -> None:
    async with (
        connect(served.url) as client,
        client.listen(tools_list_changed=True) as tools,
        client.listen(resource_subscriptions=["file:///a"]) as resources,
    ):
        assert served.app.mux.open_calls == 2
        assert not (await client.call_tool("nothing", {})).is_error
        await publish_from_a_thread(partial(served.bus.resource_updated, "file:///a"))
        await publish_from_a_thread(served.bus.tools_changed)
        assert await next_event(resources) == ResourceUpdated("file:///a")
        assert await next_event(tools) == ToolsListChanged()
    await wait_until(lambda: served.bus.listener_count == 0)


async def test_shutdown_ends_the_stream_in_good_order(served: Served) -> None:
    heard: list[Any] = []
    async with (
        connect(served.url) as client,
        client.listen(tools_list_changed=True) as subscription,
    ):
        await publish_from_a_thread(served.bus.tools_changed)
        heard.append(await next_event(subscription))
        served.stop.set()
        with trio.fail_after(SECONDS):
            # A stream that is cut off raises SubscriptionLost here.
            heard += [event async for event in subscription]
    assert heard == [ToolsListChanged()]
    assert served.bus.listener_count == 0


async def test_server_without_changes_refuses_to_be_listened_to(nursery: trio.Nursery) -> None:
    handler = EventSubscriptions(EventBus(), capabilities=SubscriptionCapabilities())
    stop = trio.Event()
    app = StreamableHTTP(make_suite(handler), secret_key="k" * 32)
    [url] = await nursery.start(partial(serve, app, port=0, stop=stop))
    async with connect(url, "auto") as client:
        capabilities = client.server_capabilities
        assert capabilities is not None
        assert capabilities.tools is not None
        assert not capabilities.tools.list_changed
        with pytest.raises(MCPError) as refused:
            async with client.listen(tools_list_changed=True):
                pass
        assert refused.value.code == -32601
    stop.set()
