"""The tools page: lists tools, and finds the one that is called.

Layer: suite. Calling it is `genmcp.suite.tool_call`'s.

Spec: server/tools
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from genmcp.errors import InvalidParams
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.v2607.fields import with_members
from genmcp.providers.cache_control import combine_hints
from genmcp.suite.listing import cut_page, find_owner
from genmcp.suite.not_found import shorten_name
from genmcp.suite.page import Answer, Page
from genmcp.suite.provider_source import ask_extension
from genmcp.suite.served_tool import ServedTool, index_tools, serve_tool
from genmcp.suite.tool_call import InvalidArguments, ToolCall, ToolStream

if TYPE_CHECKING:
    from collections.abc import Iterable

    from genmcp.channel import Channel
    from genmcp.providers.extension import Extension, ToolSource


class ToolsPage(Page):
    """Serves the Suite's own tools, then those its extensions give this caller."""

    methods: ClassVar[frozenset[str]] = frozenset({"tools/list", "tools/call"})

    def __init__(
        self,
        tools: Iterable[ToolSource],
        extensions: Iterable[Extension],
        *,
        invalid_arguments: InvalidArguments,
        page_size: int,
        signature: mcp.ResultMetaObject | None,
    ) -> None:
        self._served = index_tools(serve_tool(source) for source in tools)
        self._extensions = [one for one in extensions if one.offers_tools()]
        self._invalid_arguments: InvalidArguments = invalid_arguments
        self._page_size = page_size
        self._whole = self._list_whole(signature)

    @property
    def names(self) -> list[str]:
        """The names of the Suite's own tools, in the order they are listed."""
        return list(self._served)

    def offered(self) -> bool:
        """See `Page.offered`."""
        return bool(self._served or self._extensions)

    def scopes(self) -> Iterable[str]:
        """See `Page.scopes`."""
        return frozenset[str]().union(*(tool.required_scopes for tool in self._served.values()))

    async def answer(self, request: mcp.Request, channel: Channel) -> Answer:
        """See `Page.answer`."""
        if isinstance(request, mcp.ListToolsRequest):
            return await self._list(request, channel)
        call = cast("mcp.CallToolRequest[Any]", request)
        name = call.params.name
        served = self._served.get(name) or await self._find_added(name, channel)
        channel.notes.served_target = served.name
        tool_call = ToolCall(served, channel, call.params.arguments)
        checked = tool_call.check(call, self._invalid_arguments)
        return checked if isinstance(checked, mcp.Result) else await tool_call.call(checked)

    async def handle_message(self, message: object, channel: Channel, state: Any) -> Answer:
        """See `Page.handle_message`."""
        stream: ToolStream = state
        return await stream.call.go_on(message, stream.state)

    async def handle_close(self, channel: Channel, state: Any) -> None:
        """See `Page.handle_close`."""
        stream: ToolStream = state
        await stream.call.close(stream.state)

    def _list_whole(self, signature: mcp.ResultMetaObject | None) -> mcp.ListToolsResult | None:
        """Return the list, signed, if it is the same for all and for good.

        It is not where it depends on the caller, or takes cursors, which run out.
        """
        if self._extensions or not 0 < len(self._served) <= self._page_size:
            return None
        hints = combine_hints(tool.hints for tool in self._served.values())
        whole = mcp.list_tools_result(
            [tool.described for tool in self._served.values()],
            cache_scope=hints.scope,
            ttl_ms=hints.ttl_ms,
        )
        # A tuple: nobody can change what all share, and so it is written only once.
        return with_members(whole, tools=tuple(whole.tools), meta=signature)

    async def _list(self, request: mcp.ListToolsRequest, channel: Channel) -> mcp.ListToolsResult:
        if self._whole is not None and request.params.cursor is None:
            return self._whole
        served = dict(self._served)
        for extension in self._extensions:
            for tool in await _ask(extension, channel):
                served.setdefault(tool.name, tool)
        hints = combine_hints(tool.hints for tool in served.values())
        # What depends on the caller must not be shared between callers.
        scope = "private" if self._extensions else hints.scope
        page, next_cursor = cut_page(
            request.method,
            list(served.values()),
            request.params.cursor,
            key=lambda tool: tool.name,
            page_size=self._page_size,
            keyring=channel.keyring,
            bound_to=find_owner(scope, channel.principal),
        )
        return mcp.list_tools_result(
            [tool.described for tool in page],
            next_cursor=next_cursor,
            cache_scope=scope,
            ttl_ms=hints.ttl_ms,
        )

    async def _find_added(self, name: str, channel: Channel) -> ServedTool:
        """Return the tool of this name that an extension gives this caller."""
        for extension in self._extensions:
            for tool in await _ask(extension, channel):
                if tool.name == name:
                    return tool
        shown = shorten_name(name)
        raise InvalidParams(f"Unknown tool: {shown}", data={"name": shown})


async def _ask(extension: Extension, channel: Channel) -> list[ServedTool]:
    """Ask an extension for its tools, and describe what it gives."""
    return [serve_tool(source) for source in await ask_extension(extension, "tools", channel)]
