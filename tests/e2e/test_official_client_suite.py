"""The official Python client drives all that a Suite may offer, over a real socket."""

from __future__ import annotations

import base64
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import attrs
import mcp_types as types
import pytest
import trio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError
from pydantic import FileUrl

from genmcp import (
    Accepted,
    Channel,
    InputRequired,
    NotFound,
    PromptRepo,
    ResourceRepo,
    StreamableHTTP,
    Suite,
    Tool,
    elicit_form,
    list_roots,
    mcp,
    sample,
)
from genmcp.transport.serve import serve

SECONDS = 30  # a guard against hanging, not a measure


@pytest.fixture(autouse=True)
async def collected() -> AsyncIterator[None]:
    """What the client leaves half-way is collected here, not in another test."""
    yield
    gc.collect()


@attrs.frozen
class Name:
    name: str


class Files(
    ResourceRepo,
    prefix="file:///",
    template="file:///{+path}",
    name="files",
    cache_control=("public", 5_000),
):
    """Seven texts and a picture."""

    async def list_resources(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Resource(uri=f"file:///{n}.txt", name=f"{n}") for n in range(7)]

    async def read(self, uri_or_vars: str | Mapping[str, Any], channel: Channel) -> Any:
        assert not isinstance(uri_or_vars, str)
        path = uri_or_vars["path"]
        if path == "picture.png":
            return b"\x89PNG\xff"
        if path == "asks.txt":
            name = channel.answers.form("name", Name)
            if not isinstance(name, Accepted):
                return InputRequired({"name": elicit_form("Whose?", Name)})
            return f"for {name.content.name}"
        if not path[0].isdigit():
            raise NotFound
        return f"text of {path}"


class Notes(ResourceRepo, prefix="note:"):
    """Three more, listed after the files."""

    async def list_resources(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Resource(uri=f"note:{n}", name=f"note {n}") for n in range(3)]

    async def read(self, uri_or_vars: str | Mapping[str, Any], channel: Channel) -> str:
        return f"note at {uri_or_vars}"


class Greetings(PromptRepo, prefix="greet"):
    """Prompts that greet."""

    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        who = mcp.PromptArgument(name="who", required=True)
        return [mcp.Prompt(name=f"greet_{n}", arguments=[who]) for n in range(4)]

    async def get(self, name: str, arguments: Mapping[str, str], channel: Channel) -> Any:
        return mcp.get_prompt_result(
            text=f"{name}: greet {arguments['who']}",
            assistant="How?",
            image=("image/png", b"png"),
            description="A greeting.",
        )

    async def complete(self, name: str, argument: Any, context: Any, channel: Channel) -> Any:
        return [word for word in ("ada", "alan", "grace") if word.startswith(argument.value)]


class TwoRounds(Tool, name="two_rounds", description="Asks once."):
    async def call(self, request: Any, channel: Channel) -> Any:
        name = channel.answers.form("name", Name)
        if name is None:
            return InputRequired({"name": elicit_form("Name?", Name)}, client_state="first")
        return f"{name} {channel.answers.client_state}"


class ThreeRounds(Tool, name="three_rounds", description="Asks twice, in three ways."):
    async def call(self, request: Any, channel: Channel) -> Any:
        roots = channel.answers.roots("roots")
        haiku = channel.answers.sampling("haiku")
        if roots is None or haiku is None:
            return InputRequired({"roots": list_roots(), "haiku": sample("?", max_tokens=9)}, 1)
        name = channel.answers.form("name", Name)
        if name is None:
            return InputRequired({"name": elicit_form("Name?", Name)}, client_state=2)
        assert isinstance(name, Accepted)
        return f"{name.content.name} {roots[0].uri} {haiku.model} {channel.answers.client_state}"


def make_suite() -> Suite:
    return Suite(
        server_name="all",
        server_version="1.0.0",
        tools=[TwoRounds, ThreeRounds],
        prompts=[Greetings],
        resources=[Files, Notes],
        page_size=4,
    )


def read_user(scope: Mapping[str, Any]) -> str | None:
    """A stand-in for the authentication in front: the user is a header."""
    return dict(scope["headers"]).get(b"x-user", b"").decode() or None


@pytest.fixture
async def url(nursery: trio.Nursery) -> str:
    app = StreamableHTTP(make_suite(), secret_key="k" * 32, principal=read_user)
    [url] = await nursery.start(partial(serve, app, port=0))
    return str(url)


def connect(url: str, asked: list[str] | None = None) -> Client:
    """A client that answers everything, and notes what it was asked."""
    asked = [] if asked is None else asked

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def create(context: Any, params: Any) -> types.CreateMessageResult:
        asked.append("sampling")
        content = types.TextContent(type="text", text="x")
        return types.CreateMessageResult(role="assistant", content=content, model="m1")

    async def roots(context: Any) -> types.ListRootsResult:
        asked.append("roots")
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///home"))])

    return Client(
        url,
        mode="2026-07-28",
        cache=None,
        elicitation_callback=elicit,
        sampling_callback=create,
        list_roots_callback=roots,
    )


async def test_resources_are_paged_to_the_end(url: str) -> None:
    seen: list[str] = []
    sizes: list[int] = []
    cursor: str | None = None
    with trio.fail_after(SECONDS):
        async with connect(url) as client:
            while True:
                page = await client.list_resources(cursor=cursor)
                seen += [str(resource.uri) for resource in page.resources]
                sizes.append(len(page.resources))
                cursor = page.next_cursor
                if cursor is None:
                    break
            templates = await client.list_resource_templates()
    assert seen == [f"file:///{n}.txt" for n in range(7)] + [f"note:{n}" for n in range(3)]
    assert max(sizes) <= 4
    assert min(sizes) >= 1
    assert [template.uri_template for template in templates.resource_templates] == [
        "file:///{+path}"
    ]


async def test_text_and_binary_are_read(url: str) -> None:
    with trio.fail_after(SECONDS):
        async with connect(url) as client:
            text = await client.read_resource("file:///3.txt")
            assert text.contents[0].text == "text of 3.txt"
            assert (text.cache_scope, text.ttl_ms) == ("public", 5_000)
            binary = await client.read_resource("file:///picture.png")
            assert base64.b64decode(binary.contents[0].blob) == b"\x89PNG\xff"
            note = await client.read_resource("note:1")
            assert note.contents[0].text == "note at note:1"


@pytest.mark.parametrize(
    "uri", ["file:///missing", "file:///../etc/passwd", "file:////etc/passwd", "other:x"]
)
async def test_what_is_not_there_is_invalid_params_with_the_uri(url: str, uri: str) -> None:
    with trio.fail_after(SECONDS):
        async with connect(url) as client:
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
    assert caught.value.code == -32602
    assert caught.value.data == {"uri": uri}


async def test_prompts_are_listed_got_and_completed(url: str) -> None:
    with trio.fail_after(SECONDS):
        async with connect(url) as client:
            listed = await client.list_prompts()
            assert [prompt.name for prompt in listed.prompts] == [f"greet_{n}" for n in range(4)]
            got = await client.get_prompt("greet_1", {"who": "Bob"})
            assert [message.role for message in got.messages] == ["user", "assistant", "user"]
            assert got.messages[0].content.text == "greet_1: greet Bob"
            assert base64.b64decode(got.messages[2].content.data) == b"png"
            with pytest.raises(MCPError, match="who") as missing:
                await client.get_prompt("greet_1", {})
            assert missing.value.code == -32602
            completed = await client.complete(
                types.PromptReference(type="ref/prompt", name="greet_1"),
                {"name": "who", "value": "a"},
            )
            assert completed.completion.values == ["ada", "alan"]


async def test_two_and_three_rounds_are_answered(url: str) -> None:
    asked: list[str] = []
    with trio.fail_after(SECONDS):
        async with connect(url, asked) as client:
            two = await client.call_tool("two_rounds", {})
            assert two.content[0].text == "Accepted(content=Name(name='Ada')) first"
            three = await client.call_tool("three_rounds", {})
            assert three.content[0].text == "Ada file:///home m1 2"
            read = await client.read_resource("file:///asks.txt")
            assert read.contents[0].text == "for Ada"
    assert asked[0] == "Name?"
    assert sorted(asked[1:3]) == ["roots", "sampling"]
    assert asked[3:] == ["Name?", "Whose?"]


async def test_client_that_cannot_be_asked_is_told_what_it_lacks(url: str) -> None:
    with trio.fail_after(SECONDS):
        async with Client(url, mode="2026-07-28", cache=None) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("three_rounds", {})
    assert caught.value.code == -32021
    assert caught.value.data == {"requiredCapabilities": {"roots": {}, "sampling": {}}}


ANSWERS: dict[str, Any] = {"name": types.ElicitResult(action="decline")}


@pytest.mark.parametrize("case", ["tampered", "other tool", "other arguments"])
async def test_state_that_is_not_of_this_call_is_refused(url: str, case: str) -> None:
    with trio.fail_after(SECONDS):
        async with connect(url) as client:
            session = client.session
            asked = await session.call_tool("two_rounds", {}, allow_input_required=True)
            state = asked.request_state
            name, arguments = "two_rounds", dict[str, Any]()
            match case:
                case "tampered":
                    state = f"{state}-TAMPERED"
                case "other tool":
                    name = "three_rounds"
                case _:
                    arguments = {"x": 1}
            with pytest.raises(MCPError) as caught:
                await session.call_tool(
                    name,
                    arguments,
                    request_state=state,
                    input_responses=ANSWERS,
                    allow_input_required=True,
                )
            assert caught.value.code == -32602
            # The true one still works: being refused used nothing up.
            done = await session.call_tool(
                "two_rounds",
                {},
                request_state=asked.request_state,
                input_responses=ANSWERS,
                allow_input_required=True,
            )
            assert done.content[0].text == "Declined() first"


async def test_state_of_another_user_is_refused(url: str) -> None:
    @asynccontextmanager
    async def as_user(user: str) -> AsyncGenerator[Client]:
        async with (
            create_mcp_http_client(headers={"x-user": user}) as http,
            Client(
                streamable_http_client(url, http_client=http),
                mode="2026-07-28",
                cache=None,
                elicitation_callback=never,
            ) as client,
        ):
            yield client

    with trio.fail_after(SECONDS):
        async with as_user("ada") as ada, as_user("eve") as eve:
            asked = await ada.session.call_tool("two_rounds", {}, allow_input_required=True)
            retry: dict[str, Any] = {
                "request_state": asked.request_state,
                "input_responses": ANSWERS,
                "allow_input_required": True,
            }
            with pytest.raises(MCPError) as caught:
                await eve.session.call_tool("two_rounds", {}, **retry)
            assert caught.value.code == -32602
            done = await ada.session.call_tool("two_rounds", {}, **retry)
            assert done.content[0].text == "Declined() first"


async def never(context: Any, params: Any) -> types.ElicitResult:
    raise AssertionError("driven by hand")
