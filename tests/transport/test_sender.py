from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.transport.headers import scan_headers
from genmcp.transport.public_url import read_public_url
from genmcp.transport.sender import SenderRules, Verdict

APP = b"https://app.example.com"
PUBLIC = SenderRules(public_url=read_public_url("https://mcp.example.com:8443/mcp"))


def judge(
    headers: Mapping[str, bytes | list[bytes]],
    rules: SenderRules | None = None,
    verb: str = "POST",
) -> Verdict:
    pairs = [
        (name.encode(), value)
        for name, values in headers.items()
        for value in (values if isinstance(values, list) else [values])
    ]
    return (rules or SenderRules()).judge(verb, scan_headers(pairs))


def readable_by(verdict: Verdict) -> bytes | None:
    assert b"vary" in dict(verdict.headers)
    return dict(verdict.headers).get(b"access-control-allow-origin")


@pytest.mark.parametrize(
    ("settings", "origin", "readable"),
    [
        ({}, b"http://localhost:5173", b"http://localhost:5173"),
        ({}, b"HTTP://LocalHost.:80", b"HTTP://LocalHost.:80"),
        ({}, b"http://[::1]:3000", b"http://[::1]:3000"),
        ({}, None, None),
        ({"allowed_origins": [APP.decode()]}, APP, APP),
        ({"allowed_origins": [APP.decode()]}, None, None),
        ({"allowed_origins": ["*"]}, APP, b"*"),
        ({"allowed_origins": ["*"]}, b"null", b"*"),
        ({"allowed_origins": ["*"]}, b"https://\r\nX: y", b"*"),
        ({"allowed_origins": ["*"]}, None, b"*"),
        ({"allowed_origins": ["https://xn--bcher-kva.de"]}, *[b"https://xn--bcher-kva.de"] * 2),
    ],
)
def test_who_may_call_may_read(
    settings: dict[str, Any], origin: bytes | None, readable: bytes | None
) -> None:
    verdict = judge({} if origin is None else {"origin": origin}, SenderRules(**settings))
    assert verdict.refusal is None
    assert readable_by(verdict) == readable


@pytest.mark.parametrize("verb", ["POST", "GET", "OPTIONS"])
@pytest.mark.parametrize(
    "origin",
    [
        APP,
        b"null",
        b"NULL",
        b"",
        b"*",
        b"https://",
        b"https://localhost/",
        b"https://localhost\r\nX: y",
        b"https://mcp.example.com",
        [b"http://localhost", b"http://localhost"],
        [b"http://localhost", APP],
        [APP, b"http://localhost"],
    ],
    ids=ascii,
)
def test_who_may_not_call_may_not_read(origin: bytes | list[bytes], verb: str) -> None:
    verdict = judge({"origin": origin, "host": b"localhost"}, verb=verb)
    assert verdict.refusal.status == 403
    assert readable_by(verdict) is None
    assert len(verdict.headers) == 1


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("host", b"mcp.example.com:8443", True),
        ("host", b"MCP.example.com.", True),
        ("host", b"mcp.example.com:80", True),
        ("host", b"localhost:8000", True),
        ("host", b"example.com", False),
        ("host", b"evil.mcp.example.com", False),
        ("host", b"mcp.example.com.evil.example", False),
        ("origin", b"https://mcp.example.com:8443", True),
        ("origin", b"https://mcp.example.com", False),
        ("origin", b"http://mcp.example.com:8443", False),
        ("origin", b"https://localhost", True),
        ("origin", APP, False),
    ],
)
def test_the_public_url_allows_its_host_and_its_origin(
    name: str, value: bytes, allowed: bool
) -> None:
    verdict = judge({name: value}, PUBLIC)
    assert (verdict.refusal is None) is allowed


def test_the_settings_add_to_the_public_url() -> None:
    rules = SenderRules(
        public_url=read_public_url("https://mcp.example.com"),
        allowed_hosts=(name for name in ["other.example.com"]),
        allowed_origins=(name for name in [APP.decode()]),
    )
    for host in (b"other.example.com", b"mcp.example.com", b"localhost"):
        for origin in (APP, b"https://mcp.example.com", b"http://localhost"):
            assert judge({"host": host, "origin": origin}, rules).refusal is None
    assert (rules.allowed_hosts, rules.allowed_origins) == (
        ["other.example.com"],
        [APP.decode()],
    )


def test_a_refused_host_can_be_read_about_by_a_page_that_may_call() -> None:
    verdict = judge({"host": b"mcp.example.com", "origin": b"http://localhost:5173"})
    assert verdict.refusal.status == 403
    assert readable_by(verdict) == b"http://localhost:5173"


@pytest.mark.parametrize("value", [b"null", b"NULL"])
def test_null_is_not_told_to_be_listed_where_it_is_refused(value: bytes) -> None:
    error = judge({"origin": value}).refusal.error
    assert "cannot be allowed by itself; only '*' in allowed_origins" in error.message
    assert "(--allowed-origin, GENMCP_ALLOWED_ORIGINS)" in error.message
    assert "add it" not in error.message
    assert error.data["setting"] == "allowed_origins"
    assert error.data["refused"] == value.decode()


@pytest.mark.parametrize(
    ("headers", "status", "setting", "shown"),
    [
        ({"origin": APP}, 403, "allowed_origins", "https://app.example.com"),
        ({"host": b"mcp.example.com:80"}, 403, "allowed_hosts", "mcp.example.com:80"),
        ({"host": b"\x1b[2J"}, 403, "allowed_hosts", "\x1b[2J"),
        ({"host": b"a" * 500}, 403, "allowed_hosts", "a" * 80 + "..."),
    ],
    ids=str,
)
def test_a_refusal_says_what_was_refused_and_every_way_to_allow_it(
    headers: dict[str, bytes | list[bytes]], status: int, setting: str, shown: str
) -> None:
    refusal = judge(headers).refusal
    (name,) = headers
    flag, variable = {
        "allowed_origins": ("--allowed-origin", "GENMCP_ALLOWED_ORIGINS"),
        "allowed_hosts": ("--allowed-host", "GENMCP_ALLOWED_HOSTS"),
    }[setting]
    assert (refusal.status, refusal.error.code) == (status, -32600)
    assert refusal.error.data == {
        "setting": setting,
        "flag": flag,
        "variable": variable,
        "header": name.title(),
        "refused": shown,
    }
    for word in (name.title(), ascii(shown), setting, flag, variable, "public_url"):
        assert word in refusal.error.message
    assert refusal.error.message.isprintable()


def test_two_hosts_are_refused_whoever_is_allowed() -> None:
    rules = SenderRules(allowed_hosts=["*"], allowed_origins=["*"])
    assert judge({"host": [b"localhost", b"localhost"]}, rules).refusal.status == 400
    assert judge({"origin": [APP, APP]}, rules).refusal.status == 403


def test_one_string_instead_of_a_list_is_refused() -> None:
    for setting in ("allowed_hosts", "allowed_origins"):
        settings: dict[str, Any] = {setting: "mcp.example.com"}
        with pytest.raises(TypeError, match=f"{setting} must be a list"):
            SenderRules(**settings)


@given(st.binary(max_size=80), st.sampled_from([b"", b"http://", b"http://localhost", b"http://["]))
def test_an_origin_that_is_repeated_is_one_that_a_header_can_hold(end: bytes, start: bytes) -> None:
    readable = readable_by(judge({"origin": start + end}))
    assert readable is None or all(0x20 < byte < 0x7F for byte in readable)
