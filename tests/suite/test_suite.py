"""The Suite: discovery, lists, extensions, and what it refuses to be built from."""

from __future__ import annotations

from typing import Any, cast

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp import (
    CallbackReturnError,
    Channel,
    Extension,
    InvalidParams,
    MethodNotFound,
    Suite,
    Tool,
    ToolSource,
    mcp,
)
from genmcp.suite.listing import cut_page
from genmcp.testing import FakeChannel, fake_caller, fake_request
from genmcp.tokens import Keyring
from genmcp.wire.messages import write_result

META = fake_request().params.meta
IDENTITY = mcp.Implementation(name="s", version="1", title="S")


def make_tool(name: str, **keywords: Any) -> type[Tool[Any, Any]]:
    """A tool class that answers with its own name."""

    class Made(Tool, name=name, description="d", **keywords):
        async def call(self, request: Any, channel: Channel) -> str:
            return name

    return Made


def make_suite(*tools: ToolSource, **options: Any) -> Suite:
    """A suite of these tools."""
    facts: dict[str, Any] = {"server_name": "s", "server_version": "1", "server_title": "S"}
    return Suite(tools=tools, **{**facts, **options})


async def ask(suite: Suite, request: mcp.Request, channel: Channel | None = None) -> Any:
    """One request, answered."""
    return await suite.handle_request(request, FakeChannel() if channel is None else channel)


async def list_tools(
    suite: Suite, cursor: str | None = None, channel: Channel | None = None
) -> mcp.ListToolsResult:
    """One page of the tools."""
    params = mcp.PaginatedRequestParams(meta=META, cursor=cursor)
    result = await ask(suite, mcp.ListToolsRequest(params=params), channel)
    assert isinstance(result, mcp.ListToolsResult)
    return result


async def discover(suite: Suite) -> mcp.DiscoverResult:
    """The answer to server/discover."""
    result = await ask(suite, mcp.DiscoverRequest(params=mcp.RequestParams(meta=META)))
    assert isinstance(result, mcp.DiscoverResult)
    return result


# -- discovery ----------------------------------------------------------------------


async def test_discovery_tells_what_is_configured() -> None:
    result = await discover(make_suite(make_tool("a"), instructions="Be kind."))
    assert result.supported_versions == [mcp.PROTOCOL_VERSION]
    assert result.instructions == "Be kind."
    assert result.capabilities == mcp.capabilities(tools=True, logging=True)
    assert (result.cache_scope, result.ttl_ms) == ("private", 0)
    assert result.meta is not None
    assert result.meta.server_info == IDENTITY


async def test_suite_without_tools_has_no_tools_capability() -> None:
    suite = make_suite()
    assert (await discover(suite)).capabilities.tools is None
    assert set(suite.methods()) == {"server/discover"}
    with pytest.raises(MethodNotFound):
        await list_tools(suite)


async def test_extension_that_may_give_tools_brings_the_capability() -> None:
    class Some(Extension):
        def tools(self, channel: Channel) -> list[ToolSource]:
            return []

    assert (await discover(make_suite(extensions=[Some()]))).capabilities.tools is not None
    assert (await discover(make_suite(extensions=[Extension()]))).capabilities.tools is None


@pytest.mark.parametrize("send", [True, False])
async def test_every_result_carries_the_identity_unless_switched_off(send: bool) -> None:
    suite = make_suite(make_tool("a"), send_server_info=send)
    for result in (
        await discover(suite),
        await list_tools(suite),
        await ask(suite, fake_request("a")),
    ):
        found = None if result.meta is None else result.meta.server_info
        assert found == (IDENTITY if send else None)


async def test_identity_a_tool_gives_itself_is_kept() -> None:
    own = mcp.Implementation(name="own", version="9")

    class Own(Tool, name="own"):
        async def call(self, request: Any, channel: Channel) -> Any:
            meta = mcp.ResultMetaObject(server_info=own, extra={"com.example/k": 1})
            return attrs.evolve(mcp.call_tool_result(text="x"), meta=meta)

    class Extra(Tool, name="extra"):
        async def call(self, request: Any, channel: Channel) -> Any:
            meta = mcp.ResultMetaObject(extra={"com.example/k": 1})
            return attrs.evolve(mcp.call_tool_result(text="x"), meta=meta)

    suite = make_suite(Own, Extra)
    assert (await ask(suite, fake_request("own"))).meta.server_info == own
    extra = await ask(suite, fake_request("extra"))
    assert extra.meta.server_info == IDENTITY
    assert extra.meta.extra == {"com.example/k": 1}


# -- building -----------------------------------------------------------------------


def test_two_tools_of_one_name_are_refused_naming_both() -> None:
    class First(make_tool("same")): ...  # type: ignore[misc]

    class Second(make_tool("same")): ...  # type: ignore[misc]

    with pytest.raises(ValueError, match=r"'same'.*First and .*Second"):
        make_suite(First, Second)


def test_names_that_fold_together_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    make_suite(make_tool("a-b"), make_tool("a.b"))
    assert "'a-b' and 'a.b'" in caplog.text


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"server_name": ""}, TypeError, "server_name must be a non-empty str"),
        ({"server_name": 5}, TypeError, "server_name must be a non-empty str"),
        ({"server_version": None}, TypeError, "server_version must be a non-empty str"),
        ({"instructions": 5}, TypeError, "instructions must be a non-empty str"),
        ({"server_name": "a\ud800"}, ValueError, "server_name has half of a surrogate pair"),
        ({"server_title": "a\ud800"}, ValueError, "server_title has half of a surrogate pair"),
        ({"instructions": "a\udfff"}, ValueError, "instructions has half of a surrogate pair"),
        (
            {"tools": [pow]},
            TypeError,
            "got <built-in function pow>; subclass Tool, and call it from there",
        ),
        ({"tools": ["add"]}, TypeError, "expected a Tool or a subclass of Tool, got 'add'"),
        ({"extensions": [Extension]}, TypeError, "extensions must be Extension instances"),
        ({"invalid_arguments": "ignore"}, ValueError, "invalid_arguments"),
        ({"page_size": 0}, ValueError, "page_size"),
        ({"send_server_info": "yes"}, TypeError, "send_server_info"),
    ],
)
def test_wrong_options_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    facts: dict[str, Any] = {"server_name": "s", "server_version": "1"}
    with pytest.raises(error, match=message):
        Suite(**{**facts, **options})


def test_class_that_needs_arguments_says_to_give_an_instance() -> None:
    class Configured(make_tool("c")):  # type: ignore[misc]
        def __init__(self, url: str) -> None:
            self.url = url

    with pytest.raises(TypeError, match="Configured cannot be made without arguments"):
        make_suite(Configured)
    assert make_suite(Configured("x")).tool_names == ["c"]


def test_abstract_class_is_refused() -> None:
    class Abstract(Tool, name="abstract"): ...

    with pytest.raises(TypeError, match="Abstract does not define call"):
        make_suite(Abstract)


def test_suite_is_frozen() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        make_suite().server_name = "other"  # type: ignore[misc]


# -- listing ------------------------------------------------------------------------


async def test_tools_are_listed_in_the_order_given() -> None:
    suite = make_suite(*[make_tool(name) for name in "zbqa"])
    for _ in range(3):
        assert [tool.name for tool in (await list_tools(suite)).tools] == list("zbqa")


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ([], ("private", 0)),
        ([("public", 500), ("public", 90)], ("public", 90)),
        ([("public", 500), ("private", 900)], ("private", 500)),
        ([("public", 500), None], ("private", 0)),
    ],
)
async def test_cache_hints_are_combined(hints: list[Any], expected: Any) -> None:
    tools = [
        make_tool(f"t{number}", **({} if hint is None else {"cache_control": hint}))
        for number, hint in enumerate(hints)
    ]

    class Nothing(Extension):
        def tools(self, channel: Channel) -> list[ToolSource]:
            return []

    result = await list_tools(make_suite(*tools, make_tool("x", cache_control=("public", 9999))))
    if hints:
        assert (result.cache_scope, result.ttl_ms) == expected
    else:
        assert (result.cache_scope, result.ttl_ms) == ("public", 9999)
    filtered = await list_tools(make_suite(*tools, extensions=[Nothing()]))
    assert filtered.cache_scope == "private"


async def test_paging_gives_every_tool_once_with_one_scope() -> None:
    tools = [make_tool(f"t{n}", cache_control=("public", n + 1)) for n in range(10)]
    suite = make_suite(*tools, page_size=3)
    channel = FakeChannel()
    names: list[str] = []
    scopes: set[str] = set()
    cursor = None
    while True:
        page = await list_tools(suite, cursor, channel)
        names += [tool.name for tool in page.tools]
        scopes.add(page.cache_scope)
        cursor = page.next_cursor
        if cursor is None:
            break
        assert len(page.tools) == 3
    assert names == [f"t{n}" for n in range(10)]
    assert scopes == {"public"}


@given(
    items=st.lists(st.text(), unique=True, max_size=30),
    sizes=st.lists(st.integers(min_value=1, max_value=7), min_size=1, max_size=40),
)
def test_any_way_to_cut_pages_gives_the_same_list(items: list[str], sizes: list[int]) -> None:
    keyring = Keyring(["k" * 32])
    seen: list[str] = []
    cursor: str | None = None
    for turn in range(len(items) + 1):
        size = sizes[turn % len(sizes)]
        page, cursor = cut_page("m", items, cursor, key=str, page_size=size, keyring=keyring)
        seen += page
        if cursor is None:
            break
    assert seen == items


async def test_page_goes_on_where_it_was_when_the_list_changes() -> None:
    keyring = Keyring(["k" * 32])
    _, cursor = cut_page("m", list("abcd"), None, key=str, page_size=2, keyring=keyring)
    assert cut_page("m", list("xabcd"), cursor, key=str, page_size=9, keyring=keyring)[0] == [
        "c",
        "d",
    ]
    assert cut_page("m", list("bcd"), cursor, key=str, page_size=9, keyring=keyring)[0] == [
        "c",
        "d",
    ]
    assert cut_page("m", list("acd"), cursor, key=str, page_size=9, keyring=keyring)[0] == ["d"]
    assert cut_page("m", [], cursor, key=str, page_size=9, keyring=keyring) == ([], None)


@pytest.mark.parametrize("send", [True, False])
async def test_the_list_of_all_tools_is_made_and_written_once(*, send: bool) -> None:
    schema = {"type": "object"}
    described = mcp.Tool(name="a", input_schema=schema)

    class Described(Tool[dict[str, Any]], name="a", description="d"):
        def describe(self) -> mcp.Tool:
            return described

        async def call(self, request: Any, channel: Channel) -> str:
            return "a"

    suite = make_suite(Described(), send_server_info=send)
    first, second = await list_tools(suite), await list_tools(suite)
    assert first is second
    text = write_result(1, first)
    schema["title"] = "not looked at again"
    assert write_result("b", second) == text.replace(b'"id":1', b'"id":"b"')
    assert b"not looked at again" in write_result(1, attrs.evolve(second, ttl_ms=1))
    # Another suite's comes in between.
    other = await list_tools(make_suite(make_tool("other")))
    assert b'"other"' in write_result(1, other)
    assert b'"other"' not in write_result(1, first)


async def test_nobody_changes_the_list_that_all_share() -> None:
    shared = await list_tools(make_suite(make_tool("a")))
    assert isinstance(shared.tools, tuple)


def test_a_list_that_can_be_changed_is_written_anew() -> None:
    """A server of one's own may keep a result and add to it."""
    tools = [mcp.Tool(name="a", input_schema={"type": "object"})]
    result = mcp.ListToolsResult(tools=tools)
    assert b'"b"' not in write_result(1, result)
    cast("list[mcp.Tool]", result.tools).append(attrs.evolve(tools[0], name="b"))
    assert b'"b"' in write_result(1, result)


async def test_a_list_in_pages_or_of_this_caller_is_made_anew() -> None:
    pages = make_suite(make_tool("a"), make_tool("b"), page_size=1)
    channel = FakeChannel()
    first = await list_tools(pages, channel=channel)
    last = await list_tools(pages, first.next_cursor, channel)
    assert [tool.name for tool in last.tools] == ["b"]
    again = await list_tools(pages, channel=channel)
    assert [tool.name for tool in again.tools] == ["a"]
    # Its cursor, too, which would run out.
    assert again.next_cursor != first.next_cursor

    class Named(Extension):
        async def tools(self, channel: Channel) -> list[ToolSource]:
            return [make_tool(channel.principal or "nobody")]

    suite = make_suite(extensions=[Named()])
    for name in ("anna", "ben"):
        caller = FakeChannel(caller=fake_caller(principal=name))
        assert [tool.name for tool in (await list_tools(suite, channel=caller)).tools] == [name]


@pytest.mark.parametrize("cursor", ["", "x", "0", "A" * 92])
async def test_foreign_cursor_is_invalid_params(cursor: str) -> None:
    with pytest.raises(InvalidParams, match="cursor is not valid"):
        await list_tools(make_suite(make_tool("a")), cursor)


async def test_cursor_of_another_list_is_invalid() -> None:
    keyring = Keyring(["k" * 32])
    _, cursor = cut_page("prompts/list", list("abcd"), None, key=str, page_size=2, keyring=keyring)
    with pytest.raises(InvalidParams):
        cut_page("tools/list", list("abcd"), cursor, key=str, page_size=2, keyring=keyring)


# -- calling ------------------------------------------------------------------------


async def test_unknown_tool_is_invalid_params() -> None:
    with pytest.raises(InvalidParams) as caught:
        await ask(make_suite(make_tool("a")), fake_request("b"))
    assert caught.value.message == "Unknown tool: b"
    assert caught.value.code == -32602


class PerUser(Extension):
    """Gives tools by the caller's user; counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def tools(self, channel: Channel) -> list[ToolSource]:
        self.asked += 1
        return [make_tool(name) for name in channel.assigns.get("tools", ())]


def as_user(*tools: str) -> FakeChannel:
    """A channel of a user who may use these tools."""
    return FakeChannel(fake_caller(assigns={"tools": tools}))


async def test_extension_adds_tools_for_this_caller() -> None:
    suite = make_suite(make_tool("a"), extensions=[PerUser()])
    listed = await list_tools(suite, channel=as_user("b", "c"))
    assert [tool.name for tool in listed.tools] == ["a", "b", "c"]
    assert [tool.name for tool in (await list_tools(suite)).tools] == ["a"]
    result = await ask(suite, fake_request("b"), as_user("b"))
    assert result.content == [mcp.TextContent(text="b")]
    with pytest.raises(InvalidParams, match="Unknown tool: b"):
        await ask(suite, fake_request("b"), as_user("c"))


async def test_call_of_the_suites_own_tool_asks_no_extension() -> None:
    extension = PerUser()
    suite = make_suite(make_tool("a"), extensions=[extension])
    await ask(suite, fake_request("a"), as_user("a", "b"))
    assert extension.asked == 0


async def test_first_definition_of_a_name_wins() -> None:
    class Late(Extension):
        def tools(self, channel: Channel) -> list[ToolSource]:
            late = make_tool("b", title="late")
            return [make_tool("a", title="late"), late]

    class Early(Extension):
        def tools(self, channel: Channel) -> list[ToolSource]:
            return [make_tool("b", title="early")]

    suite = make_suite(make_tool("a", title="own"), extensions=[Early(), Late()])
    titles = {tool.name: tool.title for tool in (await list_tools(suite)).tools}
    assert titles == {"a": "own", "b": "early"}


@pytest.mark.parametrize("given_back", [None, 5, "abc"])
async def test_extension_that_gives_no_list_is_named(given_back: Any) -> None:
    class Wrong(Extension):
        def tools(self, channel: Channel) -> Any:
            return given_back

    with pytest.raises(CallbackReturnError, match=r"Wrong.tools returned"):
        await list_tools(make_suite(extensions=[Wrong()]))


async def test_long_unknown_name_is_not_repeated_whole() -> None:
    with pytest.raises(InvalidParams) as caught:
        await ask(make_suite(make_tool("a")), fake_request("x" * 100_000))
    assert caught.value.data == {"name": "x" * 128 + "..."}
    assert len(caught.value.message) < 200
