"""Builders of what tools answer, and of their list.

Layer: vocabulary. Spec: server/tools#tool-result
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Protocol,
    TypeAlias,
    TypedDict,
    Unpack,
    runtime_checkable,
)

import attrs
import orjson

from genmcp.mcp.unset import UNSET, Unset
from genmcp.mcp.v2607.build_content import (
    Media,
    as_pair,
    content_block,
    flatten_entries,
    is_content,
)
from genmcp.mcp.v2607.caching import fill_cache_control
from genmcp.mcp.v2607.checks import show
from genmcp.mcp.v2607.content import ContentBlock, Resource, ResourceContents, TextContent
from genmcp.mcp.v2607.plain_json import is_record, to_plain_json
from genmcp.mcp.v2607.tools import CallToolResult, ListToolsResult, Tool

if TYPE_CHECKING:
    from genmcp.mcp.v2607.base import CacheScope, Cursor


class ToolResultEntries(TypedDict, total=False):
    """The keywords of `call_tool_result`."""

    text: str
    image: Media
    audio: Media
    resource: Mapping[str, Any] | ResourceContents
    link: Mapping[str, Any] | Resource
    data: Any
    _data: Any
    error: bool | str | None


ToolResultEntry: TypeAlias = ContentBlock | tuple[str, Any] | Mapping[str, Any]
"""Content, a pair like a keyword and its value, or structured content."""

_KEYWORDS: Final = tuple(ToolResultEntries.__annotations__)


def call_tool_result(
    *entries: ToolResultEntry | list[Any], **named: Unpack[ToolResultEntries]
) -> CallToolResult:
    """Build what a tool answers.

    Pass keywords; pairs where a keyword repeats, such as `("text", "a")`, one by one
    or in a list; and ready content. The order is kept, positional ones first.

    Keywords:
        text, image, audio, resource, link: content, as `content_block` takes it.
        data: structured content, any JSON value, attrs and dataclass instances
            included; also written as JSON in a text block, for clients that do not
            know structured content. A bare mapping is `data`.
        _data: structured content without the text block.
        error: True says that the tool failed; a text says so and why. False and
            None say nothing, and take nothing back.

    Raises:
        ValueError: a second structured content, an unknown kind, bad base64.
        TypeError: a value is not of its keyword's form, or has no JSON form.

    Spec: server/tools#tool-result
    """
    parts = _Parts()
    for single in flatten_entries(entries):
        parts.add_entry(single)
    for keyword, value in named.items():
        parts.add(keyword, value)
    return CallToolResult(
        content=parts.content,
        structured_content=parts.structured_content,
        is_error=parts.is_error,
    )


@attrs.define
class _Parts:
    content: list[ContentBlock] = attrs.field(factory=list[ContentBlock])
    structured_content: Any | Unset = UNSET
    is_error: bool | None = None

    def add_entry(self, entry: object) -> None:
        if is_content(entry):
            self.content.append(entry)
        elif (pair := as_pair(entry)) is not None:
            self.add(*pair)
        elif isinstance(entry, Mapping) or is_record(entry):
            self.add("data", entry)
        else:
            raise TypeError(
                "an entry must be content, a pair, or a mapping of structured content, "
                f"got {show(entry)}; write text=... for a text"
            )

    def add(self, keyword: str, value: Any) -> None:
        match keyword:
            case "data" | "_data":
                self._set_structured_content(keyword, value)
            case "error":
                self._set_error(value)
            case "text" | "image" | "audio" | "resource" | "link":
                self.content.append(content_block(keyword, value))
            case _:
                raise TypeError(
                    f"call_tool_result has no {keyword!r}; it takes {', '.join(_KEYWORDS)}"
                )

    def _set_structured_content(self, keyword: str, value: Any) -> None:
        if self.structured_content is not UNSET:
            raise ValueError(
                f"{keyword} sets the structured content a second time; "
                "a result has one, so put both into one value"
            )
        self.structured_content = to_plain_json(keyword, value)
        if keyword == "data":
            self.content.append(TextContent(text=_json_text(self.structured_content)))

    def _set_error(self, value: Any) -> None:
        if isinstance(value, str):
            self.content.append(TextContent(text=value))
        elif value is not None and not isinstance(value, bool):
            raise TypeError(f"error must be a bool, a str or None, got {show(value)}")
        if value is not None and value is not False:
            self.is_error = True


def _json_text(value: Any) -> str:
    try:
        return orjson.dumps(value).decode("utf-8")
    except TypeError as error:
        raise ValueError(f"data cannot be written as JSON: {error}") from None


@runtime_checkable
class Describable(Protocol):
    """What knows how `tools/list` shows it, such as an instance of `genmcp.Tool`."""

    def describe(self) -> Tool:
        """Return the wire form."""
        ...


def list_tools_result(
    tools: Iterable[Tool | Describable | type[Describable]],
    *,
    next_cursor: Cursor | None = None,
    cache_scope: CacheScope | None = None,
    ttl_ms: int | None = None,
) -> ListToolsResult:
    """Build one page of the tools.

    Args:
        tools: ready `mcp.Tool`s, and Tool classes or instances, which are asked to
            describe themselves; a class is instantiated without arguments.
        next_cursor: where the next page starts; None on the last one.
        cache_scope: `private` unless given.
        ttl_ms: 0 unless given.

    Raises:
        TypeError: an item is none of these.
        ValueError: `cache_scope` or `ttl_ms` is wrong.

    Spec: server/tools#listing-tools
    """
    scope, ttl = fill_cache_control(cache_scope, ttl_ms)
    return ListToolsResult(
        tools=[_describe(tool) for tool in tools],
        next_cursor=next_cursor,
        cache_scope=scope,
        ttl_ms=ttl,
    )


def _describe(tool: object) -> Tool:
    if isinstance(tool, Tool):
        return tool
    described = tool() if isinstance(tool, type) and hasattr(tool, "describe") else tool
    if not isinstance(described, Describable):
        raise TypeError(f"tools must hold mcp.Tool objects or Tool classes, got {show(tool)}")
    found = described.describe()
    if not isinstance(found, Tool):  # pyright: ignore[reportUnnecessaryIsInstance]
        owner = type(described).__qualname__
        raise TypeError(f"{owner}.describe must return mcp.Tool, got {show(found)}")
    return found
