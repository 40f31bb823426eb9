"""The Suite: a server made of providers.

Layer: suite. The sixth station of a call's trail: `genmcp.mux.worker` hands it a
request, and it decides which page answers (`genmcp.suite.tools`,
`genmcp.suite.discover`). Everything that can be known without a request is worked
out when the Suite is built, and refused there if it is wrong.

Spec: server, basic/versioning
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

import attrs

from genmcp.errors import CallbackReturnError, InvalidParams, MethodNotFound
from genmcp.mcp import v2607 as mcp
from genmcp.outcome import Error, Stream
from genmcp.providers.cache_control import combine_hints
from genmcp.providers.extension import Extension, ToolSource
from genmcp.server import Server
from genmcp.suite.listing import cut_page
from genmcp.suite.tools import (
    InvalidArguments,
    ServedTool,
    ToolStream,
    call_tool,
    close_tool,
    continue_tool,
    serve_tool,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from genmcp.channel import Channel

_log = logging.getLogger("genmcp.suite")

PAGE_SIZE = 250
"""How many items one page of a list holds, unless the Suite says otherwise."""


def _text(instance: Suite, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is None and attribute.default is None:
        return
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"Suite: {attribute.name} must be a non-empty str, got {value!r}")


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Suite(Server):
    """Serves tools, and whatever extensions add to them for each request.

    Args:
        server_name: the server's name, for programs.
        server_version: the version of the server, not of the protocol.
        server_title: its name for people.
        instructions: how a model should use the server as a whole.
        tools: the tools, as classes or instances, in the order they are listed.
        extensions: asked after the Suite's own providers, in order.
        send_server_info: whether every result carries the server's identity.
        invalid_arguments: how arguments that fail a tool's generated check are
            answered: `"tool_error"`, a result with `isError` that a model can
            correct itself by, or `"protocol_error"`, -32602.
        page_size: how many items one page of a list holds.

    Raises:
        TypeError: a value of the wrong type, or something that is not a tool.
        ValueError: two tools of one name, naming both classes.
    """

    server_name: str = attrs.field(validator=_text)
    server_version: str = attrs.field(validator=_text)
    server_title: str | None = attrs.field(default=None, validator=_text)
    instructions: str | None = attrs.field(default=None, validator=_text)
    tools: Sequence[ToolSource] = attrs.field(default=(), converter=tuple)
    extensions: Sequence[Extension] = attrs.field(default=(), converter=tuple)
    send_server_info: bool = attrs.field(
        default=True, validator=attrs.validators.instance_of(bool)
    )
    invalid_arguments: InvalidArguments = attrs.field(
        default="tool_error", validator=attrs.validators.in_(("tool_error", "protocol_error"))
    )
    page_size: int = attrs.field(
        default=PAGE_SIZE,
        validator=[attrs.validators.instance_of(int), attrs.validators.ge(1)],
    )

    _identity: mcp.Implementation = attrs.field(init=False)
    _served: dict[str, ServedTool] = attrs.field(init=False)
    _capabilities: mcp.ServerCapabilities = attrs.field(init=False)
    _methods: frozenset[str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        for extension in self.extensions:
            # The type says so, but a class where an instance belongs is an easy slip.
            if not isinstance(extension, Extension):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"Suite: extensions must be Extension instances, got {extension!r}")
        identity = mcp.server_info(
            name=self.server_name, version=self.server_version, title=self.server_title
        )
        served = _index_tools([serve_tool(source) for source in self.tools])
        offers_tools = bool(served) or any(e.offers_tools() for e in self.extensions)
        methods = {"server/discover", *(("tools/list", "tools/call") if offers_tools else ())}
        # Any provider may log at any time, and the capability is due when one does.
        capabilities = mcp.capabilities(tools=offers_tools, logging=True)
        # The way attrs has for what a frozen class derives from its arguments.
        object.__setattr__(self, "_identity", identity)
        object.__setattr__(self, "_served", served)
        object.__setattr__(self, "_methods", frozenset(methods))
        object.__setattr__(self, "_capabilities", capabilities)

    @property
    def tool_names(self) -> list[str]:
        """The names of the Suite's own tools, in the order they are listed."""
        return list(self._served)

    # -- the server contract -----------------------------------------------------

    def methods(self) -> frozenset[str]:
        """Return the methods whose capability the Suite advertises."""
        return self._methods

    async def handle_request(
        self, request: mcp.Request, channel: Channel
    ) -> mcp.Result | Stream[Any] | Error:
        """Answer one request with the page it belongs to."""
        if request.method not in self._methods:
            raise MethodNotFound(f"Method not found: {request.method}")
        match request:
            case mcp.CallToolRequest():
                served = await self._find_tool(request.params.name, channel)
                answer = await call_tool(served, request, channel, self.invalid_arguments)
            case mcp.ListToolsRequest():
                answer = await self._list_tools(request, channel)
            case _:
                answer = self._discover()
        return self._identify(answer)

    async def handle_message(
        self, message: object, channel: Channel, state: Any
    ) -> mcp.Result | Stream[Any] | Error:
        """Hand a posted message to the provider whose call is streaming."""
        stream: ToolStream = state
        return self._identify(await continue_tool(stream, message, channel))

    async def handle_close(self, channel: Channel, state: Any) -> None:
        """Let the provider whose call was streaming clean up."""
        stream: ToolStream = state
        await close_tool(stream, channel)

    # -- inside ------------------------------------------------------------------

    def _discover(self) -> mcp.DiscoverResult:
        return attrs.evolve(
            mcp.discover_result(
                name=self.server_name,
                version=self.server_version,
                title=self.server_title,
                capabilities=self._capabilities,
            ),
            instructions=self.instructions,
            meta=None,
        )

    async def _list_tools(
        self, request: mcp.ListToolsRequest, channel: Channel
    ) -> mcp.ListToolsResult:
        served = dict(self._served)
        depends_on_caller = False
        for extension in self.extensions:
            if extension.offers_tools():
                depends_on_caller = True
                for tool in await _extension_tools(extension, channel):
                    served.setdefault(tool.name, tool)
        page, next_cursor = cut_page(
            request.method,
            list(served.values()),
            lambda tool: tool.name,
            request.params.cursor,
            self.page_size,
            channel.keyring,
        )
        hints = combine_hints(tool.hints for tool in served.values())
        return mcp.list_tools_result(
            [tool.described for tool in page],
            next_cursor=next_cursor,
            # What depends on the caller must not be shared between callers.
            cache_scope="private" if depends_on_caller else hints.scope,
            ttl_ms=hints.ttl_ms,
        )

    async def _find_tool(self, name: str, channel: Channel) -> ServedTool:
        served = self._served.get(name)
        if served is not None:
            return served
        for extension in self.extensions:
            if not extension.offers_tools():
                continue
            for tool in await _extension_tools(extension, channel):
                if tool.name == name:
                    return tool
        raise InvalidParams(f"Unknown tool: {name}", data={"name": name})

    def _identify(
        self, answer: mcp.Result | Stream[Any] | Error
    ) -> mcp.Result | Stream[Any] | Error:
        """Put the server's identity into a result, unless the provider put its own."""
        if not self.send_server_info or not isinstance(answer, mcp.Result):
            return answer
        meta = answer.meta
        if meta is None:
            return attrs.evolve(answer, meta=mcp.ResultMetaObject(server_info=self._identity))
        if meta.server_info is None:
            return attrs.evolve(answer, meta=attrs.evolve(meta, server_info=self._identity))
        return answer


async def _extension_tools(extension: Extension, channel: Channel) -> list[ServedTool]:
    """Ask an extension, and describe what it gives."""
    given = extension.tools(channel)
    if isinstance(given, Awaitable):
        given = await given
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise CallbackReturnError(extension, "tools", given, "a list of tools")
    return [serve_tool(source) for source in given]


def _index_tools(tools: Sequence[ServedTool]) -> dict[str, ServedTool]:
    """Index tools by name, in order; refuse two of one name, warn of near ones."""
    by_name: dict[str, ServedTool] = {}
    by_folded: dict[str, ServedTool] = {}
    for tool in tools:
        other = by_name.setdefault(tool.name, tool)
        if other is not tool:
            raise ValueError(
                f"two tools are named {tool.name!r}: {_owner(other)} and {_owner(tool)}; "
                "rename one"
            )
        folded = re.sub(r"[^a-zA-Z0-9_]", "_", tool.name)
        other = by_folded.setdefault(folded, tool)
        if other is not tool:
            _log.warning(
                "tools %r and %r are one name to clients that fold other characters to _",
                other.name,
                tool.name,
            )
    return by_name


def _owner(served: ServedTool) -> str:
    cls = type(served.tool)
    return f"{cls.__module__}.{cls.__qualname__}"
