from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.transport.http1.request_reader import BadRequestError, RequestReader

MAX_HEADER_BYTES = 4096
MAX_HEADERS = 100
START = b"POST /mcp HTTP/1.1\r\nHost: x\r\n"
SMALL = START + b"Content-Length: 2\r\n\r\n{}"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"

Told = tuple[list[tuple[str, bytes, bytes, bool, bool]], int | None, bool]
"""Each request (verb, target, body, complete, keep-alive), the failure, the end."""


def read(*pieces: bytes) -> Told:
    reader = RequestReader(MAX_HEADER_BYTES, MAX_HEADERS)
    for piece in pieces:
        reader.feed(piece)
    requests = [
        (one.verb, one.target, b"".join(one.pieces), one.complete, one.keep_alive)
        for one in reader.requests
    ]
    status = None if reader.failure is None else reader.failure.status
    return requests, status, reader.ended


def test_an_unknown_verb_behind_a_request_is_refused_without_waiting_for_its_line() -> None:
    requests, status, _ = read(SMALL + b"BREW /pot")
    assert (requests, status) == ([post(b"{}")], 405)


def test_any_number_of_offers_to_upgrade_may_follow_each_other() -> None:
    offer = START + UPGRADE + b"Content-Length: 2\r\n\r\n{}"
    assert read(offer * 2000 + SMALL) == ([post(b"{}")] * 2001, None, False)


@pytest.mark.parametrize("data", [b"\r\n", SMALL + b"\r\n", SMALL], ids=repr)
def test_an_empty_line_begins_no_head(data: bytes) -> None:
    reader = RequestReader(MAX_HEADER_BYTES, MAX_HEADERS)
    reader.feed(data)
    reader.feed(b"\r\n")
    assert not reader.in_head
    reader.feed(b"P")
    assert reader.in_head


HEAD_REQUEST = b"HEAD /mcp HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    ("pieces", "is_head"),
    [
        ([HEAD_REQUEST, b"\x00"], False),
        ([HEAD_REQUEST + b"\x00"], False),
        ([HEAD_REQUEST, *[SMALL] * 3, b"\x00"], False),
        ([SMALL, b"HEAD /\x00"], True),
        ([SMALL, b"\r\nHEA", b"D /mcp HTTP/1.1\r\nHost x\r\n\r\n"], True),
        ([SMALL + b"HEAD /mcp HTTP/1.1\r\nHost x\r\n\r\n"], True),
        ([b"HEAD /mcp HTTP/1.1\r\n\r\n"], True),
        ([HEAD_REQUEST, b"POST /mcp HTTP/1.1\r\n\r\n"], False),
    ],
)
def test_only_the_verb_of_what_is_refused_counts(pieces: list[bytes], *, is_head: bool) -> None:
    reader = RequestReader(MAX_HEADER_BYTES, MAX_HEADERS)
    for piece in pieces:
        reader.feed(piece)
    assert reader.failure is not None
    assert reader.is_head_verb == is_head


@pytest.mark.parametrize(
    ("data", "is_head"), [(HEAD_REQUEST + SMALL, True), (SMALL + HEAD_REQUEST, False)]
)
def test_the_verb_of_a_request_that_is_refused_later_counts(data: bytes, *, is_head: bool) -> None:
    reader = RequestReader(MAX_HEADER_BYTES, MAX_HEADERS)
    reader.feed(data)
    reader.refuse(reader.requests.pop(0), BadRequestError(421, "not here"))
    reader.feed(SMALL)
    assert reader.failure is not None
    assert (reader.failure.status, reader.is_head_verb, len(reader.requests)) == (421, is_head, 1)


def cut(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def post(body: bytes, *, keep_alive: bool = True) -> tuple[str, bytes, bytes, bool, bool]:
    return ("POST", b"/mcp", body, True, keep_alive)


UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n"

TAKEN: dict[str, tuple[bytes, Told]] = {
    "sized": (SMALL, ([post(b"{}")], None, False)),
    "pipelined": (SMALL + SMALL, ([post(b"{}"), post(b"{}")], None, False)),
    "chunked": (CHUNKED + b"2\r\n{}\r\n0\r\n\r\n", ([post(b"{}")], None, False)),
    "chunk extension": (CHUNKED + b"2;a=b\r\n{}\r\n0\r\n\r\n", ([post(b"{}")], None, False)),
    "trailer": (
        CHUNKED + b"2\r\n{}\r\n0\r\nX: y\r\n\r\n" + SMALL,
        ([post(b"{}")] * 2, None, False),
    ),
    "no body": (START + b"\r\n" + SMALL, ([post(b""), post(b"{}")], None, False)),
    "empty lines before": (b"\r\n\r\n" + SMALL, ([post(b"{}")], None, False)),
    "close": (
        START + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}",
        ([post(b"{}", keep_alive=False)], None, True),
    ),
    "bytes behind a close": (
        START + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}" + SMALL,
        ([post(b"{}", keep_alive=False)], None, True),
    ),
    "1.0": (
        b"POST /mcp HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}",
        ([post(b"{}", keep_alive=False)], None, True),
    ),
    "1.0 keep-alive": (
        b"POST /mcp HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
        ([post(b"{}")], None, False),
    ),
    "upgrade offered": (
        START + UPGRADE + b"Content-Length: 2\r\n\r\n{}" + SMALL,
        ([post(b"{}"), post(b"{}")], None, False),
    ),
    "upgrade offered, chunked": (
        START + UPGRADE + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + SMALL,
        ([post(b"{}"), post(b"{}")], None, False),
    ),
    "upgrade offered, no body": (
        START + UPGRADE + b"\r\n" + SMALL,
        ([post(b""), post(b"{}")], None, False),
    ),
    "upgrade offered, then close": (
        START + b"Connection: Upgrade, close\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n{}",
        ([post(b"{}", keep_alive=False)], None, True),
    ),
    "web socket": (
        b"GET /mcp HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        ([("GET", b"/mcp", b"", True, True)], None, False),
    ),
}

REFUSED: dict[str, tuple[bytes, int]] = {
    "CONNECT": (b"CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n", 405),
    # What two readers could cut differently.
    "both lengths": (START + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "both lengths turned": (
        START + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
        400,
    ),
    "two equal lengths": (START + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400),
    "two lengths": (START + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
    "a list of lengths": (START + b"Content-Length: 2, 2\r\n\r\n{}", 400),
    "length with a sign": (START + b"Content-Length: +2\r\n\r\n{}", 400),
    "negative length": (START + b"Content-Length: -2\r\n\r\n{}", 400),
    "hexadecimal length": (START + b"Content-Length: 0x2\r\n\r\n{}", 400),
    "empty length": (START + b"Content-Length:\r\n\r\n{}", 400),
    "two numbers": (START + b"Content-Length: 1 0\r\n\r\n{}", 400),
    "endless length": (START + b"Content-Length: 99999999999999999999999\r\n\r\n", 400),
    "gzip coding": (START + b"Transfer-Encoding: gzip\r\n\r\n", 501),
    "gzip and chunked": (START + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
    "chunked, then gzip": (START + b"Transfer-Encoding: chunked, gzip\r\n\r\n", 400),
    "chunked twice": (START + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n", 400),
    "a coding like chunked": (START + b"Transfer-Encoding: xchunked\r\n\r\n", 501),
    "a control before chunked": (START + b"Transfer-Encoding: \x0bchunked\r\n\r\n", 400),
    "chunked in 1.0": (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "folded line": (START + b"X: a\r\n b\r\n\r\n", 400),
    "folded first header": (b"POST / HTTP/1.1\r\n Host: x\r\n\r\n", 400),
    "bare LF after the line": (b"POST / HTTP/1.1\nHost: x\r\n\r\n", 400),
    "bare LF after a header": (START + b"X: a\nY: b\r\n\r\n", 400),
    "bare CR in a header": (START + b"X: a\rY: b\r\n\r\n", 400),
    "space before the colon": (START + b"X : a\r\n\r\n", 400),
    "tab before the colon": (START + b"Content-Length\t: 2\r\n\r\n{}", 400),
    "nul in a value": (START + b"X: a\0b\r\n\r\n", 400),
    "control in a value": (START + b"X: a\x01b\r\n\r\n", 400),
    "delete in a value": (START + b"X: a\x7fb\r\n\r\n", 400),
    "strange name": (START + b"X(: a\r\n\r\n", 400),
    "name beyond ASCII": (START + b"X\x80: a\r\n\r\n", 400),
    "no name": (START + b": a\r\n\r\n", 400),
    "no colon": (START + b"X\r\n\r\n", 400),
    "no host": (b"POST / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (START + b"Host: y\r\n\r\n", 400),
    "two equal hosts": (START + b"Host: x\r\n\r\n", 400),
    "two hosts in 1.0": (b"POST / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n", 400),
    # Not HTTP/1.
    "0.9": (b"GET /\r\n\r\n", 505),
    "2.0": (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
    "1.2": (b"GET / HTTP/1.2\r\nHost: x\r\n\r\n", 400),
    "preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    "noise": (bytes(range(256)), 400),
    # Verbs.
    "unknown verb": (b"FOO /mcp HTTP/1.1\r\nHost: x\r\n\r\n", 405),
    "verb that goes on": (b"POSTX /mcp HTTP/1.1\r\nHost: x\r\n\r\n", 405),
    "lower case verb": (b"post /mcp HTTP/1.1\r\nHost: x\r\n\r\n", 405),
    "endless verb": (b"X" * 5000, 400),
    # Targets.
    "space in the target": (b"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "target beyond ASCII": (b"GET /\x80 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "no slash": (b"GET a HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    # Expectations and sizes.
    "other expectation": (START + b"Expect: wonders\r\n\r\n", 417),
    "large head": (START + b"X: " + b"a" * MAX_HEADER_BYTES + b"\r\n\r\n", 431),
    "many headers": (START + b"X: a\r\n" * MAX_HEADER_BYTES + b"\r\n", 431),
    "large target": (b"POST /" + b"a" * MAX_HEADER_BYTES + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431),
    "head without end": (START + b"X: " + b"a" * MAX_HEADER_BYTES, 431),
    "nothing but empty lines": (b"\r\n" * MAX_HEADER_BYTES, 431),
}

REFUSED_BODIES: dict[str, tuple[bytes, int]] = {
    "chunk size": (CHUNKED + b"zz\r\n", 400),
    "chunk size with 0x": (CHUNKED + b"0x2\r\n{}\r\n0\r\n\r\n", 400),
    "negative chunk size": (CHUNKED + b"-1\r\n{}\r\n0\r\n\r\n", 400),
    "chunk size and a space": (CHUNKED + b"2 \r\n{}\r\n0\r\n\r\n", 400),
    "LF in a chunk extension": (CHUNKED + b"2;a\n{}\r\n0\r\n\r\n", 400),
    "LF after the chunk size": (CHUNKED + b"2\n{}\r\n0\r\n\r\n", 400),
    "overflowing chunk size": (CHUNKED + b"10000000000000002\r\n{}\r\n0\r\n\r\n", 400),
    "chunk longer than it says": (CHUNKED + b"2\r\n{}X\r\n0\r\n\r\n", 400),
    "no chunk size": (CHUNKED + b"\r\n{}\r\n0\r\n\r\n", 400),
    "length in the trailer": (CHUNKED + b"0\r\nContent-Length: 5\r\n\r\n", 400),
    "trailer without end": (CHUNKED + b"0\r\nX: " + b"a" * 2 * MAX_HEADER_BYTES, 400),
    "extension without end": (CHUNKED + b"2;a=" + b"a" * 2 * MAX_HEADER_BYTES, 400),
}


@pytest.mark.parametrize("how", ["whole", "byte by byte"])
@pytest.mark.parametrize(("data", "told"), TAKEN.values(), ids=TAKEN)
def test_well_formed_requests_are_read(data: bytes, told: Told, how: str) -> None:
    assert read(*([data] if how == "whole" else cut(data))) == told


@pytest.mark.parametrize("how", ["whole", "byte by byte"])
@pytest.mark.parametrize(("data", "status"), REFUSED.values(), ids=REFUSED)
def test_heads_that_could_be_read_in_two_ways_are_refused(
    data: bytes, status: int, how: str
) -> None:
    pieces = [data] if how == "whole" else cut(data)
    assert read(*pieces) == ([], status, False)
    # The requests before it are not harmed, and nothing after it is read.
    before, failed, _ = read(SMALL, *pieces, SMALL)
    assert (before, failed) == ([post(b"{}")], status)


@pytest.mark.parametrize("how", ["whole", "byte by byte"])
@pytest.mark.parametrize(("data", "status"), REFUSED_BODIES.values(), ids=REFUSED_BODIES)
def test_bodies_that_could_be_read_in_two_ways_are_refused(
    data: bytes, status: int, how: str
) -> None:
    requests, failed, _ = read(*([data] if how == "whole" else cut(data)), SMALL)
    [(_, _, _, complete, _)] = requests
    assert (complete, failed) == (False, status)


@given(
    which=st.lists(st.sampled_from([*TAKEN.values()]), min_size=1, max_size=4),
    cuts=st.lists(st.integers(0, 2000), max_size=12),
)
def test_how_bytes_are_cut_into_pieces_changes_nothing(
    which: list[tuple[bytes, Told]], cuts: list[int]
) -> None:
    data = b"".join(one for one, _ in which)
    at = sorted({0, len(data), *(one % (len(data) + 1) for one in cuts)})
    pieces = [data[start:end] for start, end in itertools.pairwise(at)]
    assert read(*pieces) == read(data)


@given(data=st.binary(max_size=300), before=st.sampled_from([b"", START, CHUNKED, SMALL]))
def test_any_bytes_are_read_or_refused(data: bytes, before: bytes) -> None:
    requests, failed, _ = read(before + data)
    assert failed in {None, 400, 405, 417, 431, 501, 505}
    # Whether it is refused, at the latest when all of it is here, does not depend on cuts.
    assert read(*cut(before + data))[1] == failed or failed is None or requests


def test_body_is_taken_in_pieces() -> None:
    reader = RequestReader(MAX_HEADER_BYTES, MAX_HEADERS)
    reader.feed(START + b"Content-Length: 6\r\n\r\nab")
    [request] = reader.requests
    assert (request.take(), request.complete, reader.in_body) == (b"ab", False, True)
    reader.feed(b"c")
    reader.feed(b"def" + SMALL)
    assert (request.take(), request.complete, request.size) == (b"cdef", True, 6)
    assert request.take() == b""
    assert len(reader.requests) == 2


def test_names_are_in_lower_case_and_values_as_they_came() -> None:
    reader = RequestReader(MAX_HEADER_BYTES, MAX_HEADERS)
    reader.feed(START + b"MCP-Name:  A\xc3\xa9 \r\nX:\r\n\r\n")
    headers = reader.requests[0].headers
    assert headers[:2] == [(b"host", b"x"), (b"mcp-name", b"A\xc3\xa9 ")]
    assert headers[2][0] == b"x"


def test_client_that_waits_to_be_told_to_go_on_is_noticed() -> None:
    reader = RequestReader(MAX_HEADER_BYTES, MAX_HEADERS)
    reader.feed(START + b"Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n")
    assert reader.requests[0].expects_continue


def test_head_is_waited_for_from_its_first_byte() -> None:
    reader = RequestReader(MAX_HEADER_BYTES, MAX_HEADERS)
    assert not reader.in_head
    reader.feed(b"P")
    assert reader.in_head
    reader.feed(SMALL[1:])
    assert not reader.in_head


def test_chunks_that_are_all_framing_are_refused() -> None:
    reader = RequestReader(MAX_HEADER_BYTES, MAX_HEADERS)
    reader.feed(CHUNKED)
    for _ in range(2 * MAX_HEADER_BYTES):
        reader.feed(b"1;" + b"x" * 60 + b"\r\n{\r\n")
    assert reader.failure is not None
    assert reader.failure.status == 400
    tiny = RequestReader(MAX_HEADER_BYTES, MAX_HEADERS)
    tiny.feed(CHUNKED)
    for _ in range(2 * MAX_HEADER_BYTES):
        tiny.feed(b"1\r\n{\r\n")
    assert tiny.failure is None
