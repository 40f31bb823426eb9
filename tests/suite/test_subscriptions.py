"""Listening: what is acknowledged, what goes out, and how a stream ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

import pytest
import trio
import trio.testing

from genmcp import (
    BlockingChannel,
    Channel,
    EncodeError,
    Error,
    Extension,
    InvalidParams,
    Listening,
    McpError,
    ResourceRepo,
    Stream,
    SubscriptionCapabilities,
    SubscriptionHandler,
    mcp,
)
from genmcp.events import Opened
from genmcp.limits import Limits
from genmcp.mux import Mux
from genmcp.testing import Client, ServerError
from genmcp.wire.codec import encode
from tests.suite.listening import (
    EVERYTHING,
    PROMPTS,
    RESOURCES,
    TOOLS,
    Greetings,
    Handler,
    listening,
    make_suite,
    updated,
)

LISTEN = mcp.SubscriptionsListenRequest.method
ID = mcp.SUBSCRIPTION_ID_KEY
ALL_WANTED: dict[str, Any] = {
    "tools_list_changed": True,
    "prompts_list_changed": True,
    "resources_list_changed": True,
    "resource_subscriptions": ["file:///a", "file:///b"],
}


# -- the acknowledgement ------------------------------------------------------------


async def test_acknowledgement_comes_first_and_says_what_is_served() -> None:
    async with listening(make_suite(Handler())) as listen:
        listener = listen(**ALL_WANTED)
        assert await listener.accepted() == {
            "toolsListChanged": True,
            "resourcesListChanged": True,
            "resourceSubscriptions": ["file:///a", "file:///b"],
        }
        await trio.testing.wait_all_tasks_blocked()
        assert len(listener.sink.events) == 1


@pytest.mark.parametrize(
    ("wanted", "capabilities", "accepted"),
    [
        ({}, EVERYTHING, ""),
        ({"tools_list_changed": False}, EVERYTHING, ""),
        ({"resource_subscriptions": []}, EVERYTHING, ""),
        ({"prompts_list_changed": True}, EVERYTHING, ""),  # the suite has none
        (ALL_WANTED, SubscriptionCapabilities(tools_list_changed=True), "tools"),
        (ALL_WANTED, SubscriptionCapabilities(resources_list_changed=True), "resources"),
        (ALL_WANTED, SubscriptionCapabilities(resource_updated=True), "a b"),
        ({"resource_subscriptions": ["file:///a", "http://x/", "file"]}, EVERYTHING, "a"),
        ({"resource_subscriptions": [f"file:///{x}" for x in "bab"]}, EVERYTHING, "b a"),
        ({"extra": {"tasksChanged": True}}, EVERYTHING, ""),
    ],
)
async def test_only_what_is_supported_and_visible_is_subscribed_to(
    wanted: dict[str, Any], capabilities: SubscriptionCapabilities, accepted: str
) -> None:
    expected: dict[str, Any] = {}
    for name in accepted.split():
        if len(name) == 1:
            expected.setdefault("resourceSubscriptions", []).append(f"file:///{name}")
        else:
            expected[f"{name}ListChanged"] = True
    handler = Handler(capabilities=capabilities)
    async with listening(make_suite(handler)) as listen:
        listener = listen(**wanted)
        assert await listener.accepted() == expected
        assert [encode(one) for one in handler.filters] == [expected]
        await trio.testing.wait_all_tasks_blocked()
        assert not listener.ended.is_set()


async def test_extension_decides_for_each_caller_which_uris_are_visible() -> None:
    class Own(ResourceRepo, prefix="own:"):
        async def list_resources(self, cursor: Any, channel: Channel) -> Sequence[mcp.Resource]:
            return []

        async def read(self, uri: Any, channel: Channel) -> str:
            return ""

    class PerCaller(Extension):
        def resources(self, channel: Channel) -> Any:
            return [Own] if channel.request_id == "owner" else []

    uris = ["own:1", "file:///a"]
    async with listening(make_suite(Handler(), extensions=[PerCaller()])) as listen:
        owner = listen("owner", resource_subscriptions=uris)
        stranger = listen("stranger", resource_subscriptions=uris)
        assert await owner.accepted() == {"resourceSubscriptions": uris}
        assert await stranger.accepted() == {"resourceSubscriptions": ["file:///a"]}


async def test_handler_can_accept_less_but_never_more() -> None:
    accepted = mcp.SubscriptionFilter(
        prompts_list_changed=True,
        resources_list_changed=True,
        resource_subscriptions=["file:///b", "file:///secret"],
    )
    handler = Handler(Listening("state", accepted=accepted))
    async with listening(make_suite(handler)) as listen:
        listener = listen(
            tools_list_changed=True, resource_subscriptions=["file:///a", "file:///b"]
        )
        assert await listener.accepted() == {"resourceSubscriptions": ["file:///b"]}
        refused = [TOOLS, PROMPTS, RESOURCES, updated("file:///a"), updated("file:///secret")]
        for change in [*refused, updated("file:///b")]:
            listener.call.mailbox.post(change)
        assert (await listener.next()).params.uri == "file:///b"
        assert handler.sent == [False, False, False, False, False, True]


async def test_what_is_sent_too_early_follows_the_acknowledgement_once_and_in_order() -> None:
    class Eager(Handler):
        async def subscribe(self, filter: mcp.SubscriptionFilter, channel: Channel, /) -> Any:  # noqa: A002
            channel.post(updated("file:///b"))
            for change in (RESOURCES, TOOLS, RESOURCES, PROMPTS):
                self.sent.append(await channel.send_notification(change))
            return await super().subscribe(filter, channel)

    handler = Eager()
    gate = trio.Event()
    async with listening(make_suite(handler)) as listen:
        listener = listen(gate=gate, **ALL_WANTED)
        await trio.testing.wait_all_tasks_blocked()
        # The acknowledgement is on its way to a client that is slow to read.
        assert await handler.channels[0].send_notification(updated("file:///a"))
        assert await handler.channels[0].send_notification(TOOLS)
        assert handler.sent == [True, True, True, False]
        assert listener.sink.events == []
        gate.set()
        await trio.testing.wait_all_tasks_blocked()
        assert [note.method.rpartition("/")[2] for note in listener.sink.notifications] == [
            "acknowledged",
            "list_changed",
            "list_changed",
            "updated",
            "updated",
        ]
        _, first, second, third, fourth = listener.sink.notifications
        assert (first.method, second.method) == (RESOURCES.method, TOOLS.method)
        assert (third.params.uri, fourth.params.uri) == ("file:///a", "file:///b")


async def test_early_sends_outside_a_narrower_acceptance_are_dropped() -> None:
    class Eager(Handler):
        async def subscribe(self, filter: mcp.SubscriptionFilter, channel: Channel, /) -> Any:  # noqa: A002
            await channel.send_notification(RESOURCES)
            await channel.send_notification(TOOLS)
            return Listening(None, accepted=mcp.SubscriptionFilter(tools_list_changed=True))

    async with listening(make_suite(Eager())) as listen:
        listener = listen(**ALL_WANTED)
        assert await listener.accepted() == {"toolsListChanged": True}
        await trio.testing.wait_all_tasks_blocked()
        assert [note.method for note in listener.sink.notifications[1:]] == [TOOLS.method]


async def test_value_that_is_not_json_shows_where_it_is_sent() -> None:
    class Eager(Handler):
        async def subscribe(self, filter: mcp.SubscriptionFilter, channel: Channel, /) -> Any:  # noqa: A002
            meta = mcp.NotificationMetaObject(extra={"com.example/key": object()})
            params = mcp.NotificationParams(meta=meta)
            with pytest.raises(EncodeError, match=r"com\.example/key"):
                await channel.send_notification(mcp.ToolListChangedNotification(params=params))
            return await super().subscribe(filter, channel)

    async with listening(make_suite(Eager())) as listen:
        assert await listen(tools_list_changed=True).accepted() == {"toolsListChanged": True}


async def test_a_mailbox_of_one_message_is_enough() -> None:
    class Posts(Handler):
        async def subscribe(self, filter: mcp.SubscriptionFilter, channel: Channel, /) -> Any:  # noqa: A002
            channel.post(TOOLS)
            return Stream(None)

    async with listening(Mux(make_suite(Posts()), limits=Limits(max_queued_messages=1))) as listen:
        listener = listen(tools_list_changed=True)
        assert await listener.accepted() == {"toolsListChanged": True}
        assert (await listener.next()).method == TOOLS.method


# -- the id -------------------------------------------------------------------------


@pytest.mark.parametrize("request_id", [7, "7", 0, ""], ids=repr)
async def test_every_message_has_the_request_id_with_its_type(request_id: Any) -> None:
    handler = Handler()
    async with listening(make_suite(handler)) as listen:
        listener = listen(request_id, **ALL_WANTED)
        for change in (TOOLS, RESOURCES, updated("file:///a")):
            listener.call.mailbox.post(change)
        for _ in range(4):
            found = encode(await listener.next())["params"]["_meta"][ID]
            assert (type(found), found) == (type(request_id), request_id)
        handler.channels[0].close()
        found = (await listener.result())["_meta"][ID]
        assert (type(found), found) == (type(request_id), request_id)


async def test_other_meta_of_a_change_is_kept_and_the_id_is_the_streams_own() -> None:
    meta = mcp.NotificationMetaObject(subscription_id="forged", extra={"com.example/version": 3})
    params = mcp.ResourceUpdatedNotificationParams(uri="file:///a", meta=meta)
    async with listening(make_suite(Handler())) as listen:
        listener = listen(9, **ALL_WANTED)
        await listener.accepted()
        listener.call.mailbox.post(mcp.ResourceUpdatedNotification(params=params))
        assert encode(await listener.next())["params"] == {
            "_meta": {ID: 9, "com.example/version": 3},
            "uri": "file:///a",
        }


async def test_subscriptions_are_kept_apart() -> None:
    handler = Handler()
    async with listening(make_suite(handler)) as listen:
        first = listen(1, tools_list_changed=True)
        await first.accepted()
        second = listen("1", resources_list_changed=True)
        await second.accepted()
        for listener in (first, second):
            listener.call.mailbox.post(TOOLS)
            listener.call.mailbox.post(RESOURCES)
        assert (await first.next()).method == TOOLS.method
        assert (await second.next()).method == RESOURCES.method
        await first.leave()
        second.call.mailbox.post(RESOURCES)
        assert encode(await second.next())["params"]["_meta"] == {ID: "1"}
        assert handler.closed == ["state"]


# -- what never goes out ------------------------------------------------------------


async def test_progress_and_logs_never_travel_on_a_listen_stream() -> None:
    handler = Handler()
    async with listening(make_suite(handler)) as listen:
        listener = listen(**ALL_WANTED)
        await listener.accepted()
        channel = handler.channels[0]
        # The request carried a token, and the level debug.
        assert listener.call._request.params.meta.progress_token == "progress"
        assert not await channel.send_progress(1)
        assert not await channel.send_log("emergency", "fire")
        assert (channel.progress_token, channel.log_level) == (None, None)
        assert len(listener.sink.events) == 1


@pytest.mark.parametrize(
    "notification",
    [
        mcp.ProgressNotification(
            params=mcp.ProgressNotificationParams(progress_token="progress", progress=1)
        ),
        mcp.LoggingMessageNotification(
            params=mcp.LoggingMessageNotificationParams(level="error", data=1)
        ),
        mcp.CancelledNotification(params=mcp.CancelledNotificationParams(request_id=1)),
        mcp.SubscriptionsAcknowledgedNotification(
            params=mcp.SubscriptionsAcknowledgedNotificationParams(
                notifications=mcp.SubscriptionFilter()
            )
        ),
        "tools changed",
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("verb", ["send_notification", "deliver"])
async def test_anything_but_a_change_is_a_type_error(verb: str, notification: Any) -> None:
    handler = Handler()
    async with listening(make_suite(handler)) as listen:
        listener = listen(**ALL_WANTED)
        await listener.accepted()
        with pytest.raises(TypeError, match="may be sent on a listen stream"):
            await getattr(handler.channels[0], verb)(notification)
        assert len(listener.sink.events) == 1


@pytest.mark.parametrize("verb", ["send_notification", "deliver"])
@pytest.mark.parametrize("change", [TOOLS, PROMPTS, RESOURCES, updated("file:///a/b")])
async def test_changes_that_were_not_accepted_are_not_sent(verb: str, change: Any) -> None:
    handler = Handler()
    async with listening(make_suite(handler)) as listen:
        listener = listen(resource_subscriptions=["file:///a"])
        await listener.accepted()
        assert not await getattr(handler.channels[0], verb)(change)
        assert await getattr(handler.channels[0], verb)(updated("file:///a"))
        assert (await listener.next()).params.uri == "file:///a"


async def test_other_verbs_are_the_calls_own() -> None:
    class Verbs(Handler):
        async def subscribe(self, filter: mcp.SubscriptionFilter, channel: Channel, /) -> Any:  # noqa: A002
            assert await channel.start_stream()
            assert channel.post(TOOLS)
            channel.post_soon(RESOURCES)
            change = updated("file:///a")
            assert await channel.run_in_thread(channel.post_from_thread, change)
            assert not channel.closed
            return await super().subscribe(filter, channel)

    handler = Verbs()
    async with listening(make_suite(handler)) as listen:
        listener = listen(**ALL_WANTED)
        assert isinstance(await listener.sink.next_event(), Opened)
        await listener.accepted()
        heard = [(await listener.next()).method for _ in range(3)]
        assert heard == [TOOLS.method, RESOURCES.method, "notifications/resources/updated"]
        await listener.leave()
        channel = handler.channels[0]
        assert channel.closed
        assert not channel.post(TOOLS)
        with pytest.raises(RuntimeError, match="over"):
            channel.start_soon(trio.sleep, 0)


# -- the handler's answers ----------------------------------------------------------


@pytest.mark.parametrize("raised", [True, False])
async def test_refusal_is_an_error_and_opens_no_stream(raised: bool) -> None:
    error = McpError("not for you", code=1, data={"why": "because"})

    class Refuses(Handler):
        async def subscribe(self, filter: mcp.SubscriptionFilter, channel: Channel, /) -> Any:  # noqa: A002
            await channel.send_notification(TOOLS)
            if raised:
                raise error
            return Error(error)

    handler = Refuses()
    async with listening(make_suite(handler)) as listen:
        listener = listen(**ALL_WANTED)
        assert await listener.error() is error
        assert len(listener.sink.events) == 1
        assert handler.closed == []


@pytest.mark.parametrize("answer", [None, "state", mcp.SubscriptionFilter()])
async def test_wrong_answer_to_a_subscription_is_named_in_the_log(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(make_suite(Handler(answer))) as listen:
        error = await listen(**ALL_WANTED).error()
        assert (error.code, error.message) == (-32603, "Internal server error")
    assert "Handler.subscribe returned" in caplog.text
    assert "a Stream, Listening or Error" in caplog.text


@pytest.mark.parametrize("answer", [{"tools_list_changed": True}, None, mcp.SubscriptionFilter()])
async def test_wrong_capabilities_are_named_in_the_log(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(make_suite(Handler(capabilities=answer))) as listen:
        assert (await listen().error()).code == -32603
    assert "Handler.subscription_capabilities returned" in caplog.text


async def test_state_goes_from_message_to_message_and_none_ends_the_subscription() -> None:
    class Counts(Handler):
        async def handle_message(self, message: Any, channel: Channel, state: int, /) -> Any:
            assert channel is self.channels[0]
            await channel.send_notification(updated("file:///a"))
            return Stream(state + 1) if state < message else None

    handler = Counts(Stream(0))
    async with listening(make_suite(handler)) as listen:
        listener = listen(5, **ALL_WANTED)
        for _ in range(5):
            listener.call.mailbox.post(2)
        assert await listener.result() == {"resultType": "complete", "_meta": {ID: 5}}
        assert len(listener.sink.notifications) == 4
        assert handler.closed == []


async def test_result_carries_the_servers_identity() -> None:
    handler = Handler()
    async with listening(make_suite(handler, send_server_info=True)) as listen:
        listener = listen(5, tools_list_changed=True)
        await listener.accepted()
        handler.channels[0].close()
        assert await listener.result() == {
            "resultType": "complete",
            "_meta": {ID: 5, mcp.SERVER_INFO_KEY: {"name": "s", "version": "1"}},
        }


@pytest.mark.parametrize(
    ("answer", "logged"),
    [
        (ValueError("secret"), "secret"),
        ("go on", "handle_message returned 'go on'"),
        (Error("no"), "a Stream to go on, or None to end the subscription"),
    ],
)
async def test_failure_of_the_handler_is_the_last_frame(
    answer: Any, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Fails(Handler):
        async def handle_message(self, message: Any, channel: Channel, state: Any, /) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

    handler = Fails()
    async with listening(make_suite(handler)) as listen:
        listener = listen(**ALL_WANTED)
        listener.call.mailbox.post("message")
        assert (await listener.error()).code == -32603
        assert handler.closed == ["state"]
        assert [note.method for note in listener.sink.notifications] == [
            "notifications/subscriptions/acknowledged"
        ]
    assert logged in caplog.text


async def test_handler_without_handle_message_may_send_from_a_task_of_its_own(
    autojump_clock: trio.testing.MockClock,
) -> None:
    class Ticks(SubscriptionHandler):
        async def subscription_capabilities(
            self, channel: Channel | BlockingChannel, /
        ) -> SubscriptionCapabilities:
            await trio.lowlevel.checkpoint()
            return EVERYTHING

        async def subscribe(self, filter: mcp.SubscriptionFilter, channel: Channel, /) -> Any:  # noqa: A002
            channel.start_soon(self.tick, channel)
            return Stream(None)

        async def tick(self, channel: Channel) -> None:
            for _ in range(3):
                await channel.send_notification(TOOLS)
                await trio.sleep(60)

    async with listening(make_suite(Ticks)) as listen:
        listener = listen(tools_list_changed=True)
        await listener.accepted()
        for _ in range(3):
            assert (await listener.next()).method == TOOLS.method
        listener.call.mailbox.post("unexpected")
        assert (await listener.error()).code == -32603


async def test_plain_hooks_run_in_threads_with_the_blocking_form() -> None:
    threads: list[threading.Thread] = []

    class Plain(SubscriptionHandler[BlockingChannel]):
        def subscription_capabilities(self, channel: Channel, /) -> SubscriptionCapabilities:
            return EVERYTHING

        def subscribe(
            self,
            filter: mcp.SubscriptionFilter,  # noqa: A002
            channel: BlockingChannel,
            /,
        ) -> Stream[int]:
            threads.append(threading.current_thread())
            assert channel.send_notification(TOOLS)
            assert channel.post("message")
            assert not channel.send_progress(1)
            return Stream(0)

        def handle_message(
            self, message: Any, channel: BlockingChannel, state: int, /
        ) -> Stream[int]:
            threads.append(threading.current_thread())
            assert channel.send_notification(updated("file:///a"))
            assert not channel.send_notification(PROMPTS)
            return Stream(state + 1)

        def handle_close(self, channel: BlockingChannel, state: int, /) -> None:
            threads.append(threading.current_thread())
            assert channel.closed
            assert state == 1

    async with listening(make_suite(Plain)) as listen:
        listener = listen(**ALL_WANTED)
        assert (await listener.accepted())["toolsListChanged"]
        assert (await listener.next()).method == TOOLS.method
        assert (await listener.next()).params.uri == "file:///a"
        await trio.testing.wait_all_tasks_blocked()
        await listener.leave()
    assert len(threads) == 3
    assert threading.current_thread() not in threads


# -- the end ------------------------------------------------------------------------


async def test_client_that_leaves_has_handle_close_run_once() -> None:
    handler = Handler()
    async with listening(make_suite(handler)) as listen:
        listener = listen(**ALL_WANTED)
        await listener.accepted()
        await listener.leave()
        assert handler.closed == ["state"]
        assert listener.sink.endings == []
        assert not await handler.channels[0].send_notification(TOOLS)


async def test_client_that_leaves_before_the_acknowledgement_is_cleaned_up_after() -> None:
    handler = Handler()
    async with listening(make_suite(handler)) as listen:
        listener = listen(gate=trio.Event(), **ALL_WANTED)
        await trio.testing.wait_all_tasks_blocked()
        assert len(handler.filters) == 1
        await listener.leave()
        assert handler.closed == ["state"]
        assert listener.sink.events == []


async def test_client_that_leaves_while_a_plain_subscribe_runs_is_cleaned_up_after() -> None:
    started, go_on = trio.Event(), threading.Event()

    class Slow(Handler):
        def subscribe(self, filter: mcp.SubscriptionFilter, channel: BlockingChannel, /) -> Any:  # type: ignore[override]  # noqa: A002
            trio.from_thread.run_sync(started.set)
            go_on.wait()
            return Listening("attached")

    handler = Slow()
    async with listening(make_suite(handler)) as listen:
        listener = listen(**ALL_WANTED)
        await started.wait()
        listener.call.client_gone()
        go_on.set()
        await listener.ended.wait()
        assert handler.closed == ["attached"]


@pytest.mark.parametrize("reads", [True, False])
async def test_closing_and_shutting_down_end_a_stream_with_its_result(
    reads: bool, autojump_clock: trio.testing.MockClock
) -> None:
    handler = Handler()
    mux = Mux(make_suite(handler))
    async with listening(mux) as listen:
        closed = listen("closed", **ALL_WANTED)
        drained = listen("drained", **ALL_WANTED)
        for listener in (closed, drained):
            await listener.accepted()
            if not reads:
                listener.sink.gate = trio.Event()
                listener.call.mailbox.post(TOOLS)
        await trio.testing.wait_all_tasks_blocked()
        by_id = {channel.request_id: channel for channel in handler.channels}
        by_id["closed"].close()
        await closed.ended.wait()
        await mux.drain(grace_seconds=5)
        await drained.ended.wait()
        assert trio.current_time() <= 4
        assert mux.open_calls == 0
        assert handler.closed == ["state", "state"]
        if reads:
            assert await closed.result() == {"resultType": "complete", "_meta": {ID: "closed"}}
            assert await drained.result() == {"resultType": "complete", "_meta": {ID: "drained"}}
        else:
            assert closed.sink.endings == drained.sink.endings == []


@pytest.mark.parametrize("reads", [True, False])
async def test_stream_that_is_old_enough_ends_with_its_result(
    reads: bool, autojump_clock: trio.testing.MockClock
) -> None:
    handler = Handler(Listening("state", max_age_seconds=3600))
    async with listening(make_suite(handler)) as listen:
        listener = listen(5, **ALL_WANTED)
        await listener.accepted()
        if not reads:
            listener.sink.gate = trio.Event()
            listener.call.mailbox.post(TOOLS)
        await trio.sleep(3599)
        assert not listener.ended.is_set()
        await trio.sleep(3)
        assert handler.closed == ["state"]
        if reads:
            assert await listener.result() == {"resultType": "complete", "_meta": {ID: 5}}
        else:
            assert listener.sink.endings == []
            assert listener.ended.is_set()


async def test_client_that_leaves_leaves_no_timer_behind() -> None:
    mux = Mux(make_suite(Handler(Listening("state", max_age_seconds=3600))))
    async with listening(mux) as listen:
        listener = listen(**ALL_WANTED)
        await listener.accepted()
        await listener.leave()
        assert mux.open_calls == 0


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_age_seconds": 0}, ValueError),
        ({"max_age_seconds": -1}, ValueError),
        ({"accepted": {"toolsListChanged": True}}, TypeError),
    ],
)
def test_wrong_options_of_an_acceptance_are_refused(
    options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=f"Listening: {next(iter(options))}"):
        Listening("state", **options)


# -- limits -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uris", "path", "problem"),
    [
        (["file:///a"] * 1001, "", "at most 1000 URIs are allowed, got 1001"),
        (
            ["file:///a", "file:///" + "x" * 2041],
            "[1]",
            "a URI may have at most 2048 characters, got 2049",
        ),
    ],
)
async def test_filter_that_is_too_large_is_invalid_params(
    uris: list[str], path: str, problem: str
) -> None:
    handler = Handler()
    async with listening(make_suite(handler)) as listen:
        error = await listen(resource_subscriptions=uris).error()
        assert isinstance(error, InvalidParams)
        where = f"params.notifications.resourceSubscriptions{path}"
        assert (error.message, error.data) == (f"{where}: {problem}", {"path": where})
        assert handler.filters == []
        largest = [f"file:///{n:02040}" for n in range(1000)]
        accepted = await listen(resource_subscriptions=largest).accepted()
        assert accepted == {"resourceSubscriptions": largest}


# -- what is offered ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("capabilities", "options", "expected"),
    [
        (EVERYTHING, {"prompts": [Greetings]}, "tools prompts resources subscribe"),
        (EVERYTHING, {}, "tools resources subscribe"),
        (EVERYTHING, {"tools": []}, "resources subscribe"),
        (EVERYTHING, {"resources": []}, "tools"),
        (SubscriptionCapabilities(resource_updated=True), {}, "subscribe"),
        (SubscriptionCapabilities(resources_list_changed=True), {}, "resources"),
        (SubscriptionCapabilities(resource_updated=True), {"resources": []}, ""),
        (SubscriptionCapabilities(), {"prompts": [Greetings]}, ""),
    ],
)
async def test_discovery_and_listening_agree_on_what_can_be_listened_for(
    capabilities: SubscriptionCapabilities, options: dict[str, Any], expected: str
) -> None:
    async with Client(make_suite(Handler(capabilities=capabilities), **options)) as client:
        found = encode((await client.discover()).capabilities)
        flags = [
            *(
                name
                for name in ("tools", "prompts", "resources")
                if "listChanged" in found.get(name, {})
            ),
            *(["subscribe"] if "subscribe" in found.get("resources", {}) else []),
        ]
        assert " ".join(flags) == expected
        if not expected:
            with pytest.raises(ServerError) as refused:
                async with client.listen(tools_list_changed=True):
                    pass
            assert refused.value.code == -32601
            return
        async with client.listen(**ALL_WANTED) as subscription:
            accepted = encode(subscription.accepted)
            assert len(accepted) == len(flags)
            assert ("resourceSubscriptions" in accepted) == ("subscribe" in flags)


async def test_what_can_be_listened_for_depends_on_the_caller() -> None:
    class PerCaller(Handler):
        async def subscription_capabilities(self, channel: Channel, /) -> SubscriptionCapabilities:
            has_roots = channel.client_capabilities.roots is not None
            return SubscriptionCapabilities(tools_list_changed=has_roots)

    app = Client(make_suite(PerCaller())).app
    allowed = Client(app, capabilities=mcp.ClientCapabilities(roots=mcp.RootsCapability()))
    assert (await allowed.discover()).capabilities.tools.list_changed is True
    async with allowed.listen(tools_list_changed=True) as subscription:
        assert subscription.accepted.tools_list_changed is True
    others = Client(app)
    assert (await others.discover()).capabilities.tools.list_changed is None
    with pytest.raises(ServerError):
        async with others.listen(tools_list_changed=True):
            pass


@pytest.mark.parametrize(
    ("handler", "options"),
    [
        (None, {}),
        (Handler(), {"tools": [], "resources": []}),
        (Handler(capabilities=SubscriptionCapabilities()), {}),
    ],
    ids=["no handler", "no families", "nothing for this caller"],
)
async def test_listening_where_nothing_can_be_heard_is_404(
    handler: Any, options: dict[str, Any]
) -> None:
    async with Client(make_suite(handler, **options)) as client:
        params = {"notifications": {"toolsListChanged": True}}
        async with client.open(LISTEN, params) as answer:
            assert answer.response.status == 404
            message = await answer.next_message()
            assert (message["id"], message["error"]["code"]) == (answer.request_id, -32601)


async def test_handler_is_made_of_its_class() -> None:
    class Simple(Handler):
        def __init__(self) -> None:
            super().__init__()

    async with listening(make_suite(Simple)) as listen:
        assert await listen(tools_list_changed=True).accepted() == {"toolsListChanged": True}


def test_what_is_no_handler_is_refused_when_the_suite_is_built() -> None:
    class Configured(Handler):
        def __init__(self, url: str) -> None:
            super().__init__()

    with pytest.raises(TypeError, match="Configured cannot be made without arguments"):
        make_suite(Configured)
    for wrong in (object(), dict, "handler"):
        with pytest.raises(TypeError, match="expected a SubscriptionHandler"):
            make_suite(wrong)


# -- over HTTP ----------------------------------------------------------------------


async def test_answer_is_an_event_stream_kept_alive(autojump_clock: trio.testing.MockClock) -> None:
    async with Client(make_suite(Handler())) as client:
        params = {"notifications": {"toolsListChanged": True}}
        async with client.open(LISTEN, params) as answer:
            assert answer.response.status == 200
            assert answer.response.header("content-type") == "text/event-stream"
            assert answer.response.header("x-accel-buffering") == "no"
            assert trio.current_time() == 0
            parts = aiter(answer.response)
            acknowledged = await anext(parts)
            assert acknowledged.startswith(b"data: {")
            assert b"id:" not in acknowledged.replace(b'"id":', b"")
            for minute in range(3):
                assert (await anext(parts)).startswith(b":")
                assert trio.current_time() == 15 * (minute + 1)


async def test_disconnect_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    handler = Handler()
    async with Client(make_suite(handler)) as client:
        with caplog.at_level(logging.WARNING):
            async with client.listen(tools_list_changed=True) as subscription:
                await subscription.disconnect()
                assert handler.closed == ["state"]
    assert handler.closed == ["state"]
    assert [record for record in caplog.records if "secret_key" not in record.message] == []


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notifications": []},
        {"notifications": {"toolsListChanged": "yes"}},
        {"notifications": {"resourceSubscriptions": "file:///a"}},
        {"notifications": {"resourceSubscriptions": [1]}},
    ],
)
async def test_malformed_filter_is_invalid_params(params: dict[str, Any]) -> None:
    handler = Handler()
    async with Client(make_suite(handler)) as client:
        with pytest.raises(ServerError) as refused:
            await client.request(LISTEN, params)
        assert refused.value.code == -32602
        assert refused.value.data["path"].startswith("params.notifications")
        assert handler.filters == []
