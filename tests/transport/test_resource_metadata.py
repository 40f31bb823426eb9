"""The protected resource metadata: what it says, where it is, who may read it."""

from __future__ import annotations

from typing import Any

import pytest

from genmcp import Authorization, StreamableHTTP
from genmcp.testing import FakeVerifier
from tests.transport.asgi_server import Connection, HandlerServer

WELL_KNOWN = "/.well-known/oauth-protected-resource"
HOST = {b"host": b"mcp.example.com"}


def make_app(
    public_url: str = "https://mcp.example.com/mcp", path: str | None = None, **settings: Any
) -> StreamableHTTP:
    authorization = Authorization(
        FakeVerifier({}), **{"authorization_servers": ["https://auth.example.com"], **settings}
    )
    return StreamableHTTP(
        HandlerServer(), public_url=public_url, path=path, authorization=authorization
    )


async def get(
    app: StreamableHTTP, path: str, headers: Any = HOST, method: str = "GET", **scope: Any
) -> Connection:
    return await Connection(b"", headers, method=method, path=path, **scope).run(app)


async def test_it_says_whose_tokens_are_taken() -> None:
    app = make_app(
        authorization_servers=["https://auth.example.com", "https://b.example.com/tenant"],
        required_scopes=["b", "a"],
        resource_name="The archive",
        resource_documentation="https://docs.example.com",
    )
    connection = await get(app, WELL_KNOWN + "/mcp")
    assert connection.status == 200
    assert connection.json == {
        "resource": "https://mcp.example.com/mcp",
        "authorization_servers": ["https://auth.example.com", "https://b.example.com/tenant"],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["a", "b"],
        "resource_name": "The archive",
        "resource_documentation": "https://docs.example.com",
    }
    assert connection.headers[b"cache-control"] == b"public, max-age=3600"


@pytest.mark.parametrize(
    ("settings", "scopes"),
    [
        ({}, None),
        ({"required_scopes": ["a"], "scopes_supported": ["b"]}, ["b"]),
        ({"required_scopes": ["a"], "scopes_supported": []}, None),
    ],
)
async def test_it_tells_of_scopes_that_there_are(settings: Any, scopes: Any) -> None:
    connection = await get(make_app(**settings), WELL_KNOWN)
    assert connection.json.get("scopes_supported") == scopes


@pytest.mark.parametrize(
    ("public_url", "path", "found_at", "scope"),
    [
        # alone
        ("https://mcp.example.com/mcp", None, "/mcp", {}),
        ("https://mcp.example.com/a/b/mcp", None, "/a/b/mcp", {}),
        ("https://mcp.example.com", None, "", {}),
        ("https://mcp.example.com/", None, "/", {}),
        ("https://mcp.example.com/mcp/", None, "/mcp/", {}),
        # behind a proxy that changes the endpoint's path
        ("https://mcp.example.com/public", "/mcp", "/public", {}),
        # at the root, always
        ("https://mcp.example.com/mcp", None, "", {}),
        ("https://mcp.example.com/mcp", None, "/", {}),
        # below a path: the mount's is in front of a path that never had it
        ("https://mcp.example.com/api/mcp", "/mcp", "/api/mcp", {"root_path": "/api"}),
    ],
)
async def test_it_is_found_where_clients_look(
    public_url: str, path: str | None, found_at: str, scope: Any
) -> None:
    connection = await get(make_app(public_url, path), WELL_KNOWN + found_at, **scope)
    assert connection.status == 200
    assert connection.json["resource"] == public_url.rstrip("/")


@pytest.mark.parametrize(
    ("path", "root_path"),
    [
        # An ASGI server adds its own root path to everything.
        ("/api/.well-known/oauth-protected-resource/api/mcp", "/api"),
        # The application that mounts this one mounts the well-known path too, ...
        ("/.well-known/oauth-protected-resource/api/mcp", "/.well-known"),
        ("/.well-known/oauth-protected-resource/api/mcp", WELL_KNOWN),
        # ... and takes the mount off the path, as some do.
        ("/oauth-protected-resource/api/mcp", "/.well-known"),
        ("/api/mcp", WELL_KNOWN),
    ],
)
async def test_it_is_found_however_it_is_mounted(path: str, root_path: str) -> None:
    app = make_app("https://mcp.example.com/api/mcp", "/mcp")
    assert (await get(app, path, root_path=root_path)).status == 200


@pytest.mark.parametrize(
    "path",
    [
        WELL_KNOWN + "/other",
        WELL_KNOWN + "/mcp/x",
        WELL_KNOWN + "x",
        "/mcp" + WELL_KNOWN,
        "/.well-known/oauth-authorization-server",
    ],
)
async def test_it_is_nowhere_else(path: str) -> None:
    assert (await get(make_app(), path)).status == 404


async def test_without_authorization_there_is_none() -> None:
    app = StreamableHTTP(HandlerServer(), public_url="https://mcp.example.com/mcp")
    assert (await get(app, WELL_KNOWN + "/mcp")).status == 404


async def test_head_gives_the_head() -> None:
    connection = await get(make_app(), WELL_KNOWN + "/mcp", method="HEAD")
    assert connection.status == 200
    assert connection.body == b""
    assert int(connection.headers[b"content-length"]) > 50


@pytest.mark.parametrize("origin", [b"https://any.example", b"null", b"https://mcp.example.com"])
async def test_a_page_of_any_site_may_read_it(origin: bytes) -> None:
    headers = {**HOST, b"origin": origin}
    connection = await get(make_app(), WELL_KNOWN + "/mcp", headers)
    assert connection.status == 200
    assert connection.headers[b"access-control-allow-origin"] == b"*"
    preflight = {
        **headers,
        b"access-control-request-method": b"GET",
        b"access-control-request-headers": b"mcp-protocol-version",
    }
    allowed = await get(make_app(), WELL_KNOWN + "/mcp", preflight, "OPTIONS")
    assert allowed.status == 204
    assert allowed.headers[b"access-control-allow-origin"] == b"*"
    assert allowed.headers[b"access-control-allow-headers"] == b"*"


async def test_a_foreign_host_may_not() -> None:
    connection = await get(make_app(), WELL_KNOWN + "/mcp", {b"host": b"evil.example"})
    assert connection.status == 403
    assert "allowed_hosts" in connection.json["error"]["message"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "TRACE"])
async def test_it_is_only_read(method: str) -> None:
    connection = await get(make_app(), WELL_KNOWN + "/mcp", method=method)
    assert connection.status == 405
    assert connection.headers[b"allow"] == b"GET, HEAD, OPTIONS"
    assert connection.json["error"]["code"] == -32600
