"""Access tokens over HTTP: what is taken, what is refused, and in which order."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import attrs
import pytest
import trio
import trio.testing

from genmcp import (
    Access,
    Authorization,
    InvalidToken,
    StreamableHTTP,
    Suite,
    TokenVerifier,
    Tool,
    VerifierUnavailable,
    mcp,
)
from genmcp.errors import InsufficientScope
from genmcp.server import Server
from genmcp.testing import Client, FakeVerifier, fake_access
from genmcp.transport.authorize import (
    MAX_TOKEN_BYTES,
    MalformedCredentials,
    TokenMissing,
    read_token,
)
from genmcp.transport.headers import scan_headers
from tests.transport.asgi_server import CALL_HEADERS, Connection, HandlerServer, call_body

URL = "https://mcp.example.com/mcp"
METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
SERVERS = ["https://auth.example.com"]


def make_app(
    verifier: TokenVerifier | None = None,
    server: Server | None = None,
    *,
    endpoint: dict[str, Any] | None = None,
    **settings: Any,
) -> StreamableHTTP:
    verifier = FakeVerifier({"good": fake_access()}) if verifier is None else verifier
    return StreamableHTTP(
        HandlerServer() if server is None else server,
        public_url=URL,
        authorization=Authorization(verifier, authorization_servers=SERVERS, **settings),
        **(endpoint or {}),
    )


def with_token(token: bytes, scheme: bytes = b"Bearer") -> dict[bytes, bytes]:
    return {**CALL_HEADERS, b"authorization": scheme + b" " + token}


async def call(app: StreamableHTTP, token: bytes | None = b"good", **scope: Any) -> Connection:
    headers = CALL_HEADERS if token is None else with_token(token)
    return await Connection(call_body(), headers, **scope).run(app)


def challenge(connection: Connection) -> str:
    return connection.headers[b"www-authenticate"].decode("ascii")


# -- the header ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "token"),
    [
        (b"Bearer abc", "abc"),
        (b"bearer abc", "abc"),
        (b"BEARER   abc  ", "abc"),
        (b"Bearer a.b-c_d~e+f/g==", "a.b-c_d~e+f/g=="),
        (b"Bearer " + b"x" * MAX_TOKEN_BYTES, "x" * MAX_TOKEN_BYTES),
    ],
)
def test_a_token_is_read_whatever_the_case_of_its_scheme(value: bytes, token: str) -> None:
    assert read_token(scan_headers([(b"Authorization", value)])) == token


@pytest.mark.parametrize("value", [b"Basic dXNlcjpwYXNz", b"DPoP abc", b"Bearerish abc", b"abc"])
def test_another_scheme_is_no_token(value: bytes) -> None:
    with pytest.raises(TokenMissing):
        read_token(scan_headers([(b"authorization", value)]))


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"Bearer",
        b"Bearer ",
        b"Bearer a b",
        b"Bearer a,b",
        b'Bearer "a"',
        b"Bearer a=b",
        b"Bearer =",
        b"Bearer a\xff",
        b"Bearer a\x00",
        b"Bearer\tabc",
        b"Bearer:abc abc",
        b"Bearer " + b"x" * (MAX_TOKEN_BYTES + 1),
    ],
)
def test_what_holds_no_token_is_malformed(value: bytes) -> None:
    with pytest.raises(MalformedCredentials) as malformed:
        read_token(scan_headers([(b"authorization", value)]))
    assert "abc" not in str(malformed.value)
    assert "xxx" not in str(malformed.value)


def test_two_headers_are_malformed_even_if_equal() -> None:
    pairs = [(b"authorization", b"Bearer a"), (b"Authorization", b"Bearer a")]
    with pytest.raises(MalformedCredentials, match="more than once"):
        read_token(scan_headers(pairs))


def test_the_headers_do_not_show_the_token() -> None:
    assert "secret" not in repr(scan_headers([(b"authorization", b"Bearer secret")]))


# -- refusals ------------------------------------------------------------------------


async def test_without_a_token_the_client_is_told_where_to_get_one() -> None:
    connection = await call(make_app(required_scopes=["use"]), None)
    assert connection.status == 401
    assert challenge(connection) == f'Bearer resource_metadata="{METADATA}", scope="use"'
    error = connection.json["error"]
    assert error["code"] == -32600
    assert "Authorization: Bearer <token>" in error["message"]
    assert METADATA in error["message"]
    assert error["data"] == {"resourceMetadata": METADATA, "requiredScopes": ["use"]}
    assert "id" not in connection.json


async def test_a_token_in_the_query_is_not_looked_at() -> None:
    verifier = FakeVerifier({"good": fake_access()})
    connection = await call(make_app(verifier), None, query_string=b"access_token=good")
    assert connection.status == 401
    assert "error=" not in challenge(connection)
    assert verifier.asked == []


async def test_a_token_in_the_body_is_not_looked_at() -> None:
    verifier = FakeVerifier({"good": fake_access()})
    headers = {**CALL_HEADERS, b"content-type": b"application/x-www-form-urlencoded"}
    connection = await Connection(b"access_token=good", headers).run(make_app(verifier))
    assert connection.status == 401
    assert verifier.asked == []


async def test_malformed_credentials_are_an_invalid_request() -> None:
    connection = await call(make_app(), b"a b")
    assert connection.status == 400
    assert 'error="invalid_request"' in challenge(connection)
    assert f'resource_metadata="{METADATA}"' in challenge(connection)
    assert connection.json["error"]["code"] == -32600


async def test_two_headers_are_an_invalid_request() -> None:
    pairs = [*with_token(b"good").items(), (b"authorization", b"Bearer good")]
    connection = await Connection(call_body(), headers=pairs_of(pairs)).run(make_app())
    assert connection.status == 400
    assert "more than once" in connection.json["error"]["message"]


class pairs_of(dict[bytes, bytes]):  # noqa: N801 - stands for the mapping it is used as
    """Headers of which one may come twice."""

    def __init__(self, pairs: list[tuple[bytes, bytes]]) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def items(self) -> Any:
        return self._pairs


@pytest.mark.parametrize(
    ("access", "words"),
    [
        (InvalidToken("The token was revoked"), "The token was revoked"),
        (fake_access(audience="https://other.example.com"), "not issued for this server"),
        (fake_access(expires_at=1.0), "has expired"),
    ],
)
async def test_a_token_that_is_not_good_is_told_why(access: Any, words: str) -> None:
    connection = await call(make_app(FakeVerifier({"bad": access})), b"bad")
    assert connection.status == 401
    assert 'error="invalid_token"' in challenge(connection)
    assert words in challenge(connection)
    assert words in connection.json["error"]["message"]


async def test_an_unknown_token_is_refused_without_repeating_it() -> None:
    connection = await call(make_app(), b"my.secret.token")
    assert connection.status == 401
    everything = str(connection.headers) + connection.body.decode()
    assert "my.secret.token" not in everything


async def test_a_reason_cannot_add_parameters_to_the_challenge() -> None:
    sly = InvalidToken('x", resource_metadata="https://evil.example"\r\nset-cookie: a=b')
    connection = await call(make_app(FakeVerifier({"bad": sly})), b"bad")
    assert challenge(connection).count('"') == 6
    assert "\r" not in challenge(connection)
    assert challenge(connection).index(METADATA) < challenge(connection).index("evil")


async def test_a_token_without_the_endpoints_scopes_is_not_enough() -> None:
    app = make_app(FakeVerifier({"less": fake_access("a")}), required_scopes=["b", "a"])
    connection = await call(app, b"less")
    assert connection.status == 403
    assert 'error="insufficient_scope"' in challenge(connection)
    assert 'scope="a b"' in challenge(connection)
    assert connection.json["error"]["data"] == {"requiredScopes": ["a", "b"]}


async def test_an_issuer_that_is_away_sends_nobody_to_log_in(
    caplog: pytest.LogCaptureFixture,
) -> None:
    away = VerifierUnavailable("connection refused", retry_after_seconds=6.2)
    app = make_app(FakeVerifier({"good": away}))
    with caplog.at_level(logging.INFO):
        connection = await call(app)
    assert connection.status == 503
    assert connection.headers[b"retry-after"] == b"7"
    assert b"www-authenticate" not in connection.headers
    assert connection.json["error"]["code"] == -32603
    assert "connection refused" not in connection.body.decode()
    # One line, with the reason.
    [record] = [one for one in caplog.records if one.name == "genmcp.refusals"]
    assert (record.name, record.levelname) == ("genmcp.refusals", "WARNING")
    assert record.getMessage() == (
        "refused with 503 (identity): error -32603: an access token cannot be verified: "
        "connection refused"
    )


async def test_a_verifier_that_takes_too_long_is_warned_of(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Sleeping(TokenVerifier):
        async def verify(self, token: str) -> Access:
            await trio.sleep_forever()
            raise AssertionError

    app = make_app(Sleeping())
    with caplog.at_level(logging.INFO):
        connection = await call(app)
    assert connection.status == 503
    [record] = [one for one in caplog.records if one.name == "genmcp.refusals"]
    assert record.levelname == "WARNING"
    assert "(identity)" in record.getMessage()
    assert record.getMessage().endswith("cannot be verified: it took over 30 s")


class Failing(TokenVerifier):
    def __init__(self, fail: Callable[[str], Any]) -> None:
        self.fail = fail

    async def verify(self, token: str) -> Access:
        given: Access = self.fail(token)
        return given


def raise_with_token(token: str) -> Any:
    raise LookupError(f"no row for {token}")


@pytest.mark.parametrize(
    ("fail", "logged"),
    [
        (raise_with_token, "LookupError: no row for [the access token]"),
        (lambda token: None, "Failing.verify returned"),
        (lambda token: {"sub": token}, "must return an Access"),
    ],
)
async def test_a_fault_of_the_verifier_is_masked_and_the_token_not_logged(
    fail: Any, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        connection = await call(make_app(Failing(fail)), b"my.secret.token")
    assert connection.status == 500
    error = connection.json["error"]
    assert error["message"] == "Internal server error"
    assert error["data"]["errorId"] in caplog.text
    assert logged in caplog.text
    assert "my.secret.token" not in caplog.text + connection.body.decode()


async def test_what_a_verifiers_nursery_raises_is_what_it_meant() -> None:
    class Nested(TokenVerifier):
        async def verify(self, token: str) -> Access:
            raise ExceptionGroup("nursery", [InvalidToken("Revoked")])

    connection = await call(make_app(Nested()))
    assert connection.status == 401
    assert "Revoked" in challenge(connection)


# -- what a good token gives ----------------------------------------------------------


async def test_handlers_find_what_the_token_allows() -> None:
    seen: list[Any] = []

    async def handle(channel: Any) -> Any:
        seen.append((channel.principal, channel.access, channel.caller.scopes_apply))
        raise InsufficientScope(["more"])

    access = fake_access("admin", subject="ada", client_id="editor")
    app = make_app(
        FakeVerifier({"good": access}),
        HandlerServer(handle),
        required_scopes=["use"],
        implied_scopes={"admin": ["use"]},
    )
    connection = await call(app)
    [(principal, found, apply)] = seen
    assert principal == "ada"
    assert found.client_id == "editor"
    assert found.scopes == {"admin", "use"}
    assert apply
    # And what it wants besides comes with what every request needs.
    assert connection.status == 403
    assert 'scope="more use"' in challenge(connection)
    assert connection.json["error"]["data"] == {"requiredScopes": ["more", "use"]}


async def test_handlers_do_not_get_the_token() -> None:
    seen: list[str] = []

    async def handle(channel: Any) -> Any:
        facts = attrs.asdict(channel.caller, recurse=False)
        seen.append(repr(facts) + repr(vars(channel)) + repr(channel.access.claims))
        return mcp.call_tool_result(text="done")

    verifier = FakeVerifier({"my.secret.token": fake_access()})
    connection = await call(make_app(verifier, HandlerServer(handle)), b"my.secret.token")
    assert connection.status == 200
    assert "tester" in seen[0]
    assert "my.secret.token" not in seen[0] + connection.body.decode()


async def test_assigns_may_want_more_scopes() -> None:
    def assigns(scope: Any) -> Any:
        raise InsufficientScope(["tenant"])

    connection = await call(
        make_app(
            FakeVerifier({"good": fake_access("use")}),
            required_scopes=["use"],
            endpoint={"assigns": assigns},
        )
    )
    assert connection.status == 403
    assert 'scope="tenant use"' in challenge(connection)
    assert connection.json["id"] == 1


async def test_notifications_need_a_token_too() -> None:
    server = HandlerServer()
    body = json.dumps({"jsonrpc": "2.0", "method": "notifications/x"}).encode()
    headers = {key: CALL_HEADERS[key] for key in (b"host", b"content-type")}
    refused = await Connection(body, headers).run(make_app(server=server))
    assert refused.status == 401
    assert server.notifications == []
    good = {**headers, b"authorization": b"Bearer good"}
    assert (await Connection(body, good).run(make_app(server=server))).status == 202
    assert len(server.notifications) == 1


async def test_discovery_needs_a_token_too() -> None:
    suite = Suite(server_name="x", server_version="1", tools=[])
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}).encode()
    assert (await Connection(body).run(make_app(server=suite))).status == 401


# -- the order ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "scope", "status"),
    [
        ({b"host": b"evil.example"}, {}, 403),
        ({b"origin": b"https://evil.example"}, {}, 403),
        ({}, {"method": "PUT"}, 405),
        ({}, {"path": "/other"}, 404),
    ],
)
async def test_some_refusals_come_before_the_token(headers: Any, scope: Any, status: int) -> None:
    verifier = FakeVerifier({})
    connection = await Connection(call_body(), {**CALL_HEADERS, **headers}, **scope).run(
        make_app(verifier)
    )
    assert connection.status == status
    assert b"www-authenticate" not in connection.headers


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (call_body(), {b"content-type": b"text/plain"}),
        (call_body(), {b"content-length": b"999999999"}),
        (b"not json", {}),
        (call_body(), {b"mcp-method": b"tools/list"}),
    ],
)
async def test_other_refusals_come_after_the_token(body: bytes, headers: Any) -> None:
    given = {**CALL_HEADERS, **headers}
    assert (await Connection(body, given).run(make_app())).status == 401
    good = {**given, b"authorization": b"Bearer good"}
    assert (await Connection(body, good).run(make_app())).status in {400, 413, 415}


async def test_a_preflight_needs_no_token() -> None:
    headers = {
        b"host": b"mcp.example.com",
        b"origin": b"https://mcp.example.com",
        b"access-control-request-method": b"POST",
        b"access-control-request-headers": b"authorization",
    }
    connection = await Connection(b"", headers, method="OPTIONS").run(make_app())
    assert connection.status == 204
    assert connection.headers[b"access-control-allow-headers"] == b"authorization"


async def test_a_page_can_read_the_challenge() -> None:
    headers = {**CALL_HEADERS, b"origin": b"https://mcp.example.com"}
    connection = await Connection(call_body(), headers).run(make_app())
    assert connection.status == 401
    assert connection.headers[b"access-control-allow-origin"] == b"https://mcp.example.com"
    assert b"WWW-Authenticate" in connection.headers[b"access-control-expose-headers"]


# -- while it is being found out --------------------------------------------------------


class Waiting(TokenVerifier):
    """Waits until it is told to go on."""

    def __init__(self) -> None:
        self.go = trio.Event()
        self.cancelled = 0

    async def verify(self, token: str) -> Access:
        try:
            await self.go.wait()
        except trio.Cancelled:
            self.cancelled += 1
            raise
        return fake_access()


@pytest.mark.parametrize("pieces", [1, 5])
async def test_the_body_is_all_there_afterwards(pieces: int, nursery: trio.Nursery) -> None:
    body = call_body()
    size = -(-len(body) // pieces)
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    verifier = Waiting()
    connection = Connection([b"", *parts, b""], with_token(b"good"))
    nursery.start_soon(connection.run, make_app(verifier))
    await trio.testing.wait_all_tasks_blocked()
    assert connection.status is None
    verifier.go.set()
    await trio.testing.wait_all_tasks_blocked()
    assert connection.status == 200


async def test_a_large_body_is_not_read_before_it_is_known_who_sends_it(
    nursery: trio.Nursery,
) -> None:
    piece = b" " * 60_000
    verifier = Waiting()
    connection = Connection([*[piece] * 20, call_body()], with_token(b"good"))
    nursery.start_soon(connection.run, make_app(verifier))
    await trio.testing.wait_all_tasks_blocked()
    assert connection.waiting_pieces >= 18
    verifier.go.set()
    await trio.testing.wait_all_tasks_blocked()
    assert connection.status == 200


async def test_a_client_that_leaves_cancels_its_verification(nursery: trio.Nursery) -> None:
    verifier = Waiting()
    app = make_app(verifier)
    leaving = Connection(call_body(), with_token(b"good"))
    staying = Connection(call_body(), with_token(b"good"))
    nursery.start_soon(leaving.run, app)
    nursery.start_soon(staying.run, app)
    await trio.testing.wait_all_tasks_blocked()
    leaving.disconnect()
    await trio.testing.wait_all_tasks_blocked()
    assert verifier.cancelled == 1
    verifier.go.set()
    await trio.testing.wait_all_tasks_blocked()
    assert leaving.status is None
    assert staying.status == 200


async def test_a_verifier_that_takes_too_long_is_given_up(autojump_clock: Any) -> None:
    verifier = Waiting()
    connection = await call(make_app(verifier, endpoint={"body_timeout_seconds": 3}))
    assert connection.status == 503
    assert b"retry-after" in connection.headers
    assert verifier.cancelled == 1


async def test_nothing_is_set_up_for_a_request_without_a_good_token() -> None:
    app = make_app(FakeVerifier({}))
    waiting = Connection([call_body()], with_token(b"bad"), ends=False)
    waiting.disconnect()
    await waiting.run(app)
    assert app.mux.open_calls == 0


# -- settings ---------------------------------------------------------------------------


def test_authorization_needs_the_public_url() -> None:
    authorization = Authorization(FakeVerifier({}), authorization_servers=SERVERS)
    with pytest.raises(ValueError, match=r'public_url="https://mcp\.example\.com/mcp"'):
        StreamableHTTP(HandlerServer(), authorization=authorization)


def test_two_who_say_who_is_calling_are_refused() -> None:
    with pytest.raises(ValueError, match="principal and authorization"):
        make_app(endpoint={"principal": lambda scope: "ada"})


def test_a_verifier_alone_is_no_authorization() -> None:
    with pytest.raises(TypeError, match="must be an Authorization"):
        StreamableHTTP(
            HandlerServer(),
            public_url=URL,
            authorization=FakeVerifier({}),  # type: ignore[arg-type]
        )


def test_a_tool_of_the_suite_is_not_needed_for_the_settings() -> None:
    class Hello(Tool, name="hello", description="Says hello."):
        async def call(self, request: Any, channel: Any) -> str:
            return "hello"

    suite = Suite(server_name="x", server_version="1", tools=[Hello])
    assert make_app(server=suite).public_url is not None


async def test_no_log_has_the_token_in_it(caplog: pytest.LogCaptureFixture) -> None:
    app = make_app(FakeVerifier({"my.good.token": fake_access()}))
    with caplog.at_level(logging.DEBUG):
        assert (await call(app, b"my.good.token")).status == 200
        assert (await call(app, b"my.other.token")).status == 401
        assert (await call(app, b"my.broken token")).status == 400
    assert caplog.records
    told = "".join(caplog.text + repr(vars(record)) for record in caplog.records)
    assert "my." not in told


def test_an_app_of_ones_own_checks_tokens_itself() -> None:
    with pytest.raises(TypeError, match="give token="):
        Client(make_app(), access=fake_access())


async def test_a_token_of_nobody_is_a_fault_of_the_verifier(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Lookup(TokenVerifier):
        async def verify(self, token: str) -> Access:
            row: dict[str, Any] = {"user": None}
            return attrs.evolve(fake_access(), subject=row["user"])

    # Not let in as nobody, whose request states would be everybody's.
    assert (await call(make_app(Lookup()))).status == 500
    assert "subject must be a str" in caplog.text


class Introspecting(TokenVerifier):
    """Has the token in its URL, and in whatever goes wrong with that."""

    def __init__(self, error: Callable[[str], Exception]) -> None:
        self.error = error

    async def verify(self, token: str) -> Access:
        raise self.error(token)


@pytest.mark.parametrize(
    "error",
    [
        lambda token: VerifierUnavailable(f"GET /introspect?token={token}: refused\nFORGED LINE"),
        lambda token: VerifierUnavailable(f"GET /introspect?token={quote(token, safe='')}"),
        lambda token: InvalidToken(f"{token} is not known"),
        lambda token: InvalidToken(ValueError(f"{token} is not known")),  # type: ignore[arg-type]
        lambda token: LookupError(f"GET /introspect?token={quote(token, safe='')}"),
    ],
    ids=["unavailable", "quoted", "invalid", "an exception as reason", "crash"],
)
async def test_no_word_of_a_verifier_takes_the_token_into_log_or_answer(
    error: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        connection = await call(make_app(Introspecting(error)), b"my.secret+token/==")
    assert connection.status in {401, 500, 503}
    everything = caplog.text + connection.body.decode() + str(connection.headers)
    assert "[the access token]" in caplog.text
    assert "my.secret" not in everything
    assert not any(line.startswith("FORGED") for line in caplog.text.splitlines())


async def test_a_token_too_short_for_a_secret_changes_no_word_of_a_reason() -> None:
    app = make_app(FakeVerifier({"expired": fake_access(expires_at=1.0), "e": InvalidToken()}))
    assert "has expired" in challenge(await call(app, b"expired"))
    assert "is not valid" in challenge(await call(app, b"e"))


async def test_a_short_token_does_not_spoil_the_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection = await call(make_app(Failing(raise_with_token)), b"t")
    assert connection.status == 500
    assert "Traceback (most recent call last)" in caplog.text


async def test_what_a_verifier_raises_while_it_is_given_up_is_masked_too(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Nursing(TokenVerifier):
        async def verify(self, token: str) -> Access:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                try:
                    await trio.sleep_forever()
                finally:
                    raise LookupError(f"no answer for {token}")
            raise AssertionError

    connection = await call(make_app(Nursing()), b"my.secret.token")
    assert connection.status == 503
    assert "LookupError: no answer for [the access token]" in caplog.text
    assert "my.secret.token" not in caplog.text
