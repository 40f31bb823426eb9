"""Prompts: finding them, their arguments, every way to answer, questions."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import trio

from genmcp import (
    BlockingChannel,
    CallbackReturnError,
    Channel,
    Error,
    InputRequired,
    InvalidParams,
    McpError,
    NotFound,
    PromptRepo,
    Stream,
    StreamableHTTP,
    elicit_form,
    mcp,
)
from genmcp.providers.prompt_repo import MAX_SEARCHED_PAGES
from genmcp.testing import Client, FakeChannel, ServerError, accept, fake_caller
from genmcp.testing.answering import ASKS_ANYTHING
from tests.suite.repos import Giving, Prompts, ask, get_prompt, list_prompts, make_suite

REVIEW = mcp.Prompt(
    name="review",
    description="Reviews code.",
    arguments=[
        mcp.PromptArgument(name="code", required=True),
        mcp.PromptArgument(name="language", required=True),
        mcp.PromptArgument(name="tone"),
        mcp.PromptArgument(name="depth", required=False),
    ],
)


class Reviews(PromptRepo):
    """One prompt; records what `get` is called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, str]]] = []

    async def list_prompts(self, cursor: Any, channel: Channel) -> list[mcp.Prompt]:
        return [REVIEW]

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> str:
        self.calls.append((name, arguments))
        return "Please review."


def answering(answer: Any) -> PromptRepo[Any]:
    """A repository whose one prompt, `p`, is answered with this, or raises it."""

    class Answers(Prompts):
        async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> Any:
            if isinstance(answer, BaseException):
                raise answer
            return answer

    return Answers("", ["p"])


# -- offered, and found ---------------------------------------------------------------


async def test_prompts_bring_the_capability() -> None:
    async with Client(make_suite(prompts=[Reviews])) as client:
        capabilities = (await client.discover()).capabilities
        assert capabilities.prompts is not None
        assert capabilities.resources is None
        assert capabilities.completions is None
        assert await client.list_all_prompts() == [REVIEW]


@pytest.mark.parametrize(
    ("method", "params"),
    [("prompts/list", {}), ("prompts/get", {"name": "review"}), ("resources/read", {"uri": "a:b"})],
)
async def test_methods_not_offered_are_404_method_not_found(
    method: str, params: dict[str, str]
) -> None:
    async with Client(make_suite()) as client, client.open(method, params) as answer:
        assert answer.response.status == 404
        assert (await answer.next_message())["error"]["code"] == -32601


async def test_extension_that_may_give_prompts_brings_the_capability() -> None:
    suite = make_suite(extensions=[Giving()])
    async with Client(suite) as client:
        assert (await client.discover()).capabilities.prompts is not None
        assert await client.list_all_prompts() == []


@pytest.mark.parametrize("name", ["", "nothing", "reviews", "Review", "ü"])
async def test_unknown_prompt_is_invalid_params(name: str) -> None:
    reviews = Reviews()
    async with Client(make_suite(prompts=[reviews])) as client:
        with pytest.raises(ServerError) as caught:
            await client.get_prompt(name)
    assert (caught.value.code, caught.value.message) == (-32602, f"Unknown prompt: {name}")
    assert caught.value.data == {"name": name}
    assert reviews.calls == []


async def test_prompt_outside_every_prefix_is_unknown() -> None:
    with pytest.raises(NotFound, match="Unknown prompt: b/x"):
        await ask(make_suite(prompts=[Prompts("a/", "x")]), get_prompt("b/x"))


@pytest.mark.parametrize(
    "missing", [NotFound(), ExceptionGroup("nursery", [NotFound()]), Error(NotFound())]
)
async def test_bare_not_found_says_what_it_was(missing: Any) -> None:
    async with Client(make_suite(prompts=[answering(missing)])) as client:
        with pytest.raises(ServerError, match="Unknown prompt: p") as caught:
            await client.get_prompt("p")
    assert (caught.value.code, caught.value.data) == (-32602, {"name": "p"})


async def test_own_words_of_not_found_are_kept() -> None:
    suite = make_suite(prompts=[answering(NotFound("It was deleted", data={"on": "Monday"}))])
    with pytest.raises(NotFound, match="It was deleted") as caught:
        await ask(suite, get_prompt("p"))
    assert caught.value.data == {"on": "Monday"}


async def test_other_groups_pass() -> None:
    group = ExceptionGroup("two", [NotFound(), ValueError("x")])
    with pytest.raises(ExceptionGroup, match="two"):
        await ask(make_suite(prompts=[answering(group)]), get_prompt("p"))


async def test_own_repository_answers_without_asking_extensions() -> None:
    extension = Giving(given_prompts=[Prompts("b/", "x")])
    suite = make_suite(prompts=[Prompts("a/", "x")], extensions=[extension])
    await ask(suite, get_prompt("a/x"))
    with pytest.raises(NotFound):
        await ask(suite, get_prompt("a/missing"))
    assert extension.asked == []
    await ask(suite, get_prompt("b/x"))
    assert extension.asked == ["prompts"]


async def test_later_extensions_are_not_asked() -> None:
    late = Giving(given_prompts=[Prompts("a/", "x")])
    suite = make_suite(extensions=[Giving(given_prompts=[Prompts("a/", "x")]), late])
    await ask(suite, get_prompt("a/x"))
    assert late.asked == []


# -- arguments ------------------------------------------------------------------------


async def test_declared_and_other_arguments_are_handed_on() -> None:
    reviews = Reviews()
    given = {"code": "x = 1", "language": "", "unheard of": "y"}
    async with Client(make_suite(prompts=[reviews])) as client:
        await client.get_prompt("review", given)
    assert reviews.calls == [("review", given)]


@pytest.mark.parametrize(
    ("given", "message", "missing"),
    [
        ({}, 'missing required arguments "code", "language"', ["code", "language"]),
        ({"code": "x", "tone": "kind"}, 'missing required argument "language"', ["language"]),
    ],
)
async def test_missing_required_argument_is_named(
    given: dict[str, str], message: str, missing: list[str]
) -> None:
    reviews = Reviews()
    async with Client(make_suite(prompts=[reviews])) as client:
        with pytest.raises(ServerError) as caught:
            await client.get_prompt("review", given)
    assert caught.value.code == -32602
    assert caught.value.message == f"prompt 'review': {message}"
    assert caught.value.data == {"name": "review", "missing": missing}
    assert reviews.calls == []


@pytest.mark.parametrize("arguments", [{"code": 1}, {"code": None}, {"code": ["x"]}, "x", [1]])
async def test_arguments_that_are_no_texts_are_invalid_params(arguments: Any) -> None:
    async with Client(make_suite(prompts=[Reviews])) as client:
        params = {"name": "review", "arguments": arguments}
        with pytest.raises(ServerError) as caught:
            await client.request("prompts/get", params)
    assert caught.value.code == -32602


@pytest.mark.parametrize("absent", [{}, {"arguments": None}])
async def test_absent_arguments_are_none(absent: dict[str, Any]) -> None:
    async with Client(make_suite(prompts=[Prompts("", "p")])) as client:
        result = await client.request("prompts/get", {"name": "p", **absent})
    assert result["messages"] == [{"role": "user", "content": {"type": "text", "text": ": p"}}]


# -- looking for the declaration --------------------------------------------------------


class Numbered(PromptRepo):
    """One prompt to a page, without an end."""

    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        number = 0 if cursor is None else cursor
        argument = mcp.PromptArgument(name="a", required=True)
        return [mcp.Prompt(name=str(number), arguments=[argument])], number + 1

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> str:
        if int(name) > 1000:
            raise NotFound
        return name


async def test_declaration_is_looked_for_on_later_pages() -> None:
    suite = make_suite(prompts=[Numbered])
    with pytest.raises(InvalidParams, match='missing required argument "a"'):
        await ask(suite, get_prompt(str(MAX_SEARCHED_PAGES - 1)))


async def test_prompt_beyond_the_searched_pages_is_given_unchecked_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    suite = make_suite(prompts=[Numbered])
    result = await ask(suite, get_prompt(str(MAX_SEARCHED_PAGES)))
    assert result.messages[0].content.text == str(MAX_SEARCHED_PAGES)
    assert "Numbered: prompt '100' is not on the first 100 pages" in caplog.text
    assert "override find_prompt" in caplog.text
    with pytest.raises(NotFound, match="Unknown prompt: 1001"):
        await ask(suite, get_prompt("1001"))


async def test_own_find_prompt_is_asked_instead_of_the_list() -> None:
    class Hidden(Prompts):
        async def find_prompt(self, name: str, channel: Channel) -> mcp.Prompt | None:
            return REVIEW if name == "review" else await self.search_list(name, channel)

    suite = make_suite(prompts=[Hidden("", ["p"])])
    with pytest.raises(InvalidParams, match='missing required arguments "code"'):
        await ask(suite, get_prompt("review"))
    assert (await ask(suite, get_prompt("p"))).messages[0].content.text == ": p"
    with pytest.raises(NotFound):
        await ask(suite, get_prompt("q"))


async def test_plain_find_prompt_runs_in_a_thread() -> None:
    class Found(PromptRepo[BlockingChannel]):
        def list_prompts(self, cursor: Any, channel: BlockingChannel) -> Any:
            raise AssertionError("the list is not needed")

        def find_prompt(self, name: str, channel: BlockingChannel) -> mcp.Prompt:
            trio.from_thread.run(trio.lowlevel.checkpoint)
            return mcp.Prompt(name=name)

        def get(self, name: str, arguments: dict[str, str], channel: BlockingChannel) -> str:
            return "found"

    result = await ask(make_suite(prompts=[Found]), get_prompt("any"))
    assert result.messages[0].content.text == "found"


async def test_find_prompt_that_gives_something_else_is_named() -> None:
    class Wrong(Prompts):
        async def find_prompt(self, name: str, channel: Channel) -> Any:
            return name

    with pytest.raises(CallbackReturnError, match=r"Wrong\.find_prompt returned 'p'"):
        await ask(make_suite(prompts=[Wrong("")]), get_prompt("p"))


# -- answers --------------------------------------------------------------------------


async def test_text_is_one_message_of_the_user() -> None:
    async with Client(make_suite(prompts=[answering("Hi.")])) as client:
        result = await client.get_prompt("p")
    assert result == mcp.get_prompt_result(text="Hi.")


async def test_every_kind_of_content_travels() -> None:
    png = base64.b64encode(b"png").decode()
    link = mcp.ResourceLink(name="n", uri="a:b")
    made = mcp.get_prompt_result(
        ("text", "one"),
        ("assistant", "two"),
        ("image", ("image/png", b"png")),
        ("audio", ("audio/wav", b"wav")),
        ("resource", {"uri": "a:b", "text": "t", "mime_type": "text/x"}),
        mcp.PromptMessage(role="user", content=link),
        description="d",
    )
    async with Client(make_suite(prompts=[answering(made)])) as client:
        assert await client.get_prompt("p") == made
        wire = await client.request("prompts/get", {"name": "p"})
    assert wire["messages"][1] == {"role": "assistant", "content": {"type": "text", "text": "two"}}
    assert wire["messages"][2]["content"] == {"type": "image", "data": png, "mimeType": "image/png"}
    assert wire["messages"][5]["content"]["type"] == "resource_link"
    assert wire["description"] == "d"


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (mcp.TextResourceContents(uri="a:b", text="x"), "text/plain"),
        (mcp.BlobResourceContents(uri="a:b", blob="AAAA"), "application/octet-stream"),
        (mcp.TextResourceContents(uri="a:b", text="{}", mime_type="text/json"), "text/json"),
    ],
)
async def test_embedded_resource_always_has_a_media_type(resource: Any, expected: str) -> None:
    content = mcp.EmbeddedResource(resource=resource)
    made = mcp.GetPromptResult(messages=[mcp.PromptMessage(role="assistant", content=content)])
    async with Client(make_suite(prompts=[answering(made)])) as client:
        wire = await client.request("prompts/get", {"name": "p"})
    [message] = wire["messages"]
    assert message["role"] == "assistant"
    assert message["content"]["resource"]["mimeType"] == expected


async def test_prompts_have_no_cache_hints() -> None:
    class Cached(Prompts, cache_control=("public", 60_000)):
        pass

    async with Client(make_suite(prompts=[Cached("", ["p"])])) as client:
        got = await client.request("prompts/get", {"name": "p"})
        listed = await client.request("prompts/list")
    assert got.keys() == {"messages", "resultType"}
    assert (listed["cacheScope"], listed["ttlMs"]) == ("public", 60_000)


TOO_LATE = McpError("Too late", code=4000, data=1)


@pytest.mark.parametrize("error", [TOO_LATE, Error(TOO_LATE)])
async def test_error_is_answered_as_it_is(error: Any) -> None:
    async with Client(make_suite(prompts=[answering(error)])) as client:
        with pytest.raises(ServerError, match="Too late") as caught:
            await client.get_prompt("p")
    assert (caught.value.code, caught.value.data) == (4000, 1)


async def test_crash_is_masked() -> None:
    client = Client(make_suite(prompts=[answering(KeyError("secret"))]))
    async with client, client.open("prompts/get", {"name": "p"}) as answer:
        assert answer.response.status == 500
        error = (await answer.next_message())["error"]
    assert (error["code"], error["message"]) == (-32603, "Internal server error")


@pytest.mark.parametrize(
    "answer", [None, 5, b"x", ["text"], Stream(1), mcp.call_tool_result(text="x"), REVIEW]
)
async def test_wrong_answer_is_named(answer: Any) -> None:
    with pytest.raises(CallbackReturnError, match=r"Answers\.get returned"):
        await ask(make_suite(prompts=[answering(answer)]), get_prompt("p"))


# -- questions ------------------------------------------------------------------------


class Asking(PromptRepo):
    """Asks for a name, and remembers that it did."""

    async def list_prompts(self, cursor: Any, channel: Channel) -> list[mcp.Prompt]:
        return [mcp.Prompt(name="hello"), mcp.Prompt(name="bye")]

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> Any:
        answer = channel.answers.form("who", FORM)
        if answer is None:
            return InputRequired({"who": elicit_form("Who?", FORM)}, client_state={"round": 1})
        return f"{name} {answer.content['name']} {channel.answers.client_state}"


FORM = mcp.FormSchema(properties={"name": mcp.StringSchema()}, required=["name"])
ASKED = mcp.ClientCapabilities(elicitation=mcp.ElicitationCapability())


async def ask_who(client: Client, name: str = "hello", **arguments: str) -> str:
    """Ask for a prompt that asks back; return the state."""
    asked = await client.get_prompt(name, arguments)
    assert isinstance(asked, mcp.InputRequiredResult)
    assert asked.input_requests is not None
    assert asked.input_requests.keys() == {"who"}
    assert asked.request_state is not None
    return asked.request_state


async def test_prompt_may_ask_before_it_answers() -> None:
    async with Client(make_suite(prompts=[Asking]), capabilities=ASKED) as client:
        state = await ask_who(client, tone="kind")
        result = await client.get_prompt(
            "hello",
            {"tone": "kind"},
            input_responses={"who": accept(name="Ada")},
            request_state=state,
        )
    assert result == mcp.get_prompt_result(text="hello Ada {'round': 1}")


async def test_asking_result_has_no_cache_hints() -> None:
    async with Client(make_suite(prompts=[Asking]), capabilities=ASKED) as client:
        wire = await client.request("prompts/get", {"name": "hello"})
    assert wire.keys() == {"resultType", "inputRequests", "requestState"}
    assert wire["resultType"] == "input_required"


@pytest.mark.parametrize(
    ("name", "arguments", "tampered"),
    [
        ("bye", {"tone": "kind"}, False),
        ("hello", {"tone": "harsh"}, False),
        ("hello", {}, False),
        ("hello", {"tone": "kind"}, True),
    ],
)
async def test_state_of_another_call_is_refused(
    name: str, arguments: dict[str, str], tampered: bool
) -> None:
    async with Client(make_suite(prompts=[Asking]), capabilities=ASKED) as client:
        state = await ask_who(client, tone="kind")
        if tampered:
            state = state[:-1] + ("A" if state[-1] != "A" else "B")
        with pytest.raises(ServerError, match="requestState is not valid") as caught:
            await client.get_prompt(
                name, arguments, input_responses={"who": accept(name="x")}, request_state=state
            )
    assert caught.value.code == -32602


async def test_missing_answer_is_asked_for_again() -> None:
    async with Client(make_suite(prompts=[Asking]), capabilities=ASKED) as client:
        state = await ask_who(client)
        again = await client.get_prompt("hello", request_state=state)
    assert isinstance(again, mcp.InputRequiredResult)
    assert again.input_requests is not None
    assert again.input_requests.keys() == {"who"}


async def test_client_that_cannot_be_asked_is_told_what_it_lacks() -> None:
    client = Client(make_suite(prompts=[Asking]))
    async with client, client.open("prompts/get", {"name": "hello"}) as answer:
        assert answer.response.status == 400
        error = (await answer.next_message())["error"]
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}


async def test_repository_may_require_a_capability_up_front() -> None:
    class Needy(Prompts, requires={"sampling": {"tools": {}}}):
        pass

    suite = make_suite(prompts=[Needy("", ["p"])])
    async with Client(suite) as client:
        assert [prompt.name for prompt in await client.list_all_prompts()] == ["p"]
        with pytest.raises(ServerError) as caught:
            await client.get_prompt("p")
        assert caught.value.code == -32021
        assert caught.value.data == {"requiredCapabilities": {"sampling": {"tools": {}}}}
        with pytest.raises(ServerError, match="Unknown prompt"):
            await client.get_prompt("q")
    able = FakeChannel(fake_caller(client_capabilities=ASKS_ANYTHING))
    assert (await ask(suite, get_prompt("p"), able)).messages


async def test_prompts_may_depend_on_the_caller() -> None:
    class Mine(Prompts):
        async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
            return [mcp.Prompt(name=name) for name in channel.assigns["may"]]

    def client_of(*names: str) -> Client:
        suite = make_suite(prompts=[Mine("")])
        return Client(StreamableHTTP(suite, assigns={"may": names}, secret_key="k" * 32))

    async with client_of("a", "b") as client:
        assert [prompt.name for prompt in await client.list_all_prompts()] == ["a", "b"]
    async with client_of("a") as client:
        with pytest.raises(ServerError, match="Unknown prompt: b"):
            await client.get_prompt("b")


async def test_disconnect_cancels_a_prompt(autojump_clock: Any) -> None:
    cleaned: list[str] = []

    class Slow(Prompts):
        async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> Any:
            try:
                await channel.start_stream()
                await trio.sleep_forever()
            finally:
                cleaned.append(name)

    client = Client(make_suite(prompts=[Slow("", ["p"])]))
    async with client, client.open("prompts/get", {"name": "p"}) as answer:
        await answer.disconnect()
    assert cleaned == ["p"]


async def test_get_prompt_twice_gives_the_same_listing() -> None:
    suite = make_suite(prompts=[Prompts("", "cab")])
    for _ in range(2):
        assert [one.name for one in (await ask(suite, list_prompts())).prompts] == list("cab")
