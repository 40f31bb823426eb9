from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genmcp.transport.headers import scan_headers
from genmcp.transport.http1 import request_reader
from genmcp.transport.http1.description import describe_request, resolve_target
from genmcp.transport.http1.known_heads import KnownHeads
from genmcp.transport.http1.request_reader import IncomingRequest, RequestReader

MAX_HEADER_BYTES = 4096
MAX_HEADERS = 100
HEAD = b"POST /mcp HTTP/1.1\r\nHost: x\r\nMcp-Name: add\r\n"


def sized(body: bytes, *, head: bytes = HEAD, more: bytes = b"") -> bytes:
    return head + b"Content-Length: %d\r\n" % len(body) + more + b"\r\n" + body


SIZED = sized(b"{}")
OTHER = sized(b"{}", more=b"Other: yes\r\n")


def make_reader() -> RequestReader:
    """Return the reader of a connection that has carried a request."""
    reader = RequestReader(MAX_HEADER_BYTES, MAX_HEADERS)
    reader.feed(OTHER)
    reader.requests.clear()
    return reader


def feed(reader: RequestReader, data: bytes) -> IncomingRequest:
    reader.feed(data)
    assert reader.failure is None
    [request] = reader.requests
    reader.requests.clear()
    return request


def tell(request: IncomingRequest) -> dict[str, Any]:
    return {
        "verb": request.verb,
        "target": request.target,
        "headers": request.headers,
        "http10": request.http10,
        "keep_alive": request.keep_alive,
        "expects_continue": request.expects_continue,
        "body": b"".join(request.pieces),
        "size": request.size,
        "complete": request.complete,
    }


class Deaf:
    """Stands in for the parser, and is not to be asked."""

    def feed_data(self, data: object) -> None:
        raise AssertionError("the parser was asked")


def deafen(reader: RequestReader) -> None:
    reader._parser = Deaf()  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("body", [b"{}", b"[]", b"{" + b" " * 3000 + b"}", b""])
def test_a_head_that_was_read_before_is_not_parsed_again(body: bytes) -> None:
    reader = make_reader()
    first = tell(feed(reader, sized(b"{}")))
    deafen(reader)
    second = feed(reader, sized(body))
    assert second.scanned == scan_headers(second.headers)
    length = (b"content-length", b"%d" % len(body))
    headers = [
        length if name == b"content-length" else (name, value) for name, value in first["headers"]
    ]
    assert tell(second) == {**first, "headers": headers, "body": body, "size": len(body)}


def test_a_request_that_is_still_being_answered_keeps_its_headers() -> None:
    reader = make_reader()
    feed(reader, sized(b"{}"))
    before = feed(reader, sized(b"{}"))
    feed(reader, sized(b"{ }"))
    assert (b"content-length", b"2") in before.headers
    assert before.scanned == scan_headers(before.headers)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(sized(b"{}", head=HEAD.replace(b"add", b"sub")), id="another name"),
        pytest.param(sized(b"{}") + b"P", id="the next one has begun"),
        pytest.param(sized(b"{}") + b"\r\n", id="an empty line behind it"),
        pytest.param(sized(b"{}")[:-1], id="not all of it"),
        pytest.param(sized(b"{}").replace(b": 2", b": 2 "), id="a space behind the length"),
        pytest.param(sized(b"{}").replace(b": 2", b": +2"), id="a sign before it"),
        pytest.param(sized(b"{}").replace(b": 2", b": \xb2"), id="a digit that is none"),
        pytest.param(sized(b"{}").replace(b": 2", b": "), id="no length"),
        pytest.param(sized(b"{}", more=b"X: y\r\n"), id="one header more"),
    ],
)
def test_whatever_differs_is_parsed(data: bytes) -> None:
    reader = make_reader()
    feed(reader, sized(b"{}"))
    deafen(reader)
    with pytest.raises(AssertionError, match="the parser was asked"):
        reader.feed(data)


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(HEAD.replace(b"POST", b"GET") + b"Content-Length: 0\r\n\r\n", id="GET"),
        pytest.param(
            sized(b"{}", head=HEAD.replace(b"1.1", b"1.0"), more=b"Connection: keep-alive\r\n"),
            id="1.0",
        ),
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", id="chunked"
        ),
        pytest.param(sized(b"{}", more=b"Expect: 100-continue\r\n"), id="expects"),
        pytest.param(sized(b"{}", more=b"X: " + b"y" * 3000 + b"\r\n"), id="long"),
        pytest.param(b"\r\n\r\n" + sized(b"{}"), id="empty lines before it"),
        pytest.param(sized(b"\r\n{}") + b"\r\n", id="an empty line behind it"),
    ],
)
def test_only_plain_heads_are_remembered(request_bytes: bytes) -> None:
    reader = make_reader()
    feed(reader, request_bytes)
    deafen(reader)
    with pytest.raises(AssertionError, match="the parser was asked"):
        reader.feed(request_bytes)


def test_a_host_in_the_target_counts_each_time() -> None:
    reader = make_reader()
    absolute = sized(b"{}", head=HEAD.replace(b"/mcp", b"http://other/mcp"))
    for _ in range(2):
        request = feed(reader, absolute)
        resolve_target(request, secure=False)
        assert request.headers[0] == (b"host", b"other")
        assert request.scanned is None


def test_empty_lines_between_requests_do_not_add_up() -> None:
    reader = make_reader()
    feed(reader, SIZED)
    deafen(reader)
    for _ in range(MAX_HEADER_BYTES):
        feed(reader, SIZED)
        reader._parser = None  # pyright: ignore[reportPrivateUsage]
        reader.feed(b"\r\n")
        deafen(reader)
    assert reader.failure is None


def test_what_the_application_does_to_its_scope_stays_with_its_request() -> None:
    reader = make_reader()
    for _ in range(3):
        request = feed(reader, SIZED)
        resolve_target(request, secure=False)
        scope = describe_request(request, client=None, server=None, secure=False)
        assert scope["headers"] == [
            (b"host", b"x"),
            (b"mcp-name", b"add"),
            (b"content-length", b"2"),
        ]
        scope["headers"].append((b"x-user", b"alice"))


def test_a_connection_that_closes_reads_nothing_more() -> None:
    reader = make_reader()
    last = sized(b"{}", more=b"Connection: close\r\n")
    feed(reader, last)
    reader.feed(last)
    assert (reader.ended, reader.requests) == (True, [])


def test_heads_are_forgotten_when_told() -> None:
    reader = make_reader()
    feed(reader, sized(b"{}"))
    reader.forget()
    deafen(reader)
    with pytest.raises(AssertionError, match="the parser was asked"):
        reader.feed(sized(b"{}"))


@pytest.mark.parametrize("at", range(len(SIZED)))
def test_a_request_that_has_begun_to_arrive_survives_a_rest(at: int) -> None:
    reader = make_reader()
    whole = tell(feed(reader, SIZED))
    reader.feed(SIZED + SIZED[:at])
    reader.rest()
    reader.feed(SIZED[at:])
    assert [tell(one) for one in reader.requests] == [whole, whole]


def test_the_first_head_of_a_connection_is_not_kept() -> None:
    reader = RequestReader(MAX_HEADER_BYTES, MAX_HEADERS)
    feed(reader, SIZED)
    deafen(reader)
    with pytest.raises(AssertionError, match="the parser was asked"):
        reader.feed(SIZED)


def test_a_client_whose_heads_never_come_again_has_none_kept() -> None:
    reader = make_reader()
    for number in range(40):
        traced = sized(b"{}", more=b"Traceparent: %d\r\n" % number)
        assert feed(reader, traced).complete
    deafen(reader)
    with pytest.raises(AssertionError, match="the parser was asked"):
        reader.feed(traced)


NAMES = st.sampled_from([b"add", b"sub", b"x" * 40])
BODIES = st.sampled_from(
    [b"", b"{}", b"{ }", b"\r\n{}", b"\r\n\r\n", b"0" * 11, b"Content-Length: 2\r\n\r\n{}"]
)
SPELLINGS = st.sampled_from(
    [b"Content-Length: ", b"content-length:", b"CONTENT-LENGTH:\t", b"Content-Length: 0"]
)
ENDS = st.sampled_from([b"", b"", b"", b"\r\n", b"\r\n\r\n", b"GET"])
MORE = st.sampled_from(
    [
        b"",
        b"",
        b"Connection: close\r\n",
        b"X: y\r\n",
        b"Upgrade: h2c\r\nConnection: upgrade\r\n",
        b"Expect: 100-continue\r\n",
    ]
)
TARGETS = st.sampled_from([b"/mcp", b"/mcp", b"http://other/mcp"])


@st.composite
def segments(draw: st.DrawFn) -> bytes:
    body = draw(BODIES)
    return b"".join(
        [
            draw(st.sampled_from([b"", b"", b"", b"\r\n", b"\r\n\r\n"])),
            b"POST "
            + draw(TARGETS)
            + b" HTTP/1.1\r\nHost: x\r\nMcp-Name: "
            + draw(NAMES)
            + b"\r\n",
            draw(SPELLINGS) + b"%d\r\n" % len(body),
            draw(MORE) + b"\r\n",
            body,
            draw(ENDS),
        ]
    )


@given(st.lists(st.tuples(segments(), st.booleans()), min_size=1, max_size=8))
def test_what_is_read_does_not_depend_on_what_was_read_before(
    pieces: list[tuple[bytes, bool]],
) -> None:
    told: list[Any] = []
    for remembering in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not remembering:
                patch.setattr(request_reader, "KnownHeads", Forgetful)
            reader = make_reader()
            read: list[Any] = []
            for piece, rests in pieces:
                if rests and remembering:
                    reader.rest()
                reader.feed(piece)
                read.append([tell(one) for one in reader.requests])
                reader.requests.clear()
            failure = reader.failure and (reader.failure.status, reader.failure.reason)
            told.append((read, failure, reader.ended, reader.in_head, reader.in_body))
    assert told[0] == told[1]


class Forgetful(KnownHeads):
    def find(self, data: bytes) -> None:
        return None
