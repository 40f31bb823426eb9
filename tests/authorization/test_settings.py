"""What `Authorization` and its parts take, refuse, and say of tokens."""

from __future__ import annotations

from typing import Any

import pytest

from genmcp import Access, Authorization, InsufficientScope, InvalidToken
from genmcp.access import read_scopes
from genmcp.authorization.identifiers import canonicalize, check_url
from genmcp.testing import FakeVerifier, fake_access

RESOURCE = "https://mcp.example.com/mcp"
SERVERS = ["https://auth.example.com"]
NOBODY = FakeVerifier({})


def make(**settings: Any) -> Authorization:
    return Authorization(NOBODY, **{"authorization_servers": SERVERS, **settings})


@pytest.mark.parametrize("scope", ["a", "files:read", "https://x/y?z", "!#[]~", "a" * 500])
def test_what_oauth_calls_a_scope_is_one(scope: str) -> None:
    assert read_scopes([scope]) == {scope}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("files:read", "must be a list of scopes"),
        (b"files", "must be a list of scopes"),
        (7, "must be a list of scopes"),
        ([7], "must hold only strings"),
        ([""], "a scope is visible ASCII"),
        (["a b"], "a scope is visible ASCII"),
        (['a"b'], "a scope is visible ASCII"),
        (["a\\b"], "a scope is visible ASCII"),
        (["a\n"], "a scope is visible ASCII"),
        (["grüße"], "a scope is visible ASCII"),
        (["offline_access"], "leave it out"),
    ],
)
def test_what_is_no_scope_is_refused(given: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        read_scopes(given)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://mcp.example.com/mcp", "HTTPS://MCP.Example.COM/mcp"),
        ("https://mcp.example.com/mcp", "https://mcp.example.com:443/mcp"),
        ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp/"),
        ("https://mcp.example.com", "https://mcp.example.com/"),
        ("http://[::1]:80/x", "http://[::1]/x"),
    ],
)
def test_spellings_of_one_resource_are_equal(one: str, other: str) -> None:
    assert canonicalize(one) == canonicalize(other)


@pytest.mark.parametrize(
    "other",
    [
        "http://mcp.example.com/mcp",
        "https://mcp.example.com/MCP",
        "https://mcp.example.com/mcp//",
        "https://mcp.example.com/mcp/admin",
        "https://mcp.example.com",
        "https://mcp.example.com:8443/mcp",
        "https://mcp.example.com/mcp?tenant=1",
        "https://mcp.example.com/mcp#x",
        "https://mcp.example.com/mcp#",
        "https://user@mcp.example.com/mcp",
        "https://mcp.example.com.evil.example/mcp",
        "https://mcp.example.com:x/mcp",
        "mcp.example.com/mcp",
        "https:///mcp",
        "",
        # What Python's own parser takes out, or for another character.
        "https://mcp.exa\nmple.com/mcp",
        "https://mcp.example.com/m\tcp",
        "\x01https://mcp.example.com/mcp",
        " https://mcp.example.com/mcp",
        "https://mcp.example.com/mcp ",
        "https://mcp.example.com/mcp?",
    ],
)
def test_other_resources_differ(other: str) -> None:
    assert canonicalize(other) != canonicalize(RESOURCE)
    with pytest.raises(InvalidToken, match="was not issued for this server"):
        make().check(fake_access(audience=other), RESOURCE)


def test_letters_that_look_alike_are_not_alike() -> None:
    # In lower case, the sign for kelvin is a k.
    assert canonicalize("https://ban\u212a.example") != canonicalize("https://bank.example")


@pytest.mark.parametrize("name", ["api://default", "urn:x:y", "plain", "https://[broken"])
def test_what_is_no_url_stays_as_it_is(name: str) -> None:
    assert canonicalize(name) == name


@pytest.mark.parametrize(
    "url",
    [
        "https://auth.example.com",
        "https://auth.example.com:8443/tenant",
        "http://localhost:9000",
        "http://127.0.0.1:1",
        "http://[::1]:1/x",
    ],
)
def test_urls_that_may_be_trusted(url: str) -> None:
    assert check_url("x", url) == url


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (7, "as a str"),
        ("auth.example.com", "must be a URL"),
        ("ftp://auth.example.com", "must be a URL"),
        ("https://", "must be a URL"),
        ("https://auth.example.com:x", "must be a URL"),
        ("https://auth.example.com/a b", "must be a URL"),
        ('https://auth.example.com/"', "must be a URL"),
        ("https://auth.example.com\r\nx: y", "must be a URL"),
        ("http://auth.example.com", "must begin with https://"),
        ("http://localhost.evil.example", "must begin with https://"),
        ("https://u:secret@auth.example.com", "no user or password"),
        ("https://auth.example.com/#x", "no fragment"),
        ("https://auth.example.com/?x", "no query"),
    ],
)
def test_urls_that_may_not(url: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words) as refused:
        check_url("setting", url, query=False)
    assert str(refused.value).startswith("setting ")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"authorization_servers": []}, "must name at least one"),
        ({"authorization_servers": "https://auth.example.com"}, "must be a list"),
        ({"authorization_servers": ["http://auth.example.com"]}, "https"),
        ({"required_scopes": "mcp"}, "required_scopes: must be a list"),
        ({"required_scopes": ["offline_access"]}, "required_scopes: offline_access"),
        ({"scopes_supported": ["offline_access"]}, "scopes_supported: offline_access"),
        ({"scopes_supported": ["a b"]}, "scopes_supported: a scope is"),
        ({"implied_scopes": [("a", ["b"])]}, "implied_scopes must be a mapping"),
        ({"implied_scopes": {"a": "b"}}, "implied_scopes: must be a list"),
        ({"implied_scopes": {"a b": ["c"]}}, "implied_scopes: a scope is"),
        ({"extra_audiences": "api"}, "extra_audiences must be a list"),
        ({"extra_audiences": ["*"]}, "no wildcard"),
        ({"extra_audiences": ["https://*.example.com"]}, "no wildcard"),
        ({"extra_audiences": [""]}, "must hold only names"),
        ({"resource_name": " "}, "resource_name"),
        ({"resource_documentation": "docs"}, "resource_documentation must be a URL"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words) as refused:
        make(**settings)
    assert str(refused.value).startswith("Authorization: ")


def test_a_verifier_class_is_no_verifier() -> None:
    with pytest.raises(TypeError, match="verifier must be a TokenVerifier instance"):
        Authorization(FakeVerifier, authorization_servers=SERVERS)  # type: ignore[arg-type]


def test_a_broader_scope_implies_narrower_ones_at_any_distance() -> None:
    implied = {"admin": ["write"], "write": ["read", "list"], "read": ["peek"]}
    authorization = make(implied_scopes=implied)
    assert authorization.expand(["admin"]) == {"admin", "write", "read", "list", "peek"}
    assert authorization.expand(["read", "other"]) == {"read", "peek", "other"}
    assert authorization.expand([]) == set()


def test_scopes_that_imply_each_other_are_one() -> None:
    authorization = make(implied_scopes={"a": ["b"], "b": ["c"], "c": ["a"]})
    assert authorization.expand(["b"]) == {"a", "b", "c"}


def test_access_comes_back_with_what_it_implies() -> None:
    authorization = make(required_scopes=["use"], implied_scopes={"admin": ["use"]})
    checked = authorization.check(fake_access("admin"), RESOURCE)
    assert checked.scopes == {"admin", "use"}


def test_missing_scopes_are_named_with_those_the_token_has() -> None:
    with pytest.raises(InsufficientScope) as refused:
        make(required_scopes=["b", "a"]).check(fake_access("a"), RESOURCE)
    assert refused.value.required == ("a", "b")


def test_extra_audiences_are_taken_whole() -> None:
    authorization = make(extra_audiences=["api://default", "https://Example.com/"])
    for audience in ("api://default", "https://example.com", RESOURCE):
        authorization.check(fake_access(audience=audience), RESOURCE)
    for audience in ("api://default/x", "https://example.com/other", "api://"):
        with pytest.raises(InvalidToken):
            authorization.check(fake_access(audience=audience), RESOURCE)


def test_a_token_for_nobody_is_refused() -> None:
    access = Access(subject="s", audiences=[])
    with pytest.raises(InvalidToken):
        make().check(access, RESOURCE)


@pytest.mark.parametrize(
    ("expires_at", "good"),
    [
        (None, True),
        (1000.0, True),
        (941.0, True),
        (940.0, False),
        (0, False),
        (float("nan"), False),
    ],
)
def test_expiry_is_checked_with_a_minute_of_grace(expires_at: float | None, good: bool) -> None:
    authorization = make(clock=lambda: 1000.0)
    access = fake_access(expires_at=expires_at)
    if good:
        assert authorization.check(access, RESOURCE) == access
        return
    with pytest.raises(InvalidToken, match="has expired"):
        authorization.check(access, RESOURCE)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"subject": None}, "subject must be a str"),
        ({"subject": 7}, "subject must be a str"),
        ({"subject": ""}, "subject must not be blank"),
        ({"subject": " \t"}, "subject must not be blank"),
        ({"expires_at": "1700000000"}, "expires_at must be seconds"),
        ({"expires_at": True}, "expires_at must be seconds"),
        ({"audiences": "https://mcp.example.com"}, "collections of strings"),
        ({"audiences": [7]}, "collections of strings"),
        ({"scopes": [None]}, "collections of strings"),
        ({"scopes": b"read"}, "collections of strings"),
    ],
)
def test_what_no_token_says_is_no_access(wrong: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        Access(**{"subject": "ada", "audiences": [], **wrong})
