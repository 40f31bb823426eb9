"""Tools: class keywords, hooks, typed arguments, and every way to answer."""

from __future__ import annotations

import dataclasses
import datetime
import threading
from collections.abc import AsyncGenerator
from typing import Any, Generic, TypedDict, TypeVar

import attrs
import pytest
import trio

from genmcp import (
    BlockingChannel,
    CallbackReturnError,
    Channel,
    EncodeError,
    Error,
    InputRequired,
    InvalidParams,
    McpError,
    MissingRequiredClientCapability,
    OutputMismatch,
    Stream,
    Suite,
    Tool,
    ToolError,
    mcp,
)
from genmcp.testing import (
    FakeChannel,
    call_tool,
    call_tool_async,
    fake_caller,
    fake_request,
    stream_tool,
)


@attrs.frozen
class AddArgs:
    a: float
    b: float


class Add(Tool[AddArgs], name="add", description="Adds two numbers."):
    async def call(self, request: mcp.CallToolRequest[AddArgs], channel: Channel) -> Any:
        args = request.params.arguments
        assert isinstance(args, AddArgs)
        return mcp.call_tool_result(text=str(args.a + args.b))


def text_of(result: mcp.CallToolResult) -> str:
    """The text of a result that is one block of text."""
    [block] = result.content
    assert isinstance(block, mcp.TextContent)
    return block.text


# -- definition ---------------------------------------------------------------------


def test_tool_is_described_from_its_keywords_and_class() -> None:
    described = Add().describe()
    assert described.name == "add"
    assert described.description == "Adds two numbers."
    assert described.input_schema == {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert described.output_schema is None


def test_every_keyword_reaches_the_description() -> None:
    icon = mcp.Icon(src="https://example.com/a.png", sizes=["48x48"])

    class Full(
        Tool,
        name="full",
        title="Full",
        description="All of it.",
        annotations={"read_only_hint": True},
        icons=[icon],
        meta={"com.example/x": 1},
        input_schema={"type": "object", "properties": {"q": {"type": "string"}}},
        output_schema={"type": "array"},
        cache_control=("public", datetime.timedelta(minutes=1)),
    ):
        async def call(self, request: Any, channel: Channel) -> str:
            return "x"

    described = Full().describe()
    assert described == mcp.Tool(
        name="full",
        title="Full",
        description="All of it.",
        annotations=mcp.ToolAnnotations(read_only_hint=True),
        icons=[icon],
        meta={"com.example/x": 1},
        input_schema={"type": "object", "properties": {"q": {"type": "string"}}},
        output_schema={"type": "array"},
    )
    assert Full().cache_control() == ("public", 60_000)


def test_docstring_is_the_description_when_none_is_given() -> None:
    class Documented(Tool, name="documented"):
        """Does a thing.

        And more.
        """

        async def call(self, request: Any, channel: Channel) -> str:
            return "x"

    class Child(Documented, name="child"):
        pass

    assert Documented().describe().description == "Does a thing.\n\nAnd more."
    assert Child().describe().description is None


BAD_KEYWORDS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"name": 5}, TypeError, "Bad: name must be a str"),
    ({"name": ""}, ValueError, "Bad: name must not be blank"),
    ({"name": "a b"}, ValueError, "Bad: name must be 1 to 128"),
    ({"name": "ü"}, ValueError, "Bad: name must be 1 to 128"),
    ({"name": "x" * 129}, ValueError, "Bad: name must be 1 to 128"),
    ({"title": 1}, TypeError, "Bad: title must be a str"),
    ({"description": b"x"}, TypeError, "Bad: description must be a str"),
    ({"annotations": "read-only"}, TypeError, "Bad: annotations: must be a ToolAnnotations"),
    ({"annotations": {"readOnly": True}}, TypeError, "Bad: annotations: .*readOnly"),
    ({"icons": "a.png"}, TypeError, "Bad: icons: must be a list of Icon"),
    ({"icons": ["a.png"]}, TypeError, "Bad: icons: must hold only Icon"),
    ({"meta": ["x"]}, TypeError, "Bad: meta: must be a mapping"),
    ({"cache_control": "public"}, TypeError, "Bad: cache_control: must be a pair"),
    ({"cache_control": ("shared", 0)}, ValueError, "Bad: cache_control: .*scope"),
    ({"cache_control": ("public", -1)}, ValueError, "Bad: cache_control: .*negative"),
    ({"cache_control": ("public", True)}, TypeError, "Bad: cache_control: .*pair"),
    ({"input_schema": {"type": "string"}}, ValueError, "Bad: input_schema: .*object"),
    ({"input_schema": {"type": "objekt"}}, ValueError, "Bad: input_schema: "),
    ({"input_schema": 5}, TypeError, "Bad: input_schema: "),
    ({"output_schema": {"$schema": "https://example.com/mine"}}, ValueError, "Bad: output_schema"),
    ({"output_schema": {"$ref": "https://example.com/x.json"}}, ValueError, "Bad: output_schema"),
    ({"repair_arguments": 1}, TypeError, "Bad: repair_arguments must be a bool"),
    ({"nmae": "typo"}, TypeError, "nmae"),
]


@pytest.mark.parametrize(("keywords", "error", "message"), BAD_KEYWORDS)
def test_wrong_keywords_are_refused_at_definition(
    keywords: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):

        class Bad(Tool, **{"name": "bad", **keywords}):
            async def call(self, request: Any, channel: Channel) -> str:
                return "x"


def test_call_with_the_wrong_parameters_is_refused_at_definition() -> None:
    with pytest.raises(TypeError, match=r"call must take \(self, request, channel\)"):

        class Bad(Tool, name="bad"):
            async def call(self, request: Any) -> str:  # type: ignore[override]
                return "x"


def test_unusual_name_is_possible_when_asked_for() -> None:
    class Odd(Tool, name="größe messen", any_name=True):
        async def call(self, request: Any, channel: Channel) -> str:
            return "x"

    assert Odd().describe().name == "größe messen"


def test_tool_without_a_name_says_so_when_it_is_served() -> None:
    class Nameless(Tool):
        async def call(self, request: Any, channel: Channel) -> str:
            return "x"

    with pytest.raises(ValueError, match="Nameless has no name"):
        Suite(server_name="s", server_version="1", tools=[Nameless])


def test_hooks_can_be_written_by_hand_from_the_instance() -> None:
    class Query(Tool):
        def __init__(self, table: str, columns: list[str]) -> None:
            self.table = table
            self.columns = columns

        def info(self, key: Any) -> Any:
            match key:
                case "name":
                    return f"query_{self.table}"
                case "description":
                    return f"Reads {self.table}."
                case _:
                    return super().info(key)

        def input_schema(self) -> Any:
            return {
                "type": "object",
                "properties": {"column": {"enum": self.columns}},
                "required": ["column"],
            }

        def output_schema(self) -> Any:
            return {"type": "array", "items": {"type": "string"}}

        async def call(self, request: Any, channel: Channel) -> Any:
            column = request.params.arguments["column"]
            return mcp.call_tool_result(data=[f"{self.table}.{column}"])

    users, books = Query("users", ["name"]), Query("books", ["title"])
    assert users.describe().name == "query_users"
    assert call_tool(users, column="name").structured_content == ["users.name"]
    assert call_tool(books, column="title").structured_content == ["books.title"]
    assert call_tool(books, column="name").is_error


def test_frozen_attrs_class_can_be_a_tool() -> None:
    @attrs.frozen
    class Greet(Tool[AddArgs], name="greet", description="d"):
        word: str

        async def call(self, request: Any, channel: Channel) -> str:
            return f"{self.word} {request.params.arguments.a:g}"

    assert text_of(call_tool(Greet("hi"), a=1, b=2)) == "hi 1"
    assert Greet("x").describe().input_schema["required"] == ["a", "b"]


def test_dataclass_can_be_a_tool() -> None:
    @dataclasses.dataclass
    class Greet(Tool, name="greet"):
        word: str = "hello"

        async def call(self, request: Any, channel: Channel) -> str:
            return self.word

    assert text_of(call_tool(Greet)) == "hello"
    assert Greet().describe().description is None


def test_type_parameter_is_found_through_generic_bases() -> None:
    X = TypeVar("X")

    class Base(Tool[X], Generic[X]):
        async def call(self, request: Any, channel: Channel) -> str:
            return type(request.params.arguments).__name__

    class Concrete(Base[AddArgs], name="concrete"):
        pass

    class Grandchild(Concrete, name="grandchild"):
        pass

    assert text_of(call_tool(Concrete, a=1, b=2)) == "AddArgs"
    assert text_of(call_tool(Grandchild, a=1, b=2)) == "AddArgs"


# -- arguments ----------------------------------------------------------------------


class Point(TypedDict):
    x: int


@dataclasses.dataclass
class Shape:
    points: list[Point]
    label: str | None = None


def test_dataclasses_and_typed_dicts_are_arguments() -> None:
    class Draw(Tool[Shape], name="draw"):
        async def call(self, request: Any, channel: Channel) -> str:
            shape = request.params.arguments
            return f"{type(shape).__name__} {shape.points} {shape.label}"

    assert text_of(call_tool(Draw, points=[{"x": 1}])) == "Shape [{'x': 1}] None"
    assert text_of(call_tool(Draw, points=[], label=None)) == "Shape [] None"


@pytest.mark.parametrize("arguments", [None, {}])
def test_absent_arguments_are_an_empty_object(arguments: Any) -> None:
    class Free(Tool, name="free"):
        async def call(self, request: Any, channel: Channel) -> str:
            return repr(request.params.arguments)

    assert text_of(call_tool(Free, arguments)) == "{}"


def test_bad_arguments_are_a_result_the_model_can_read() -> None:
    result = call_tool(Add(), a="one", c=3)
    assert result.is_error
    text = text_of(result)
    assert 'a: expected number, got string "one"' in text
    assert 'missing required argument "b"' in text
    assert 'unknown argument "c"' in text


def test_strings_that_hold_numbers_are_repaired_unless_switched_off() -> None:
    class Exact(Add, name="exact", repair_arguments=False):
        pass

    assert text_of(call_tool(Add(), a="1", b=2)) == "3.0"
    assert call_tool(Exact(), a="1", b=2).is_error


async def test_protocol_error_is_the_other_way_to_refuse_arguments() -> None:
    suite = Suite(
        server_name="s", server_version="1", tools=[Add], invalid_arguments="protocol_error"
    )
    with pytest.raises(InvalidParams, match='missing required argument "b"'):
        await suite.handle_request(fake_request("add", {"a": 1}), FakeChannel())


async def test_hand_written_validation_that_rejects_is_invalid_params() -> None:
    class Picky(Add, name="picky"):
        def validate_request(self, request: Any) -> Any:
            request = super().validate_request(request)
            assert isinstance(request, mcp.CallToolRequest)
            if request.params.arguments.a < 0:
                raise ValueError("a must not be negative")
            return request

    assert text_of(await call_tool_async(Picky(), a=1, b=1)) == "2.0"
    with pytest.raises(InvalidParams, match="a must not be negative"):
        await call_tool_async(Picky(), a=-1, b=1)
    assert (await call_tool_async(Picky(), a="x", b=1)).is_error


async def test_validation_may_rewrite_the_request() -> None:
    class Upper(Tool, name="upper"):
        def validate_request(self, request: Any) -> Any:
            params = attrs.evolve(request.params, arguments={"word": "rewritten"})
            return attrs.evolve(request, params=params)

        async def call(self, request: Any, channel: Channel) -> str:
            return str(request.params.arguments["word"])

    assert text_of(await call_tool_async(Upper(), word="x")) == "rewritten"


def test_a_request_of_a_class_of_ones_own_keeps_its_members() -> None:
    @attrs.frozen(kw_only=True, eq=False, repr=False, slots=False)
    class Traced(mcp.CallToolRequest[Any]):
        trace: str

    traced = Traced(params=fake_request("add", {"a": 1, "b": 2}).params, trace="abc")
    validated = Add().validate_request(traced)
    assert isinstance(validated, Traced)
    assert validated.trace == "abc"
    assert validated.params.arguments == AddArgs(1, 2)


async def test_validation_that_returns_nothing_is_named() -> None:
    class Forgetful(Tool, name="forgetful"):
        def validate_request(self, request: Any) -> Any:
            return None

        async def call(self, request: Any, channel: Channel) -> str:
            return "x"

    with pytest.raises(CallbackReturnError, match=r"Forgetful.validate_request returned None"):
        await call_tool_async(Forgetful())


# -- answers ------------------------------------------------------------------------


def answering(answer: Any, **keywords: Any) -> Tool[Any, Any]:
    """A tool that returns, or raises, `answer`."""

    class Answering(Tool, name="answering", **keywords):
        async def call(self, request: Any, channel: Channel) -> Any:
            if isinstance(answer, BaseException):
                raise answer
            return answer

    return Answering()


def test_str_is_one_block_of_text() -> None:
    assert call_tool(answering("hi")) == mcp.call_tool_result(text="hi")


def test_tool_error_is_a_result_with_its_text() -> None:
    result = call_tool(answering(ToolError("no such city")))
    assert result == mcp.call_tool_result(error="no such city")


def test_tool_error_from_the_tools_own_nursery_is_unwrapped() -> None:
    result = call_tool(answering(ExceptionGroup("g", [ToolError("inner")])))
    assert result == mcp.call_tool_result(error="inner")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Error("out of paper"), -32603),
        (Error(McpError("too many", code=4_001)), 4_001),
        (InvalidParams("no"), -32602),
        (McpError("mine", code=7), 7),
    ],
)
def test_errors_are_json_rpc_errors(answer: Any, code: int) -> None:
    with pytest.raises(McpError) as caught:
        call_tool(answering(answer))
    assert caught.value.code == code


def test_other_exceptions_reach_the_test_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError):
        call_tool(answering(ZeroDivisionError()))


@pytest.mark.parametrize("answer", [None, 5, ["x"], {"text": "x"}, b"x", mcp.EmptyResult()])
def test_other_returns_name_class_hook_and_value(answer: Any) -> None:
    with pytest.raises(CallbackReturnError, match=r"Answering.call returned") as caught:
        call_tool(answering(answer))
    assert repr(answer) in str(caught.value)


async def _forgotten() -> str:
    return "x"


async def _generated() -> AsyncGenerator[str]:
    yield "x"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"a": 1}, r"Error; .* a value as data=\.\.\.$"),
        (mcp.TextContent(text="x"), r"call_tool_result takes content as it is"),
        (None, r"mcp\.call_tool_result\(\) is a result that says nothing$"),
        (mcp.ListRootsRequest(), "a question is asked as InputRequired"),
        (_generated(), "take the yield out$"),
    ],
)
def test_other_returns_are_told_what_to_do(answer: Any, words: str) -> None:
    with pytest.raises(CallbackReturnError, match=words):
        call_tool(answering(answer))


def test_forgotten_await_is_told() -> None:
    forgotten = _forgotten()
    with pytest.raises(CallbackReturnError, match=r"is an await missing\?$"):
        call_tool(answering(forgotten))
    forgotten.close()


def test_stream_without_handle_message_is_named() -> None:
    with pytest.raises(CallbackReturnError, match="handle_message"):
        call_tool(answering(Stream(1)))


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_result_is_checked_against_the_output_schema() -> None:
    good = mcp.call_tool_result(data={"n": 1})
    assert call_tool(answering(good, output_schema=SCHEMA)) == good
    with pytest.raises(OutputMismatch, match=r"Answering: the result does not fit .*: /n: "):
        call_tool(answering(mcp.call_tool_result(data={"n": "x"}), output_schema=SCHEMA))
    with pytest.raises(CallbackReturnError, match="output schema"):
        call_tool(answering("no data", output_schema=SCHEMA))


def test_failed_result_needs_no_structured_content() -> None:
    failed = mcp.call_tool_result(error="boom")
    assert call_tool(answering(failed, output_schema=SCHEMA)) == failed


def test_null_is_structured_content() -> None:
    result = call_tool(answering(mcp.call_tool_result(data=None), output_schema={"type": "null"}))
    assert result.structured_content is None


def test_output_class_becomes_the_schema() -> None:
    tool = answering(mcp.call_tool_result(data=AddArgs(1, 2)), output_schema=AddArgs)
    assert call_tool(tool).structured_content == {"a": 1, "b": 2}
    assert tool.describe().output_schema is not None


# -- plain def ----------------------------------------------------------------------


def test_plain_def_runs_in_a_thread_with_a_blocking_channel() -> None:
    class Slow(Tool[AddArgs, BlockingChannel], name="slow"):
        def call(self, request: mcp.CallToolRequest[AddArgs], channel: BlockingChannel) -> str:
            assert isinstance(channel, BlockingChannel)
            assert channel.send_progress(1, total=2)
            return str(threading.current_thread() is threading.main_thread())

    assert text_of(call_tool(Slow(), a=1, b=2)) == "False"


def test_decorated_plain_def_may_return_a_coroutine() -> None:
    def decorate(call: Any) -> Any:
        def wrapper(self: Any, request: Any, channel: Any) -> Any:
            return call(self, request, channel)

        return wrapper

    class Decorated(Tool, name="decorated"):
        @decorate
        async def call(self, request: Any, channel: Any) -> str:
            await trio.lowlevel.checkpoint()
            return "awaited"

    assert text_of(call_tool(Decorated())) == "awaited"


# -- streaming ----------------------------------------------------------------------


class Counter(Tool, name="counter", description="Counts messages up to three."):
    def __init__(self) -> None:
        self.closed: list[Any] = []

    async def call(self, request: Any, channel: Channel) -> Any:
        await channel.send_progress(0.5)
        return Stream(0)

    async def handle_message(self, message: Any, channel: Channel, state: int) -> Any:
        if message == "fail":
            raise ToolError("told to fail")
        if state == 2:
            return f"three, last {message}"
        return Stream(state + 1)

    async def handle_close(self, channel: Channel, state: Any) -> None:
        self.closed.append(state)


async def test_streaming_tool_handles_messages_until_it_returns() -> None:
    tool = Counter()
    async with stream_tool(tool) as stream:
        for message in "abc":
            assert stream.post(message)
        result = await stream.result()
    assert result == mcp.call_tool_result(text="three, last c")
    assert stream.progress == [(0.5, None, None)]
    assert tool.closed == []


async def test_streaming_tool_cleans_up_when_the_client_leaves() -> None:
    tool = Counter()
    async with stream_tool(tool) as stream:
        stream.post("a")
        await trio.testing.wait_all_tasks_blocked()
        await stream.disconnect()
    assert tool.closed == [1]
    with pytest.raises(AssertionError, match="client had gone"):
        await stream.result()


async def test_tool_error_in_handle_message_is_a_result() -> None:
    async with stream_tool(Counter()) as stream:
        stream.post("fail")
        assert await stream.result() == mcp.call_tool_result(error="told to fail")


# -- asking the client --------------------------------------------------------------

FORM = mcp.ElicitRequest(
    params=mcp.ElicitRequestFormParams(
        message="Sure?",
        requested_schema=mcp.FormSchema(properties={"sure": mcp.BooleanSchema()}),
    )
)


class Delete(Tool, name="delete", description="Deletes after asking."):
    async def call(self, request: Any, channel: Channel) -> Any:
        if request.params.request_state is None:
            return InputRequired({"confirm": FORM}, client_state={"round": 1})
        return f"{request.params.request_state} {request.params.input_responses}"


ELICITS = fake_caller(
    client_capabilities=mcp.ClientCapabilities(elicitation=mcp.ElicitationCapability())
)


async def ask(arguments: dict[str, Any]) -> tuple[Suite, FakeChannel, mcp.InputRequiredResult]:
    suite = Suite(server_name="s", server_version="1", tools=[Delete])
    channel = FakeChannel(ELICITS)
    asked = await suite.handle_request(fake_request("delete", arguments), channel)
    assert isinstance(asked, mcp.InputRequiredResult)
    return suite, channel, asked


async def test_state_comes_back_to_the_same_call() -> None:
    suite, channel, asked = await ask({"n": 1, "m": 2.0})
    assert asked.result_type == "input_required"
    assert asked.input_requests == {"confirm": FORM}
    assert "round" not in str(asked.request_state)
    retry = fake_request(
        "delete",
        {"m": 2, "n": 1.0},
        request_state=asked.request_state,
        input_responses={"confirm": {"action": "accept"}},
    )
    result = await suite.handle_request(retry, channel)
    assert isinstance(result, mcp.CallToolResult)
    assert text_of(result) == "{'round': 1} {'confirm': {'action': 'accept'}}"


@pytest.mark.parametrize("case", ["tampered", "other arguments", "not a token", "other tool"])
async def test_state_of_another_call_is_refused(case: str) -> None:
    suite, channel, asked = await ask({"n": 1})
    token = str(asked.request_state)
    arguments: dict[str, Any] = {"n": 1}
    match case:
        case "tampered":
            token = ("A" if token[0] != "A" else "B") + token[1:]
        case "other arguments":
            arguments = {"n": 2}
        case "not a token":
            token = "round 1"
        case _:

            class Other(Delete, name="other"):
                pass

            suite = Suite(server_name="s", server_version="1", tools=[Delete, Other])
    name = "other" if case == "other tool" else "delete"
    with pytest.raises(InvalidParams, match="requestState is not valid for this call"):
        await suite.handle_request(fake_request(name, arguments, request_state=token), channel)


async def test_client_that_cannot_be_asked_gets_the_missing_capability() -> None:
    suite = Suite(server_name="s", server_version="1", tools=[Delete])
    with pytest.raises(MissingRequiredClientCapability) as caught:
        await suite.handle_request(fake_request("delete", {}), FakeChannel())
    assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


# -- the testing kit itself ---------------------------------------------------------


async def test_call_tool_inside_trio_names_the_other_one() -> None:
    with pytest.raises(RuntimeError, match="await call_tool_async"):
        call_tool(Add(), a=1, b=2)


async def test_fake_channel_records_what_a_hook_sends() -> None:
    class Talks(Tool, name="talks"):
        async def call(self, request: Any, channel: Channel) -> str:
            await channel.send_progress(1, 2, "half")
            await channel.send_progress(1)
            await channel.send_log("info", {"k": 1})
            return "x"

    channel = FakeChannel()
    assert await Talks().call(fake_request("talks"), channel) == "x"
    assert channel.progress == [(1, 2, "half")]
    assert channel.logs == [("info", {"k": 1})]
    channel.disconnect()
    assert not await channel.send_progress(5)


# -- mistakes, named when the class is defined --------------------------------------


def test_async_hook_of_a_blocking_tool_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Mixed.call is async, and gets a Channel"):

        class Mixed(Tool[AddArgs, BlockingChannel], name="mixed"):
            async def call(self, request: Any, channel: Any) -> str:
                return "x"


@pytest.mark.parametrize("hook", ["validate_request", "handle_message", "handle_close"])
def test_other_hooks_with_the_wrong_parameters_are_refused(hook: str) -> None:
    async def wrong(self: Any) -> None: ...

    with pytest.raises(TypeError, match=rf"Bad\.{hook} must take \(self, "):
        type("Bad", (Tool,), {hook: wrong})


def test_misspelt_keyword_is_told_what_was_meant() -> None:
    with pytest.raises(TypeError, match="unknown class keyword titel; did you mean title"):

        class Bad(Tool, name="bad", titel="x"):  # type: ignore[arg-type]
            async def call(self, request: Any, channel: Any) -> str:
                return "x"


def test_question_without_a_key_is_refused_with_the_form_it_takes() -> None:
    with pytest.raises(TypeError, match="questions under keys"):
        InputRequired(FORM)  # type: ignore[arg-type]


def test_tool_that_cannot_be_listed_is_refused_when_it_is_served() -> None:
    class Bad(Tool, name="bad", description="lone \ud800"):
        async def call(self, request: Any, channel: Any) -> str:
            return "x"

    class Worse(Tool, name="worse", meta={"x": float("nan")}):
        async def call(self, request: Any, channel: Any) -> str:
            return "x"

    for tool in (Bad, Worse):
        with pytest.raises(ValueError, match=f"{tool.__name__} cannot be listed"):
            Suite(server_name="s", server_version="1", tools=[tool])


def test_unknown_required_capability_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    class Needs(Tool, name="needs", requires={"elicitaton": {}}):
        async def call(self, request: Any, channel: Any) -> str:
            return "x"

    assert "'elicitaton'" in caplog.text


def test_tool_error_of_the_validation_is_a_result() -> None:
    class Picky(Add, name="picky"):
        def validate_request(self, request: Any) -> Any:
            raise ToolError("not today")

    assert call_tool(Picky(), a=1, b=2) == mcp.call_tool_result(error="not today")


def test_text_of_a_result_is_its_blocks_of_text() -> None:
    result = mcp.call_tool_result(("text", "a"), ("image", ("image/png", b"x")), ("text", "b"))
    assert result.text == "a\nb"
    assert mcp.call_tool_result().text == ""


def test_vocabulary_in_data_is_refused() -> None:
    with pytest.raises(TypeError, match="pass content as it is"):
        mcp.call_tool_result(data=mcp.TextContent(text="x"))


def test_arguments_that_no_client_could_send_are_the_tests_mistake() -> None:
    with pytest.raises(EncodeError, match="a"):
        call_tool(Add(), a=object(), b=1)
