"""Asking the client: questions, rounds, answers, and state that must not be trusted."""

from __future__ import annotations

import dataclasses
import enum
from typing import Annotated, Any, Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp import (
    Accepted,
    Answers,
    Cancelled,
    Channel,
    Declined,
    InputRequired,
    InvalidParams,
    Keyring,
    MissingRequiredClientCapability,
    Suite,
    Tool,
    elicit_form,
    elicit_url,
    list_roots,
    mcp,
    sample,
)
from genmcp.suite.client_capabilities import find_missing, needs_of
from genmcp.testing import (
    AnsweringClient,
    Client,
    FakeChannel,
    accept,
    call_tool,
    cancel,
    decline,
    fake_caller,
    fake_request,
)
from genmcp.testing.answering import ASKS_ANYTHING
from genmcp.wire.codec import encode

# -- forms --------------------------------------------------------------------------


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@attrs.frozen
class Order:
    """What to order."""

    size: Size
    count: Annotated[int, {"minimum": 1}]
    toppings: list[Literal["ham", "olives"]]
    email: Annotated[str, {"format": "email"}]
    price: float = 1.5
    gift: bool = False
    note: str | None = None


def test_form_of_a_class_is_flat_and_complete() -> None:
    question = elicit_form("What do you want?", Order)
    assert encode(question) == {
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": "What do you want?",
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "size": {"type": "string", "enum": ["small", "large"]},
                    "count": {"type": "integer", "minimum": 1},
                    "toppings": {
                        "type": "array",
                        "items": {"type": "string", "enum": ["ham", "olives"]},
                    },
                    "email": {"type": "string", "format": "email"},
                    "price": {"type": "number", "default": 1.5},
                    "gift": {"type": "boolean", "default": False},
                    "note": {"type": "string"},
                },
                "required": ["size", "count", "toppings", "email"],
            },
        },
    }


@dataclasses.dataclass
class Nested:
    inner: Order


@dataclasses.dataclass
class Listing:
    words: list[str]


@dataclasses.dataclass
class Pattern:
    code: Annotated[str, {"pattern": "^x"}]


@dataclasses.dataclass
class Anything:
    value: Any


@pytest.mark.parametrize(
    ("cls", "field"),
    [(Nested, "inner"), (Listing, "words"), (Pattern, "code"), (Anything, "value")],
)
def test_what_a_form_cannot_say_is_refused_naming_the_field(cls: type, field: str) -> None:
    with pytest.raises(TypeError, match=rf"{cls.__name__}\.{field}: a form takes strings"):
        elicit_form("?", cls)


@pytest.mark.parametrize("form", [Anything(1), {"type": "object"}, None])
def test_form_that_is_no_class_is_refused(form: Any) -> None:
    with pytest.raises(TypeError, match=r"the form must be an attrs class, .*, got "):
        elicit_form("?", form)


def test_swapped_arguments_are_named() -> None:
    swapped: Any = (Order, "What do you want?")
    with pytest.raises(TypeError, match=r"message, the first argument, .* got <class .*Order"):
        elicit_form(*swapped)


@pytest.mark.parametrize("message", ["", "  "])
def test_question_without_a_reason_is_refused(message: str) -> None:
    with pytest.raises(ValueError, match="message"):
        elicit_form(message, Order)
    with pytest.raises(ValueError, match="message"):
        elicit_url(message, "https://example.com/")


@pytest.mark.parametrize(
    "url", ["", "example.com", "/pay", "ftp://x/y", "https://", "javascript:x"]
)
def test_url_must_be_absolute_and_of_the_web(url: str) -> None:
    with pytest.raises(ValueError, match="absolute https URL"):
        elicit_url("Pay here.", url)


def test_sampling_takes_a_text_as_the_users_message() -> None:
    question = sample("Hi?", max_tokens=5)
    assert encode(question)["params"] == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hi?"}}],
        "maxTokens": 5,
    }
    with pytest.raises(ValueError, match="max_tokens"):
        sample("Hi?", max_tokens=0)
    with pytest.raises(ValueError, match="messages"):
        sample([], max_tokens=5)


# -- answers ------------------------------------------------------------------------

FILLED = {"size": "small", "count": 2, "toppings": ["ham"], "email": "a@example.com"}
EXPECTED = Order(size=Size.SMALL, count=2, toppings=["ham"], email="a@example.com")


def answers(**given_answers: Any) -> Answers:
    """Answers in wire form."""
    return Answers(given_answers)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"action": "accept", "content": FILLED}, Accepted(EXPECTED)),
        ({"action": "decline"}, Declined()),
        ({"action": "cancel", "content": None}, Cancelled()),
    ],
)
def test_form_is_read_as_its_class(answer: Any, expected: Any) -> None:
    assert answers(order=answer).form("order", Order) == expected


def test_unanswered_is_none_of_every_kind() -> None:
    empty = Answers()
    assert empty.form("x", Order) is None
    assert empty.url("x") is None
    assert empty.sampling("x") is None
    assert empty.roots("x") is None
    assert empty.client_state is None
    assert dict(empty) == {}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (12345, "inputResponses.order: "),
        ({}, "inputResponses.order.action: "),
        ({"action": "maybe"}, "inputResponses.order.action: "),
        ({"action": "accept"}, 'inputResponses.order.content: missing required argument "size"'),
        ({"action": "accept", "content": {**FILLED, "count": 0}}, "count"),
        ({"action": "accept", "content": {**FILLED, "count": "2"}}, "count"),
        ({"action": "accept", "content": {**FILLED, "size": "huge"}}, "size"),
        ({"action": "accept", "content": {**FILLED, "extra": 1}}, "extra"),
    ],
)
def test_answer_that_does_not_fit_is_invalid_params(answer: Any, message: str) -> None:
    with pytest.raises(InvalidParams, match=message.replace(".", r"\.")):
        answers(order=answer).form("order", Order)


def test_floats_are_legal_in_a_form() -> None:
    form = mcp.FormSchema(properties={"age": mcp.NumberSchema()}, required=["age"])
    given_answers = answers(f={"action": "accept", "content": {"age": 18.5}})
    assert given_answers.form("f", form) == Accepted({"age": 18.5})


def test_url_sampling_and_roots_are_read_by_their_kind() -> None:
    given_answers = answers(
        u={"action": "accept"},
        s={"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"},
        r={"roots": [{"uri": "file:///home", "name": "h"}]},
    )
    assert given_answers.url("u") == Accepted(None)
    sampled = given_answers.sampling("s")
    assert sampled is not None
    assert sampled.content == mcp.TextContent(text="Paris")
    assert given_answers.roots("r") == [mcp.Root(uri="file:///home", name="h")]
    with pytest.raises(InvalidParams):
        given_answers.roots("s")


# -- capabilities -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("required", "declared", "missing"),
    [
        ({}, {}, {}),
        ({"roots": {}}, {}, {"roots": {}}),
        ({"roots": {}}, {"roots": {"listChanged": True}}, {}),
        ({"elicitation": {"form": {}}}, {"elicitation": {}}, {}),
        (
            {"elicitation": {"form": {}}},
            {"elicitation": {"url": {}}},
            {"elicitation": {"form": {}}},
        ),
        ({"elicitation": {"url": {}}}, {"elicitation": {}}, {"elicitation": {"url": {}}}),
        ({"elicitation": {}}, {"elicitation": {"url": {}}}, {}),
        (
            {"sampling": {"tools": {}, "context": {}}},
            {"sampling": {"tools": {}}},
            {"sampling": {"context": {}}},
        ),
        (
            {"extensions": {"com.example/a": {"v": 1}, "com.example/b": {}}},
            {"extensions": {"com.example/b": {}}},
            {"extensions": {"com.example/a": {"v": 1}}},
        ),
    ],
)
def test_only_what_is_missing_is_named(required: Any, declared: Any, missing: Any) -> None:
    assert find_missing(required, declared) == missing


def test_needs_follow_the_questions() -> None:
    tool = mcp.Tool(name="t", input_schema={"type": "object"})
    assert needs_of([elicit_form("?", Order), elicit_url("?", "https://e.com/x")]) == {
        "elicitation": {"form": {}, "url": {}}
    }
    assert needs_of([sample("?", max_tokens=1)]) == {"sampling": {}}
    assert needs_of([sample("?", max_tokens=1, include_context="none")]) == {"sampling": {}}
    assert needs_of([sample("?", max_tokens=1, tools=[tool], include_context="allServers")]) == {
        "sampling": {"tools": {}, "context": {}}
    }
    assert needs_of([list_roots()]) == {"roots": {}}


# -- rounds -------------------------------------------------------------------------


@attrs.frozen
class Sure:
    sure: bool


@attrs.frozen
class Name:
    name: str


class Delete(Tool, name="delete", description="Deletes after asking."):
    async def call(self, request: Any, channel: Channel) -> Any:
        sure = channel.answers.form("sure", Sure)
        match sure:
            case None:
                return InputRequired({"sure": elicit_form("Delete it?", Sure)})
            case Accepted(Sure(sure=True)):
                return "deleted"
            case Accepted() | Declined() | Cancelled():
                return "kept"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (accept(sure=True), "deleted"),
        (accept(sure=False), "kept"),
        (decline(), "kept"),
        (cancel(), "kept"),
    ],
)
def test_two_rounds_take_a_few_lines_to_test(answer: mcp.ElicitResult, text: str) -> None:
    client = AnsweringClient(sure=answer)
    assert call_tool(Delete(), {"id": 7}, client) == mcp.call_tool_result(text=text)
    assert client.asked == ["sure"]


class Interview(Tool, name="interview", description="Asks three times."):
    """Counts its rounds in the state, and asks two things in the first."""

    async def call(self, request: Any, channel: Channel) -> Any:
        rounds = channel.answers.client_state or 0
        name = channel.answers.form("name", Name)
        roots = channel.answers.roots("roots")
        if name is None or roots is None:
            questions: dict[str, mcp.InputRequest] = {
                "name": elicit_form("Name?", Name),
                "roots": list_roots(),
            }
            return InputRequired(questions, client_state=rounds + 1)
        haiku = channel.answers.sampling("haiku")
        if haiku is None:
            return InputRequired({"haiku": sample("A haiku.", max_tokens=50)}, rounds + 1)
        assert isinstance(name, Accepted)
        assert request.params.request_state == rounds
        return f"{name.content.name} {roots[0].uri} {haiku.model} {rounds}"


ROOTS = mcp.ListRootsResult(roots=[mcp.Root(uri="file:///a")])
HAIKU = mcp.CreateMessageResult(role="assistant", content=mcp.TextContent(text="x"), model="m")


def test_answers_of_earlier_rounds_stay() -> None:
    client = AnsweringClient(name=accept(name="Ada"), roots=ROOTS, haiku=HAIKU)
    result = call_tool(Interview(), {}, client)
    assert result == mcp.call_tool_result(text="Ada file:///a m 2")
    assert client.asked == ["name", "roots", "haiku"]


def test_missing_answers_are_asked_again_and_others_not() -> None:
    tries: list[int] = []

    def second_time(question: mcp.InputRequest) -> mcp.InputResponse | None:
        tries.append(1)
        return ROOTS if len(tries) > 1 else None

    client = AnsweringClient(name=accept(name="Ada"), roots=second_time, haiku=HAIKU)
    result = call_tool(Interview(), {}, client)
    assert result == mcp.call_tool_result(text="Ada file:///a m 2")
    assert client.asked == ["name", "roots", "roots", "haiku"]


class StateOnly(Tool, name="state_only", description="Sheds load twice, asking nothing."):
    async def call(self, request: Any, channel: Channel) -> Any:
        turn = channel.answers.client_state or 0
        return "done" if turn == 2 else InputRequired(client_state=turn + 1)


def test_state_without_questions_works() -> None:
    client = AnsweringClient()
    assert call_tool(StateOnly(), {}, client) == mcp.call_tool_result(text="done")
    assert client.asked == []


async def ask(
    tool: type[Tool[Any, Any]], channel: FakeChannel, arguments: Any = None, **retry: Any
) -> Any:
    """One request to a suite of one tool."""
    suite = Suite(server_name="s", server_version="1", tools=[tool])
    [name] = suite.tool_names
    return await suite.handle_request(fake_request(name, arguments, **retry), channel)


def anyone(keyring: Keyring | None = None) -> FakeChannel:
    """A channel of a client that can be asked everything."""
    channel = FakeChannel(fake_caller(client_capabilities=ASKS_ANYTHING))
    if keyring is not None:
        channel.keyring = keyring
    return channel


async def test_answers_before_the_question_are_taken() -> None:
    """A client may know what will be asked: no state, and keys nobody asked for."""
    given_answers = {"sure": {"action": "accept", "content": {"sure": True}}, "stray": 1}
    result = await ask(Delete, anyone(), input_responses=given_answers)
    assert result.content == [mcp.TextContent(text="deleted")]


async def test_answer_of_the_wrong_kind_is_invalid_params() -> None:
    channel = anyone()
    asked = await ask(Interview, channel)
    with pytest.raises(InvalidParams, match=r"inputResponses\.roots\.roots: "):
        await ask(
            Interview,
            channel,
            request_state=asked.request_state,
            input_responses={"name": {"action": "decline"}, "roots": {"action": "accept"}},
        )


async def test_each_round_has_its_own_state() -> None:
    channel = anyone()
    first = await ask(Interview, channel)
    again = await ask(Interview, channel, request_state=first.request_state)
    assert set(again.input_requests) == {"name", "roots"}
    assert again.request_state != first.request_state


async def test_state_is_honoured_by_another_process_with_the_key() -> None:
    key = "k" * 32
    asked = await ask(Delete, anyone(Keyring(key)))
    retry: dict[str, Any] = {
        "request_state": asked.request_state,
        "input_responses": {"sure": {"action": "accept", "content": {"sure": True}}},
    }
    result = await ask(Delete, anyone(Keyring(["n" * 32, key])), **retry)
    assert result.content == [mcp.TextContent(text="deleted")]
    with pytest.raises(InvalidParams):
        await ask(Delete, anyone(Keyring("z" * 32)), **retry)


@pytest.mark.parametrize("other", [None, "eve", ""])
async def test_state_of_another_user_is_refused(other: str | None) -> None:
    keyring = Keyring("k" * 32)

    def as_user(principal: str | None) -> FakeChannel:
        channel = FakeChannel(fake_caller(client_capabilities=ASKS_ANYTHING, principal=principal))
        channel.keyring = keyring
        return channel

    asked = await ask(Delete, as_user("ada"))
    retry: dict[str, Any] = {
        "request_state": asked.request_state,
        "input_responses": {"sure": {"action": "decline"}},
    }
    with pytest.raises(InvalidParams, match="requestState"):
        await ask(Delete, as_user(other), **retry)
    assert (await ask(Delete, as_user("ada"), **retry)).content == [mcp.TextContent(text="kept")]


async def test_why_a_state_is_refused_is_for_the_log_only() -> None:
    asked = await ask(Delete, anyone(Keyring("a" * 32)))
    with pytest.raises(InvalidParams) as caught:
        await ask(Delete, anyone(Keyring("b" * 32)), request_state=asked.request_state)
    assert caught.value.log_message == "requestState refused: unknown key"
    assert "key" not in str(caught.value)


@given(
    arguments=st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=3), inner, max_size=3)
            ),
            max_leaves=6,
        ),
        max_size=4,
    )
)
async def test_key_order_and_the_writing_of_numbers_do_not_matter(arguments: Any) -> None:
    channel = anyone()
    asked = await ask(Delete, channel, arguments)
    retry: dict[str, Any] = {
        "request_state": asked.request_state,
        "input_responses": {"sure": {"action": "decline"}},
    }
    result = await ask(Delete, channel, rewrite(arguments), **retry)
    assert result.content == [mcp.TextContent(text="kept")]
    with pytest.raises(InvalidParams):
        await ask(Delete, channel, {**arguments, "one more": 1}, **retry)


def rewrite(value: Any) -> Any:
    """The same JSON, written differently."""
    match value:
        case bool() | None | str():
            return value
        case int():
            return float(value)
        case dict():
            return {key: rewrite(value[key]) for key in reversed(value)}
        case _:
            return [rewrite(item) for item in value]


async def test_capabilities_that_shrink_between_rounds_are_noticed() -> None:
    channel = anyone()
    asked = await ask(Interview, channel)
    weak = FakeChannel()
    weak.keyring = channel.keyring
    with pytest.raises(MissingRequiredClientCapability) as caught:
        await ask(Interview, weak, request_state=asked.request_state)
    assert caught.value.required == {"elicitation": {"form": {}}, "roots": {}}


async def test_required_capability_is_checked_before_the_tool_runs() -> None:
    ran: list[bool] = []

    class Needs(Tool, name="needs", requires={"sampling": {"tools": {}}}):
        async def call(self, request: Any, channel: Channel) -> str:
            ran.append(True)
            return "ran"

    with pytest.raises(MissingRequiredClientCapability) as caught:
        await ask(Needs, FakeChannel())
    assert caught.value.data == {"requiredCapabilities": {"sampling": {"tools": {}}}}
    assert ran == []
    await ask(Needs, anyone())
    assert ran == [True]


@pytest.mark.parametrize("requires", [5, "sampling", {"sampling": 5}])
def test_wrong_requirement_is_refused_at_definition(requires: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="Bad: requires"):

        class Bad(Tool, name="bad", requires=requires):
            async def call(self, request: Any, channel: Channel) -> str:
                return "x"


def test_unanswered_question_fails_the_test_that_forgot_it() -> None:
    with pytest.raises(AssertionError, match="asked 'sure', and there is no answer"):
        call_tool(Delete(), {}, AnsweringClient())
    with pytest.raises(AssertionError, match="AnsweringClient"):
        call_tool(Delete(), {}, fake_caller(client_capabilities=ASKS_ANYTHING))


class Forgetful(Tool, name="forgetful", description="Looks for its answer elsewhere."):
    async def call(self, request: mcp.CallToolRequest[Any], channel: Channel) -> InputRequired:
        assert channel.answers.form("name", Sure) is None
        return InputRequired({"sure": elicit_form("Delete it?", Sure)})


def test_answer_that_is_never_read_is_named_by_its_key() -> None:
    with pytest.raises(AssertionError, match="at last for 'sure'; does it read its answers"):
        call_tool(Forgetful, {}, AnsweringClient(sure=accept(sure=True)))


def test_tool_that_asks_is_called_with_a_hint_to_what_answers() -> None:
    with pytest.raises(MissingRequiredClientCapability) as caught:
        call_tool(Forgetful)
    assert caught.value.__notes__ == ["A tool that asks is to be called with an AnsweringClient."]


def test_question_that_is_none_is_named_by_its_key() -> None:
    question: Any = "Delete it?"
    with pytest.raises(TypeError, match=r"'sure' must be a question, such as elicit_form"):
        InputRequired({"sure": question})


@pytest.mark.parametrize("what", [Delete, Delete(), None])
def test_client_of_what_is_no_server_is_refused(what: Any) -> None:
    with pytest.raises(TypeError, match="Client takes a Server, such as a Suite"):
        Client(what)


async def test_in_memory_client_answers_over_the_transport() -> None:
    suite = Suite(server_name="s", server_version="1", tools=[Interview, Delete])
    answering = AnsweringClient(name=accept(name="Ada"), roots=ROOTS, haiku=HAIKU)
    async with Client(suite, answers=answering) as client:
        result = await client.call_tool("interview")
    assert isinstance(result, mcp.CallToolResult)
    assert result.content == [mcp.TextContent(text="Ada file:///a m 2")]
    assert answering.asked == ["name", "roots", "haiku"]
    async with Client(suite, capabilities=ASKS_ANYTHING) as client:
        assert isinstance(await client.call_tool("delete"), mcp.InputRequiredResult)
