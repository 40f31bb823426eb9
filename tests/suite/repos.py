"""Repositories for the tests of the pages that serve them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from genmcp import Channel, Extension, NotFound, PromptRepo, ResourceRepo, Suite, mcp
from genmcp.testing import FakeChannel, fake_request

META = fake_request().params.meta


def make_suite(**options: Any) -> Suite:
    """A suite that leaves its identity out of results."""
    facts: dict[str, Any] = {"server_name": "s", "server_version": "1", "send_server_info": False}
    return Suite(**{**facts, **options})


async def ask(suite: Suite, request: mcp.Request, channel: Channel | None = None) -> Any:
    """One request, answered by the suite alone."""
    return await suite.handle_request(request, FakeChannel() if channel is None else channel)


def list_prompts(cursor: str | None = None) -> mcp.ListPromptsRequest:
    return mcp.ListPromptsRequest(params=mcp.PaginatedRequestParams(meta=META, cursor=cursor))


def list_resources(cursor: str | None = None) -> mcp.ListResourcesRequest:
    return mcp.ListResourcesRequest(params=mcp.PaginatedRequestParams(meta=META, cursor=cursor))


def list_templates(cursor: str | None = None) -> mcp.ListResourceTemplatesRequest:
    params = mcp.PaginatedRequestParams(meta=META, cursor=cursor)
    return mcp.ListResourceTemplatesRequest(params=params)


def get_prompt(name: str, **arguments: str) -> mcp.GetPromptRequest:
    params = mcp.GetPromptRequestParams(meta=META, name=name, arguments=arguments)
    return mcp.GetPromptRequest(params=params)


def read_resource(uri: str) -> mcp.ReadResourceRequest:
    return mcp.ReadResourceRequest(params=mcp.ReadResourceRequestParams(meta=META, uri=uri))


@attrs.frozen
class Prompts(PromptRepo):
    """Says which repository it is, for the names it is given."""

    of: str
    names: Sequence[str] = ()

    def prefix(self) -> str:
        return self.of

    async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Prompt(name=self.of + name) for name in self.names]

    async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> Any:
        return f"{self.of}: {name}"


@attrs.frozen
class Texts(ResourceRepo):
    """Texts by URI, all below one prefix."""

    of: str
    texts: Mapping[str, Any] = attrs.field(factory=dict)

    def prefix(self) -> str:
        return self.of

    async def list_resources(self, cursor: Any, channel: Channel) -> Any:
        return [mcp.Resource(uri=self.of + name, name=name) for name in self.texts]

    async def read(self, target: Any, channel: Channel) -> Any:
        text = self.texts.get(target.removeprefix(self.of))
        if text is None:
            raise NotFound
        return text


@attrs.define(eq=False)
class Giving(Extension):
    """Gives repositories; counts how often it is asked for each kind."""

    given_prompts: Sequence[Any] = ()
    given_resources: Sequence[Any] = ()
    completes: bool = False
    asked: list[str] = attrs.field(factory=list)

    def prompts(self, channel: Channel) -> Any:
        self.asked.append("prompts")
        return self.given_prompts

    async def resources(self, channel: Channel) -> Any:
        self.asked.append("resources")
        return self.given_resources

    def offers_completions(self) -> bool:
        return self.completes
