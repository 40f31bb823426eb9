from __future__ import annotations

from typing import Any

from genmcp import Authorization, Channel, StreamableHTTP, Suite, Tool
from genmcp.testing import FakeVerifier, fake_access
from tests.legacy.client import LegacyClient

URL = "https://mcp.example.com/mcp"


class Delete(Tool, name="delete", required_scopes=["files:write"]):
    """Deletes files."""

    async def call(self, request: Any, channel: Channel) -> str:
        return f"deleted for {channel.principal}"


def make_client() -> LegacyClient:
    verifier = FakeVerifier(
        {
            "reader": fake_access("files:read", subject="ada"),
            "writer": fake_access("files:write", subject="ada"),
            "other": fake_access("files:write", subject="eve"),
        }
    )
    app = StreamableHTTP(
        Suite(server_name="s", server_version="1", tools=[Delete]),
        public_url=URL,
        authorization=Authorization(
            verifier=verifier, authorization_servers=["https://issuer.example.com"]
        ),
        secret_key="k" * 32,
    )
    return LegacyClient(app, headers={b"authorization": b"Bearer reader"})


async def test_every_request_needs_a_token_a_session_is_none() -> None:
    client = make_client()
    await client.open()
    refused = [await client.post(client.request("ping"), authorization=None)]
    refused += [await client.verb(verb, authorization=None) for verb in ("GET", "DELETE")]
    for connection in refused:
        assert connection.status == 401
        assert b"resource_metadata" in connection.headers[b"www-authenticate"]


async def test_a_session_is_its_subjects_whatever_the_token() -> None:
    client = make_client()
    await client.open()
    client.headers[b"authorization"] = b"Bearer writer"
    result = await client.result("tools/call", {"name": "delete"})
    assert result["content"][0]["text"] == "deleted for ada"
    client.headers[b"authorization"] = b"Bearer other"
    assert (await client.post(client.request("ping"))).status == 404
    assert (await client.verb("DELETE")).status == 404


async def test_want_of_a_scope_is_403_with_a_challenge() -> None:
    client = make_client()
    await client.open()
    connection = await client.post(client.request("tools/call", {"name": "delete"}))
    assert connection.status == 403
    challenge = connection.headers[b"www-authenticate"]
    assert b'error="insufficient_scope"' in challenge
    assert b"files:write" in challenge
    assert connection.json["error"]["data"] == {"requiredScopes": ["files:write"]}
