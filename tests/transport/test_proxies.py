"""Whose word is taken for where a request comes from, and what is made of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.channel import Channel
from genmcp.providers import Tool
from genmcp.suite import Suite
from genmcp.testing import Client
from genmcp.transport.announcement import describe_proxies
from genmcp.transport.asgi import StreamableHTTP
from genmcp.transport.proxies import Forwarded, TrustedProxies, read_node

PROXY = "10.0.0.1"
X = TrustedProxies(["10.0.0.0/8", "fd00::/8"])
F = TrustedProxies(["10.0.0.0/8", "fd00::/8"], "forwarded")


def lines(name: bytes, *values: str) -> list[tuple[bytes, bytes]]:
    return [(name, value.encode("latin-1")) for value in values]


def follow(*values: str, peer: str = PROXY) -> str | None:
    found = X.find_client(peer, lines(b"x-forwarded-for", *values))
    assert found is not None
    return found.address


@pytest.mark.parametrize(
    ("values", "client"),
    [
        # What one proxy adds.
        (["192.0.2.1"], "192.0.2.1"),
        (["  192.0.2.1\t"], "192.0.2.1"),
        (["192.0.2.1:5678"], "192.0.2.1"),
        (["2001:db8::1"], "2001:db8::1"),
        (["2001:DB8:0:0::1"], "2001:db8::1"),
        (["[2001:db8::1]"], "2001:db8::1"),
        (["[2001:db8::1]:443"], "2001:db8::1"),
        (["::ffff:192.0.2.1"], "192.0.2.1"),
        # What a client says of itself stands before it, and counts for nothing.
        (["198.51.100.9, 192.0.2.1"], "192.0.2.1"),
        (["10.9.9.9, 192.0.2.1"], "192.0.2.1"),
        (["10.9.9.9", "192.0.2.1"], "192.0.2.1"),
        (["192.0.2.1, 10.9.9.9"], "192.0.2.1"),
        (["rubbish, , _, 192.0.2.1"], "192.0.2.1"),
        (["x" * 30_000 + ", 192.0.2.1"], "192.0.2.1"),
        (["1.1.1.1, " * 3_000 + "192.0.2.1"], "192.0.2.1"),
        # Several proxies.
        (["192.0.2.1, 10.0.0.2"], "192.0.2.1"),
        (["198.51.100.9, 192.0.2.1, fd00::7, 10.0.0.2"], "192.0.2.1"),
        (["198.51.100.9, 192.0.2.1", "10.0.0.3", "10.0.0.2"], "192.0.2.1"),
        # A proxy that is not trusted is the client, whatever it says.
        (["192.0.2.1, 203.0.113.5, 10.0.0.2"], "203.0.113.5"),
        # All are trusted: the first of them is the client.
        (["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        # Where it cannot be followed, it ends with who is known.
        ([], PROXY),
        ([""], PROXY),
        (["192.0.2.1,"], PROXY),
        (["192.0.2.1, unknown"], PROXY),
        (["192.0.2.1, unknown, 10.0.0.2"], "10.0.0.2"),
        (["192.0.2.1, _hidden, 10.0.0.2"], "10.0.0.2"),
        (["192.0.2.1, unix:"], PROXY),
        (["192.0.2.1, mail.example"], PROXY),
        (["192.0.2.1, 192.0.2.999"], PROXY),
        (["192.0.2.1, 192.0.2.01"], PROXY),
        (["192.0.2.1, 192.0.2.1:"], PROXY),
        (["192.0.2.1, 192.0.2.1:port"], PROXY),
        (["192.0.2.1, 3221225985"], PROXY),
        (["192.0.2.1, ²92.0.2.1"], PROXY),
        (["192.0.2.1, [192.0.2.1]"], PROXY),
        (["192.0.2.1, [2001:db8::1"], PROXY),
        (["192.0.2.1, [2001:db8::1]x"], PROXY),
        (["192.0.2.1, 2001:db8::1]"], PROXY),
        (["192.0.2.1, fe80::1%eth0"], PROXY),
        (['192.0.2.1, "192.0.2.2"'], PROXY),
        (["192.0.2.1, 192.0.2.2 192.0.2.3"], PROXY),
        (["192.0.2.1, for=192.0.2.2"], PROXY),
        (["192.0.2.1, \x00"], PROXY),
        # No chain is that long.
        (["192.0.2.1" + ", 10.0.0.2" * 31], "192.0.2.1"),
        (["192.0.2.1" + ", 10.0.0.2" * 32], "10.0.0.2"),
        (["192.0.2.1", *["10.0.0.2"] * 5_000], "10.0.0.2"),
    ],
    ids=lambda one: str(one)[:60],
)
def test_a_chain_of_x_forwarded_for(values: list[str], client: str) -> None:
    assert follow(*values) == client


@pytest.mark.parametrize(
    ("values", "client", "scheme"),
    [
        (["for=192.0.2.1"], "192.0.2.1", None),
        (["for=192.0.2.1;proto=https;by=203.0.113.43"], "192.0.2.1", "https"),
        (["For=192.0.2.1 ; PROTO=HTTPS;"], "192.0.2.1", "https"),
        (['for="192.0.2.1:80"'], "192.0.2.1", None),
        (["for=192.0.2.1:80"], "192.0.2.1", None),
        (['for="[2001:db8::1]:4711"'], "2001:db8::1", None),
        (['for="[2001:db8::1]:_port"'], "2001:db8::1", None),
        (['for="\\1\\92.0.2.1"'], "192.0.2.1", None),
        (['by="a,b;c=d";for=192.0.2.1'], "192.0.2.1", None),
        (["for=198.51.100.9, for=192.0.2.1"], "192.0.2.1", None),
        (["for=198.51.100.9", "for=192.0.2.1"], "192.0.2.1", None),
        (["for=192.0.2.1;proto=https, for=10.0.0.2;proto=http"], "192.0.2.1", "https"),
        (["for=192.0.2.1, for=10.0.0.2;proto=https"], "192.0.2.1", "https"),
        (["proto=https"], PROXY, "https"),
        (["for=192.0.2.1;proto=gopher"], "192.0.2.1", None),
        (["for=192.0.2.1;proto=https, for=_hidden;proto=http"], PROXY, "http"),
        (["for=192.0.2.1, for=unknown"], PROXY, None),
        (["for=192.0.2.1, by=10.0.0.2"], PROXY, None),
        # A line that is not well formed ends it; the lines of other proxies count.
        (["for=192.0.2.1;for=192.0.2.2"], PROXY, None),
        (['for="192.0.2.1'], PROXY, None),
        (['for="198.51.100.9, for=192.0.2.1'], PROXY, None),
        (['for="198.51.100.9, for="[2001:db8::1]"'], PROXY, None),
        (['for="\\, for="192.0.2.1"'], PROXY, None),
        (['for="x', "for=192.0.2.1"], "192.0.2.1", None),
        (["for=192.0.2.1", 'for="x', "for=10.0.0.2"], "10.0.0.2", None),
        (["for = 192.0.2.1"], PROXY, None),
        (["192.0.2.1"], PROXY, None),
        (["for=192.0.2.1,"], PROXY, None),
        ([""], PROXY, None),
        ([], PROXY, None),
        (["for=192.0.2.1, " * 600 + "for=192.0.2.1"], PROXY, None),
        (['for="' + "\\a" * 4_000], PROXY, None),
    ],
    ids=lambda one: str(one)[:60],
)
def test_a_chain_of_forwarded(values: list[str], client: str, scheme: str | None) -> None:
    assert F.find_client(PROXY, lines(b"forwarded", *values)) == Forwarded(client, scheme)


@pytest.mark.parametrize(
    ("values", "scheme"),
    [
        ([], None),
        (["https"], "https"),
        ([" HTTPS "], "https"),
        (["http"], "http"),
        (["https, http"], "http"),
        (["https", "http"], "http"),
        (["javascript"], None),
        (["https, "], None),
    ],
)
def test_the_scheme_is_what_the_last_proxy_says(values: list[str], scheme: str | None) -> None:
    assert X.find_client(PROXY, lines(b"x-forwarded-proto", *values)) == Forwarded(PROXY, scheme)


def test_one_family_of_headers_is_read_and_never_the_other() -> None:
    both = [
        *lines(b"forwarded", "for=192.0.2.1;proto=https"),
        *lines(b"x-forwarded-for", "192.0.2.2"),
        *lines(b"x-forwarded-proto", "http"),
        *lines(b"x-forwarded-host", "evil.example"),
        *lines(b"x-real-ip", "192.0.2.3"),
    ]
    assert X.find_client(PROXY, both) == Forwarded("192.0.2.2", "http")
    assert F.find_client(PROXY, both) == Forwarded("192.0.2.1", "https")
    assert X.find_client(PROXY, both[:1]) == Forwarded(PROXY, None)
    assert F.find_client(PROXY, both[1:]) == Forwarded(PROXY, None)


@pytest.mark.parametrize(
    ("entries", "peer", "trusted"),
    [
        (["127.0.0.1"], "127.0.0.1", True),
        (["127.0.0.1"], "127.0.0.2", False),
        (["127.0.0.1"], "::ffff:127.0.0.1", True),
        (["127.0.0.1"], "::1", False),
        (["10.0.0.0/8"], "10.255.0.1", True),
        (["10.0.0.0/8"], "11.0.0.0", False),
        (["fe80::/10"], "fe80::1%eth0", True),
        (["::1", "10.0.0.0/8"], "::1", True),
        (["10.0.0.0/8"], None, False),
        (["10.0.0.0/8"], "testclient", False),
        (["unix"], "127.0.0.1", False),
        (["unix"], None, False),
    ],
)
def test_who_is_trusted(entries: list[str], peer: str | None, trusted: bool) -> None:
    found = TrustedProxies(entries).find_client(peer, lines(b"x-forwarded-for", "192.0.2.1"))
    assert found == (Forwarded("192.0.2.1", None) if trusted else None)


def test_a_unix_socket_is_trusted_where_it_is_listed() -> None:
    headers = lines(b"x-forwarded-for", "192.0.2.1, 10.0.0.2")
    both = TrustedProxies(["unix", "10.0.0.0/8"])
    assert both.find_client(None, headers, unix=True) == Forwarded("192.0.2.1", None)
    assert both.find_client(None, [], unix=True) == Forwarded(None, None)
    assert X.find_client(None, headers, unix=True) is None


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("*", "no address"),
        ("", "no address"),
        ("proxy.example", "no address"),
        ("10.0.0.1/8", "no address"),
        ("10.0.0.0/33", "no address"),
        (167772161, "no address"),
        (None, "no address"),
        ("0.0.0.0/0", "trusts everyone"),
        ("::/0", "trusts everyone"),
        ("::ffff:10.0.0.0/104", "as an IPv4 address"),
    ],
)
def test_what_is_no_proxy_is_named(entry: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"trusted_proxies.*{said}"):
        TrustedProxies([entry])


def test_settings_that_make_no_sense_are_named() -> None:
    with pytest.raises(TypeError, match="trusted_proxies must be a list"):
        TrustedProxies("10.0.0.1")
    with pytest.raises(ValueError, match="proxy_headers must be"):
        TrustedProxies([], "x-real-ip")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_whom_is_believed_is_said() -> None:
    assert describe_proxies(F) == (
        "Believing 10.0.0.0/8, fd00::/8 (trusted_proxies) where calls come from, by Forwarded"
    )


@given(st.lists(st.text(alphabet='for=proto;,"\\ 12.:[]_\t\xff', max_size=60), max_size=5))
def test_nothing_that_a_client_says_outweighs_its_proxy(said: list[str]) -> None:
    for proxies, name, added in (
        (X, b"x-forwarded-for", "192.0.2.77"),
        (F, b"forwarded", "for=192.0.2.77"),
        (F, b"forwarded", 'for="192.0.2.77:80"'),
    ):
        # As a line of its own, the truth is told whatever stood before.
        found = proxies.find_client(PROXY, lines(name, *said, added))
        assert found == Forwarded("192.0.2.77", None)
        # On the same line, quotes may spoil it; but nobody else is taken for the client.
        joined = ", ".join([*said, added])
        found = proxies.find_client(PROXY, lines(name, joined))
        assert found is not None
        assert found.address in {"192.0.2.77", PROXY}
        if proxies is X:
            assert found.address == "192.0.2.77"


@given(st.text())
def test_a_link_is_an_address_or_nothing(text: str) -> None:
    read = read_node(text)
    assert read is None or read_node(str(read)) == read


class Who(Tool[dict[str, Any]], name="who", description="Says where a call comes from."):
    async def call(self, request: Any, channel: Channel) -> str:
        return f"{channel.client_address} {channel.assigns['client']} {channel.assigns['scheme']}"


class ProxiedClient(Client):
    """A client whose requests come through a proxy, or claim to."""

    def headers(self, method: str, params: Any) -> list[tuple[bytes, bytes]]:
        return [
            *super().headers(method, params),
            (b"x-forwarded-for", b"192.0.2.1"),
            (b"x-forwarded-proto", b"https"),
        ]


@pytest.mark.parametrize(
    ("client", "server", "trusted", "said"),
    [
        (("10.0.0.1", 5), ("10.0.0.2", 80), [], "10.0.0.1 ('10.0.0.1', 5) http"),
        (("10.0.0.1", 5), ("10.0.0.2", 80), ["10.0.0.1"], "192.0.2.1 ('192.0.2.1', 0) https"),
        (("10.0.0.9", 5), ("10.0.0.2", 80), ["10.0.0.1"], "10.0.0.9 ('10.0.0.9', 5) http"),
        (None, ("/run/x.sock", None), ["unix"], "192.0.2.1 ('192.0.2.1', 0) https"),
        (None, ("/run/x.sock", None), ["10.0.0.1"], "None None http"),
        # A server that tells nothing tells nothing of a Unix socket either.
        (None, None, ["unix"], "None None http"),
        (None, ("10.0.0.2", 80), ["unix"], "None None http"),
    ],
)
async def test_the_endpoint_takes_a_trusted_proxy_s_word(
    client: Any, server: Any, trusted: list[str], said: str
) -> None:
    app = StreamableHTTP(
        Suite(server_name="test", server_version="1", tools=[Who]),
        secret_key="k" * 32,
        trusted_proxies=trusted,
        assigns=lambda scope: {"client": scope["client"], "scheme": scope["scheme"]},
    )
    assert (app.proxies is None) is (not trusted)

    async def at_a_port(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "client": client, "server": server, "scheme": "http"}, receive, send)

    async with ProxiedClient(at_a_port) as connected:
        assert (await connected.call_tool("who")).text == said
