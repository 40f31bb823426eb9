"""Builders of a prompt's messages, and of the list of prompts.

Layer: vocabulary. Spec: server/prompts
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, Unpack

import attrs

from genmcp.mcp.v2607.build_content import (
    Media,
    as_pair,
    content_block,
    flatten_entries,
    is_content,
)
from genmcp.mcp.v2607.build_resources import all_of
from genmcp.mcp.v2607.caching import fill_cache_control
from genmcp.mcp.v2607.checks import show
from genmcp.mcp.v2607.content import (
    BlobResourceContents,
    ContentBlock,
    EmbeddedResource,
    ResourceContents,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from genmcp.mcp.v2607.prompts import GetPromptResult, ListPromptsResult, Prompt, PromptMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from genmcp.mcp.v2607.base import CacheScope, Cursor


class PromptEntries(TypedDict, total=False):
    """The keywords of `get_prompt_result` beside `description`."""

    text: str
    assistant: str | ContentBlock
    image: Media
    audio: Media
    resource: Mapping[str, Any] | ResourceContents


PromptEntry: TypeAlias = PromptMessage | ContentBlock | tuple[str, Any]
"""A message, content a user says, or a pair like a keyword and its value."""

_KEYWORDS: Final = tuple(PromptEntries.__annotations__)


def get_prompt_result(
    *entries: PromptEntry | list[Any],
    description: str | None = None,
    **named: Unpack[PromptEntries],
) -> GetPromptResult:
    """Build the messages of a prompt.

    Pass keywords; pairs where a keyword repeats, such as `("text", "a")`, one by one
    or in a list; and ready messages or content. The order is kept, positional ones
    first.

    Keywords:
        text: what the user says.
        assistant: what the assistant says, a `str` or content.
        image, audio, resource: content of the user, as `content_block` takes it. A
            resource without a media type gets one, since prompts must have it.

    Raises:
        ValueError: a link, which prompts do not hold; bad base64.
        TypeError: a value is not of its keyword's form.

    Spec: server/prompts#getting-a-prompt
    """
    messages = [_as_message(entry) for entry in flatten_entries(entries)]
    messages += [_message(keyword, value) for keyword, value in named.items()]
    return GetPromptResult(messages=messages, description=description)


def _as_message(entry: object) -> PromptMessage:
    if isinstance(entry, PromptMessage):
        return entry
    if is_content(entry):
        return PromptMessage(role="user", content=_for_prompt(entry))
    pair = as_pair(entry)
    if pair is not None:
        return _message(*pair)
    raise TypeError(
        "an entry must be a PromptMessage, content, or a pair like "
        f'("text", value), got {show(entry)}'
    )


def _message(keyword: str, value: Any) -> PromptMessage:
    match keyword:
        case "assistant":
            content = TextContent(text=value) if isinstance(value, str) else value
            if not is_content(content):
                raise TypeError(f"assistant must be a str or content, got {show(value)}")
            return PromptMessage(role="assistant", content=_for_prompt(content))
        case "text" | "image" | "audio" | "resource" | "link":
            return PromptMessage(role="user", content=_for_prompt(content_block(keyword, value)))
        case _:
            raise TypeError(
                f"get_prompt_result has no {keyword!r}; "
                f"it takes {', '.join(_KEYWORDS)}, description"
            )


def _for_prompt(content: ContentBlock) -> ContentBlock:
    match content:
        case ResourceLink():
            raise ValueError(
                "a prompt's message cannot be a link; embed the resource with resource=..."
            )
        case EmbeddedResource(resource=TextResourceContents(mime_type=None)):
            mime_type = "text/plain"
        case EmbeddedResource(resource=BlobResourceContents(mime_type=None)):
            mime_type = "application/octet-stream"
        case _:
            return content
    return attrs.evolve(content, resource=attrs.evolve(content.resource, mime_type=mime_type))


def list_prompts_result(
    prompts: Iterable[Prompt],
    next_cursor: Cursor | None = None,
    *,
    cache_scope: CacheScope | None = None,
    ttl_ms: int | None = None,
) -> ListPromptsResult:
    """Build one page of the prompts; no `next_cursor` on the last one.

    Raises:
        TypeError: an item is not an `mcp.Prompt`.
        ValueError: `cache_scope` or `ttl_ms` is wrong.

    Spec: server/prompts#listing-prompts
    """
    scope, ttl = fill_cache_control(cache_scope, ttl_ms)
    return ListPromptsResult(
        prompts=all_of(Prompt, "prompts", prompts),
        next_cursor=next_cursor,
        cache_scope=scope,
        ttl_ms=ttl,
    )
