"""Scopes that providers require: declared, checked, and shown all the same."""

from __future__ import annotations

import time
from typing import Any

import attrs
import pytest
import trio

from genmcp import (
    Authorization,
    Channel,
    EventBus,
    EventSubscriptions,
    Extension,
    InsufficientScope,
    PromptRepo,
    ResourceRepo,
    StreamableHTTP,
    Suite,
    Tool,
    elicit_form,
    mcp,
)
from genmcp.errors import InternalError
from genmcp.outcome import InputRequired
from genmcp.testing import Client, FakeVerifier, ServerError, call_tool, fake_access, fake_caller


class Write(Tool, name="write", description="Writes.", required_scopes=["files:write"]):
    async def call(self, request: Any, channel: Channel) -> str:
        return "written"


class Careful(
    Tool,
    name="careful",
    description="Is checked in every respect.",
    required_scopes=["files:write"],
    requires={"elicitation": {}},
    input_schema={"type": "object", "required": ["must"]},
):
    async def call(self, request: Any, channel: Channel) -> str:
        return "done"


class Picky(Tool, name="picky", description="Needs more for some arguments."):
    async def call(self, request: Any, channel: Channel) -> str:
        if request.params.arguments.get("stream"):
            await channel.send_progress(1)
        raise InsufficientScope(["files:admin"])


@attrs.frozen
class Name:
    name: str


class Asks(Tool, name="asks", description="Asks first.", required_scopes=["files:write"]):
    async def call(self, request: Any, channel: Channel) -> Any:
        if not channel.answers:
            return InputRequired({"name": elicit_form("Name?", Name)})
        return "thanks"


class Letters(PromptRepo, prefix="letter.", required_scopes=["letters"]):
    def __init__(self) -> None:
        self.looked_for: list[str] = []

    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Prompt(name="letter.a", arguments=[mcp.PromptArgument(name="to")])]

    async def find_prompt(self, name: str, channel: Channel) -> mcp.Prompt | None:
        self.looked_for.append(name)
        return mcp.Prompt(name=name, arguments=[mcp.PromptArgument(name="to")])

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> str:
        return "Dear"

    async def complete(self, name: str, argument: Any, context: Any, channel: Channel) -> list[str]:
        return ["ada"]


class Files(
    ResourceRepo,
    prefix="file:",
    template="file:{id}",
    name="file",
    required_scopes=["files:read"],
):
    async def list_resources(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Resource(uri="file:1", name="one")]

    async def read(self, target: Any, channel: Channel) -> str:
        return "text"

    async def complete(self, argument: Any, context: Any, channel: Channel) -> list[str]:
        return ["1"]


class News(ResourceRepo, prefix="news:"):
    async def list_resources(self, cursor: Any, channel: Channel) -> Any:
        return []

    async def read(self, target: Any, channel: Channel) -> str:
        return "text"


class More(Extension):
    def tools(self, channel: Channel) -> Any:
        return [Extra]


class Extra(Tool, name="extra", description="Given by an extension.", required_scopes=["x"]):
    async def call(self, request: Any, channel: Channel) -> str:
        return "extra"


def make_suite(**more: Any) -> Suite:
    return Suite(
        server_name="scopes",
        server_version="1",
        tools=[Write, Careful, Picky, Asks],
        prompts=[Letters],
        resources=[Files, News],
        extensions=[More()],
        **more,
    )


async def refused(client: Client, method: str, **params: Any) -> ServerError:
    with pytest.raises(ServerError) as error:
        await client.request(method, params)
    return error.value


# -- declared ------------------------------------------------------------------------


@pytest.mark.parametrize("scopes", ["files:write", ["a b"], [7], ["offline_access"]])
@pytest.mark.parametrize("base", [Tool, PromptRepo, ResourceRepo])
def test_a_wrong_keyword_is_refused_when_the_class_is_defined(base: Any, scopes: Any) -> None:
    named = {"name": "x"} if base is Tool else {}
    with pytest.raises((TypeError, ValueError), match=r"Wrong: required_scopes: "):
        type("Wrong", (base,), {"__doc__": "Wrong."}, **named, required_scopes=scopes)


def test_subclasses_inherit_and_replace_scopes() -> None:
    class Same(Write, name="same"):
        pass

    class Open(Write, name="open", required_scopes=[]):
        pass

    assert Same().required_scopes() == {"files:write"}
    assert Open().required_scopes() == frozenset()


def test_a_wrong_hook_is_refused_when_the_suite_is_built() -> None:
    class Wrong(Tool, name="wrong"):
        def required_scopes(self) -> Any:
            return "files:write"

        async def call(self, request: Any, channel: Channel) -> str:
            return ""

    with pytest.raises(TypeError, match="Wrong: required_scopes: must be a list"):
        Suite(server_name="x", server_version="1", tools=[Wrong])


def test_a_hook_may_be_written_by_hand() -> None:
    class Computed(Tool, name="computed", description="Depends on its instance."):
        def __init__(self, scope: str) -> None:
            self.scope = scope

        def required_scopes(self) -> list[str]:
            return [self.scope]

        async def call(self, request: Any, channel: Channel) -> str:
            return "done"

    with pytest.raises(InsufficientScope) as lacking:
        call_tool(Computed("a"), {}, fake_caller(access=fake_access("b")))
    assert lacking.value.required == ("a",)
    assert call_tool(Computed("b"), {}, fake_caller(access=fake_access("b"))).text == "done"


# -- checked -------------------------------------------------------------------------


def test_scopes_are_not_checked_where_there_are_no_tokens() -> None:
    assert call_tool(Write).text == "written"


def test_scopes_are_checked_where_a_test_says_what_the_token_allows() -> None:
    assert call_tool(Write, {}, fake_caller(access=fake_access("files:write"))).text == "written"
    with pytest.raises(InsufficientScope):
        call_tool(Write, {}, fake_caller(access=fake_access()))


def test_without_authorization_what_requires_scopes_is_closed() -> None:
    with pytest.raises(InternalError, match=r"takes no access tokens.*authorization="):
        call_tool(Write, {}, fake_caller(scopes_apply=True))


async def test_over_http_without_authorization_it_is_closed_too() -> None:
    async with Client(make_suite()) as client:
        error = await refused(client, "tools/call", name="write", arguments={})
        assert error.code == mcp.INTERNAL_ERROR
        assert "authorization=" in error.message
        assert "files:write" in error.message
        uri = await refused(client, "resources/read", uri="file:1")
        assert "authorization=" in uri.message
        assert (await client.request("resources/read", {"uri": "news:1"}))["contents"]


def test_without_authorization_the_endpoint_warns_of_what_is_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    suite = make_suite()
    assert suite.scopes() == {"files:read", "files:write", "letters"}
    StreamableHTTP(suite, secret_key="k" * 20)
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert "the scopes files:read files:write letters is refused" in record.getMessage()
    assert "without authorization" in record.getMessage()


def test_nothing_is_said_where_nothing_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    open_to_all = Suite(server_name="s", server_version="1", tools=[Picky])
    StreamableHTTP(open_to_all, secret_key="k" * 20)
    StreamableHTTP(
        make_suite(),
        public_url="https://mcp.example.com",
        authorization=Authorization(
            FakeVerifier({}), authorization_servers=["https://auth.example.com"]
        ),
        secret_key="k" * 20,
    )
    assert [one for one in caplog.records if one.levelname == "WARNING"] == []


def test_a_token_without_what_it_allows_is_refused_for_a_server() -> None:
    with pytest.raises(TypeError, match="give access="):
        Client(make_suite(), token="t")
    Client(make_suite(), token="t", access=fake_access())


async def test_a_call_needs_the_tools_scopes() -> None:
    async with Client(make_suite(), access=fake_access("files:read")) as client:
        error = await refused(client, "tools/call", name="write", arguments={})
        assert error.code == mcp.INVALID_REQUEST
        assert error.data == {"requiredScopes": ["files:write"]}
        extra = await refused(client, "tools/call", name="extra", arguments={})
        assert extra.data == {"requiredScopes": ["x"]}
    async with Client(make_suite(), access=fake_access("files:write", "x")) as client:
        assert (await client.call_tool("write")).text == "written"
        assert (await client.call_tool("extra")).text == "extra"


async def test_an_unknown_tool_is_unknown_whatever_the_token() -> None:
    async with Client(make_suite(), access=fake_access()) as client:
        error = await refused(client, "tools/call", name="none", arguments={})
        assert error.code == mcp.INVALID_PARAMS


async def test_scopes_come_before_state_capabilities_and_arguments() -> None:
    wrong = {"name": "careful", "arguments": {}, "requestState": "forged"}
    async with Client(make_suite(), access=fake_access()) as client:
        assert (await refused(client, "tools/call", **wrong)).data == {
            "requiredScopes": ["files:write"]
        }
    async with Client(make_suite(), access=fake_access("files:write")) as client:
        assert "requestState" in (await refused(client, "tools/call", **wrong)).message
        del wrong["requestState"]
        error = await refused(client, "tools/call", **wrong)
        assert error.code == mcp.MISSING_REQUIRED_CLIENT_CAPABILITY


async def test_a_retry_is_checked_again() -> None:
    tokens = {"full": fake_access("files:write"), "less": fake_access()}
    app = StreamableHTTP(
        make_suite(),
        public_url="https://mcp.example.com/mcp",
        authorization=Authorization(
            FakeVerifier(tokens), authorization_servers=["https://auth.example.com"]
        ),
    )
    able = mcp.ClientCapabilities(elicitation=mcp.ElicitationCapability(form={}))
    params: dict[str, Any] = {"name": "asks", "arguments": {}}
    async with Client(app, capabilities=able, token="full") as client:
        asked = await client.request("tools/call", params)
        params["requestState"] = asked["requestState"]
        params["inputResponses"] = {"name": {"action": "accept", "content": {"name": "ada"}}}
        assert (await client.request("tools/call", params))["content"][0]["text"] == "thanks"
    async with Client(app, capabilities=able, token="less") as client:
        error = await refused(client, "tools/call", **params)
        assert error.data == {"requiredScopes": ["files:write"]}


async def test_a_state_is_good_for_the_subject_of_the_token_it_was_given_to() -> None:
    tokens = {
        token: fake_access("files:write", subject=subject)
        for token, subject in (("ada", "ada"), ("ada-again", "ada"), ("bob", "bob"))
    }
    app = StreamableHTTP(
        make_suite(),
        public_url="https://mcp.example.com/mcp",
        authorization=Authorization(
            FakeVerifier(tokens), authorization_servers=["https://auth.example.com"]
        ),
    )
    able = mcp.ClientCapabilities(elicitation=mcp.ElicitationCapability(form={}))
    params: dict[str, Any] = {"name": "asks", "arguments": {}}
    async with Client(app, capabilities=able, token="ada") as client:
        params["requestState"] = (await client.request("tools/call", params))["requestState"]
    params["inputResponses"] = {"name": {"action": "accept", "content": {"name": "ada"}}}
    async with Client(app, capabilities=able, token="bob") as client:
        error = await refused(client, "tools/call", **params)
        assert error.code == mcp.INVALID_PARAMS
        assert "requestState" in error.message
    # A new token of the same person goes on with it.
    async with Client(app, capabilities=able, token="ada-again") as client:
        assert (await client.request("tools/call", params))["content"][0]["text"] == "thanks"


async def test_a_prompt_needs_its_repositorys_scopes_before_it_is_looked_for() -> None:
    letters = Letters()
    suite = Suite(server_name="x", server_version="1", prompts=[letters])
    ref = {"type": "ref/prompt", "name": "letter.a"}
    completing = {"ref": ref, "argument": {"name": "to", "value": ""}}
    async with Client(suite, access=fake_access()) as client:
        for error in (
            await refused(client, "prompts/get", name="letter.a"),
            await refused(client, "completion/complete", **completing),
        ):
            assert error.data == {"requiredScopes": ["letters"]}
    assert letters.looked_for == []
    async with Client(suite, access=fake_access("letters")) as client:
        assert (await client.request("prompts/get", {"name": "letter.a"}))["messages"]
        completed = await client.request("completion/complete", completing)
        assert completed["completion"]["values"] == ["ada"]


async def test_a_resource_needs_its_repositorys_scopes() -> None:
    ref = {"type": "ref/resource", "uri": "file:{id}"}
    completing = {"ref": ref, "argument": {"name": "id", "value": ""}}
    async with Client(make_suite(), access=fake_access()) as client:
        for error in (
            await refused(client, "resources/read", uri="file:1"),
            await refused(client, "completion/complete", **completing),
        ):
            assert error.data == {"requiredScopes": ["files:read"]}
        assert (await client.request("resources/read", {"uri": "news:1"}))["contents"]
    async with Client(make_suite(), access=fake_access("files:read")) as client:
        assert (await client.request("resources/read", {"uri": "file:1"}))["contents"]
        completed = await client.request("completion/complete", completing)
        assert completed["completion"]["values"] == ["1"]


@pytest.mark.parametrize(
    ("scopes", "accepted"), [((), ["news:1"]), (("files:read",), ["file:1", "news:1"])]
)
async def test_only_what_may_be_read_can_be_subscribed_to(
    scopes: tuple[str, ...], accepted: list[str]
) -> None:
    suite = make_suite(subscription_handler=EventSubscriptions(EventBus()))
    async with (
        Client(suite, access=fake_access(*scopes)) as client,
        client.listen(resource_subscriptions=["file:1", "news:1", "none:1"]) as subscription,
    ):
        assert sorted(subscription.accepted.resource_subscriptions or ()) == accepted


@pytest.mark.parametrize(("max_age", "lives"), [(None, 160), (1000, 160), (40, 40)])
async def test_a_subscription_lives_no_longer_than_its_token(
    max_age: float | None, lives: float, autojump_clock: Any
) -> None:
    suite = make_suite(subscription_handler=EventSubscriptions(EventBus(), max_age_seconds=max_age))
    access = fake_access(expires_at=time.time() + 100)
    async with (
        Client(suite, access=access) as client,
        client.listen(tools_list_changed=True) as subscription,
    ):
        began = trio.current_time()
        await subscription.result()
        assert lives - 5 < trio.current_time() - began <= lives


async def test_lists_show_what_needs_more_scopes() -> None:
    async with Client(make_suite(), access=fake_access()) as client:
        tools = await client.list_all_tools()
        assert [tool.name for tool in tools] == ["write", "careful", "picky", "asks", "extra"]
        prompts = await client.request("prompts/list")
        assert [prompt["name"] for prompt in prompts["prompts"]] == ["letter.a"]
        resources = await client.request("resources/list")
        assert [resource["uri"] for resource in resources["resources"]] == ["file:1"]


async def test_a_tool_may_find_out_for_itself() -> None:
    async with Client(make_suite(), access=fake_access()) as client:
        params = {"name": "picky", "arguments": {}}
        async with client.open("tools/call", params) as answer:
            assert answer.response.status == 403
            challenge = answer.response.header("www-authenticate") or ""
            assert 'error="insufficient_scope"' in challenge
            assert 'scope="files:admin"' in challenge
            message = await answer.next_message()
            assert message["error"]["data"] == {"requiredScopes": ["files:admin"]}


async def test_once_a_stream_is_open_it_says_so_there() -> None:
    async with Client(make_suite(), access=fake_access()) as client:
        params = {"name": "picky", "arguments": {"stream": True}}
        meta = {"progressToken": "p"}
        async with client.open("tools/call", params, meta=meta) as answer:
            assert answer.response.status == 200
            assert answer.response.header("www-authenticate") is None
            assert (await answer.next_message())["method"] == "notifications/progress"
            last = await answer.next_message()
            assert last["error"]["data"] == {"requiredScopes": ["files:admin"]}
