"""What every result and notification has, and what none has, for all ten methods."""

from __future__ import annotations

from typing import Any

import pytest

from genmcp import Channel, Extension, Tool, elicit_url, list_roots, mcp, sample
from genmcp.testing import Client, ServerError
from genmcp.wire.codec import encode
from tests.requirements.whole_server import (
    ASKING,
    CACHED,
    FORM,
    LISTEN,
    LISTS,
    REQUESTS,
    make_app,
    make_suite,
    messages_of,
    result_of,
)

IDENTITY = {"name": "whole", "version": "1"}
HINTS = {"ttlMs", "cacheScope"}
PROTOCOL_KEYS = {mcp.SERVER_INFO_KEY, mcp.SUBSCRIPTION_ID_KEY}
ALL = [*REQUESTS.items(), *ASKING.items()]


@pytest.mark.parametrize(("method", "params"), ALL)
async def test_every_result_has_its_type_and_the_servers_identity(method: str, params: Any) -> None:
    result = await result_of(method, params)
    expected = "input_required" if params is ASKING.get(method) else "complete"
    assert result["resultType"] == expected
    assert result["_meta"][mcp.SERVER_INFO_KEY] == IDENTITY


@pytest.mark.parametrize("method", list(REQUESTS))
async def test_six_results_have_cache_hints_and_four_have_none(method: str) -> None:
    result = await result_of(method)
    if method in CACHED:
        assert type(result["ttlMs"]) is int
        assert result["ttlMs"] >= 0
        assert result["cacheScope"] in {"public", "private"}
    else:
        assert not result.keys() & HINTS


@pytest.mark.parametrize("method", list(ASKING))
async def test_questions_have_no_cache_hints(method: str) -> None:
    result = await result_of(method, ASKING[method])
    assert result.keys() == {"resultType", "inputRequests", "requestState", "_meta"}


async def test_discovery_has_the_members_of_the_specification_and_no_others() -> None:
    result = await result_of("server/discover")
    assert result.keys() == {
        "resultType",
        "supportedVersions",
        "capabilities",
        "ttlMs",
        "cacheScope",
        "_meta",
    }
    async with Client(make_suite(instructions="Be kind.")) as client:
        assert (await client.request("server/discover"))["instructions"] == "Be kind."


@pytest.mark.parametrize(("method", "items"), LISTS.items())
async def test_every_list_pages_and_its_last_page_has_no_cursor(method: str, items: str) -> None:
    found: list[Any] = []
    hints: set[Any] = set()
    params: dict[str, Any] = {}
    async with Client(make_app()) as client:
        for _ in range(9):
            page = await client.request(method, params)
            assert len(page[items]) == 1
            found += page[items]
            hints.add((page["cacheScope"], type(page["ttlMs"])))
            if "nextCursor" not in page:
                break
            assert isinstance(page["nextCursor"], str)
            params = {"cursor": page["nextCursor"]}
        async with Client(make_app(make_suite(page_size=99))) as other:
            whole = await other.request(method)
    assert len(found) > 1
    assert found == whole[items]
    assert "nextCursor" not in page
    assert "nextCursor" not in whole
    assert hints == {("private", int)}


class GivesNothing(Extension):
    def tools(self, channel: Channel) -> Any:
        return []

    def prompts(self, channel: Channel) -> Any:
        return []

    def resources(self, channel: Channel) -> Any:
        return []


@pytest.mark.parametrize(("method", "items"), LISTS.items())
async def test_list_of_nothing_is_written_as_an_empty_list(method: str, items: str) -> None:
    suite = make_suite(tools=[], prompts=[], resources=[], extensions=[GivesNothing()])
    async with Client(suite) as client:
        page = await client.request(method)
    assert page[items] == []
    assert page.keys() == {items, "resultType", "ttlMs", "cacheScope", "_meta"}


@pytest.mark.parametrize("careful", [0, 1, 2])
async def test_one_private_item_makes_every_page_private(careful: int) -> None:
    """Wherever in the list it stands: pages of one list share their scope."""

    def make_tool(number: int) -> type[Tool]:
        scope: Any = "private" if number == careful else "public"

        class Made(Tool, name=f"t{number}", cache_control=(scope, 60_000)):
            async def call(self, request: Any, channel: Channel) -> str:
                return ""

        return Made

    suite = make_suite(tools=[make_tool(number) for number in range(3)])
    scopes: list[str] = []
    params: dict[str, Any] = {}
    async with Client(suite) as client:
        while len(scopes) < 3:
            page = await client.request("tools/list", params)
            scopes.append(page["cacheScope"])
            params = {"cursor": page.get("nextCursor")}
    assert params == {"cursor": None}
    assert scopes == ["private"] * 3


async def test_nothing_the_server_sends_is_a_request() -> None:
    asked = {"progressToken": "p", mcp.LOG_LEVEL_KEY: "debug"}
    talks: Any = ("tools/call", {"name": "talks"})
    seen: list[str] = []
    for method, params in [*ALL, talks]:
        messages = await messages_of(make_app(), method, params, **asked)
        for message in messages[:-1]:
            assert message.keys() == {"jsonrpc", "method", "params"}
            seen.append(message["method"])
        assert messages[-1].keys() == {"jsonrpc", "id", "result"}
    assert seen == [
        "notifications/subscriptions/acknowledged",
        "notifications/progress",
        "notifications/message",
    ]


@pytest.mark.parametrize("method", list(ASKING))
async def test_question_inside_a_result_has_neither_id_nor_version(method: str) -> None:
    result = await result_of(method, ASKING[method])
    assert result["inputRequests"] == {
        "sure": {
            "method": "elicitation/create",
            "params": {"mode": "form", "message": "Sure?", "requestedSchema": encode(FORM)},
        }
    }


def test_each_kind_of_question_is_a_method_with_parameters() -> None:
    questions = [elicit_url("Pay.", "https://a/b"), sample("Hi", max_tokens=1), list_roots()]
    written = [encode(question) for question in questions]
    assert [one["method"] for one in written] == [
        "elicitation/create",
        "sampling/createMessage",
        "roots/list",
    ]
    assert all(one.keys() <= {"method", "params"} for one in written)
    assert written[0]["params"] == {"mode": "url", "message": "Pay.", "url": "https://a/b"}


# -- _meta -----------------------------------------------------------------------------


def keys_of_meta(value: Any) -> set[str]:
    """The keys of every `_meta` in a message, at any depth."""
    match value:
        case dict():
            own = set(value["_meta"]) if "_meta" in value else set()
            return own | {key for item in value.values() for key in keys_of_meta(item)}
        case list():
            return {key for item in value for key in keys_of_meta(item)}
        case _:
            return set()


async def test_server_writes_no_keys_of_meta_but_those_of_the_protocol() -> None:
    asked = {
        "progressToken": 1,
        mcp.LOG_LEVEL_KEY: "debug",
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "com.example/own": 1,
    }
    found: set[str] = set()
    for method, params in [*ALL, ("tools/call", {"name": "talks"})]:
        for message in await messages_of(make_app(), method, params, **asked):
            found |= keys_of_meta(message)
    assert found == PROTOCOL_KEYS


@pytest.mark.parametrize("forged", ["progress", "log"])
async def test_only_listen_streams_have_a_subscription_id(forged: str) -> None:
    meta = mcp.NotificationMetaObject(subscription_id="forged")

    class Forges(Tool, name="forges"):
        async def call(self, request: Any, channel: Channel) -> str:
            if forged == "progress":
                assert await channel.send_notification(
                    mcp.ProgressNotification(
                        params=mcp.ProgressNotificationParams(
                            progress_token="other", progress=1, meta=meta
                        )
                    )
                )
            else:
                assert await channel.send_notification(
                    mcp.LoggingMessageNotification(
                        params=mcp.LoggingMessageNotificationParams(
                            level="error", data=1, meta=meta
                        )
                    )
                )
            return "said"

    app = make_app(make_suite(tools=[Forges]))
    asked = {"progressToken": "own", mcp.LOG_LEVEL_KEY: "debug"}
    notification, _ = await messages_of(app, "tools/call", {"name": "forges"}, **asked)
    assert "_meta" not in notification["params"]


BAD_TRACES: list[dict[str, Any]] = [
    {"traceparent": 5, "tracestate": [], "baggage": {}},
    {"traceparent": "00-nonsense", "tracestate": "\n", "baggage": None},
]


@pytest.mark.parametrize(
    "trace",
    [
        {
            "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "tracestate": "vendor=1",
            "baggage": "user=ada",
        },
        *BAD_TRACES,
    ],
)
async def test_trace_context_reaches_the_handler_and_never_refuses_a_call(trace: Any) -> None:
    seen: list[Any] = []

    class Traced(Tool, name="traced"):
        async def call(self, request: Any, channel: Channel) -> str:
            seen.append({key: channel.meta[key] for key in trace})
            return "traced"

    app = make_app(make_suite(tools=[Traced]))
    [message] = await messages_of(app, "tools/call", {"name": "traced"}, **trace)
    assert message["result"]["content"] == [{"type": "text", "text": "traced"}]
    assert seen == [trace]


# -- what a provider must not give -----------------------------------------------------


@pytest.mark.parametrize(
    "result",
    [
        mcp.CallToolResult(result_type="task"),
        mcp.CallToolResult(result_type="input_required"),
        mcp.CallToolResult(result_type=""),
    ],
    ids=repr,
)
async def test_result_of_a_type_nobody_advertised_is_a_server_error(
    result: mcp.CallToolResult, caplog: pytest.LogCaptureFixture
) -> None:
    class Odd(Tool, name="odd"):
        async def call(self, request: Any, channel: Channel) -> Any:
            return result

    async with Client(make_suite(tools=[Odd])) as client:
        with pytest.raises(ServerError) as caught:
            await client.call_tool("odd")
    assert (caught.value.code, caught.value.message) == (-32603, "Internal server error")
    assert "CallToolResult.result_type must be 'complete'" in caplog.text


async def test_server_cannot_cancel_a_call_by_notification() -> None:
    cancels = mcp.CancelledNotification(params=mcp.CancelledNotificationParams(request_id=1))

    class Cancels(Tool, name="cancels"):
        async def call(self, request: Any, channel: Channel) -> str:
            with pytest.raises(TypeError, match="may be sent on a call's own stream"):
                await channel.send_notification(cancels)
            return "not sent"

    [message] = await messages_of(
        make_app(make_suite(tools=[Cancels])), "tools/call", {"name": "cancels"}
    )
    assert message["result"]["content"] == [{"type": "text", "text": "not sent"}]


async def test_no_response_mentions_a_session() -> None:
    client = Client(make_app())
    for method, params in REQUESTS.items():
        if method == LISTEN:
            continue
        async with client.open(method, params) as answer:
            names = {name for name, _ in answer.response.headers}
            assert answer.response.status == 200
        assert not [name for name in names if "session" in name or "event-id" in name]
