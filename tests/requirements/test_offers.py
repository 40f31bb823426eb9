"""What is advertised is served, what is not advertised is not, extensions included."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from genmcp import (
    Channel,
    EventBus,
    EventSubscriptions,
    Extension,
    InputRequired,
    StreamableHTTP,
    Suite,
    Tool,
    list_roots,
    mcp,
    sample,
    serve,
)
from genmcp.testing import Client, ServerError
from genmcp.wire.codec import encode
from genmcp.wire.schema_rules import DIALECTS
from tests.docs.pages import ROOT
from tests.requirements.whole_server import (
    LISTEN,
    REQUESTS,
    Asks,
    Greetings,
    Letters,
    Plain,
    make_app,
    make_suite,
)
from tests.suite.repos import Prompts, Texts

FAMILIES = {
    "tools": {"tools/list", "tools/call"},
    "prompts": {"prompts/list", "prompts/get"},
    "resources": {"resources/list", "resources/templates/list", "resources/read"},
    "completions": {"completion/complete"},
}
REMOVED = [
    "initialize",
    "notifications/initialized",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/get",
    "tasks/list",
    "tasks/cancel",
    "tasks/result",
    "elicitation/create",
    "sampling/createMessage",
    "roots/list",
]


def bare(**options: Any) -> Suite:
    return Suite(server_name="s", server_version="1", **options)


async def answer_to(app: StreamableHTTP, method: str, params: Any) -> tuple[int, dict[str, Any]]:
    """Status and first message."""
    async with Client(app).open(method, params) as answer:
        return answer.response.status, await answer.next_message()


@pytest.mark.parametrize(
    ("options", "offered"),
    [
        ({}, set()),
        ({"tools": [Plain]}, {"tools"}),
        ({"prompts": [Prompts("", ["hello"])]}, {"prompts"}),
        ({"prompts": [Greetings]}, {"prompts", "completions"}),
        ({"resources": [Texts("note:", {"a": "x"})]}, {"resources"}),
        ({"tools": [Plain], "resources": [Letters]}, {"tools", "resources"}),
    ],
    ids=lambda value: "+".join(sorted(value)) if isinstance(value, set) else "",
)
async def test_methods_are_served_exactly_when_their_capability_is_advertised(
    options: dict[str, Any], offered: set[str]
) -> None:
    app = make_app(bare(**options))
    discovered = encode((await Client(app).discover()).capabilities)
    assert {name for name in FAMILIES if name in discovered} == offered
    for family, methods in FAMILIES.items():
        for method in methods:
            status, message = await answer_to(app, method, REQUESTS[method])
            refused = message.get("error", {}).get("code") == -32601
            assert refused is (family not in offered), method
            assert (status == 404) is refused


async def test_everything_that_is_implemented_is_advertised() -> None:
    async with Client(make_suite(subscription_handler=EventSubscriptions(EventBus()))) as client:
        capabilities = encode((await client.discover()).capabilities)
    assert capabilities == {
        "logging": {},
        "completions": {},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "tools": {"listChanged": True},
    }


@pytest.mark.parametrize("method", REMOVED)
async def test_method_of_another_revision_or_direction_is_404(method: str) -> None:
    status, message = await answer_to(make_app(), method, {})
    assert (status, message["error"]["code"], message["id"]) == (404, -32601, 1)


async def test_versions_named_by_an_error_are_those_of_discovery() -> None:
    async with Client(make_app()) as client:
        discovered = (await client.discover()).supported_versions
        headers = [
            (name, b"v9" if name == b"mcp-protocol-version" else value)
            for name, value in client.headers("tools/list", {})
        ]
        body = (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{'
            b'"io.modelcontextprotocol/protocolVersion":"v9",'
            b'"io.modelcontextprotocol/clientCapabilities":{}}}}'
        )
        async with client.post(body, headers) as response:
            text = (await response.read()).decode()
    assert response.status == 400
    assert '"requested":"v9"' in text
    [supported] = re.findall(r'"supported":\[([^\]]*)\]', text)
    assert supported.replace('"', "").split(",") == discovered


# -- extensions of the protocol --------------------------------------------------------


@pytest.mark.parametrize("identifier", ["com.example/a", "io.modelcontextprotocol/tasks"])
def test_identifier_of_an_extension_has_a_prefix(identifier: str) -> None:
    found = mcp.ServerCapabilities(extensions={identifier: {}})
    assert encode(found) == {"extensions": {identifier: {}}}


@pytest.mark.parametrize(
    "identifier", ["", "tasks", "/tasks", "1a/tasks", "a b/c", "a..b/c", "é/a"]
)
def test_identifier_without_a_prefix_is_refused(identifier: str) -> None:
    with pytest.raises(ValueError, match="must have identifiers like"):
        mcp.ServerCapabilities(extensions={identifier: {}})


@pytest.mark.parametrize("settings", [None, True, "on", []])
def test_settings_of_an_extension_are_an_object(settings: Any) -> None:
    with pytest.raises(TypeError, match=r"extensions\['com.example/a'\] must be"):
        mcp.ServerCapabilities(extensions={"com.example/a": settings})


EXTENDED = mcp.ClientCapabilities(
    extensions={"io.modelcontextprotocol/tasks": {}, "com.example/own": {"level": 1}}
)


@pytest.mark.parametrize("method", [one for one in REQUESTS if one != LISTEN])
async def test_client_with_extensions_unknown_here_is_served_as_any_other(method: str) -> None:
    app = make_app(make_suite(page_size=99))
    params = REQUESTS[method]
    extended = await Client(app, capabilities=EXTENDED).request(method, params)
    assert extended == await Client(app).request(method, params)
    assert extended["resultType"] == "complete"


async def test_call_that_needs_an_extension_is_refused_without_it() -> None:
    class Needs(Tool, name="needs", requires={"extensions": {"com.example/own": {}}}):
        async def call(self, request: Any, channel: Channel) -> str:
            return "served"

    app = make_app(make_suite(tools=[Needs]))
    status, message = await answer_to(app, "tools/call", {"name": "needs"})
    assert (status, message["error"]["code"]) == (400, -32021)
    assert message["error"]["data"] == {
        "requiredCapabilities": {"extensions": {"com.example/own": {}}}
    }
    result = await Client(app, capabilities=EXTENDED).call_tool("needs")
    assert isinstance(result, mcp.CallToolResult)
    assert result.text == "served"


# -- questions -------------------------------------------------------------------------

ASKS = InputRequired(client_state=1)


class AskingLists(Extension):
    def tools(self, channel: Channel) -> Any:
        return ASKS

    def prompts(self, channel: Channel) -> Any:
        return ASKS

    def resources(self, channel: Channel) -> Any:
        return ASKS


class AskingPrompts(Greetings):
    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        return ASKS

    async def complete(self, name: str, argument: Any, context: Any, channel: Channel) -> Any:
        return ASKS


class AskingResources(Letters):
    async def list_resources(self, cursor: Any, channel: Channel) -> Any:
        return ASKS


class AskingSubscriptions(EventSubscriptions):
    async def subscribe(self, filter: Any, channel: Channel) -> Any:  # noqa: A002
        return ASKS


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("tools/list", {"extensions": [AskingLists()]}),
        ("prompts/list", {"extensions": [AskingLists()]}),
        ("prompts/list", {"prompts": [AskingPrompts]}),
        ("resources/list", {"extensions": [AskingLists()]}),
        ("resources/list", {"resources": [AskingResources]}),
        ("resources/templates/list", {"extensions": [AskingLists()]}),
        ("completion/complete", {"prompts": [AskingPrompts]}),
        (LISTEN, {"tools": [Plain], "subscription_handler": AskingSubscriptions(EventBus())}),
    ],
)
async def test_only_three_methods_may_be_answered_with_a_question(
    method: str, options: dict[str, Any]
) -> None:
    status, message = await answer_to(make_app(bare(**options)), method, REQUESTS[method])
    assert (status, message["error"]["code"]) == (500, -32603)


@pytest.mark.parametrize(
    ("capabilities", "needed"),
    [
        ({}, {"elicitation": {"form": {}}}),
        ({"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        ({"sampling": {}, "roots": {}}, {"elicitation": {"form": {}}}),
    ],
)
async def test_undeclared_question_is_400_with_what_is_missing(
    capabilities: dict[str, Any], needed: dict[str, Any]
) -> None:
    app = make_app(bare(tools=[Asks]))
    meta = {mcp.CLIENT_CAPABILITIES_KEY: capabilities}
    async with Client(app).open("tools/call", {"name": "asks"}, meta=meta) as answer:
        message = await answer.next_message()
    assert (answer.response.status, message["error"]["code"]) == (400, -32021)
    assert message["error"]["data"] == {"requiredCapabilities": needed}


async def test_capabilities_that_are_there_are_not_named_as_missing() -> None:
    needed: dict[str, Any] = {
        "sampling": {"tools": {}, "context": {}},
        "elicitation": {},
        "roots": {},
    }

    class Needs(Tool, name="needs", requires=needed):
        async def call(self, request: Any, channel: Channel) -> str:
            return "served"

    declared: dict[str, Any] = {"sampling": {"context": {}}, "elicitation": {"form": {}}}
    meta = {mcp.CLIENT_CAPABILITIES_KEY: declared}
    async with Client(make_app(bare(tools=[Needs]))) as client:
        with pytest.raises(ServerError) as caught:
            await client.request("tools/call", {"name": "needs"}, meta=meta)
    missing: dict[str, Any] = {"sampling": {"tools": {}}, "roots": {}}
    assert (caught.value.code, caught.value.data) == (-32021, {"requiredCapabilities": missing})


# -- defaults and words ----------------------------------------------------------------


def test_local_server_is_bound_to_loopback_unless_told_otherwise() -> None:
    assert inspect.signature(serve).parameters["host"].default == "127.0.0.1"


def test_dialects_of_json_schema_are_documented() -> None:
    page = (ROOT / "docs/writing-tools.md").read_text(encoding="utf-8")
    for dialect in DIALECTS:
        [name] = re.findall(r"draft/(20\d\d-\d\d)|(draft-0\d)", dialect)
        assert "".join(name) in page, dialect


@pytest.mark.parametrize("deprecated", [sample, list_roots, Channel.send_log])
def test_what_the_protocol_deprecates_says_so(deprecated: Any) -> None:
    assert "Deprecated by the protocol" in (inspect.getdoc(deprecated) or "")


@pytest.mark.parametrize(
    ("publish", "wanted", "method"),
    [
        ("tools_changed", "tools_list_changed", "notifications/tools/list_changed"),
        ("prompts_changed", "prompts_list_changed", "notifications/prompts/list_changed"),
        ("resources_changed", "resources_list_changed", "notifications/resources/list_changed"),
    ],
)
async def test_every_kind_of_list_tells_of_its_change_to_whoever_asked(
    publish: str, wanted: str, method: str
) -> None:
    bus = EventBus()
    asked: dict[str, Any] = {wanted: True}
    async with (
        Client(make_suite(subscription_handler=EventSubscriptions(bus))) as client,
        client.listen(**asked) as heard,
    ):
        for one in ("tools_changed", "prompts_changed", "resources_changed"):
            if one != publish:
                getattr(bus, one)()
        getattr(bus, publish)()
        assert (await heard.next_change()).method == method
