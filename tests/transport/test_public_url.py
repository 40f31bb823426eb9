from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.transport.origin import HostRules, OriginRules
from genmcp.transport.public_url import PublicUrl, read_public_url


@pytest.mark.parametrize(
    ("text", "url", "path", "authority"),
    [
        (
            "https://mcp.example.com/mcp",
            "https://mcp.example.com/mcp",
            "/mcp",
            "mcp.example.com",
        ),
        (
            "HTTPS://MCP.Example.COM/Mcp/",
            "https://mcp.example.com/Mcp",
            "/Mcp",
            "mcp.example.com",
        ),
        ("https://mcp.example.com", "https://mcp.example.com", "", "mcp.example.com"),
        ("https://mcp.example.com/", "https://mcp.example.com", "", "mcp.example.com"),
        ("https://mcp.example.com:443/a", "https://mcp.example.com/a", "/a", "mcp.example.com"),
        ("https://mcp.example.com:/a", "https://mcp.example.com/a", "/a", "mcp.example.com"),
        ("https://mcp.example.com./a", "https://mcp.example.com/a", "/a", "mcp.example.com"),
        (
            "https://mcp.example.com:8443/a/b-1_~.c:@",
            "https://mcp.example.com:8443/a/b-1_~.c:@",
            "/a/b-1_~.c:@",
            "mcp.example.com:8443",
        ),
        ("https://mcp.example.com:80", "https://mcp.example.com:80", "", "mcp.example.com:80"),
        ("https://xn--bcher-kva.de/m", "https://xn--bcher-kva.de/m", "/m", "xn--bcher-kva.de"),
        ("https://192.0.2.7/m", "https://192.0.2.7/m", "/m", "192.0.2.7"),
        ("https://[2001:DB8:0::1]:8443", "https://[2001:db8::1]:8443", "", "[2001:db8::1]:8443"),
        ("http://localhost:8000/mcp", "http://localhost:8000/mcp", "/mcp", "localhost:8000"),
        ("http://127.0.0.1:80/mcp", "http://127.0.0.1/mcp", "/mcp", "127.0.0.1"),
        ("http://[::1]:8000/mcp", "http://[::1]:8000/mcp", "/mcp", "[::1]:8000"),
    ],
)
def test_public_url_has_one_spelling(text: str, url: str, path: str, authority: str) -> None:
    public = read_public_url(text)
    assert (public.url, public.path, public.authority) == (url, path, authority)
    assert public.origin + public.path == public.url
    assert public.origin.endswith("://" + public.authority)
    assert public.authority in (public.host, f"{public.host}:{public.authority.rpartition(':')[2]}")
    assert read_public_url(public.url) == public


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "begin with https"),
        ("mcp.example.com", "begin with https"),
        ("//mcp.example.com/mcp", "begin with https"),
        ("ftp://mcp.example.com/mcp", "begin with https"),
        ("ws://mcp.example.com/mcp", "begin with https"),
        ("https:/mcp.example.com", "begin with https"),
        ("https:mcp.example.com", "begin with https"),
        ("http://mcp.example.com/mcp", "access tokens travel"),
        ("http://localhost.example.com/mcp", "access tokens travel"),
        ("https://", "name a host"),
        ("https:///mcp", "name a host"),
        ("https://:8443/mcp", "name a host"),
        ("https://mcp..example.com", "name a host"),
        ("https://mcp.example.com:0", "name a host"),
        ("https://mcp.example.com:65536", "name a host"),
        ("https://mcp.example.com:https", "name a host"),
        ("https://*.example.com", "name a host"),
        ("https://mcp%2eexample.com", "name a host"),
        ("https://[2001:db8::1", "name a host"),
        ("https://[fe80::1%25eth0]/", "name a host"),
        ("https://mcp.example.com\\@evil.example", "no user"),
        ("https://mcp.example.com\\mcp", "name a host"),
        ("https://user@mcp.example.com", "no user"),
        ("https://user:secret@mcp.example.com/mcp", "no user"),
        ("https://mcp.example.com/mcp?tenant=1", "no query"),
        ("https://mcp.example.com/mcp?", "no query"),
        ("https://mcp.example.com/mcp#top", "no fragment"),
        ("https://mcp.example.com#", "no fragment"),
        (" https://mcp.example.com", "no spaces"),
        ("https://mcp.example.com/mcp\n", "no spaces"),
        ("https://mcp.example.com/m cp", "no spaces"),
        ("https://mcp.example.com/\x00", "no spaces"),
        ("https://mcp.example.com\r\nX-Header: 1", "no spaces"),
        ("https://b\xfccher.de/mcp", "xn--"),
        ("https://mcp.example.com/caf\xe9", "xn--"),
        ("https://mcp.example.com/../mcp", r"no \. or \.\."),
        ("https://mcp.example.com/a/..", r"no \. or \.\."),
        ("https://mcp.example.com/./mcp", r"no \. or \.\."),
        ("https://mcp.example.com//mcp", "empty part"),
        ("https://mcp.example.com/mcp//", "empty part"),
        ("https://mcp.example.com/%2e%2e/mcp", "percent-encoded"),
        ("https://mcp.example.com/mc%70", "percent-encoded"),
        ("https://mcp.example.com/a\\b", "path of letters"),
        ('https://mcp.example.com/"', "path of letters"),
        ("https://0.0.0.0:8000/mcp", "bound to"),
        ("https://[::]/mcp", "bound to"),
        ("https://127.1/mcp", "four numbers"),
        ("https://2130706433/mcp", "four numbers"),
        ("https://0x7f.0.0.0x1/mcp", "four numbers"),
        ("https://999.1.1.1/mcp", "four numbers"),
        ("https://mcp.example.com/" + "a" * 2000, "at most"),
    ],
    ids=ascii,
)
def test_what_is_no_public_url_is_refused_by_name(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^public_url .*{why}"):
        read_public_url(text)


def test_password_in_a_public_url_is_not_shown() -> None:
    with pytest.raises(ValueError, match="no user") as refusal:
        read_public_url("https://user:hunter2@mcp.example.com/mcp")
    assert "hunter2" not in str(refusal.value)


def test_public_url_that_is_no_string_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^public_url must be a string"):
        read_public_url(b"https://mcp.example.com")  # type: ignore[arg-type]


def read_or_refuse(text: str) -> PublicUrl | str:
    try:
        return read_public_url(text)
    except ValueError as error:
        return str(error)


@given(st.text(max_size=60), st.sampled_from(["", "https://", "https://mcp.example.com/"]))
def test_what_is_read_is_what_a_header_can_hold(text: str, before: str) -> None:
    public = read_or_refuse(before + text)
    if isinstance(public, str):
        assert public.startswith("public_url ")
        return
    assert all("!" <= character <= "~" for character in public.url)
    assert read_public_url(public.url) == public
    assert HostRules([public.host]).allows(public.authority.encode())
    assert OriginRules([public.origin]).allows(public.origin.encode())
