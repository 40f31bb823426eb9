"""The Suite: a server made of providers.

Layer: suite. A station of a call's trail: `genmcp.mux.call` hands it a request, and it
hands that to the page it belongs to (`genmcp.suite.tools`, and so on). Everything that can
be known without a request is worked out when the Suite is built, and refused there if it is
wrong.

Spec: server, basic/versioning
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import attrs

from genmcp.errors import MethodNotFound, show
from genmcp.mcp import v2607 as mcp
from genmcp.mcp.v2607.fields import with_members
from genmcp.outcome import Error, Stream
from genmcp.providers.extension import Extension, ToolSource
from genmcp.server import Server
from genmcp.suite.completion import CompletionPage
from genmcp.suite.discover import DiscoverPage
from genmcp.suite.options import (
    check_choice,
    check_count,
    check_flag,
    check_text,
    read_list,
)
from genmcp.suite.page import Answer, Page, PageStream, check_result_type
from genmcp.suite.prompts import PromptsPage
from genmcp.suite.resources import ResourcesPage
from genmcp.suite.subscriptions import SubscriptionsPage, make_listen_result
from genmcp.suite.tool_call import InvalidArguments
from genmcp.suite.tools import ToolsPage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from genmcp.channel import Channel
    from genmcp.providers.prompt_repo import PromptRepoSource
    from genmcp.providers.resource_repo import ResourceRepoSource
    from genmcp.providers.subscription_handler import SubscriptionHandler

PAGE_SIZE = 250
"""How many items one page of a list holds, unless the Suite says otherwise."""


def _read_tools(given: Iterable[ToolSource]) -> tuple[ToolSource, ...]:
    return read_list("tools", given)


def _read_prompts(given: Iterable[PromptRepoSource]) -> tuple[PromptRepoSource, ...]:
    return read_list("prompts", given)


def _read_resources(given: Iterable[ResourceRepoSource]) -> tuple[ResourceRepoSource, ...]:
    return read_list("resources", given)


def _read_extensions(given: Iterable[Extension]) -> tuple[Extension, ...]:
    extensions = read_list("extensions", given)
    for extension in extensions:
        # The type says so, but a class where an instance belongs is an easy slip.
        if not isinstance(extension, Extension):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Suite: extensions must be Extension instances, got {show(extension)}")
    return extensions


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Suite(Server):
    """Serves tools, prompts and resources, and what extensions add for each request.

    Args:
        server_name: the server's name, for programs.
        server_version: the version of the server, not of the protocol.
        server_title: its name for people.
        instructions: how a model should use the server as a whole.
        tools: the tools, as classes or instances, in the order they are listed.
        prompts: the repositories of prompts, likewise.
        resources: the repositories of resources, likewise.
        extensions: asked after the Suite's own providers, in order.
        subscription_handler: tells clients that listen of changes; its class, or an
            instance, such as `EventSubscriptions(bus)`.
        send_server_info: whether every result carries the server's identity.
        invalid_arguments: how arguments that fail a tool's generated check are
            answered: `"tool_error"`, a result with `isError` that a model can
            correct itself by, or `"protocol_error"`, -32602.
        page_size: how many items one page of a list holds.

    Raises:
        TypeError: a value of the wrong type, or something that is no such provider.
        ValueError: two tools of one name, or two repositories that serve the same
            names, naming both classes; a template outside its repository's prefix.
    """

    server_name: str
    server_version: str
    server_title: str | None = None
    instructions: str | None = None
    tools: Sequence[ToolSource] = attrs.field(default=(), converter=_read_tools)
    prompts: Sequence[PromptRepoSource] = attrs.field(default=(), converter=_read_prompts)
    resources: Sequence[ResourceRepoSource] = attrs.field(default=(), converter=_read_resources)
    extensions: Sequence[Extension] = attrs.field(default=(), converter=_read_extensions)
    subscription_handler: SubscriptionHandler[Any] | type[SubscriptionHandler[Any]] | None = None
    send_server_info: bool = True
    invalid_arguments: InvalidArguments = "tool_error"
    page_size: int = PAGE_SIZE

    _identity: mcp.Implementation = attrs.field(init=False, repr=False)
    _signature: mcp.ResultMetaObject = attrs.field(init=False, repr=False)
    _tools_page: ToolsPage = attrs.field(init=False, repr=False)
    _pages: Mapping[str, Page] = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        check_text("server_name", self.server_name)
        check_text("server_version", self.server_version)
        check_text("server_title", self.server_title, optional=True)
        check_text("instructions", self.instructions, optional=True)
        check_flag("send_server_info", self.send_server_info)
        check_choice("invalid_arguments", self.invalid_arguments, get_args(InvalidArguments))
        check_count("page_size", self.page_size)
        self._build()

    def _build(self) -> None:
        identity = mcp.server_info(
            name=self.server_name, version=self.server_version, title=self.server_title
        )
        signature = mcp.ResultMetaObject(server_info=identity)
        tools = ToolsPage(
            self.tools,
            self.extensions,
            invalid_arguments=self.invalid_arguments,
            page_size=self.page_size,
            signature=signature if self.send_server_info else None,
        )
        prompts = PromptsPage(self.prompts, self.extensions, page_size=self.page_size)
        resources = ResourcesPage(self.resources, self.extensions, page_size=self.page_size)
        completion = CompletionPage(prompts, resources)
        capabilities = mcp.capabilities(
            tools=tools.offered(),
            prompts=prompts.offered(),
            resources=resources.offered(),
            completions=completion.offered(),
            # Any provider may log at any time, and the capability is due when one does.
            logging=True,
        )
        subscriptions = SubscriptionsPage(
            self.subscription_handler, capabilities, resources.find_visible
        )
        discovery = DiscoverPage(identity, capabilities, self.instructions, subscriptions)
        pages = [discovery, tools, prompts, resources, completion, subscriptions]
        by_method = {method: page for page in pages if page.offered() for method in page.methods}
        # The way attrs has for what a frozen class derives from its arguments.
        object.__setattr__(self, "_identity", identity)
        object.__setattr__(self, "_signature", signature)
        object.__setattr__(self, "_tools_page", tools)
        object.__setattr__(self, "_pages", by_method)

    @property
    def tool_names(self) -> list[str]:
        """The names of the Suite's own tools, in the order they are listed."""
        return self._tools_page.names

    # -- the server contract -----------------------------------------------------

    def methods(self) -> Collection[str]:
        """Return the methods whose capability the Suite advertises."""
        return self._pages.keys()

    def scopes(self) -> Collection[str]:
        """Return the scopes that the Suite's own providers require."""
        return frozenset[str]().union(*(page.scopes() for page in self._pages.values()))

    async def handle_request(self, request: mcp.Request, channel: Channel) -> Answer:
        """Answer one request with the page it belongs to."""
        page = self._pages.get(request.method)
        if page is None:
            raise MethodNotFound(f"Method not found: {request.method}")
        return self._finish(page, await page.answer(request, channel))

    async def handle_message(self, message: object, channel: Channel, state: Any) -> Answer:
        """Hand a posted message to the page whose call is streaming."""
        stream: PageStream = state
        answer = await stream.page.handle_message(message, channel, stream.state)
        return self._finish(stream.page, answer)

    async def handle_close(self, channel: Channel, state: Any) -> None:
        """Let the page whose call was streaming clean up."""
        stream: PageStream = state
        await stream.page.handle_close(channel, stream.state)

    def closing_result(self, request: mcp.Request, channel: Channel) -> mcp.Result | None:
        """Return the end of a listen stream. Other calls have no result to give early."""
        if isinstance(request, mcp.SubscriptionsListenRequest):
            return self._sign(make_listen_result(channel))
        return None

    def _finish(self, page: Page, answer: Answer) -> Answer:
        """Remember whose a stream is; put the server's identity into a result."""
        if isinstance(answer, Stream):
            return Stream(PageStream(page, answer.state))
        if isinstance(answer, Error):
            return answer
        check_result_type(answer)
        return self._sign(answer)

    def _sign(self, result: mcp.Result) -> mcp.Result:
        if not self.send_server_info:
            return result
        meta = result.meta
        if meta is None:
            return with_members(result, meta=self._signature)
        if meta.server_info is None:
            return with_members(result, meta=with_members(meta, server_info=self._identity))
        return result
