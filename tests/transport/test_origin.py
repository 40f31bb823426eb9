from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.transport.origin import HostRules, OriginRules, read_authority, read_origin

LOOPBACK_HOSTS = [
    b"localhost",
    b"localhost:8000",
    b"LocalHost:1",
    b"localhost.",
    b"localhost.:8000",
    b"localhost:",
    b"127.0.0.1",
    b"127.0.0.1:65535",
    b"127.255.255.254:80",
    b"[::1]",
    b"[::1]:8000",
    b"[0:0:0:0:0:0:0:1]:8000",
    b"[::ffff:127.0.0.1]",
]

FOREIGN_HOSTS = [
    b"",
    b":8000",
    b"evil.example.com",
    b"evil.example.com:8000",
    b"localhost.evil.example.com",
    b"evil.localhost",
    b"localhost@evil.example.com",
    b"evil.example.com/localhost",
    b"evil.example.com#@localhost",
    b"127.0.0.1.evil.example.com",
    b"127.0.0.1.nip.io",
    b"127.1",
    b"127.0.0.01",
    b"2130706433",
    b"0x7f.0.0.1",
    b"0.0.0.0:8000",
    b"128.0.0.1",
    b"::1",
    b"[::1",
    b"[]",
    b"[zz]",
    b"[127.0.0.1]",
    b"[::1]8000",
    b"[::1].evil.example.com",
    b"[::2]",
    b"[::1%lo]",
    b"[::1%25lo]",
    b"localhost:80:80",
    b"localhost:65536",
    b"localhost:8o",
    b"localhost:-1",
    b"localhost..",
    b".localhost",
    b"local host",
    b"localhost\x00",
    b"localhost\t",
    b"l\xc3\xb6calhost",
    b"\xff",
    b"localhost, evil.example.com",
    b"a" * 300,
]


@pytest.mark.parametrize("host", LOOPBACK_HOSTS, ids=ascii)
def test_loopback_host_is_allowed_out_of_the_box(host: bytes) -> None:
    assert HostRules().allows(host)


@pytest.mark.parametrize("host", FOREIGN_HOSTS, ids=ascii)
def test_foreign_host_is_not(host: bytes) -> None:
    assert not HostRules().allows(host)


@pytest.mark.parametrize(
    ("entry", "host", "allowed"),
    [
        ("mcp.example.com", b"mcp.example.com", True),
        ("mcp.example.com", b"MCP.Example.COM.", True),
        ("mcp.example.com", b"mcp.example.com:8443", True),
        ("MCP.example.com.", b"mcp.example.com", True),
        ("mcp.example.com", b"example.com", False),
        ("mcp.example.com", b"x.mcp.example.com", False),
        ("mcp.example.com:8443", b"mcp.example.com:8443", True),
        ("mcp.example.com:8443", b"mcp.example.com", False),
        ("mcp.example.com:8443", b"mcp.example.com:443", False),
        ("mcp.example.com:443", b"mcp.example.com", True),
        ("mcp.example.com:80", b"mcp.example.com", True),
        ("mcp.example.com:443", b"mcp.example.com:443", True),
        ("mcp.example.com:443", b"mcp.example.com:80", False),
        ("192.0.2.7", b"192.0.2.7:8000", True),
        ("[2001:db8::1]", b"[2001:0db8:0::1]:8000", True),
        ("[2001:db8::1]:8000", b"[2001:db8::2]:8000", False),
        ("*", b"anything at all", True),
        ("*", b"", True),
    ],
)
def test_configured_host(entry: str, host: bytes, allowed: bool) -> None:
    rules = HostRules([entry])
    assert rules.allows(host) is allowed
    assert rules.allows(b"localhost:1")


@pytest.mark.parametrize(
    "entry",
    ["https://mcp.example.com", "mcp.example.com/mcp", "", " ", "*.example.com", "b\xfccher.de"],
    ids=ascii,
)
def test_host_entry_that_is_no_host_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="allowed_hosts"):
        HostRules([entry])


@pytest.mark.parametrize(
    "origin",
    [
        b"http://localhost",
        b"http://localhost:6274",
        b"https://localhost:443",
        b"HTTP://LOCALHOST:80",
        b"http://127.0.0.1:8000",
        b"http://127.9.9.9",
        b"https://[::1]:8000",
    ],
    ids=ascii,
)
def test_loopback_origin_is_allowed_out_of_the_box(origin: bytes) -> None:
    assert OriginRules().allows(origin)


@pytest.mark.parametrize(
    "origin",
    [
        b"",
        b"null",
        b"localhost",
        b"http:localhost",
        b"http:/localhost",
        b"http://",
        b"://localhost",
        b"http://evil.example.com",
        b"http://localhost.evil.example.com",
        b"http://localhost/",
        b"http://localhost:80/path",
        b"http://localhost@evil.example.com",
        b"http://evil.example.com#localhost",
        b"http://localhost http://evil.example.com",
        b"http://localhost,http://evil.example.com",
        b"file://",
        b"file://localhost",
        b"vscode-webview://localhost",
        b"1http://localhost",
        b"http://l\xc3\xb6calhost",
        b"http://localhost\x00",
        b"\xff\xfe",
        b"http://" + b"a" * 300,
    ],
    ids=ascii,
)
def test_foreign_origin_is_not(origin: bytes) -> None:
    assert not OriginRules().allows(origin)


@pytest.mark.parametrize(
    ("entry", "origin", "allowed"),
    [
        ("https://app.example.com", b"https://app.example.com", True),
        ("https://app.example.com/", b"https://app.example.com", True),
        ("HTTPS://App.Example.com", b"https://app.example.com", True),
        ("https://app.example.com", b"https://app.example.com:443", True),
        ("https://app.example.com:443", b"https://app.example.com", True),
        ("https://app.example.com", b"http://app.example.com", False),
        ("https://app.example.com", b"https://app.example.com:8443", False),
        ("https://app.example.com:8443", b"https://app.example.com:8443", True),
        ("https://app.example.com:8443", b"https://app.example.com", False),
        ("https://app.example.com", b"https://evil.app.example.com", False),
        ("vscode-webview://0a1b2c", b"vscode-webview://0a1b2c", True),
        ("vscode-webview://0a1b2c", b"vscode-webview://other", False),
        ("*", b"https://anyone.example.com", True),
        ("*", b"null", True),
    ],
)
def test_configured_origin(entry: str, origin: bytes, allowed: bool) -> None:
    rules = OriginRules([entry])
    assert rules.allows(origin) is allowed
    assert rules.allows(b"http://localhost:5173")


@pytest.mark.parametrize(
    "entry", ["null", "NULL", "app.example.com", "https://app.example.com/app", "", "https://*.com"]
)
def test_origin_entry_that_is_no_origin_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="allowed_origins"):
        OriginRules([entry])


def test_one_string_instead_of_a_list_is_refused() -> None:
    with pytest.raises(TypeError, match="allowed_hosts must be a list"):
        HostRules("mcp.example.com")
    with pytest.raises(TypeError, match="allowed_origins must be a list"):
        OriginRules("https://app.example.com")


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_not_read_but_never_raise(value: bytes) -> None:
    read_authority(value)
    read_origin(value)
    read_origin(b"http://" + value)


@given(
    st.from_regex(r"[a-z0-9-]{1,20}(\.[a-z0-9-]{1,20}){0,3}", fullmatch=True),
    st.none() | st.integers(0, 65535),
)
def test_name_and_port_are_read_back(name: str, port: int | None) -> None:
    written = name if port is None else f"{name}:{port}"
    authority = read_authority(written.upper().encode())
    assert authority is not None
    assert (authority.name, authority.port) == (name, port)
