"""Cursors of private lists are good for the caller who got them, of public ones for all."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from genmcp import (
    Authorization,
    Channel,
    PromptRepo,
    ResourceRepo,
    StreamableHTTP,
    Suite,
    Tool,
    mcp,
)
from genmcp.testing import Client, FakeVerifier, ServerError, fake_access

Scope = Literal["private", "public"]


def make_app(scope: Scope) -> StreamableHTTP:
    class One(Tool, name="one", description="One.", cache_control=(scope, 1000)):
        async def call(self, request: Any, channel: Channel) -> str:
            return "one"

    class Two(One, name="two"):
        pass

    class Prompts(PromptRepo, cache_control=(scope, 1000)):
        async def list_prompts(self, cursor: Any, channel: Channel) -> Any:
            return [mcp.Prompt(name="a"), mcp.Prompt(name="b")]

        async def get(self, name: str, arguments: dict[str, str], channel: Channel) -> str:
            return name

    class Files(ResourceRepo, prefix="a:", template="a:{x}", name="a", cache_control=(scope, 1000)):
        async def list_resources(self, cursor: Any, channel: Channel) -> Any:
            return [mcp.Resource(uri="a:1", name="1"), mcp.Resource(uri="a:2", name="2")]

        async def read(self, target: Any, channel: Channel) -> str:
            return ""

    class Others(Files, prefix="b:", template="b:{x}", name="b"):
        async def list_resources(self, cursor: Any, channel: Channel) -> Any:
            return []

    suite = Suite(
        server_name="cursors",
        server_version="1",
        tools=[One, Two],
        prompts=[Prompts],
        resources=[Files, Others],
        page_size=1,
    )
    tokens = {name: fake_access(subject=name) for name in ("ada", "bob")}
    return StreamableHTTP(
        suite,
        public_url="https://mcp.example.com/mcp",
        authorization=Authorization(
            FakeVerifier({**tokens, "ada-again": fake_access(subject="ada")}),
            authorization_servers=["https://auth.example.com"],
        ),
    )


LISTS = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]


@pytest.mark.parametrize("method", LISTS)
@pytest.mark.parametrize("scope", ["private", "public"])
async def test_a_cursor_is_bound_to_its_caller_where_the_list_is_private(
    method: str, scope: Scope
) -> None:
    app = make_app(scope)
    first = await Client(app, token="ada").request(method)
    assert first["cacheScope"] == scope
    following = {"cursor": first["nextCursor"]}
    # A new token of the same person goes on where the old one stopped.
    assert "nextCursor" not in await Client(app, token="ada-again").request(method, following)
    if scope == "public":
        assert "nextCursor" not in await Client(app, token="bob").request(method, following)
        return
    with pytest.raises(ServerError) as refused:
        await Client(app, token="bob").request(method, following)
    assert refused.value.code == mcp.INVALID_PARAMS
