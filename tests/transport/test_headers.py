from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.errors import HeaderMismatch
from genmcp.transport.headers import (
    METHOD,
    NAME,
    PROTOCOL_VERSION,
    decode_value,
    read_params,
    scan_headers,
    show,
)


def test_names_are_compared_ignoring_case_and_values_lose_outer_space() -> None:
    headers = scan_headers([(b"MCP-Method", b" \t tools/call\t "), (b"X-Other", b"1")])
    assert headers.read_mirror(METHOD, "method") == "tools/call"
    assert set(headers.values) == {METHOD}


def test_inner_tab_is_part_of_the_value() -> None:
    headers = scan_headers([(b"mcp-name", b"a\tb")])
    assert headers.read_mirror(NAME, "params.name") == "a\tb"


@pytest.mark.parametrize(
    "value", [b"a\x00b", b"a\x7fb", b"a\nb", b"caf\xc3\xa9", b"\xff"], ids=ascii
)
def test_character_no_header_may_have_is_a_mismatch(value: bytes) -> None:
    headers = scan_headers([(b"mcp-name", value)])
    with pytest.raises(HeaderMismatch, match=r"Mcp-Name .* outside visible ASCII.*=\?base64\?"):
        headers.read_mirror(NAME, "params.name")


def test_missing_header_is_a_mismatch_that_says_what_it_mirrors() -> None:
    with pytest.raises(HeaderMismatch, match="Mcp-Method is missing; it must repeat method"):
        scan_headers([]).read_mirror(METHOD, "method")


def test_header_sent_twice_is_a_mismatch_even_with_equal_values() -> None:
    headers = scan_headers(
        [(b"mcp-protocol-version", b"2026-07-28"), (b"MCP-Protocol-Version", b"2026-07-28")]
    )
    with pytest.raises(HeaderMismatch, match="MCP-Protocol-Version was sent more than once"):
        headers.read_mirror(PROTOCOL_VERSION, "version")


def test_repeated_headers_are_listed_as_they_are_spelled() -> None:
    names = [b"host", b"Host", b"mcp-param-Region", b"Mcp-Param-region", b"cookie", b"cookie"]
    headers = scan_headers((name, b"x") for name in names)
    assert headers.repeated == {"Host", "Mcp-Param-region"}


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("plain", "plain"),
        ("", ""),
        ("=?base64?SGVsbG8=?=", "Hello"),
        ("=?base64??=", ""),
        ("=?base64?w7xiZXI=?=", "\u00fcber"),
        ("=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        ("SGVsbG8=?=", "SGVsbG8=?="),
        ("=?base64?=", "=?base64?="),
        (" =?base64?SGVsbG8=?=", " =?base64?SGVsbG8=?="),
        ("file:///a%20b", "file:///a%20b"),
        # A literal that looks wrapped arrives wrapped, and is unwrapped once.
        ("=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?=", "=?base64?SGVsbG8=?="),
    ],
)
def test_value_is_decoded_exactly_once(text: str, decoded: str) -> None:
    assert decode_value(text) == decoded


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("=?base64?SGVsbG8?=", "padded"),
        ("=?base64?SGVs!!!bG8=?=", "Base64"),
        ("=?base64?SGVs bG8=?=", "Base64"),
        ("=?base64?SGVsbG8==?=", "Base64"),
        ("=?base64?SGVsbG8=SGVs?=", "Base64"),
        ("=?base64?=?=", "Base64"),
        ("=?base64?_-8=?=", "Base64"),
        ("=?base64?SGVsbG9=?=", "canonical"),
        ("=?base64?/w==?=", "UTF-8"),
        ("=?base64?7aCA?=", "UTF-8"),
    ],
)
def test_wrapped_value_that_is_not_strict_base64_of_utf8_is_refused(
    text: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        decode_value(text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_wrapping(text: str) -> None:
    wrapped = "=?base64?" + base64.b64encode(text.encode()).decode() + "?="
    assert decode_value(wrapped) == text
    assert decode_value(text) == text or text.startswith("=?base64?")


@given(st.text(st.characters(codec="ascii")))
def test_decoding_raises_nothing_but_value_error(inside: str) -> None:
    try:
        decode_value(f"=?base64?{inside}?=")
    except ValueError as error:
        assert "Base64" in str(error)  # noqa: PT017


def test_params_are_decoded_and_unreadable_ones_are_none() -> None:
    headers = scan_headers(
        [
            (b"mcp-param-region", b" eu "),
            (b"mcp-param-City", b"=?base64?TcO8bmNoZW4=?="),
            (b"mcp-param-bad", b"=?base64?x?="),
            (b"mcp-param-raw", b"\xc3\xa9"),
        ]
    )
    assert read_params(headers) == {
        "region": "eu",
        "city": "M\u00fcnchen",
        "bad": None,
        "raw": None,
    }


def test_what_a_stranger_sent_is_shown_quoted_and_short() -> None:
    assert show("a\r\nb\u202e") == r"'a\r\nb\u202e'"
    assert show(b"\xff") == r"'\xff'"
    assert len(show("x" * 10_000)) < 100


@given(st.lists(st.tuples(st.binary(max_size=30), st.binary(max_size=30))))
def test_any_headers_can_be_scanned(pairs: list[tuple[bytes, bytes]]) -> None:
    headers = scan_headers(pairs)
    read_params(headers)
    assert len(headers.values) + len(headers.params) <= len(pairs)
