"""Authorization with a real issuer: keys over a socket, and the official client.

Time stands still (`mock_clock`) unless a test moves it, so that what depends on it is
told apart exactly; the sockets are real.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from genmcp import Authorization, Channel, StreamableHTTP, Suite, Tool
from genmcp.authorization import fetch, jwks
from genmcp.authorization.jwt import JwtVerifier
from genmcp.testing import Client, ServerError
from tests.authorization.tokens import (
    P256,
    RSA,
    forge,
    make_claims,
    make_key,
    publish,
    sign,
    sign_with_secret,
)
from tests.e2e.issuer import Issuer, respond_json

RESOURCE = "https://mcp.example.com/mcp"


class Whoami(Tool, name="whoami", description="Tells who is calling."):
    async def call(self, request: Any, channel: Channel) -> str:
        assert channel.access is not None
        assert channel.principal == channel.access.subject
        return channel.access.subject


class Delete(Tool, name="delete", description="Deletes.", required_scopes=["files:write"]):
    async def call(self, request: Any, channel: Channel) -> str:
        return "deleted"


@pytest.fixture
async def issuer(mock_clock: MockClock, nursery: trio.Nursery) -> AsyncGenerator[Issuer]:
    issuer = Issuer()
    await issuer.start(nursery)
    issuer.documents["/jwks"] = publish(P256, RSA)
    yield issuer
    nursery.cancel_scope.cancel()


def make_app(issuer: Issuer, verifier: JwtVerifier | None = None, **settings: Any) -> Any:
    if verifier is None:
        verifier = JwtVerifier(issuer=issuer.url, jwks_url=issuer.jwks_url)
    return StreamableHTTP(
        Suite(server_name="e2e", server_version="1", tools=[Whoami, Delete]),
        public_url=RESOURCE,
        authorization=Authorization(
            verifier, **{"authorization_servers": [issuer.url], **settings}
        ),
    )


def issue(issuer: Issuer, key: Any = P256, alg: str = "ES256", **claims: Any) -> str:
    return sign(make_claims(iss=issuer.url, **claims), key, alg)


async def ask(app: Any, token: str, tool: str = "whoami") -> tuple[int, str, dict[str, Any]]:
    """Call a tool; return the status, the challenge and the message."""
    client = Client(app, token=token)
    async with client.open("tools/call", {"name": tool, "arguments": {}}) as answer:
        message = await answer.next_message()
        challenge = answer.response.header("www-authenticate") or ""
        return answer.response.status, challenge, message


async def status_of(app: Any, token: str) -> int:
    status, _, _ = await ask(app, token)
    return status


# -- tokens --------------------------------------------------------------------------


async def test_a_good_token_is_served(issuer: Issuer) -> None:
    status, _, message = await ask(make_app(issuer), issue(issuer))
    assert status == 200
    assert message["result"]["content"][0]["text"] == "ada"
    assert issuer.requests == ["/jwks"]


async def test_bad_tokens_are_refused_and_told_why(issuer: Issuer) -> None:
    app = make_app(issuer)
    now = int(time.time())
    stranger = make_key("EC", "P-256", "p256")
    public = RSA.as_bytes("PEM", private=False)
    for token, words in [
        (issue(issuer, aud="https://other.example.com/mcp"), "was not issued for this server"),
        (issue(issuer, aud="https://mcp.example.com"), "was not issued for this server"),
        (sign(make_claims(iss="https://evil.example")), "of another issuer"),
        (issue(issuer, exp=now - 100), "has expired"),
        (issue(issuer, nbf=now + 100), "not valid yet"),
        (issue(issuer, key=stranger), "signature"),
        (forge({"alg": "none"}, make_claims(iss=issuer.url)), "algorithm"),
        (sign_with_secret(public, "rsa"), "algorithm"),
        (issue(issuer, key=make_key("EC", "P-256", "unknown")), "key"),
    ]:
        status, challenge, message = await ask(app, token)
        assert status == 401, words
        assert 'error="invalid_token"' in challenge
        assert words in challenge
        assert words in message["error"]["message"]
        assert "https://mcp.example.com/.well-known/oauth-protected-resource/mcp" in challenge


async def test_a_missing_scope_is_named_and_the_next_token_is_enough(issuer: Issuer) -> None:
    app = make_app(issuer, required_scopes=["use"], implied_scopes={"admin": ["files:write"]})
    status, challenge, _ = await ask(app, issue(issuer))
    assert status == 403
    assert 'scope="use"' in challenge
    status, challenge, message = await ask(app, issue(issuer, scope="use"), "delete")
    assert status == 403
    assert 'error="insufficient_scope"' in challenge
    needed = challenge.partition('scope="')[2].partition('"')[0]
    assert needed == "files:write use"
    assert message["error"]["data"] == {"requiredScopes": ["files:write", "use"]}
    status, _, message = await ask(app, issue(issuer, scope=needed), "delete")
    assert status == 200
    assert message["result"]["content"][0]["text"] == "deleted"
    assert (await ask(app, issue(issuer, scope="admin use"), "delete"))[0] == 200


# -- keys ----------------------------------------------------------------------------


async def test_any_number_of_tokens_is_one_fetch(issuer: Issuer) -> None:
    app = make_app(issuer)
    issuer.gate = trio.Event()
    statuses: list[tuple[str, int]] = []

    async def one(kind: str, token: str) -> None:
        statuses.append((kind, await status_of(app, token)))

    async with trio.open_nursery() as calls:
        for number in range(50):
            calls.start_soon(one, "good", issue(issuer, sub=f"user {number}"))
        for number in range(20):
            bogus = make_key("EC", "P-256", f"bogus {number}")
            calls.start_soon(one, "bogus", issue(issuer, key=bogus))
        await wait_all_tasks_blocked(0.05)
        issuer.gate.set()
    assert sorted(statuses) == [("bogus", 401)] * 20 + [("good", 200)] * 50
    assert issuer.requests == ["/jwks"]


async def test_unknown_keys_are_looked_for_once_in_a_while(
    issuer: Issuer, mock_clock: MockClock
) -> None:
    app = make_app(issuer)
    bogus = issue(issuer, key=make_key("EC", "P-256", "bogus"))
    for _ in range(5):
        assert await status_of(app, bogus) == 401
    assert len(issuer.requests) == 1
    mock_clock.jump(11)
    for _ in range(5):
        assert await status_of(app, bogus) == 401
    assert len(issuer.requests) == 2


async def test_a_new_key_is_found_and_an_old_one_forgotten(
    issuer: Issuer, mock_clock: MockClock
) -> None:
    app = make_app(issuer)
    newer = make_key("EC", "P-256", "newer")
    old, new = issue(issuer), issue(issuer, key=newer)
    assert await status_of(app, old) == 200
    issuer.documents["/jwks"] = publish(newer)
    assert await status_of(app, new) == 401
    mock_clock.jump(11)
    assert await status_of(app, new) == 200
    assert await status_of(app, old) == 401
    assert len(issuer.requests) == 2


@pytest.mark.parametrize(
    ("cache_control", "seconds"),
    [
        ("", jwks.DEFAULT_TTL_SECONDS),
        ("public, max-age=120", 120),
        ("max-age=1", jwks.MIN_TTL_SECONDS),
        ("no-store", jwks.MIN_TTL_SECONDS),
        ("max-age=120, no-cache", jwks.MIN_TTL_SECONDS),
        ("s-maxage=5", jwks.DEFAULT_TTL_SECONDS),
        ("max-age=999999999", jwks.MAX_TTL_SECONDS),
    ],
)
async def test_keys_are_kept_as_long_as_they_may_be(
    issuer: Issuer, mock_clock: MockClock, cache_control: str, seconds: float
) -> None:
    issuer.headers = {"Cache-Control": cache_control} if cache_control else {}
    app, token = make_app(issuer), issue(issuer)
    assert await status_of(app, token) == 200
    mock_clock.jump(seconds - 1)
    assert await status_of(app, token) == 200
    assert len(issuer.requests) == 1
    mock_clock.jump(1)
    assert await status_of(app, token) == 200
    assert len(issuer.requests) == 2


DOWN = respond_json({}, "500 Internal Server Error")


async def test_an_issuer_that_is_down_is_no_fault_of_the_token(
    issuer: Issuer, mock_clock: MockClock
) -> None:
    app, token = make_app(issuer), issue(issuer)
    issuer.broken = DOWN
    client = Client(app, token=token)
    async with client.open("tools/call", {"name": "whoami", "arguments": {}}) as answer:
        assert answer.response.status == 503
        assert answer.response.header("retry-after") == "10"
        assert answer.response.header("www-authenticate") is None
    issuer.broken = None
    mock_clock.jump(9)
    assert await status_of(app, token) == 503
    assert len(issuer.requests) == 1
    mock_clock.jump(1)
    assert await status_of(app, token) == 200


async def test_nobody_listening_is_an_issuer_that_is_down(
    issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    with await _free_listener() as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/jwks"
    app = make_app(issuer, JwtVerifier(issuer=issuer.url, jwks_url=url))
    assert await status_of(app, issue(issuer)) == 503
    assert "cannot be fetched" in caplog.text


async def _free_listener() -> trio.socket.SocketType:
    found = trio.socket.socket()
    await found.bind(("127.0.0.1", 0))
    return found


async def test_keys_outlive_an_issuer_that_is_away_for_a_while(
    issuer: Issuer, mock_clock: MockClock
) -> None:
    app, token = make_app(issuer), issue(issuer)
    bogus = issue(issuer, key=make_key("EC", "P-256", "bogus"))
    assert await status_of(app, token) == 200
    issuer.broken = DOWN
    mock_clock.jump(jwks.DEFAULT_TTL_SECONDS)
    assert await status_of(app, token) == 200
    # What was not there before may have come since; nobody can tell.
    assert await status_of(app, bogus) == 503
    assert len(issuer.requests) == 2
    mock_clock.jump(jwks.MAX_STALE_SECONDS - 1)
    assert await status_of(app, token) == 200
    mock_clock.jump(1)
    assert await status_of(app, token) == 503
    issuer.broken = None
    mock_clock.jump(10)
    assert await status_of(app, token) == 200


async def test_keys_that_cannot_be_used_do_not_replace_those_that_can(
    issuer: Issuer, mock_clock: MockClock
) -> None:
    app, token = make_app(issuer), issue(issuer)
    assert await status_of(app, token) == 200
    issuer.documents["/jwks"] = {"keys": []}
    mock_clock.jump(jwks.DEFAULT_TTL_SECONDS)
    assert await status_of(app, token) == 200
    assert len(issuer.requests) == 2


BIG = {"keys": [], "padding": "x" * fetch.MAX_BYTES}


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (respond_json({}, "302 Found", Location="/elsewhere"), "a redirect"),
        (respond_json({}, "404 Not Found"), "404"),
        (respond_json(BIG), "larger than"),
        (respond_json(BIG).replace(b"Content-Length", b"X"), "larger than"),
        (respond_json(b"<html>"), "JSON"),
        (respond_json(b'{"keys": [], "keys": []}'), "keys"),
        (respond_json(b"[" * 1000), "JSON"),
        (respond_json({"keys": []}), "none of its keys"),
        (respond_json(b"x", Content_Encoding="gzip"), "compressed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "Error"),
        (b"not http\r\n\r\n", "Error"),
        (b"", "Error"),
    ],
)
async def test_what_is_no_document_of_keys_is_not_taken(
    issuer: Issuer, broken: bytes, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    issuer.broken = broken
    issuer.documents["/elsewhere"] = publish(P256)
    with caplog.at_level(logging.WARNING, "genmcp.authorization"):
        assert await status_of(make_app(issuer), issue(issuer)) == 503
    assert issuer.requests == ["/jwks"]
    assert why in caplog.text


async def test_a_parser_that_panics_ends_no_program(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class PanicException(BaseException):
        """As native code raises it: no `Exception`."""

    def panic(document: Any) -> Any:
        raise PanicException("index out of bounds")

    monkeypatch.setattr(jwks, "read_keys", panic)
    assert await status_of(make_app(issuer), issue(issuer)) == 503
    assert "index out of bounds" in caplog.text


async def test_a_slow_issuer_is_given_up(issuer: Issuer, mock_clock: MockClock) -> None:
    app, token = make_app(issuer), issue(issuer)
    issuer.gate = trio.Event()
    statuses: list[int] = []

    async def one() -> None:
        statuses.append(await status_of(app, token))

    async with trio.open_nursery() as calls:
        calls.start_soon(one)
        calls.start_soon(one)
        await wait_all_tasks_blocked(0.05)
        mock_clock.jump(5)
    assert statuses == [503, 503]
    issuer.gate.set()
    mock_clock.jump(5)
    assert await status_of(app, token) == 200


async def test_an_issuer_that_hangs_holds_up_nobody_whose_key_is_there(
    issuer: Issuer, mock_clock: MockClock
) -> None:
    app, token = make_app(issuer), issue(issuer)
    statuses: list[int] = []

    async def one() -> None:
        statuses.append(await status_of(app, token))

    await one()
    issuer.gate = trio.Event()
    mock_clock.jump(jwks.DEFAULT_TTL_SECONDS)
    async with trio.open_nursery() as calls:
        calls.start_soon(one)
        await wait_all_tasks_blocked(0.05)
        # One has to find out; after it, nobody waits, since time stands still.
        assert statuses == [200]
        mock_clock.jump(5)
        await wait_all_tasks_blocked(0.05)
        for served in range(3, 6):
            mock_clock.jump(10)
            calls.start_soon(one)
            await wait_all_tasks_blocked(0.05)
            assert statuses == [200] * served
            assert len(issuer.requests) == served
            mock_clock.jump(5)
            await wait_all_tasks_blocked(0.05)
    # Nor does a withdrawn key last longer, once the issuer is back.
    issuer.gate.set()
    issuer.documents["/jwks"] = publish(RSA)
    mock_clock.jump(10)
    await one()
    await wait_all_tasks_blocked(0.05)
    await one()
    assert statuses == [*[200] * 6, 401]


async def test_metadata_and_keys_have_one_time_together(
    issuer: Issuer, mock_clock: MockClock
) -> None:
    app, token = make_app(issuer, JwtVerifier(issuer=issuer.url)), issue(issuer)
    issuer.gate = trio.Event()
    statuses: list[int] = []

    async def one() -> None:
        statuses.append(await status_of(app, token))

    async with trio.open_nursery() as calls:
        calls.start_soon(one)
        await wait_all_tasks_blocked(0.05)
        mock_clock.jump(4.9)
        issuer.gate.set()
        issuer.gate = trio.Event()
        # It is not there, and not at the next place either.
        await wait_all_tasks_blocked(0.05)
        assert len(issuer.requests) == 2
        mock_clock.jump(0.2)
        await wait_all_tasks_blocked(0.05)
        assert statuses == [503]
        issuer.gate.set()


async def test_a_client_that_leaves_takes_nothing_from_the_others(issuer: Issuer) -> None:
    app, token = make_app(issuer), issue(issuer)
    issuer.gate = trio.Event()
    statuses: list[int] = []
    first = trio.CancelScope()

    async def leave() -> None:
        with first:
            await status_of(app, token)
            raise AssertionError("not reached")

    async def stay() -> None:
        statuses.append(await status_of(app, token))

    async with trio.open_nursery() as calls:
        calls.start_soon(leave)
        await wait_all_tasks_blocked(0.05)
        assert issuer.requests == ["/jwks"]
        calls.start_soon(stay)
        calls.start_soon(stay)
        await wait_all_tasks_blocked(0.05)
        first.cancel()
        await wait_all_tasks_blocked(0.05)
        assert statuses == []
        issuer.gate.set()
    assert statuses == [200, 200]
    assert issuer.requests == ["/jwks"]


async def test_when_all_have_left_the_keys_are_there_for_the_next(issuer: Issuer) -> None:
    app, token = make_app(issuer), issue(issuer)
    issuer.gate = trio.Event()
    with trio.CancelScope() as leaving:
        async with trio.open_nursery() as calls:
            calls.start_soon(status_of, app, token)
            await wait_all_tasks_blocked(0.05)
            leaving.cancel()
    issuer.gate.set()
    assert await status_of(app, token) == 200
    assert issuer.requests == ["/jwks"]


def test_a_verifier_outlives_the_event_loop() -> None:
    issuer = Issuer()
    issuer.documents["/jwks"] = publish(P256)

    async def leave_it_half_way() -> Any:
        async with trio.open_nursery() as nursery:
            await issuer.start(nursery)
            issuer.gate = trio.Event()
            app = make_app(issuer)
            nursery.start_soon(status_of, app, issue(issuer))
            await issuer.asked.wait()
            nursery.cancel_scope.cancel()
        return app

    async def begin_anew(app: Any) -> int:
        async with trio.open_nursery() as nursery:
            issuer.gate = None
            await issuer.start(nursery, int(issuer.url.rpartition(":")[2]))
            status = await status_of(app, issue(issuer))
            nursery.cancel_scope.cancel()
        return status

    app = trio.run(leave_it_half_way)
    assert trio.run(begin_anew, app) == 200
    assert len(issuer.requests) == 2


async def test_a_verifier_serves_two_event_loops_at_once(issuer: Issuer) -> None:
    app, token = make_app(issuer), issue(issuer)
    for _ in range(2):
        assert await status_of(app, token) == 200
        # Each has its keys, kept by its own clock; neither takes away the other's.
        assert await trio.to_thread.run_sync(trio.run, status_of, app, token) == 200
        assert await status_of(app, token) == 200
    # The first loop has asked once, and each of the two others.
    assert len(issuer.requests) == 3


# -- discovery -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]
)
async def test_the_issuers_metadata_says_where_its_keys_are(
    issuer: Issuer, mock_clock: MockClock, path: str
) -> None:
    issuer.documents[path] = {"issuer": issuer.url, "jwks_uri": issuer.jwks_url}
    app = make_app(issuer, JwtVerifier(issuer=issuer.url))
    assert await status_of(app, issue(issuer)) == 200
    assert issuer.requests[-2:] == [path, "/jwks"]
    asked = len(issuer.requests)
    mock_clock.jump(jwks.DEFAULT_TTL_SECONDS)
    assert await status_of(app, issue(issuer)) == 200
    assert issuer.requests[asked:] == ["/jwks"]


@pytest.mark.parametrize(
    "metadata",
    [
        [],
        {},
        {"issuer": "https://evil.example", "jwks_uri": "JWKS"},
        {"issuer": "URL/", "jwks_uri": "JWKS"},
        {"jwks_uri": "JWKS"},
        {"issuer": "URL"},
        {"issuer": "URL", "jwks_uri": "http://evil.example/jwks"},
        {"issuer": "URL", "jwks_uri": "file:///etc/passwd"},
        {"issuer": "URL", "jwks_uri": 7},
    ],
)
async def test_metadata_that_is_not_the_issuers_is_not_believed(
    issuer: Issuer, metadata: Any
) -> None:
    text = json.dumps(metadata).replace("URL", issuer.url).replace("JWKS", issuer.jwks_url)
    path = "/.well-known/oauth-authorization-server"
    issuer.documents[path] = json.loads(text)
    app = make_app(issuer, JwtVerifier(issuer=issuer.url))
    assert await status_of(app, issue(issuer)) == 503
    assert issuer.requests == [path]


async def test_an_issuer_without_metadata_is_away(issuer: Issuer) -> None:
    app = make_app(issuer, JwtVerifier(issuer=issuer.url))
    assert await status_of(app, issue(issuer)) == 503
    assert len(issuer.requests) == 2


async def test_the_client_of_the_kit_shows_what_is_missing(issuer: Issuer) -> None:
    async with Client(make_app(issuer), token=issue(issuer)) as client:
        with pytest.raises(ServerError) as refused:
            await client.call_tool("delete")
    assert refused.value.data == {"requiredScopes": ["files:write"]}
