"""What an author may build: names, schemas, media types, questions, conversations."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from genmcp import Channel, Suite, Tool, elicit_url, mcp, sample
from genmcp.testing import Client, ServerError
from genmcp.wire.codec import DecodeError, decode, encode
from tests.suite.repos import Prompts, make_suite

# -- tools -----------------------------------------------------------------------------


def tool_named(name: str) -> type[Tool]:
    class Named(Tool, name=name):
        async def call(self, request: Any, channel: Channel) -> str:
            return name

    return Named


@pytest.mark.parametrize("name", ["a", "A-b_c.9", "x" * 128])
def test_name_of_the_recommended_characters_is_taken(name: str) -> None:
    assert tool_named(name)().describe().name == name


@pytest.mark.parametrize("name", ["", "x" * 129, "a b", "a,b", "a/b", "é", "a\n"])
def test_name_outside_them_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name must"):
        tool_named(name)


async def test_names_that_differ_in_case_are_two_tools() -> None:
    suite = Suite(server_name="s", server_version="1", tools=[tool_named("a"), tool_named("A")])
    async with Client(suite) as client:
        for name in ("a", "A"):
            result = await client.call_tool(name)
            assert isinstance(result, mcp.CallToolResult)
            assert result.text == name


def test_tool_without_arguments_publishes_an_object() -> None:
    @attrs.frozen
    class Nothing:
        pass

    class Typed(Tool[Nothing], name="typed"):
        async def call(self, request: Any, channel: Channel) -> str:
            return ""

    assert tool_named("a")().describe().input_schema == {"type": "object"}
    schema = Typed().describe().input_schema
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert not schema.get("properties")


# -- content ---------------------------------------------------------------------------

MEDIA = [mcp.ImageContent, mcp.AudioContent]


@pytest.mark.parametrize("cls", MEDIA)
@pytest.mark.parametrize(
    "mime_type", ["image/png", "image/svg+xml", "audio/ogg; codecs=opus", "application/vnd.x-y.z"]
)
def test_media_type_is_taken(cls: Any, mime_type: str) -> None:
    assert cls(data="AA==", mime_type=mime_type).mime_type == mime_type


@pytest.mark.parametrize("cls", MEDIA)
@pytest.mark.parametrize(
    "mime_type", ["", "png", "image/", "/png", "image/png/x", "image png", "im age/png", "a/b\n"]
)
def test_what_is_no_media_type_is_refused(cls: Any, mime_type: str) -> None:
    with pytest.raises(ValueError, match=rf"{cls.__name__}.mime_type must be a media type"):
        cls(data="AA==", mime_type=mime_type)


@pytest.mark.parametrize("role", ["system", "tool", "", None])
def test_message_of_a_prompt_is_the_users_or_the_assistants(role: Any) -> None:
    with pytest.raises(ValueError, match=r"PromptMessage\.role must be one of"):
        mcp.PromptMessage(role=role, content=mcp.TextContent(text="x"))


@pytest.mark.parametrize("content", [[], [mcp.TextContent(text="x")], "x"], ids=repr)
def test_message_of_a_prompt_has_one_piece_of_content(content: Any) -> None:
    with pytest.raises(TypeError, match=r"PromptMessage\.content must be"):
        mcp.PromptMessage(role="user", content=content)


CONTENTS: list[Any] = [
    mcp.EmbeddedResource(resource=mcp.TextResourceContents(uri="no-scheme", text="x")),
    mcp.EmbeddedResource(resource=mcp.BlobResourceContents(uri="a b:c", blob="AA==")),
    mcp.ResourceLink(uri="", name="x"),
]


@pytest.mark.parametrize("content", CONTENTS, ids=repr)
async def test_prompt_with_a_resource_that_has_no_uri_is_a_server_error(
    content: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Wrong(Prompts):
        async def get(self, name: str, arguments: Any, channel: Channel) -> Any:
            return mcp.GetPromptResult(messages=[mcp.PromptMessage(role="user", content=content)])

    async with Client(make_suite(prompts=[Wrong("", ["p"])])) as client:
        with pytest.raises(ServerError) as caught:
            await client.get_prompt("p")
    assert caught.value.code == -32603
    assert "Wrong.get returned" in caplog.text
    assert "a URI: a scheme, a colon" in caplog.text


# -- questions -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["https://ada:secret@bank.example/pay", "https://ada@bank.example", "http://:x@a?q"]
)
def test_url_that_logs_its_opener_in_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must not log in") as caught:
        elicit_url("Pay here.", url)
    assert "secret" not in str(caught.value)


def test_at_sign_elsewhere_in_a_url_is_fine() -> None:
    for url in ("https://a.example/@ada", "https://a.example?to=a@b", "https://a.example/#@"):
        assert encode(elicit_url("Look.", url))["params"]["url"] == url


# -- conversations with a model --------------------------------------------------------

TEXT = mcp.TextContent(text="x")
WISH = mcp.ToolUseContent(id="a", name="t", input={})
RESULT = mcp.ToolResultContent(tool_use_id="a")


def says(*content: Any, role: Any = "user") -> mcp.SamplingMessage:
    return mcp.SamplingMessage(role=role, content=content)


def wishes(*ids: str) -> mcp.SamplingMessage:
    tools = [mcp.ToolUseContent(id=one, name="t", input={}) for one in ids]
    return says(TEXT, *tools, role="assistant")


def results(*ids: str) -> mcp.SamplingMessage:
    return says(*(mcp.ToolResultContent(tool_use_id=one) for one in ids))


@pytest.mark.parametrize(
    "messages",
    [
        [says(TEXT)],
        [says(TEXT), says(TEXT, role="assistant"), says(TEXT)],
        [says(TEXT), wishes("a"), results("a")],
        [says(TEXT), wishes("a", "b"), results("b", "a"), wishes("c"), results("c"), says(TEXT)],
        [mcp.SamplingMessage(role="user", content=TEXT)],
    ],
)
def test_balanced_conversation_is_taken(messages: Any) -> None:
    question = sample(messages, max_tokens=1)
    assert list(question.params.messages) == messages
    assert decode(mcp.CreateMessageRequest, encode(question)) == question


MIXED = "tool_result in messages of the user that hold nothing else; not in message 2"


@pytest.mark.parametrize(
    ("messages", "says_why"),
    [
        ([says(TEXT), wishes("a"), says(TEXT)], "must answer each tool_use"),
        ([says(TEXT), wishes("a")], "the last asks ['a']"),
        ([says(TEXT), wishes("a", "b"), results("a")], "answers ['a'], asked was ['a', 'b']"),
        ([says(TEXT), wishes("a"), results("b")], "answers ['b'], asked was ['a']"),
        ([says(TEXT), wishes("a"), says(TEXT, role="assistant"), results("a")], "message 2"),
        ([results("a")], "answers ['a'], asked was []"),
        ([says(TEXT), wishes("a"), says(RESULT, TEXT)], MIXED),
        ([says(TEXT), wishes("a"), says(RESULT, role="assistant")], MIXED),
        ([says(WISH), results("a")], "of the assistant only; not in message 0"),
    ],
)
def test_unbalanced_conversation_is_refused(messages: Any, says_why: str) -> None:
    with pytest.raises(ValueError, match=r"CreateMessageRequestParams\.messages must") as caught:
        sample(messages, max_tokens=1)
    assert says_why in str(caught.value)
    wire = {"maxTokens": 1, "messages": [encode(message) for message in messages]}
    with pytest.raises(DecodeError):
        decode(mcp.CreateMessageRequestParams, wire)


def test_message_is_of_the_user_or_the_assistant() -> None:
    for role in ("system", "tool", ""):
        with pytest.raises(ValueError, match=r"SamplingMessage\.role must be one of"):
            says(TEXT, role=role)


def test_question_to_a_model_has_the_members_of_the_specification() -> None:
    full = sample(
        "Hi",
        max_tokens=1,
        system_prompt="s",
        temperature=0.5,
        stop_sequences=["x"],
        model_preferences=mcp.ModelPreferences(),
        include_context="none",
        tools=[mcp.Tool(name="t", input_schema={"type": "object"})],
        tool_choice=mcp.ToolChoice(mode="auto"),
        metadata={},
    )
    assert encode(full)["params"].keys() == {
        *("messages", "maxTokens", "systemPrompt", "temperature", "stopSequences"),
        *("modelPreferences", "includeContext", "tools", "toolChoice", "metadata"),
    }
    assert encode(sample("Hi", max_tokens=1))["params"].keys() == {"messages", "maxTokens"}
