"""Prompts, resources, lists and discovery, built in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from genmcp.mcp import v2607 as mcp
from genmcp.wire.codec import encode


def user(content: mcp.ContentBlock) -> mcp.PromptMessage:
    return mcp.PromptMessage(role="user", content=content)


def assistant(content: mcp.ContentBlock) -> mcp.PromptMessage:
    return mcp.PromptMessage(role="assistant", content=content)


A, B = mcp.TextContent(text="a"), mcp.TextContent(text="b")
IMAGE = mcp.ImageContent(mime_type="image/png", data="aGk=")


# -- prompts -------------------------------------------------------------------------


def test_texts_are_the_users_and_the_assistant_has_a_keyword() -> None:
    result = mcp.get_prompt_result(text="a", assistant="b", description="d")
    assert result == mcp.GetPromptResult(messages=[user(A), assistant(B)], description="d")
    assert "ttlMs" not in encode(result)


def test_messages_repeat_in_pairs_and_keep_their_order() -> None:
    ready = assistant(IMAGE)
    result = mcp.get_prompt_result(
        [("text", "a"), ("assistant", B), ready], ("text", "b"), IMAGE, image=("image/png", b"hi")
    )
    assert result.messages == [user(A), assistant(B), ready, user(B), user(IMAGE), user(IMAGE)]
    assert result.description is None


def test_no_entries_are_no_messages() -> None:
    assert encode(mcp.get_prompt_result()) == {"resultType": "complete", "messages": []}


@pytest.mark.parametrize(
    ("resource", "mime_type"),
    [
        ({"uri": "a:", "text": "t"}, "text/plain"),
        ({"uri": "a:", "blob": b"t"}, "application/octet-stream"),
        ({"uri": "a:", "text": "t", "mime_type": "text/markdown"}, "text/markdown"),
        ({"uri": "a:", "blob": b"t", "mime_type": "image/png"}, "image/png"),
    ],
    ids=repr,
)
def test_resources_in_prompts_always_have_a_media_type(
    resource: dict[str, Any], mime_type: str
) -> None:
    for result in (
        mcp.get_prompt_result(resource=resource),
        mcp.get_prompt_result(mcp.content_block("resource", resource)),
    ):
        (message,) = result.messages
        assert isinstance(message.content, mcp.EmbeddedResource)
        assert message.content.resource.mime_type == mime_type


LINK = mcp.ResourceLink(name="n", uri="a:")


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        (("link", {"name": "n", "uri": "a:"}), ValueError, "a prompt's message cannot be a link"),
        (LINK, ValueError, "a prompt's message cannot be a link"),
        (("assistant", LINK), ValueError, "a prompt's message cannot be a link"),
        (("assistant", 5), TypeError, "assistant must be a str or content, got 5"),
        (("system", "a"), TypeError, "get_prompt_result has no 'system'; it takes text, assistant"),
        (("text", None), TypeError, "text must be a str, got None"),
        ({"role": "user"}, TypeError, "an entry must be a PromptMessage, content, or a pair"),
        ("a", TypeError, "an entry must be a PromptMessage, content, or a pair"),
        (("text", "a", "b"), TypeError, 'a pair must be like ("text", value), got '),
    ],
    ids=str,
)
def test_what_is_no_message_is_refused(entry: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        mcp.get_prompt_result(entry)
    assert str(caught.value).startswith(message)


def test_a_ready_message_is_kept_as_it_is() -> None:
    ready = user(LINK)
    assert mcp.get_prompt_result(ready).messages == [ready]


def test_a_description_is_text() -> None:
    with pytest.raises(TypeError, match=r"GetPromptResult\.description must be str or None"):
        mcp.get_prompt_result(text="a", description=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# -- resources -----------------------------------------------------------------------


def test_one_text_is_read_flat() -> None:
    result = mcp.read_resource_result(uri="a:", text="", mime_type="x/y", meta={"k": 1})
    assert encode(result) == {
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "contents": [{"uri": "a:", "text": "", "mimeType": "x/y", "_meta": {"k": 1}}],
    }


@pytest.mark.parametrize("blob", [b"\xfb\xff", "+/8="], ids=repr)
def test_bytes_are_written_in_standard_base64(blob: Any) -> None:
    result = mcp.read_resource_result(uri="a:", blob=blob, ttl_ms=10, cache_scope="public")
    assert encode(result)["contents"] == [{"uri": "a:", "blob": "+/8="}]
    assert (result.ttl_ms, result.cache_scope) == (10, "public")


def test_contents_outdo_the_flat_form() -> None:
    ready = mcp.TextResourceContents(uri="b:", text="t")
    result = mcp.read_resource_result(
        uri="a:",
        text="x",
        blob=b"y",
        mime_type="x/y",
        meta={"k": 1},
        contents=[ready, {"uri": "c:", "blob": b"hi", "mime_type": "z/z"}],
        ttl_ms=10,
    )
    assert result.contents == [
        ready,
        mcp.BlobResourceContents(uri="c:", blob="aGk=", mime_type="z/z"),
    ]
    assert (result.ttl_ms, result.cache_scope) == (10, "private")


def test_contents_may_be_empty() -> None:
    assert encode(mcp.read_resource_result(contents=[]))["contents"] == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "read_resource_result needs uri= with text= or blob=, or contents="),
        ({"text": "a"}, TypeError, "read_resource_result needs uri="),
        ({"uri": "a:"}, ValueError, "pass exactly one of text and blob for 'a:', got neither"),
        ({"uri": "a:", "text": "", "blob": b""}, ValueError, "pass exactly one of text and blob"),
        ({"uri": "a:", "blob": "-_=="}, ValueError, "BlobResourceContents.blob must be standard"),
        ({"uri": "a:", "blob": 5}, TypeError, "blob must be bytes, or a str of base64, got 5"),
        ({"uri": 5, "text": "a"}, TypeError, "TextResourceContents.uri must be str, got 5"),
        ({"uri": "a:", "text": b"a"}, TypeError, "TextResourceContents.text must be str"),
        ({"contents": [5]}, TypeError, 'resource must be {"uri": ..., "text": ...}'),
        ({"contents": [{"uri": "a:", "txt": ""}]}, TypeError, "resource has no 'txt'; did you"),
        ({"contents": [], "ttl_ms": -1}, ValueError, "ReadResourceResult.ttl_ms must be 0"),
        ({"contents": [], "cache_scope": "x"}, ValueError, "ReadResourceResult.cache_scope must"),
    ],
    ids=str,
)
def test_what_is_no_resource_is_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        mcp.read_resource_result(**arguments)
    assert str(caught.value).startswith(message)


def test_contents_are_built_of_exactly_one_of_text_and_bytes() -> None:
    text = mcp.resource_contents(uri="a:", text="t", mime_type="x/y", meta={"k": 1})
    assert text == mcp.TextResourceContents(uri="a:", text="t", mime_type="x/y", meta={"k": 1})
    assert mcp.resource_contents(uri="a:", blob=b"") == mcp.BlobResourceContents(uri="a:", blob="")
    with pytest.raises(ValueError, match="got neither"):
        mcp.resource_contents(uri="a:")
    with pytest.raises(ValueError, match="got both"):
        mcp.resource_contents(uri="a:", text="", blob=b"")


# -- lists ---------------------------------------------------------------------------

RESOURCE = mcp.Resource(uri="a:", name="a")
TEMPLATE = mcp.ResourceTemplate(uri_template="a:{b}", name="a")
PROMPT = mcp.Prompt(name="a")

LISTS: list[tuple[Callable[..., Any], Any, str]] = [
    (mcp.list_resources_result, RESOURCE, "resources"),
    (mcp.list_resource_templates_result, TEMPLATE, "resourceTemplates"),
    (mcp.list_prompts_result, PROMPT, "prompts"),
]


@pytest.mark.parametrize(
    ("build", "item", "member"), LISTS, ids=["resources", "templates", "prompts"]
)
@pytest.mark.parametrize("cursor", [None, "", "next"], ids=repr)
def test_pages_hold_their_items_and_the_cursor(
    build: Callable[..., Any], item: Any, member: str, cursor: str | None
) -> None:
    written = encode(build((one for one in [item, item]), cursor))
    expected = {
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        member: [encode(item)] * 2,
    }
    assert written == expected | ({} if cursor is None else {"nextCursor": cursor})
    assert build([], ttl_ms=7).cache_scope == "private"
    assert build([], next_cursor="a", cache_scope="public").ttl_ms == 0


@pytest.mark.parametrize(
    ("build", "item", "member"), LISTS, ids=["resources", "templates", "prompts"]
)
def test_items_of_another_class_are_refused(
    build: Callable[..., Any], item: Any, member: str
) -> None:
    with pytest.raises(TypeError, match=rf"must hold mcp\.{type(item).__name__} objects, got 'x'"):
        build([item, "x"])


# -- discovery -----------------------------------------------------------------------


def test_a_server_says_who_it_is_in_meta() -> None:
    result = mcp.discover_result(
        name="n", version="1", title="T", capabilities=mcp.capabilities(tools=True)
    )
    assert encode(result) == {
        "_meta": {
            "io.modelcontextprotocol/serverInfo": {"name": "n", "version": "1", "title": "T"}
        },
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
    }


def test_discovery_takes_flags_and_the_rest() -> None:
    result = mcp.discover_result(
        name="n",
        version="1",
        capabilities={"prompts": {"listChanged": True}},
        instructions="read me",
        supported_versions=("2026-07-28", "2025-11-25"),
        ttl_ms=1,
    )
    assert result.capabilities == mcp.ServerCapabilities(
        prompts=mcp.PromptsCapability(list_changed=True)
    )
    assert result.supported_versions == ["2026-07-28", "2025-11-25"]
    assert (result.instructions, result.ttl_ms, result.cache_scope) == ("read me", 1, "private")
    assert encode(mcp.discover_result(name="n", version="1"))["capabilities"] == {}


@pytest.mark.parametrize("missing", ["name", "version"])
def test_a_server_has_a_name_and_a_version(missing: str) -> None:
    given: dict[str, Any] = {"name": "n", "version": "1"}
    del given[missing]
    build: Callable[..., Any]
    for build in (mcp.discover_result, mcp.server_info):
        with pytest.raises(TypeError, match=missing):
            build(**given)
        with pytest.raises(TypeError, match=rf"Implementation\.{missing} must be str, got None"):
            build(**{**given, missing: None})


def test_an_identity_is_built() -> None:
    assert mcp.server_info(name="n", version="1", title="T") == mcp.Implementation(
        name="n", version="1", title="T"
    )


@pytest.mark.parametrize(
    ("flags", "written"),
    [
        ({}, {}),
        ({"tools": True, "logging": True}, {"tools": {}, "logging": {}}),
        ({"tools": False, "prompts": None, "completions": True}, {"completions": {}}),
        ({"tools": {}}, {"tools": {}}),
        ({"tools": {"list_changed": True}}, {"tools": {"listChanged": True}}),
        ({"tools": {"listChanged": False}}, {"tools": {"listChanged": False}}),
        (
            {"resources": {"subscribe": True, "listChanged": True, "x": 1}},
            {"resources": {"subscribe": True, "listChanged": True, "x": 1}},
        ),
        ({"prompts": mcp.PromptsCapability(list_changed=True)}, {"prompts": {"listChanged": True}}),
        ({"extensions": {"com.example/x": {}}}, {"extensions": {"com.example/x": {}}}),
        ({"experimental": True}, {"experimental": {}}),
        ({"logging": {"a": 1}}, {"logging": {"a": 1}}),
    ],
    ids=repr,
)
def test_capabilities_are_flags(flags: Any, written: dict[str, Any]) -> None:
    assert encode(mcp.capabilities(**flags)) == written


def test_ready_capabilities_come_back_unchanged() -> None:
    ready = mcp.ServerCapabilities(extra={"tasks": {}})
    assert mcp.capabilities(ready) is ready
    assert mcp.discover_result(name="n", version="1", capabilities=ready).capabilities is ready


@pytest.mark.parametrize(
    ("arguments", "flags", "message"),
    [
        ((), {"tool": True}, "capabilities has no 'tool'; did you mean 'tools'?"),
        ((), {"zzz": True}, "capabilities has no 'zzz'; it takes experimental, logging, "),
        ((), {"tools": 1}, "tools must be True, False, None or a mapping, got 1"),
        ((), {"tools": "yes"}, "tools must be True, False, None or a mapping, got 'yes'"),
        ((), {"tools": mcp.PromptsCapability()}, "tools must be True, False, None or a mapping"),
        ((), {"tools": {"list_changed": 1}}, "ToolsCapability.list_changed must be bool or None"),
        ((True,), {}, "capabilities takes flags or a ServerCapabilities, got True"),
        (
            (mcp.ServerCapabilities(),),
            {"tools": True},
            "capabilities takes flags or a ServerCapabilities, not both",
        ),
    ],
    ids=str,
)
def test_other_capabilities_are_refused(arguments: Any, flags: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        mcp.capabilities(*arguments, **flags)
    assert str(caught.value).startswith(message)


def test_by_default_nothing_is_kept_by_anyone() -> None:
    assert mcp.default_cache_control() == ("private", 0)
