"""Rate limits of tools and completions: where a call is counted, and as what."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio

from genmcp.channel import Channel
from genmcp.errors import InvalidParams
from genmcp.limits import OwnRateLimit, RateLimit
from genmcp.mcp import v2607 as mcp
from genmcp.outcome import InputRequired, Stream
from genmcp.providers import (
    Extension,
    PromptRepo,
    ResourceRepo,
    SubscriptionCapabilities,
    SubscriptionHandler,
    Tool,
    ToolSource,
)
from genmcp.questions import elicit_form
from genmcp.suite import Suite
from genmcp.testing import (
    AnsweringClient,
    Client,
    FakeChannel,
    ServerError,
    accept,
    call_tool,
    check_tool,
    fake_request,
)
from genmcp.transport.asgi import StreamableHTTP

SECRET = "0123456789abcdef0123456789abcdef"
TWICE = RateLimit(calls=2, per_seconds=60)


class Free(Tool[dict[str, Any]], name="free", description="As the endpoint says."):
    async def call(self, request: Any, channel: Channel) -> str:
        return "free"


class Once(Free, name="once", description="Once.", rate_limit=RateLimit(1, 60)):
    pass


class Often(Free, name="often", description="As often as wanted.", rate_limit="unlimited"):
    pass


class OnceToo(Once, name="once_too", description="Inherits it."):
    pass


class Hooked(Free, name="hooked", description="Has the hook."):
    def rate_limit(self) -> OwnRateLimit:
        return RateLimit(3, 60)


def make_suite(*tools: ToolSource, **parts: Any) -> Suite:
    return Suite(server_name="s", server_version="1", tools=tools, **parts)


def make_client(*tools: ToolSource, parts: dict[str, Any] | None = None, **limits: Any) -> Client:
    suite = make_suite(*tools, **(parts or {}))
    return Client(StreamableHTTP(suite, secret_key=SECRET, **limits))


async def count_answered(client: Client, tool: str, most: int = 10) -> int:
    answered = 0
    while answered < most:
        try:
            await client.call_tool(tool)
        except ServerError as error:
            refused = error
            break
        answered += 1
    else:
        return most
    assert (refused.code, refused.data["setting"]) == (-32600, "rate_limit")
    return answered


async def count_all(client: Client) -> list[int]:
    return [await count_answered(client, tool.name) for tool in await client.list_all_tools()]


TOOLS = [Free, Once, Often, OnceToo, Hooked]


async def test_each_tool_has_a_bucket_and_perhaps_a_limit_of_its_own() -> None:
    async with make_client(*TOOLS, rate_limit=TWICE) as client:
        assert await count_all(client) == [2, 1, 10, 1, 3]


async def test_a_limit_of_its_own_holds_where_the_endpoint_has_none() -> None:
    async with make_client(*TOOLS) as client:
        assert await count_all(client) == [10, 1, 10, 1, 3]


async def test_limited_tools_are_listed_like_others() -> None:
    limited, free = Once().describe(), Free().describe()
    assert limited.input_schema == free.input_schema
    assert limited.meta is None


async def test_a_tool_can_be_called_again_when_its_token_is_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with make_client(Once) as client:
        assert await count_answered(client, "once") == 1
        await trio.sleep(60)
        assert await count_answered(client, "once") == 1


class Extended(Extension):
    async def tools(self, channel: Channel) -> list[ToolSource]:
        return [Once]


async def test_tools_of_extensions_are_limited_over_all_requests() -> None:
    async with make_client(parts={"extensions": [Extended()]}) as client:
        assert await count_answered(client, "once") == 1


async def answer(channel: FakeChannel, name: str, arguments: Any = None) -> Any:
    suite = make_suite(*TOOLS)
    return await suite.handle_request(fake_request(name, arguments), channel)


async def test_what_is_counted_is_the_tool_with_its_own_limit() -> None:
    channel = FakeChannel()
    await answer(channel, "free")
    await answer(channel, "once")
    assert channel.rate_checks == [
        ("tools/call", "free", None),
        ("tools/call", "once", RateLimit(1, 60)),
    ]


async def test_unknown_tools_are_not_counted() -> None:
    channel = FakeChannel()
    with pytest.raises(InvalidParams):
        await answer(channel, "no such tool")
    assert channel.rate_checks == []


class Picky(Tool, name="picky", description="Wants a number.", rate_limit=RateLimit(2, 60)):
    checked = 0

    def validate_request(self, request: Any) -> Any:
        Picky.checked += 1
        raise InvalidParams("no")

    async def call(self, request: Any, channel: Channel) -> str:
        raise AssertionError


async def test_wrong_arguments_count_and_are_not_looked_at_over_the_limit() -> None:
    Picky.checked = 0
    async with make_client(Picky) as client:
        for code in (-32602, -32602, -32600):
            with pytest.raises(ServerError) as refused:
                await client.call_tool("picky")
            assert refused.value.code == code
    assert Picky.checked == 2


@attrs.frozen
class Manner:
    a: str


class Asks(Tool[dict[str, Any]], name="asks", description="Asks.", rate_limit=TWICE):
    async def call(self, request: Any, channel: Channel) -> Any:
        if "how" not in channel.answers:
            return InputRequired({"how": elicit_form("How?", Manner)})
        return "answered"


async def test_a_round_with_answers_counts_as_a_call() -> None:
    guest = AnsweringClient(how=accept(a="so"))
    app = StreamableHTTP(make_suite(Asks), secret_key=SECRET)
    async with Client(app, answers=guest) as client:
        assert (await client.call_tool("asks")).text == "answered"
        with pytest.raises(ServerError) as refused:
            await client.call_tool("asks")
    assert refused.value.data["setting"] == "rate_limit"
    assert guest.asked == ["how"]


async def test_a_state_sent_again_and_again_is_no_way_round() -> None:
    guest = AnsweringClient(how=accept(a="so"))
    app = StreamableHTTP(make_suite(Asks), secret_key=SECRET)
    async with Client(app, capabilities=guest.caller().client_capabilities) as client:
        asked = await client.request("tools/call", {"name": "asks"})
        retry = {
            "name": "asks",
            "requestState": asked["requestState"],
            "inputResponses": {"how": {"action": "accept", "content": {"a": "so"}}},
        }
        assert "content" in await client.request("tools/call", retry)
        with pytest.raises(ServerError) as refused:
            await client.request("tools/call", retry)
    assert refused.value.data["setting"] == "rate_limit"


def test_the_kit_calls_limited_tools_as_often_as_a_test_likes() -> None:
    assert [call_tool(Once).text for _ in range(3)] == ["free"] * 3
    assert len(check_tool(Once, [{}, {}, {}])) == 3


# -- definitions -----------------------------------------------------------------------


@pytest.mark.parametrize("value", [5, "5/minute", (5, 60), False])
def test_a_wrong_keyword_is_refused_when_the_class_is_defined(value: Any) -> None:
    with pytest.raises(TypeError, match=r"Wrong: rate_limit: must be a RateLimit"):

        class Wrong(Tool[Any], name="wrong", rate_limit=value):
            async def call(self, request: Any, channel: Channel) -> str:
                return ""


def test_a_wrong_hook_is_refused_when_the_suite_is_built() -> None:
    class Wrong(Free, name="wrong", description="Wrong."):
        def rate_limit(self) -> Any:
            return 5

    with pytest.raises(TypeError, match=r"Wrong: rate_limit: must be a RateLimit"):
        make_suite(Wrong)


# -- completion ------------------------------------------------------------------------


class Menus(PromptRepo[Any], prefix="menu"):
    found = 0

    async def list_prompts(self, cursor: Any, channel: Channel) -> list[mcp.Prompt]:
        return []

    async def find_prompt(self, name: str, channel: Channel) -> mcp.Prompt:
        Menus.found += 1
        return mcp.Prompt(name=name, arguments=[mcp.PromptArgument(name="dish")])

    async def get(self, name: str, arguments: Any, channel: Channel) -> str:
        return name

    async def complete(self, name: str, argument: Any, context: Any, channel: Channel) -> list[str]:
        return [argument.value]


class Recipes(ResourceRepo[Any], prefix="recipe://", template="recipe://{dish}", name="Recipe"):
    async def list_resources(self, cursor: Any, channel: Channel) -> list[mcp.Resource]:
        return []

    async def read(self, target: Any, channel: Channel) -> str:
        return "Break two eggs."

    async def complete(self, argument: Any, context: Any, channel: Channel) -> list[str]:
        return [argument.value]


REPOS: dict[str, Any] = {"prompts": [Menus], "resources": [Recipes]}


def prompt(name: str) -> mcp.PromptReference:
    return mcp.PromptReference(name=name)


def template(uri: str) -> mcp.ResourceTemplateReference:
    return mcp.ResourceTemplateReference(uri=uri)


@pytest.mark.parametrize(
    ("refs", "other"),
    [
        ([prompt("menu"), prompt("menu of the day"), prompt("menu")], template("recipe://{dish}")),
        ([template("recipe://{dish}"), template("recipe://x")] * 2, prompt("menu")),
    ],
    ids=["prompts", "resources"],
)
async def test_suggestions_are_limited_by_repository_whatever_the_name(
    refs: list[Any], other: Any
) -> None:
    Menus.found = 0
    async with make_client(Free, parts=REPOS, completion_rate_limit=TWICE) as client:
        for ref in refs[:2]:
            assert (await client.complete(ref, "dish", "a")).values == ["a"]
        with pytest.raises(ServerError) as refused:
            await client.complete(refs[2], "dish", "a")
        assert (refused.value.code, refused.value.data["setting"]) == (
            -32600,
            "completion_rate_limit",
        )
        assert Menus.found in (0, 2), "asked over the limit"
        assert (await client.complete(other, "dish", "a")).values == ["a"]
        assert await count_answered(client, "free") == 10


async def test_unknown_repositories_are_not_counted() -> None:
    async with make_client(parts=REPOS, completion_rate_limit=RateLimit(1, 60)) as client:
        refs: list[Any] = [prompt("nothing"), template("nothing://x")] * 2
        for ref in refs:
            with pytest.raises(ServerError) as refused:
                await client.complete(ref, "dish", "a")
            assert refused.value.code == -32602


async def test_reading_and_prompts_are_not_limited_by_the_rate() -> None:
    async with make_client(parts=REPOS, rate_limit=RateLimit(1, 60)) as client:
        for _ in range(5):
            await client.read_resource("recipe://omelette")
            await client.get_prompt("menu")


class Counted(SubscriptionHandler):
    def subscription_capabilities(self, channel: Channel) -> SubscriptionCapabilities:
        return SubscriptionCapabilities(tools_list_changed=True)

    async def subscribe(self, wanted: Any, channel: Channel) -> Stream[None]:
        channel.check_rate("subscriptions/listen", "tools", RateLimit(1, 60))
        return Stream(None)


async def test_a_subscription_handler_may_count_too() -> None:
    async with make_client(Free, parts={"subscription_handler": Counted()}) as client:
        async with client.listen(tools_list_changed=True):
            pass
        listen = {"notifications": {"toolsListChanged": True}}
        async with client.open("subscriptions/listen", listen) as refused:
            assert refused.response.status == 429
