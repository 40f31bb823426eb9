"""What pages may read, and what their browsers are told beforehand: the pure part."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.transport.cors import answer_preflight, is_preflight, render_cors
from genmcp.transport.headers import scan_headers
from genmcp.transport.inbound import Refusal
from genmcp.transport.reply import Whole

ORIGIN = (b"origin", b"https://app.example.com")
MANY = [b"mcp-param-%d" % number for number in range(100)]
METHOD = (b"access-control-request-method", b"POST")


def ask(*requested: bytes, verbs: tuple[str, ...] = ("POST",)) -> Whole | Refusal:
    lines = [(b"Access-Control-Request-Headers", line) for line in requested]
    return answer_preflight(scan_headers([ORIGIN, METHOD, *lines]), verbs)


def allowed_headers(*requested: bytes) -> bytes | None:
    answer = ask(*requested)
    assert isinstance(answer, Whole)
    return dict(answer.headers).get(b"access-control-allow-headers")


@pytest.mark.parametrize(
    ("verb", "pairs", "expected"),
    [
        ("OPTIONS", [ORIGIN, METHOD], True),
        ("OPTIONS", [ORIGIN, (b"Access-Control-Request-Method", b"")], True),
        ("OPTIONS", [ORIGIN], False),
        ("OPTIONS", [METHOD], False),
        ("OPTIONS", [], False),
        ("options", [ORIGIN, METHOD], False),
        ("POST", [ORIGIN, METHOD], False),
    ],
)
def test_a_preflight_is_an_options_of_a_page_that_names_a_method(
    verb: str, pairs: list[tuple[bytes, bytes]], expected: bool
) -> None:
    assert is_preflight(verb, scan_headers(pairs)) is expected


def test_a_preflight_is_answered_with_what_is_served() -> None:
    answer = ask(b"authorization,content-type", verbs=("POST", "GET"))
    assert answer == Whole(
        204,
        (
            (b"access-control-allow-methods", b"POST, GET"),
            (b"access-control-allow-headers", b"authorization, content-type"),
            (b"access-control-max-age", b"7200"),
        ),
        b"",
    )


@pytest.mark.parametrize(
    ("requested", "allowed"),
    [
        ((), None),
        ((b"",), None),
        ((b" , ,\t",), None),
        ((b"authorization",), b"authorization"),
        ((b"Mcp-Param-Region",), b"Mcp-Param-Region"),
        ((b"authorization , \tmcp-name,,",), b"authorization, mcp-name"),
        ((b"authorization", b"mcp-name"), b"authorization, mcp-name"),
        ((b"!#$%&'*+-.^_`|~09az",), b"!#$%&'*+-.^_`|~09az"),
        ((b",".join(MANY),), b", ".join(MANY)),
    ],
)
def test_requested_headers_are_allowed_by_name(
    requested: tuple[bytes, ...], allowed: bytes | None
) -> None:
    assert allowed_headers(*requested) == allowed


@pytest.mark.parametrize(
    ("requested", "why"),
    [
        (b"authorization\r\nSet-Cookie: a=b", "list of header names"),
        (b"authorization\nx", "list of header names"),
        (b"a\x00b", "list of header names"),
        (b"a b", "list of header names"),
        (b"a\x0b", "list of header names"),
        (b"a:b", "list of header names"),
        (b'"a"', "list of header names"),
        (b"a;q=1", "list of header names"),
        (b"caf\xc3\xa9", "list of header names"),
        (b"\xff", "list of header names"),
        (b"a\x7f", "list of header names"),
        (b",".join([b"a"] * 101), "more than 100"),
        (b"a" * 8193, "longer than 8192"),
        (b"," * 8193, "longer than 8192"),
    ],
    ids=ascii,
)
def test_what_is_no_list_of_header_names_is_refused(requested: bytes, why: str) -> None:
    answer = ask(requested)
    assert isinstance(answer, Refusal)
    assert answer.status == 400
    assert "Access-Control-Request-Headers" in answer.error.message
    assert why in answer.error.message
    assert answer.error.message.isprintable()
    assert answer.headers == ()


def test_two_methods_are_refused() -> None:
    answer = answer_preflight(scan_headers([ORIGIN, METHOD, METHOD]), ("POST",))
    assert isinstance(answer, Refusal)
    assert "Access-Control-Request-Method was sent more than once" in answer.error.message


@given(st.lists(st.binary(max_size=40), max_size=3))
def test_whatever_is_asked_for_only_header_names_go_out(requested: list[bytes]) -> None:
    answer = ask(*requested)
    for name, value in answer.headers:
        assert re.fullmatch(rb"[a-z-]+", name)
        assert re.fullmatch(rb"[!-~]+(, [!-~]+)*", value)


def test_who_may_read_is_told_and_answers_are_kept_apart() -> None:
    assert render_cors("POST", None) == ((b"vary", b"Origin"),)
    assert dict(render_cors("POST", b"https://app.example.com")) == {
        b"vary": b"Origin",
        b"access-control-allow-origin": b"https://app.example.com",
        b"access-control-expose-headers": b"WWW-Authenticate, Retry-After, Mcp-Session-Id",
    }
    assert dict(render_cors("OPTIONS", None)) == {
        b"vary": b"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
    }
