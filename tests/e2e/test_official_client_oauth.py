"""The official client and a server with authorization: from a 401 to a result, by itself.

The server is on a real socket. The client is told that it is `https://mcp.example.com`,
and an authorization server stands at `https://auth.example.com`: both names are resolved
by the transport below, which is where a resolver and TLS would be.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import trio
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from mcp.shared.exceptions import MCPError
from pydantic import AnyUrl

from genmcp import Authorization, Channel, Suite, Tool, serve
from genmcp.authorization.jwt import JwtVerifier
from tests.authorization.tokens import ISSUER, P256, RESOURCE, make_claims, publish, sign

SECONDS = 30  # a guard against hanging, not a measure


class Whoami(Tool, name="whoami", description="Tells who is calling."):
    async def call(self, request: Any, channel: Channel) -> str:
        assert channel.access is not None
        return f"{channel.principal} with {' '.join(sorted(channel.access.scopes))}"


class Delete(Tool, name="delete", description="Deletes.", required_scopes=["files:write"]):
    async def call(self, request: Any, channel: Channel) -> str:
        return "deleted"


class Network(httpx2.AsyncBaseTransport):
    """Brings requests to the server on its port, or to the authorization server here."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._sockets = httpx2.AsyncHTTPTransport()
        self.seen: list[tuple[str, str, int]] = []
        self.asked_for: list[dict[str, list[str]]] = []
        self._state: str | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "mcp.example.com":
            # The Host header stays what the client wrote.
            there = httpx2.Request(
                request.method,
                request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port),
                headers=request.headers,
                stream=request.stream,
                extensions=request.extensions,
            )
            response = await self._sockets.handle_async_request(there)
        else:
            assert request.url.host == "auth.example.com"
            await request.aread()
            response = self._authorize(request)
        self.seen.append((request.method, request.url.path, response.status_code))
        return response

    async def aclose(self) -> None:
        await self._sockets.aclose()

    # -- the authorization server ------------------------------------------------

    def _authorize(self, request: httpx2.Request) -> httpx2.Response:
        match request.url.path:
            case "/.well-known/oauth-authorization-server":
                return httpx2.Response(
                    200,
                    json={
                        "issuer": ISSUER,
                        "authorization_endpoint": f"{ISSUER}/authorize",
                        "token_endpoint": f"{ISSUER}/token",
                        "registration_endpoint": f"{ISSUER}/register",
                        "response_types_supported": ["code"],
                        "code_challenge_methods_supported": ["S256"],
                    },
                )
            case "/register":
                return httpx2.Response(
                    201, json={"client_id": "editor", "redirect_uris": ["http://localhost/back"]}
                )
            case "/token":
                form = parse_qs(request.content.decode())
                [resource] = form["resource"]
                scope = self.asked_for[-1].get("scope", [""])[0]
                claims = make_claims(aud=resource, scope=scope, client_id="editor")
                token = {"access_token": sign(claims), "token_type": "Bearer", "scope": scope}
                return httpx2.Response(200, json={**token, "expires_in": 300})
            case _:
                return httpx2.Response(404)

    async def visit(self, url: str) -> None:
        """Be the user's browser, and the user, who agrees to everything."""
        self.asked_for.append(parse_qs(urlsplit(url).query))

    async def come_back(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code="code", state=self.asked_for[-1]["state"][0])


class Storage:
    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client_info: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client_info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client_info = client_info


@pytest.fixture
async def network(nursery: trio.Nursery) -> AsyncGenerator[Network]:
    suite = Suite(server_name="e2e", server_version="1", tools=[Whoami, Delete])
    authorization = Authorization(
        JwtVerifier(issuer=ISSUER, keys=publish(P256)),
        authorization_servers=[ISSUER],
        required_scopes=["use"],
    )
    [url] = await nursery.start(
        partial(serve, suite, port=0, public_url=RESOURCE, authorization=authorization)
    )
    port = urlsplit(url).port
    assert port is not None
    network = Network(port)
    yield network
    await network.aclose()
    nursery.cancel_scope.cancel()


@asynccontextmanager
async def connected(network: Network, **options: Any) -> AsyncGenerator[Client]:
    with trio.fail_after(SECONDS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        async with (
            httpx2.AsyncClient(transport=network, **options) as http_client,
            Client(
                streamable_http_client(RESOURCE, http_client=http_client),
                mode="2026-07-28",
                cache=None,
            ) as client,
        ):
            yield client


def make_provider(network: Network) -> OAuthClientProvider:
    return OAuthClientProvider(
        RESOURCE,
        OAuthClientMetadata(redirect_uris=[AnyUrl("http://localhost/back")], client_name="editor"),
        Storage(),
        redirect_handler=network.visit,
        callback_handler=network.come_back,
    )


async def test_a_client_with_a_token_is_served(network: Network) -> None:
    headers = {"Authorization": f"Bearer {sign(make_claims(scope='use'))}"}
    async with connected(network, headers=headers) as client:
        result = await client.call_tool("whoami", {})
        assert result.content[0].text == "ada with use"
        assert {tool.name for tool in (await client.list_tools()).tools} == {"whoami", "delete"}


async def test_a_client_with_a_bad_token_is_not(network: Network) -> None:
    headers = {"Authorization": f"Bearer {sign(make_claims(scope='use', exp=1))}"}
    async with connected(network, headers=headers) as client:
        with pytest.raises(MCPError):
            await client.call_tool("whoami", {})


async def test_a_client_without_one_finds_its_way_and_steps_up(network: Network) -> None:
    async with connected(network, auth=make_provider(network)) as client:
        result = await client.call_tool("whoami", {})
        assert result.content[0].text == "ada with use"
        # It was told where the metadata is, and which resource and scopes to ask for.
        assert ("GET", "/.well-known/oauth-protected-resource/mcp", 200) in network.seen
        [first] = network.asked_for
        assert first["resource"] == [RESOURCE]
        assert first["scope"] == ["use"]
        network.seen.clear()
        result = await client.call_tool("delete", {})
        assert result.content[0].text == "deleted"
        # One challenge was enough: nothing was refused a second time.
        assert [status for _, path, status in network.seen if path == "/mcp"] == [403, 200]
        assert set(network.asked_for[1]["scope"][0].split()) == {"use", "files:write"}
